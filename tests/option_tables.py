"""The lists of options, parameters and settings in docs/cli.md and docs/service.md, from what they list.

`python -m tests.option_tables` writes them anew.
"""

import argparse
import json
import re
import textwrap
from collections.abc import Iterable
from pathlib import Path
from typing import Any, Final

from memstow.api.cli.parser import build_parser
from memstow.api.http.app import create_app
from memstow.api.http.requests import BODY_FIRST
from memstow.api.http.settings import Settings
from memstow.api.options import Choice, Option, Switch, in_page, in_query

DOCS: Final = Path(__file__).parents[1] / "docs"
CLI: Final = DOCS / "cli.md"
SERVICE: Final = DOCS / "service.md"
COMMANDS: Final = (
    *("solve", "front", "verify", "view", "inspect", "convert"),
    *("build", "tile", "evaluate", "generate"),
    *("bench", "library", "solvers", "formats", "serve", "keys", "admin", "db", "doctor"),
)
"""The commands whose options are listed."""
_AS_BEFORE: Final = {
    "front": "as for `solve`. Limits are for all points together; `--hint` is a plan of a problem, from "
    "which `moves` counts; `--capacity` cannot stand beside `--target`",
    "verify": "as for `solve`; the same as when the plan was made",
    "view": "as for `solve`; the same as when the plan was made",
    "inspect": "as for `solve`: what is described is changed first",
    "convert": "as for `solve`: what is written is changed first; a problem is that of the listed order, so "
    "that `--order` is for `graph`",
}
"""What is said of options that `solve` has as well, of commands where that is not all."""
_COMMAND_OF: Final = {"plan": "solve", "jobs": "solve", "fronts": "front"}
"""The command that does what a request does, where it has another name."""


def _below(parser: argparse.ArgumentParser) -> dict[str, argparse.ArgumentParser]:
    """The parsers of the commands, or of the kinds or actions of one, by name."""
    return {
        name: below
        for action in parser._actions
        if isinstance(action, argparse._SubParsersAction)
        for name, below in action.choices.items()
    }


def _options_of(parser: argparse.ArgumentParser) -> list[Option]:
    """The options of a command, in the order of its help."""
    return [vars(action)["option"] for action in parser._actions if "option" in vars(action)]


def _options_of_command(command: str) -> list[Option]:
    return _options_of(_below(build_parser([command]))[command])


def _named(option: Option, *, has_place: bool = True) -> str:
    """An option as code, with the place of its value where that is not said elsewhere."""
    place = has_place and (
        option.metavar or (option.name.split("_")[-1].upper() if isinstance(option.kind, Choice) else "")
    )
    names = f"`{option.spelling} {place}`" if place else f"`{option.spelling}`"
    if isinstance(option.kind, Switch):
        names += f", `--no-{option.spelling.removeprefix('--')}`"
    return f"{names}, `{option.short}`" if option.short else names


def _item(names: str, of: str, text: str) -> str:
    """An item of a list, wrapped as the pages are."""
    of = f" ({of})" if of else ""
    return textwrap.fill(
        f"* {names}{of}: {text}",
        width=118,
        subsequent_indent="  ",
        break_long_words=False,
        break_on_hyphens=False,
    )


def list_of(command: str) -> str:
    """The options of a command; those that `solve` has as well are in one item."""
    parser = _below(build_parser([command]))[command]
    known = [] if command == "solve" else _options_of_command("solve")
    if _below(parser):
        return _list_of_kinds(_below(parser), known)
    options = _options_of(parser)
    items = [_item(_named(option), "", in_page(option)) for option in options if option not in known]
    again = ", ".join(_named(option, has_place=False) for option in options if option in known)
    if again:
        items.append(_item(again, "", _AS_BEFORE.get(command, "as for `solve`")))
    return "\n".join(items)


def _list_of_kinds(kinds: dict[str, argparse.ArgumentParser], known: list[Option]) -> str:
    """The options of a command with several kinds or actions, with those that have each."""
    having: dict[Option, list[str]] = {}
    for name, parser in kinds.items():
        for option in _options_of(parser):
            having.setdefault(option, []).append(f"`{name}`")
    items = []
    again: dict[str, list[str]] = {}
    for option, names in having.items():
        of = "all" if len(names) == len(kinds) else ", ".join(names)
        if option in known:
            again.setdefault(of, []).append(_named(option, has_place=False))
        else:
            items.append(_item(_named(option), of, in_page(option)))
    items += [_item(", ".join(named), of, "as for `solve`") for of, named in again.items()]
    return "\n".join(items)


def _is_of_command(name: str, description: str, command: str) -> bool:
    """Whether a command has an option of this name, and says the same of it."""
    return any(
        option.spelling == f"--{name.replace('_', '-')}"
        and not option.query
        and in_query(option) == description
        for option in _options_of_command(command)
    )


def _listed(paths: Iterable[str]) -> str:
    return ", ".join(f"`{path}`" for path in paths)


def parameters() -> str:
    """What the queries of requests with a document can say.

    Those of which a command says the same are in one item for each command.
    """
    document: dict[str, Any] = create_app(Settings()).openapi()
    routes: dict[tuple[str, str], list[str]] = {}
    for path, operations in document["paths"].items():
        for method, operation in operations.items():
            if method != "post" or "/v1/" not in path:
                continue
            for parameter in operation.get("parameters", ()):
                if parameter["in"] == "query":
                    key = (parameter["name"], parameter["description"].removesuffix(BODY_FIRST))
                    routes.setdefault(key, []).append(path.removeprefix("/v1/"))
    items = []
    again: dict[tuple[str, tuple[str, ...]], list[str]] = {}
    for (name, description), paths in routes.items():
        command = _COMMAND_OF.get(paths[0], paths[0])
        if _is_of_command(name, description, command):
            again.setdefault((command, tuple(paths)), []).append(f"`{name}`")
        else:
            items.append(_item(f"`{name}`", _listed(paths), description))
    items += [
        _item(", ".join(named), _listed(paths), f"as for [`memstow {command}`](cli.md#memstow-{command})")
        for (command, paths), named in again.items()
    ]
    return "\n".join(items)


def settings() -> str:
    """The settings of the service."""
    items = []
    for name, field in Settings.model_fields.items():
        default = field.get_default()
        shown = "none" if default in (None, ()) else f"`{json.dumps(default, default=str)}`"
        # What is counted when the server starts differs from machine to machine.
        shown = "the processors there are" if name == "slots" else shown
        items.append(_item(f"`{name}`", shown, field.description or ""))
    return "\n".join(items)


def _replaced(page: str, name: str, written: str) -> str:
    begin, end = f"<!-- begin {name} -->\n", f"\n<!-- end {name} -->"
    pattern = f"{re.escape(begin)}.*?{re.escape(end)}"
    replaced, count = re.subn(pattern, lambda _: f"{begin}{written}{end}", page, flags=re.DOTALL)
    if count != 1:
        raise ValueError(f"{json.dumps(begin)} is there {count} times")
    return replaced


def with_lists(page: Path) -> str:
    """The page with its lists as they should be."""
    text = page.read_text(encoding="utf-8")
    if page == SERVICE:
        return _replaced(_replaced(text, "parameters", parameters()), "settings", settings())
    for command in COMMANDS:
        text = _replaced(text, f"options-{command}", list_of(command))
    return text


if __name__ == "__main__":
    for page in (CLI, SERVICE):
        page.write_text(with_lists(page), encoding="utf-8")
