"""Programs of random models make the same of the same inputs as TensorFlow Lite Micro, bit for bit."""

import os
import time
from pathlib import Path

import pytest

from tests.campaign import gate_first
from tests.planner.firmware.campaign import WAYS, Tally, everything, try_models
from tests.planner.firmware.damaged import damaged, try_damaged
from tests.planner.firmware.random_models import KINDS, model_of
from tests.planner.firmware.running import needs_compiler, needs_runtime

pytestmark = needs_compiler


def check(tally: Tally, least: int) -> None:
    assert not tally.wrong, tally.wrong[:5]
    assert tally.same >= least, (tally.refused, tally.not_run)


@needs_runtime
def test_each_operator_alone(tmp_path: Path) -> None:
    models = [model_of(what, kind, seed) for what, kind in everything() for seed in range(1, 2)]
    check(try_models(models, tmp_path, "-O0"), len(models) * 8 // 10)


@needs_runtime
@pytest.mark.parametrize("way", gate_first([(True, 2), (True, None), (False, None)], 1))
def test_networks_at_points_of_their_fronts(tmp_path: Path, way: tuple[bool, int | None]) -> None:
    """Sanitized or not, at the most points of a front."""
    sanitized, most = way
    # The front of another may take a minute: the campaign has more of them.
    seeds = {"int8": 22, "int16": 20, "float32": 22, "uint8": 20}
    kinds = (*KINDS, "uint8")
    drawn = (
        [(kind, seeds[kind]) for kind in kinds]
        if sanitized
        else [(kind, i) for kind in kinds for i in (0, 1)]
    )
    models = [model_of("network", kind, seed) for kind, seed in drawn]
    others = (("bridge", 1), ("wide", 3)) if sanitized else (("hourglass", 1),)
    models += [model_of(what, "int8", seed) for what, seed in others]
    tally = try_models(models, tmp_path, "-O0" if sanitized else "-O1", sanitized=sanitized, most=most)
    check(tally, len(models) // 2)
    assert sanitized or tally.striped
    assert not sanitized or set(WAYS) == set(tally.ways)


@pytest.mark.campaign
def test_damaged_models_are_refused_or_run_without_harm() -> None:
    models = []
    for seed, (what, kind) in enumerate(everything()[::2]):
        made = model_of(what, kind, seed)
        models.append((made.name, damaged(made.model, seed)))
    became, wrong = try_damaged(models)
    assert not wrong, wrong[:3]
    assert became["built"]
    assert len(became) > 1


@needs_runtime
@pytest.mark.campaign
@pytest.mark.parametrize(
    ("what", "kind"),
    [
        *everything(),
        *((what, kind) for what in ("network", "hourglass", "bridge", "wide") for kind in (*KINDS, "uint8")),
    ],
)
def test_fuzz_programs(tmp_path: Path, what: str, kind: str) -> None:
    """Other seeds each time it has more of it: MEMSTOW_FUZZ_SECONDS for each operator."""
    until = time.monotonic() + float(os.environ.get("MEMSTOW_FUZZ_SECONDS", "20"))
    first = same = 0
    while first == 0 or time.monotonic() < until:
        folder = tmp_path / str(first)
        folder.mkdir()
        sanitized = first % 100 == 0
        tally = try_models(
            [model_of(what, kind, seed) for seed in range(first, first + 25)],
            folder,
            "-O1",
            sanitized=sanitized,
        )
        assert not tally.wrong, tally.wrong[:5]
        first, same = first + 25, same + tally.same
    print(f"{what}/{kind}: {first} models, {same} programs")  # noqa: T201
    assert same > first // 3


@pytest.mark.campaign
def test_fuzz_damaged_models() -> None:
    until = time.monotonic() + float(os.environ.get("MEMSTOW_FUZZ_SECONDS", "60"))
    seed = 1000
    while seed == 1000 or time.monotonic() < until:
        models = []
        for what, kind in everything():
            made = model_of(what, kind, seed)
            models.append((made.name, damaged(made.model, seed)))
        _, wrong = try_damaged(models)
        assert not wrong, (seed, wrong[:3])
        seed += 1
