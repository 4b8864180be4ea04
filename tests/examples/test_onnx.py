"""examples/onnx: C that emx-onnx-cgen made, with its temporaries in our arena, computes the same."""

import json
import shutil
import subprocess
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest

from tests.campaign import gate_first
from tests.examples.building import CPU, MACHINE, ROOT, Sample, tool
from tests.onnx_models import MODELS, onnx
from tests.planner.exports.toolchains import symbols

np = pytest.importorskip("numpy", reason="numpy is not installed")
pytest.importorskip("onnx.reference", reason="the [onnx] extra is not installed")
_ALONE = ("-std=c11", "-O2", "-Wall", "-Wextra", "-Werror", "-fno-strict-aliasing")
_MAIN = """
#include <stdio.h>
#include <string.h>
#include "net.h"
static unsigned char data[sizeof(float{x})];
void model(const float x{x}, float y{y});
int main(void) {{
  if (fread(data, 1, sizeof data, stdin) != sizeof data) return 1;
  for (int run = 0; run < 2; run++) {{
    memcpy(NET_AT_x, data, sizeof data);
    model(NET_AT_x, NET_AT_y);
    fwrite(NET_AT_y, 1, sizeof(float{y}), stdout);
  }}
  return 0;
}}
"""


@pytest.fixture
def onnx_sample(tmp_path: Path) -> Sample:
    """A copy of the example."""
    shutil.copytree(ROOT / "examples" / "onnx", tmp_path / "an example")
    return Sample(tmp_path / "an example")


def build(sample: Sample, model: bytes, *more: str, batch: int = 2) -> None:
    """Plan a model, and write its C."""
    (sample.folder / "net.onnx").write_bytes(model)
    made = ("--output", "net.h", "--output", "net.c", "--prefix", "net", "--quiet")
    sample.run("memstow", "solve", "net.onnx", "--dim", f"N={batch}", *made, *more)
    compiled = ("--input-dim", f"N={batch}", "--large-temp-threshold", "0", "--no-restrict-arrays")
    sample.run("emx-onnx-cgen", "compile", "net.onnx", "model.c", "--model-name", "model", *compiled)


def place(sample: Sample) -> str:
    return sample.run("python", "place_temporaries.py", "model.c", "net.h")


def shape_of(described: Any) -> list[int]:
    return [dimension.dim_value or 2 for dimension in described.type.tensor_type.shape.dim]


@cache
def data_for(count: int) -> bytes:
    rng = np.random.default_rng(5)
    data: bytes = rng.uniform(-1, 1, count).astype(np.float32).tobytes()
    return data


@pytest.mark.campaign
@pytest.mark.skipif(find_spec("emx_onnx_cgen") is None, reason="emx-onnx-cgen is not installed")
@pytest.mark.parametrize("name", gate_first(MODELS, 2))
def test_the_output_is_the_same_with_temporaries_in_the_arena(onnx_sample: Sample, name: str) -> None:
    model = onnx.load_from_string(MODELS[name]())
    build(onnx_sample, MODELS[name]())
    code = place(onnx_sample)
    assert code.count("= NET_AT_") == code.count("const tmp") == len(model.graph.node) - 1
    (onnx_sample.folder / "placed.c").write_text(code)
    shapes = {name: shape_of(getattr(model.graph, name)[0]) for name in ("input", "output")}
    x, y = ("".join(f"[{extent}]" for extent in shape) for shape in shapes.values())
    (onnx_sample.folder / "main.c").write_text(_MAIN.format(x=x, y=y))
    given = data_for(int(np.prod(shapes["input"])))
    said = {}
    for code in ("model", "placed"):
        onnx_sample.run("cc", *_ALONE, "main.c", f"{code}.c", "net.c", "-lm", "-o", code)
        ran = subprocess.run([onnx_sample.folder / code], input=given, capture_output=True, check=True)
        said[code] = ran.stdout
    assert said["placed"] == said["model"]
    once = np.frombuffer(said["placed"], np.float32).reshape(2, *shapes["output"])
    assert (once[0] == once[1]).all()
    inputs = {"x": np.frombuffer(given, np.float32).reshape(shapes["input"])}
    (expected,) = onnx.reference.ReferenceEvaluator(model).run(None, inputs)
    np.testing.assert_allclose(once[0], expected, rtol=1e-4, atol=1e-5)


@pytest.mark.campaign
@pytest.mark.skipif(find_spec("emx_onnx_cgen") is None, reason="emx-onnx-cgen is not installed")
def test_the_example_answers_the_same_on_a_device_with_its_arena_in_a_section_there(
    onnx_sample: Sample,
) -> None:
    for name in ("arm-none-eabi-gcc", "qemu-system-arm"):
        tool(name)
    onnx_sample.run("python", "make_model.py", "net.onnx")
    build(onnx_sample, (onnx_sample.folder / "net.onnx").read_bytes(), batch=1)
    onnx_sample.run("cc", *_ALONE, "main.c", "model.c", "net.c", "-lm", "-o", "stock")
    expected = onnx_sample.run("./stock")
    assert len(set(expected.splitlines())) == 4
    there = ("--target", "corstone300", "--section", "dtcm=.dtcm_bss", "--output", "net.ld")
    build(onnx_sample, (onnx_sample.folder / "net.onnx").read_bytes(), *there, batch=1)
    (onnx_sample.folder / "placed.c").write_text(place(onnx_sample))
    dtcm = "SECTIONS { .dtcm_bss 0x20000000 (NOLOAD) : { *(.dtcm_bss) } } INSERT BEFORE .bss;"
    (onnx_sample.folder / "dtcm.ld").write_text(dtcm)
    board = ROOT / "examples" / "corstone300"
    scripts = ("-T", "net.ld", "-T", "dtcm.ld", "-T", str(board / "board.ld"))
    sources = (str(board / "start.c"), "main.c", "placed.c", "net.c")
    onnx_sample.run("arm-none-eabi-gcc", *_ALONE, *CPU, *sources, "-I", ".", *scripts, "-lm", "-o", "net.elf")
    at = symbols(onnx_sample.folder, "net.elf", "arm-none-eabi-nm")
    assert at["net_arena_dtcm"] == 0x20000000
    assert onnx_sample.run("qemu-system-arm", *MACHINE, "-kernel", "net.elf") == expected


HEADER = """
/* Buffer "x" in "memory". */
#define NET_OFFSET_x 0u
#define NET_SIZE_x 16u
#define NET_AT_x ((void *)(net_arena_memory + 0u))

/* Buffer "a/b" in "memory". */
#define NET_OFFSET_a_b 16u
#define NET_SIZE_a_b 16u
#define NET_AT_a_b ((void *)(net_arena_memory + 16u))

/* Buffer "c" in "memory". */
#define NET_OFFSET_c 32u
#define NET_SIZE_c 16u
#define NET_AT_c ((void *)(net_arena_memory + 32u))

/* Buffer "y" in "memory". */
#define NET_OFFSET_y 16u
#define NET_SIZE_y 16u
#define NET_AT_y ((void *)(net_arena_memory + 16u))
"""
CODE = """
void model(const float x[4], float y[4]) {
    float tmp0_a_b[4];
    float tmp1_c[4];
    float tmp2_other[2][2];
    node0(x, tmp0_a_b);
    node1(tmp0_a_b, tmp1_c);
    node2(tmp1_c, tmp2_other);
    node3(tmp2_other, y);
}
"""


def placed(sample: Sample, header: str = HEADER, code: str = CODE) -> str:
    (sample.folder / "net.h").write_text(header)
    (sample.folder / "model.c").write_text(code)
    return place(sample)


def refusal(sample: Sample, header: str, code: str = CODE) -> str:
    (sample.folder / "net.h").write_text(header)
    (sample.folder / "model.c").write_text(code)
    return sample.fail("python", "place_temporaries.py", "model.c", "net.h")


def test_a_temporary_that_the_plan_does_not_know_stays(onnx_sample: Sample) -> None:
    code = placed(onnx_sample)
    assert "float (*const tmp0_a_b) = NET_AT_a_b;" in code
    assert "float tmp2_other[2][2];" in code
    assert '_Static_assert(sizeof(float[4]) <= 16u, "tmp1_c fits");' in code


def test_a_pool_at_an_address_has_its_temporaries_by_pointer_too(onnx_sample: Sample) -> None:
    pools = [{"id": "tcm", "capacity": 65536, "base": 0x20000000}]
    (onnx_sample.folder / "board.json").write_text(json.dumps({"version": 1, "pools": pools}))
    (onnx_sample.folder / "net.onnx").write_bytes(MODELS["convolutions"]())
    onnx_sample.run(
        *("memstow", "solve", "net.onnx", "--dim", "N=1", "--target", "board.json", "--prefix", "net"),
        *("--output", "net.h", "--quiet"),
    )
    header = (onnx_sample.folder / "net.h").read_text()
    assert "#define NET_ADDRESS_a " in header
    code = CODE.replace("tmp0_a_b", "tmp0_a").replace("tmp1_c[4]", "tmp1_b[4]").replace("tmp1_c", "tmp1_b")
    assert "float (*const tmp0_a) = NET_AT_a;" in placed(onnx_sample, header, code)


def test_what_would_be_overwritten_is_refused(onnx_sample: Sample) -> None:
    for before, after in (("OFFSET_c 32u", "OFFSET_c 20u"), ("OFFSET_a_b 16u", "OFFSET_a_b 4u")):
        assert "are in use at the same time" in refusal(onnx_sample, HEADER.replace(before, after))
    # The calls say when, not the header.
    late = CODE.replace("node3(tmp2_other, y)", "node3(tmp0_a_b, y)")
    assert "tmp0_a_b" in refusal(onnx_sample, HEADER, late)


def test_names_that_are_one_in_c_are_refused(onnx_sample: Sample) -> None:
    assert "two buffers are called a_b" in refusal(onnx_sample, HEADER.replace('"c"', '"a.b"'))
