"""Real models with their plans in TensorFlow Lite Micro: equal outputs, and the arena that is told."""

from pathlib import Path

import pytest

import memstow
from memstow.planner.graph.changes import with_order
from memstow.planner.tflm.measure import measure_arena, measure_scratch
from memstow.planner.tflm.planned_model import written_model
from memstow.planner.tflm.runtime_model import with_scratch
from tests.campaign import gate_first
from tests.planner.tflm.running import needs_runtime, run_models

pytestmark = needs_runtime
# Head and least arena: as the model is, planned, planned in a free order.
EXPECTED = {
    "mlct__kws_ref_model": [(16_000, 24_272)] * 3,
    "mlct__vww_96_int8": [(73_728, 103_680), (55_296, 85_248), (55_296, 85_248)],
    "mww__okay_nabu": [(21_216, 53_136), (14_864, 46_784), (14_208, 46_128)],
    "mww__v2_alexa": [(3_648, 20_720), (3_200, 20_720), (2_688, 20_720)],
    "tflm__keyword_scrambled_8bit": [(672, 12_944)] * 3,
    "tflm__person_detect": [(55_296, 85_264)] * 3,
    "tflm__trained_lstm_int8": [(1_536, 4_208)] * 3,
}

# One whose head shrinks by planning, and the smallest one; the others take the same path.
IN_GATE = ("mlct__vww_96_int8", "tflm__trained_lstm_int8")

# Whatever the noise, these say that no word was spoken.
SURE = ("mww__v2_alexa", "tflm__keyword_scrambled_8bit")


@pytest.mark.parametrize("name", gate_first(sorted(EXPECTED, key=lambda name: name not in IN_GATE), 2))
def test_outputs_are_equal_and_the_arena_is_as_told(shared_data: Path, tmp_path: Path, name: str) -> None:
    data = (shared_data / "tflite" / f"{name}.tflite").read_bytes()
    scratch = measure_scratch(data)
    models = [data]
    listed = with_scratch(memstow.read_graph(data), data, scratch)
    for graph in (listed, with_order(listed, "free")):
        plan = memstow.plan(graph, memstow.Options(deterministic=True))
        assert plan.status is memstow.Status.OPTIMAL
        made = written_model(data, plan, scratch)
        models.append(made.model)
    ran = run_models(models, tmp_path)
    assert ran[0].outputs == ran[1].outputs == ran[2].outputs
    assert name in SURE or len(set(ran[0].outputs)) > 1
    assert ran[1].tail <= ran[0].tail
    result = [(arena.head, arena.least) for arena in map(measure_arena, models)]
    assert result == EXPECTED[name]
