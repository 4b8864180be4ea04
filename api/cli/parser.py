"""An argument parser with short error messages that suggest the closest option or command."""

import argparse
import sys
from collections.abc import Iterable, Sequence
from contextlib import suppress
from typing import TYPE_CHECKING, Any, NoReturn

from memstow.api.cli.exit_codes import Exit
from memstow.api.cli.io.terminal import print_error
from memstow.planner.show.formatting import plain

if TYPE_CHECKING:
    from _typeshed import SupportsWrite

_LONGEST_WORD = 100


def _in_words(message: str) -> str:
    """The message of argparse in the words of a user."""
    message = message.removeprefix("argument ")
    message = message.replace("the following arguments are required: ", "missing argument: ", 1)
    message = message.replace("expected one argument", "a value is missing", 1)
    head, explicit, _ = message.partition(": ignored explicit argument ")
    return f"{head}: it takes no value" if explicit else message


def _place(action: argparse.Action) -> str:
    name = str(action.metavar or action.dest)
    if action.nargs == argparse.OPTIONAL:
        return f"[{name}]"
    return f"{name}..." if action.nargs == argparse.ONE_OR_MORE else name


class Parser(argparse.ArgumentParser):
    """Rejects an unknown option before parsing the rest, so that the error comes from its command."""

    def parse_known_args(  # type: ignore[override]
        self, args: Sequence[str] | None = None, namespace: argparse.Namespace | None = None
    ) -> tuple[argparse.Namespace, list[str]]:
        """Parse all arguments; unknown ones are an error."""
        words = sys.argv[1:] if args is None else list(args)
        self._refuse_unknown_options(words)
        known, rest = super().parse_known_args(words, namespace)
        if rest:
            self.error(f"{rest[0]!r} is an unexpected argument")
        return known, rest

    def error(self, message: str) -> NoReturn:
        """Exit with the error, the usage of the command, and how to get help."""
        words = _in_words(message)
        for action in self._actions:
            if isinstance(action, argparse._SubParsersAction) and words.endswith(f": {action.metavar}"):
                words += f", one of {', '.join(action.choices)}"
        print_error(plain(words, most=1000))
        with suppress(OSError, ValueError, AttributeError):
            sys.stderr.write(f"usage: {self._usage()}\n`{self.prog} --help` shows all options\n")
        sys.exit(Exit.USAGE)

    def _usage(self) -> str:
        places = [_place(action) for action in self._actions if not action.option_strings]
        return " ".join([self.prog, *places, "[OPTION...]"])

    def _refuse_unknown_options(self, words: Iterable[str]) -> None:
        has_commands = any(isinstance(action, argparse._SubParsersAction) for action in self._actions)
        for word in words:
            if word == "--" or (has_commands and not word.startswith("-")):
                return
            if not word.startswith("-") or word == "-" or " " in word or word[1].isdigit():
                continue
            name = word.partition("=")[0] if word.startswith("--") else word[:2]
            if name not in self._option_string_actions:
                self.error(self._about_option(name, has_commands))

    def _about_option(self, name: str, has_commands: bool) -> str:
        from memstow.planner.model.errors import closest_match

        begun = [option for option in self._option_string_actions if option.startswith(name)]
        close = begun[0] if begun else closest_match(name, self._option_string_actions, 0.7)
        if close is not None:
            return f"there is no option {plain(name, most=_LONGEST_WORD)}; did you mean {close}?"
        where = " before the command" if has_commands else ""
        return f"there is no option {plain(name, most=_LONGEST_WORD)}{where}"

    def _check_value(self, action: argparse.Action, value: Any) -> None:
        """Reject a value that is not one of the choices; argparse would print them as Python literals."""
        if action.choices is None or value in action.choices:
            return
        from memstow.planner.model.errors import closest_match

        choices = [str(choice) for choice in action.choices]
        close = closest_match(str(value), choices)
        shown = f"'{plain(str(value), most=_LONGEST_WORD)}'"
        listed = ", ".join(choices)
        meant = f"did you mean {close}? " if close is not None else ""
        if isinstance(action, argparse._SubParsersAction):
            what = "kind" if action.metavar == "KIND" else "command"
            raise argparse.ArgumentError(None, f"there is no {what} {shown}; {meant}there are {listed}")
        raise argparse.ArgumentError(
            action, f"{shown} is not one of {listed}" + (f"; {meant.strip()}" if meant else "")
        )

    def _print_message(self, message: str, file: "SupportsWrite[str] | None" = None) -> None:
        """Write the message; unlike argparse, let errors of writing through."""
        if message:
            (file or sys.stderr).write(message)
