"""Random models as programs, compared with TensorFlow Lite Micro at every point of their fronts.

`python -m tests.planner.firmware.campaign FIRST END WHAT... [sanitized]` tries seeds and says what is wrong.
"""

import sys
import tempfile
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final, cast

from memstow.planner.firmware import EXTERNAL, Built, External, KernelSet, build, check, memories
from memstow.planner.model.errors import InputError
from memstow.planner.model.front import Generator
from memstow.planner.model.options import Options
from memstow.planner.model.problem import Pool, Target
from tests.planner.firmware.random_models import ANY, IMAGES, KINDS, NARROW, SHIFTED, Made, model_of
from tests.planner.firmware.running import (
    SANITIZERS,
    Program,
    by_caller,
    compile_programs,
    run_programs,
    write,
)

_WORK: Final = 300_000
WAYS: Final = ("more", "again", "outside", "apart", "spilled", "both", "together", "parts", "channels", "all")


@dataclass
class Tally:
    """What became of models."""

    same: int = 0
    striped: int = 0
    """Of these, how many run in stripes."""
    in_parts: int = 0
    """Of these, how many have parts of channels."""
    by_cmsis_nn: int = 0
    """How many operators of all programs CMSIS-NN computes."""
    ways: Counter[str] = field(default_factory=Counter)
    """Of these, how many of each way to build a network."""
    refused: Counter[str] = field(default_factory=Counter)
    """What cannot be built, by its reason."""
    not_run: Counter[str] = field(default_factory=Counter)
    """What the runtime cannot run."""
    wrong: list[str] = field(default_factory=list)


def points(
    model: bytes,
    name: str,
    generators: Sequence[Generator],
    external: Sequence[External] = (),
    most: int | None = None,
    kernels: KernelSet = "own",
) -> list[tuple[str, Built]]:
    """A program for each point of the front (of `most` at most), without a check, which takes long.

    The front is searched once.
    """
    options = Options(deterministic=True, work_limit=_WORK)

    def write(label: str, point: int | None) -> Built:
        return build(
            model,
            name=label,
            generators=generators,
            external=external,
            kernels=kernels,
            point=point,
            options=options,
        )

    patched = vars(memories)
    result, checked = patched["find_front"], check.check_source
    check.check_source = lambda *_: (None, None)
    try:
        first = write(name, None)
        front = first.front
        assert front is not None
        with_front = [(name, first)]
        patched["find_front"] = lambda *_, **__: front
        others = [number for number in range(1, len(front.points) + 1) if number != first.number]
        for number in others if most is None else others[: most - 1]:
            with_front.append((f"{name}_{number}", write(f"{name}_{number}", number)))
    finally:
        patched["find_front"], check.check_source = result, checked
    return with_front


def in_memories(model: bytes, name: str, whole: Built) -> list[tuple[str, Built]]:
    """Programs in two memories that together hold what one would: apart, and with spills."""
    built = []
    for way, share, generators in (
        ("apart", 0.6, ()),
        ("spilled", 0.9, ("spill",)),
        ("both", 0.9, ("spill", "recompute")),
        ("together", 0.5, ("stripes", "channels", "recompute", "spill")),
    ):
        small, large = max(int(whole.arena * share), 64), whole.arena
        pools = [Pool(id="small", capacity=small, cost=1), Pool(id="large", capacity=large, cost=3)]
        with suppress(InputError):
            program = build(
                model,
                name=f"{name}_{way}",
                generators=cast("tuple[Generator, ...]", generators),
                target=Target(name="two", pools=pools),
                options=Options(deterministic=True, work_limit=_WORK),
                with_check=False,
            )
            built.append((f"{name}_{way}", program))
    return built


def _programs(entry: Made, kernels: KernelSet, most: int | None) -> Iterator[tuple[str, Built]]:
    """How a model is built: of networks, in other ways as well, at `most` points of a front."""
    name = entry.name
    if kernels != "own":
        yield from points(entry.model, name, ("stripes",), most=2, kernels=kernels)
        yield from points(entry.model, f"{name}_again", ("recompute",), EXTERNAL, most=2, kernels=kernels)
        return
    yield from points(entry.model, name, ("stripes",), most=most)
    if name.startswith("wide"):
        yield from points(entry.model, f"{name}_parts", ("stripes", "channels"), most=most)
        yield from points(entry.model, f"{name}_channels", ("channels",), EXTERNAL, most=most)
        yield from points(entry.model, f"{name}_all", ("stripes", "channels", "recompute"), most=most)
    if name.startswith(("network", "hourglass", "bridge")):
        yield from points(entry.model, f"{name}_more", ("stripes", "recompute"), most=most)
        yield from points(entry.model, f"{name}_again", ("recompute",), most=most)
        yield from points(entry.model, f"{name}_outside", ("stripes",), EXTERNAL, most=most)
        whole = points(entry.model, f"{name}_whole", (), most=1)
        yield from in_memories(entry.model, name, whole[0][1])


def try_models(
    models: Sequence[Made],
    folder: Path,
    *flags: str,
    sanitized: bool = False,
    runs: int = 3,
    kernels: KernelSet = "own",
    most: int | None = None,
) -> Tally:
    """Build, compile and compare each of them, by its name."""
    tally, programs = Tally(), list[Program]()
    for entry in models:
        try:
            made = list(_programs(entry, kernels, most))
        except InputError as error:
            tally.refused[error.issues[0].message] += 1
            continue
        tally.by_cmsis_nn += sum(built.by_cmsis_nn for _, built in made)
        programs += [write(built, at, entry.reference, folder) for at, built in made]
    if not programs:
        return tally
    more = [*flags, *(SANITIZERS if sanitized else ()), *by_caller(programs)]
    library = compile_programs([program.name for program in programs], folder, *more)
    by_name = {program.name: program for program in programs}
    for ran in run_programs(programs, library, runs, sanitized):
        if ran.is_refused:
            tally.not_run[ran.trouble] += 1
        elif ran.trouble:
            tally.wrong.append(f"{ran.name}: {ran.trouble}")
        else:
            tally.same += 1
            tally.striped += by_name[ran.name].is_striped
            tally.in_parts += by_name[ran.name].in_parts
            tally.ways.update(way for way in WAYS if f"_{way}" in ran.name)
    return tally


def everything() -> list[tuple[str, str]]:
    """Each operator with each type of elements that it may have."""
    none = {("svdf", "int16"), ("svdf", "float32")}
    both = [(what, kind) for what in (*IMAGES, *ANY) for kind in KINDS if (what, kind) not in none]
    return [*both, *((what, "uint8") for what in SHIFTED), *((what, "int4") for what in NARROW)]


def main(first: str, end: str, *words: str) -> None:
    """Try seeds; `what/kind` chooses, and all operators are tried without one."""
    sanitized = "sanitized" in words
    flags = [word for word in words if word.startswith("-")] or ["-O1"]
    chosen = [tuple(word.split("/")) for word in words if "/" in word] or everything()
    for what, kind in chosen:
        with tempfile.TemporaryDirectory() as folder:
            models = [model_of(what, kind, seed) for seed in range(int(first), int(end))]
            tally = try_models(models, Path(folder), *flags, sanitized=sanitized)
        same = f"{tally.same} same ({tally.striped} in stripes, {tally.in_parts} in parts of channels)"
        print(f"{what}/{kind}: {same}, {len(tally.wrong)} wrong")  # noqa: T201
        print(f"  {dict(tally.ways)}")  # noqa: T201
        for line in tally.wrong[:6]:
            print(f"  WRONG {line}")  # noqa: T201
        for word, reasons in (("refused", tally.refused), ("not run", tally.not_run)):
            for reason, count in reasons.most_common(5):
                print(f"  {word} {count}: {reason[-300:]}")  # noqa: T201
        sys.stdout.flush()


if __name__ == "__main__":
    main(*sys.argv[1:])
