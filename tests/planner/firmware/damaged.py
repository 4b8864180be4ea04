"""Models in which bytes were changed at random: built, or refused with an error that says what is wrong."""

import struct
import tempfile
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path
from random import Random
from typing import Final

from memstow.planner.firmware import Built, build, check
from memstow.planner.model.errors import InputError
from memstow.planner.model.options import Options
from tests.planner.firmware.running import SANITIZERS, Program, compile_programs, run_programs, write

_NUMBERS: Final = (0, 1, -1, 2, 127, 128, 255, -128, 32767, -32768, 1 << 16, (1 << 31) - 1, -(1 << 31))
_REALS: Final = (0.0, -1.0, 1.0, 1e-38, 1e-45, 1e38, float("inf"), float("nan"), 1e-9, 1e9)


def damaged(model: bytes, seed: int) -> bytes:
    """The model with one to three changes; most are where sizes, options and scales are."""
    rng = Random(seed)
    made = bytearray(model)
    for _ in range(rng.randint(1, 3)):
        at = rng.randrange(8, len(made) - 4)
        match rng.randrange(5):
            case 0:
                made[at] = rng.randrange(256)
            case 1:
                made[at] ^= 1 << rng.randrange(8)
            case 2:
                struct.pack_into("<i", made, at & ~3, rng.choice(_NUMBERS))
            case 3:
                struct.pack_into("<f", made, at & ~3, rng.choice(_REALS))
            case _:
                (before,) = struct.unpack_from("<i", made, at & ~3)
                after = (before + rng.choice((-2, -1, 1, 2, 4)) + (1 << 31)) % (1 << 32) - (1 << 31)
                struct.pack_into("<i", made, at & ~3, after)
    return bytes(made)


def built_or_refused(model: bytes, name: str) -> Built | str:
    """The program, or the code of why there is none; any other exception is passed on."""
    try:
        return build(model, name=name, options=Options(deterministic=True, work_limit=100_000))
    except InputError as error:
        return error.issues[0].code


def try_damaged(
    models: Sequence[tuple[str, bytes]], sanitized: bool = True
) -> tuple[Counter[str], list[str]]:
    """What became of them: how many were built or refused for what, and which programs were wrong."""
    became: Counter[str] = Counter()
    wrong: list[str] = []
    checked = check.check_source
    check.check_source = lambda *_: (None, None)
    try:
        with tempfile.TemporaryDirectory() as folder:
            programs = list(_programs(models, Path(folder), became, wrong))
            if programs:
                flags = ("-O0", *SANITIZERS) if sanitized else ("-O1",)
                library = compile_programs([program.name for program in programs], Path(folder), *flags)
                ran = run_programs(programs, library, 2, sanitized, reference="nothing")
                wrong += [f"{entry.name}: {entry.trouble}" for entry in ran if entry.trouble]
    finally:
        check.check_source = checked
    return became, wrong


def _programs(
    models: Sequence[tuple[str, bytes]], folder: Path, became: Counter[str], wrong: list[str]
) -> Iterator[Program]:
    for name, model in models:
        try:
            made = built_or_refused(model, name)
        except Exception as error:
            became["another exception"] += 1
            wrong.append(f"{name}: {type(error).__name__}: {error}")
            continue
        if isinstance(made, str):
            became[made] += 1
            continue
        became["built"] += 1
        # What takes long or much is not run.
        if made.arena + made.state < 1_000_000:
            yield write(made, name, model, folder)
