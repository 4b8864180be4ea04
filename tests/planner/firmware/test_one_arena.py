"""Several programs that take turns in one arena: as many bytes as the largest, and what they say alone."""

import ctypes
from pathlib import Path
from random import Random

import pytest

import memstow
from tests.planner.firmware.random_models import model_of
from tests.planner.firmware.running import COMPILER, compile_programs

pytestmark = pytest.mark.skipif(COMPILER is None, reason="needs gcc or clang")

RUNS = 12


@pytest.mark.campaign
def test_models_with_variables_take_turns_in_one_arena(tmp_path: Path) -> None:
    models = {"ears": model_of("svdf", "int8", 3).model, "eyes": model_of("network", "int8", 5).model}
    built = {name: memstow.build(data, name=name, with_check=False) for name, data in models.items()}
    assert built["ears"].state > 0
    folders = {name: tmp_path / name for name in ("alone", "together")}
    for folder in folders.values():
        folder.mkdir()
        for name, program in built.items():
            for file in (f"{name}.h", f"{name}.c"):
                (folder / file).write_bytes(program.files[file])
    flags = [f"-D{name.upper()}_ARENA_0_BY_CALLER" for name in built]
    alone = ctypes.CDLL(str(compile_programs(list(built), folders["alone"])))
    together = ctypes.CDLL(str(compile_programs(list(built), folders["together"], *flags)))
    arena = max(program.arena for program in built.values())
    assert arena < sum(program.arena for program in built.values())
    memory = ctypes.create_string_buffer(arena + 64)
    begin = ctypes.c_void_p(-(-ctypes.addressof(memory) // 64) * 64)
    for name in built:
        assert getattr(together, f"{name}_set_arena")(0, begin) == 0
    rng = Random(7)
    for _ in range(RUNS):
        name = rng.choice(list(built))
        graph = built[name].graph
        sizes = {tensor.id: tensor.size for tensor in built[name].loops.tensors}
        inputs = [rng.randbytes(sizes[tensor]) for tensor in graph.inputs]
        outputs = []
        for library in (alone, together):
            made = [ctypes.create_string_buffer(sizes[tensor]) for tensor in graph.outputs]
            run = getattr(library, f"{name}_run")
            takes = (ctypes.c_char_p * len(inputs))(*inputs)
            gives = (ctypes.c_void_p * len(made))(*(ctypes.addressof(entry) for entry in made))
            assert run(takes, gives) == 0
            outputs.append([entry.raw for entry in made])
        assert outputs[0] == outputs[1]
