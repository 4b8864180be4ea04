"""Random models as programs, compared with TensorFlow Lite Micro at every point of their fronts.

`python -m tests.planner.firmware.campaign FIRST END WHAT... [sanitized]` tries seeds and says what is wrong.
"""

import sys
import tempfile
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from memstow.planner.firmware import Built, build, check
from memstow.planner.front import find_front
from memstow.planner.model.errors import InputError
from memstow.planner.model.front import Generator
from memstow.planner.model.options import Options
from tests.planner.firmware.random_models import ANY, IMAGES, KINDS, SHIFTED, Made, model_of
from tests.planner.firmware.running import SANITIZERS, Program, compile_programs, run_programs, write

_WORK: Final = 300_000


@dataclass
class Tally:
    """What became of models."""

    same: int = 0
    striped: int = 0
    """Of these, how many run in stripes."""
    refused: Counter[str] = field(default_factory=Counter)
    """What cannot be built, by its reason."""
    not_run: Counter[str] = field(default_factory=Counter)
    """What the runtime cannot run."""
    wrong: list[str] = field(default_factory=list)


def points(model: bytes, name: str, generators: Sequence[Generator]) -> list[tuple[str, Built]]:
    """A program for each point of the front, which is found once, and without a check, which takes long."""
    options = Options(deterministic=True, work_limit=_WORK)
    found, checked = find_front.find_front, check.check_source
    check.check_source = lambda *_: (None, None)
    try:
        first = build(model, name=name, generators=generators, options=options)
        with_front = [(name, first)]
        find_front.find_front = lambda *_, **__: first.front
        for number in range(1, len(first.front.points) + 1):
            if number != first.number:
                label = f"{name}_{number}"
                built = build(model, name=label, generators=generators, point=number, options=options)
                with_front.append((label, built))
    finally:
        find_front.find_front, check.check_source = found, checked
    return with_front


def _tries(entry: Made) -> list[tuple[str, tuple[Generator, ...]]]:
    """How a model is built: of networks, in other ways as well."""
    tries: list[tuple[str, tuple[Generator, ...]]] = [(entry.name, ("stripes",))]
    if entry.name.startswith(("network", "hourglass")):
        tries.append((f"{entry.name}_more", ("stripes", "recompute")))
        tries.append((f"{entry.name}_again", ("recompute",)))
    return tries


def try_models(
    models: Sequence[Made], folder: Path, *flags: str, sanitized: bool = False, runs: int = 3
) -> Tally:
    """Build, compile and compare each of them, by its name."""
    tally, programs = Tally(), list[Program]()
    for entry in models:
        try:
            made = [program for label, *how in _tries(entry) for program in points(entry.model, label, *how)]
        except InputError as error:
            tally.refused[error.issues[0].message] += 1
            continue
        programs += [write(built, at, entry.reference, folder) for at, built in made]
    if not programs:
        return tally
    more = (*flags, *SANITIZERS) if sanitized else flags
    library = compile_programs([program.name for program in programs], folder, *more)
    exact = {program.name: program.is_exact for program in programs}
    for ran in run_programs(programs, library, runs, sanitized):
        if ran.is_refused:
            tally.not_run[ran.trouble] += 1
        elif ran.trouble:
            tally.wrong.append(f"{ran.name}: {ran.trouble}")
        else:
            tally.same += 1
            tally.striped += not exact[ran.name]
    return tally


def everything() -> list[tuple[str, str]]:
    """Each operator with each type of elements that it may have."""
    none = {("svdf", "int16"), ("svdf", "float32"), ("lstm", "float32")}
    both = [(what, kind) for what in (*IMAGES, *ANY) for kind in KINDS if (what, kind) not in none]
    return both + [(what, "uint8") for what in SHIFTED]


def main(first: str, end: str, *words: str) -> None:
    """Try seeds; `what/kind` chooses, and all operators are tried without one."""
    sanitized = "sanitized" in words
    flags = [word for word in words if word.startswith("-")] or ["-O1"]
    chosen = [tuple(word.split("/")) for word in words if "/" in word] or everything()
    for what, kind in chosen:
        with tempfile.TemporaryDirectory() as folder:
            models = [model_of(what, kind, seed) for seed in range(int(first), int(end))]
            tally = try_models(models, Path(folder), *flags, sanitized=sanitized)
        print(f"{what}/{kind}: {tally.same} same ({tally.striped} in stripes), {len(tally.wrong)} wrong")  # noqa: T201
        for line in tally.wrong[:6]:
            print(f"  WRONG {line}")  # noqa: T201
        for word, reasons in (("refused", tally.refused), ("not run", tally.not_run)):
            for reason, count in reasons.most_common(5):
                print(f"  {word} {count}: {reason[-300:]}")  # noqa: T201
        sys.stdout.flush()


if __name__ == "__main__":
    main(*sys.argv[1:])
