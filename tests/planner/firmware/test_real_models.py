"""Programs of real models: the runtime's outputs, at each point of the front."""

from pathlib import Path
from typing import Final

import pytest

from tests.campaign import gate_first
from tests.planner.firmware.campaign import try_models
from tests.planner.firmware.random_models import Made
from tests.planner.firmware.running import needs_compiler, needs_runtime

pytestmark = [needs_compiler, needs_runtime]
MODELS: Final = (
    "tflm__trained_lstm_int8",
    "tflm__keyword_scrambled_8bit",
    "mww__v2_alexa",
    "mww__okay_nabu",
    "mlct__kws_ref_model",
    "tflm__person_detect",
    "mlct__vww_96_int8",
)
_RUNS: Final = 20


@pytest.mark.parametrize("model", gate_first(MODELS, 3))
def test_outputs_are_those_of_the_runtime_at_each_point(
    shared_data: Path, tmp_path: Path, model: str
) -> None:
    data = (shared_data / "tflite" / f"{model}.tflite").read_bytes()
    made = Made(f"real_{MODELS.index(model)}", data, data)
    tally = try_models([made], tmp_path, "-O2", runs=_RUNS)
    assert tally.same
    assert not tally.wrong
    assert not tally.refused
    assert not tally.not_run
