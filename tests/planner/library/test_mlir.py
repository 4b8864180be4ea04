"""The pass plugin for MLIR: plans that are the least, and programs that compute what they computed before."""

import fcntl
import re
import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from random import Random
from typing import Final

import pytest

from memstow.planner.library import library_path
from memstow.planner.model import Status
from tests.planner.library.c_library import Native
from tests.planner.library.compiler_cases import LLVM, TRITON, Case
from tests.planner.library.mlir_programs import random_module
from tests.waiting import PATIENCE

ROOT: Final = Path(__file__).parents[3]
PAGE: Final = ROOT / "docs" / "c-library.md"
LOWER: Final = (
    "convert-scf-to-cf,expand-strided-metadata,lower-affine,finalize-memref-to-llvm,convert-func-to-llvm,"
    "convert-arith-to-llvm,convert-index-to-llvm,convert-cf-to-llvm,reconcile-unrealized-casts"
)


@dataclass(frozen=True)
class Planned:
    """A module after the pass, and what the pass says."""

    text: str
    remarks: str

    @property
    def bytes(self) -> list[int]:
        """Of the arenas, each proven to be the least."""
        arenas = re.findall(r"bound = (\d+) : i64, bytes = (\d+) : i64.*?status = \"(\w+)\"", self.text)
        assert all(bound == size and status == "optimal" for bound, size, status in arenas)
        return [int(size) for _, size, _ in arenas]


class Mlir:
    """The tools of MLIR, and the plugin."""

    def __init__(self, tools: Path, plugin: Path) -> None:
        self.tools = tools
        self.plugin = plugin

    def _opt(self, text: str, pipeline: str) -> "subprocess.CompletedProcess[str]":
        return subprocess.run(
            [self.tools / "mlir-opt", f"--load-pass-plugin={self.plugin}", "--allow-unregistered-dialect",
             f"--pass-pipeline=builtin.module({pipeline})"],
            input=text, capture_output=True, text=True, timeout=PATIENCE, check=False,
        )  # fmt: skip

    def plan(self, text: str, options: str = "", before: str = "") -> Planned:
        """The module with planned memory."""
        ran = self._opt(text, f"{before}memstow-plan-memory{{{options}}}")
        assert ran.returncode == 0, ran.stderr
        return Planned(ran.stdout, ran.stderr)

    def fails(self, text: str, options: str) -> str:
        """What the pass says where it fails."""
        ran = self._opt(text, f"memstow-plan-memory{{{options}}}")
        assert ran.returncode != 0
        return ran.stderr

    def result(self, text: str) -> int:
        """What `@main` of the module returns, on this processor."""
        lowered = self._opt(text, LOWER)
        assert lowered.returncode == 0, lowered.stderr
        ran = subprocess.run(
            [self.tools / "mlir-cpu-runner", "-e", "main", "--entry-point-result=i64"],
            input=lowered.stdout, capture_output=True, text=True, timeout=PATIENCE, check=False,
        )  # fmt: skip
        assert ran.returncode == 0, ran.stderr
        return int(ran.stdout)


@pytest.fixture(scope="module")
def mlir() -> Mlir:
    """MLIR 19 as Debian packs it, and the plugin, built where it was built before."""
    outcome = shutil.which("mlir-opt-19") or shutil.which("mlir-opt")
    if outcome is None:
        pytest.skip("needs MLIR: libmlir-19-dev and mlir-19-tools")
    tools = Path(outcome).resolve().parent
    package = tools.parent / "lib" / "cmake" / "mlir"
    cmake = Path(sys.executable).with_name("cmake")
    if not (package.is_dir() and (tools / "mlir-cpu-runner").exists() and cmake.exists()):
        pytest.skip("needs the headers and the runner of MLIR 19, and cmake")
    build = ROOT / "build" / "mlir"
    build.mkdir(parents=True, exist_ok=True)
    with (build / "lock").open("w") as lock:
        # Tests run in several processes.
        fcntl.flock(lock, fcntl.LOCK_EX)
        for words in (
            ("-S", str(ROOT / "planner" / "library" / "mlir"), "-B", str(build), f"-DMLIR_DIR={package}",
             f"-DMEMSTOW_LIBRARY={library_path()}", "-DCMAKE_CXX_FLAGS=-Werror"),
            ("--build", str(build)),
        ):  # fmt: skip
            ran = subprocess.run([cmake, *words], capture_output=True, text=True, check=False)
            assert ran.returncode == 0, ran.stdout + ran.stderr
    return Mlir(tools, build / "libmemstow_mlir.so")


@pytest.mark.parametrize("case", [*LLVM, *TRITON], ids=lambda case: case.name)
def test_the_cases_of_compilers_need_no_more_than_these_assert(case: Case) -> None:
    native = Native()
    native.add(case.columns())
    solved = native.solve()
    assert (solved.status, solved.peak) == (Status.OPTIMAL, case.least)
    assert solved.offsets is not None
    assert native.judge(solved.offsets) == case.least <= case.asserted


def straight(case: Case) -> str:
    """A function whose allocations live as the case has them: each is written first, and read last."""
    lines = []
    steps = sorted(
        [(begin, 0, buffer) for buffer in case.buffers for begin in (buffer[2],)]
        + [(buffer[3] - 1, 1, buffer) for buffer in case.buffers],
        key=lambda step: step[:2],
    )
    for _, is_end, (name, size, _, _, alignment) in steps:
        kind = f"memref<{size}xi8>"
        if is_end:
            lines += [f"%{name}_r = memref.load %{name}[%zero] : {kind}", f"memref.dealloc %{name} : {kind}"]
        else:
            lines += [
                f"%{name} = memref.alloc() {{alignment = {alignment} : i64}} : {kind}",
                f"memref.store %value, %{name}[%zero] : {kind}",
            ]
    body = "\n".join(lines)
    return (
        "func.func @case() {\n%zero = arith.constant 0 : index\n%value = arith.constant 1 : i8\n"
        f"{body}\nreturn\n}}\n"
    )


@pytest.mark.parametrize("case", [*LLVM, *TRITON], ids=lambda case: case.name)
def test_functions_with_the_lives_of_these_cases_get_the_least_arena(mlir: Mlir, case: Case) -> None:
    planned = mlir.plan(straight(case))
    assert planned.bytes == [case.least]
    assert planned.text.count("memref.alloc(") == planned.text.count("memref.dealloc") == 1
    assert f"in an arena of {case.least}: no plan of these lifetimes needs less" in planned.remarks


STAYS: Final = """
func.func private @keep(memref<4xi32>)
func.func private @uses(memref<4xi32>)
func.func private @uses_only(memref<4xi32> {llvm.nocapture, llvm.nofree})
func.func private @releases(memref<4xi32> {llvm.nocapture})
func.func private @frees(%x: memref<4xi32>) { memref.dealloc %x : memref<4xi32> return }
func.func private @hides(%x: memref<4xi32>, %box: memref<1xmemref<4xi32>>) {
  %i0 = arith.constant 0 : index
  memref.store %x, %box[%i0] : memref<1xmemref<4xi32>>
  return
}
func.func private @again(%x: memref<4xi32>) {
  func.call @again(%x) : (memref<4xi32>) -> ()
  return
}
func.func @stays(%c: i1, %n: index, %box: memref<1xmemref<4xi32>>) -> memref<4xi32> {
  %i0 = arith.constant 0 : index
  %v = arith.constant 1 : i32
  ALLOCATION
  %unused = arith.constant 0 : i32
  %result = memref.alloc() : memref<4xi32>
  return %result : memref<4xi32>
}
"""
ALONE: Final = (
    (
        "func.call @keep(%a) : (memref<4xi32>) -> ()",
        "it is passed to @keep, which has no body here and may keep or free it",
    ),
    (
        "func.call @releases(%a) : (memref<4xi32>) -> ()",
        "it is passed to @releases, which has no body here and may keep or free it",
    ),
    ("func.call @frees(%a) : (memref<4xi32>) -> ()", "it is passed to @frees, where it is freed"),
    (
        "func.call @hides(%a, %box) : (memref<4xi32>, memref<1xmemref<4xi32>>) -> ()",
        "it is passed to @hides, where it is stored in memory",
    ),
    (
        "func.call @again(%a) : (memref<4xi32>) -> ()",
        "it is passed to @again, where it is passed to @again, which calls itself",
    ),
    ("memref.store %a, %box[%i0] : memref<1xmemref<4xi32>>", "it is stored in memory"),
    ('"other.op"(%a) : (memref<4xi32>) -> ()', "it is used by 'other.op', which may keep it"),
    (
        "%t = async.execute { memref.store %v, %a[%i0] : memref<4xi32>\n async.yield }",
        "it is used within 'async.execute', which may run later",
    ),
    ("%p = memref.extract_aligned_pointer_as_index %a : memref<4xi32> -> index",
     "it is used by 'memref.extract_aligned_pointer_as_index', which may keep it"),
    (
        "%other = memref.load %box[%i0] : memref<1xmemref<4xi32>>\n"
        "%one = arith.select %c, %a, %other : memref<4xi32>\nmemref.dealloc %one : memref<4xi32>",
        "a dealloc of it may free memory that is not planned",
    ),
)  # fmt: skip


@pytest.mark.parametrize(("use", "reason"), ALONE, ids=[reason for _, reason in ALONE])
def test_an_allocation_that_may_outlive_the_function_stays(mlir: Mlir, use: str, reason: str) -> None:
    planned = mlir.plan(STAYS.replace("ALLOCATION", f"%a = memref.alloc() : memref<4xi32>\n{use}"))
    assert f"the allocation stays: {reason}" in planned.remarks
    assert "the allocation stays: it is returned" in planned.remarks
    assert planned.text.count("memref.alloc(") == 2
    assert "memref.view" not in planned.text


OTHERS: Final = (
    ("%a = memref.alloc(%n) : memref<?xi32>", "no bound of its dynamic size 0 is known"),
    (
        "%a = memref.alloc() : memref<4x4xi32, strided<[8, 1]>>",
        "its layout is not that of consecutive elements",
    ),
    ("%a = memref.alloc() : memref<2xmemref<4xi32>>", "the size of its elements is not known"),
    ("%a = memref.alloc() : memref<4611686018427387904x2xi8>", "it has too many bytes"),
    (
        "scf.parallel (%i) = (%i0) to (%n) step (%n) {\n%a = memref.alloc() : memref<4xi32>\n"
        "memref.store %v, %a[%i0] : memref<4xi32>\n}",
        "it is within 'scf.parallel', which may run several times at once",
    ),
    (
        "%first = memref.alloc() : memref<4xi32>\n"
        "%l = scf.for %i = %i0 to %n step %n iter_args(%p = %first) -> memref<4xi32> {\n"
        "%a = memref.alloc() : memref<4xi32>\nmemref.store %v, %p[%i0] : memref<4xi32>\n"
        "scf.yield %a : memref<4xi32>\n}",
        "an iteration hands it to the next one",
    ),
)


@pytest.mark.parametrize(("lines", "reason"), OTHERS, ids=[reason for _, reason in OTHERS])
def test_what_has_no_one_place_stays(mlir: Mlir, lines: str, reason: str) -> None:
    planned = mlir.plan(STAYS.replace("ALLOCATION", lines))
    assert f"the allocation stays: {reason}" in planned.remarks


@pytest.mark.parametrize(
    ("use", "options"),
    [
        ("func.call @uses_only(%a) : (memref<4xi32>) -> ()", ""),
        ("func.call @uses(%a) : (memref<4xi32>) -> ()", "functions=uses"),
        ('"other.op"(%a) : (memref<4xi32>) -> ()', "dialects=other"),
    ],
)
def test_what_is_said_to_keep_nothing_is_believed(mlir: Mlir, use: str, options: str) -> None:
    text = STAYS.replace("ALLOCATION", f"%a = memref.alloc() : memref<4xi32>\n{use}")
    assert mlir.plan(text, options).bytes == [16]


def test_dynamic_shapes_with_a_bound_take_what_they_need_at_most(mlir: Mlir) -> None:
    planned = mlir.plan("""
func.func @bounded(%n: index, %i: index) {
  %v = arith.constant 1 : i32
  %c8 = arith.constant 8 : index
  %zero = arith.constant 0 : index
  %one = affine.min affine_map<(d0) -> (d0, 16)>(%n)
  %a = memref.alloc(%one) : memref<?xi32>
  memref.store %v, %a[%i] : memref<?xi32>
  %two = arith.minsi %n, %c8 : index
  %b = memref.alloc(%two) : memref<?x2xi64>
  %w = arith.constant 1 : i64
  memref.store %w, %b[%i, %i] : memref<?x2xi64>
  memref.store %v, %a[%i] : memref<?xi32>
  scf.for %k = %zero to %c8 step %c8 {
    %c = memref.alloc(%k) : memref<?xi8>
    %x = arith.constant 1 : i8
    memref.store %x, %c[%zero] : memref<?xi8>
  }
  return
}
""")
    assert planned.bytes == [16 * 4 + 8 * 2 * 8]
    assert planned.text.count("memref.view") == 3


ONE_BRANCH: Final = """
func.func @branches(%c: i1) -> i32 {
  %i = arith.constant 0 : index
  %v = arith.constant 1 : i32
  %m = scf.if %c -> memref<?xi32> {
    %a = memref.alloc() : memref<64xi32>
    memref.store %v, %a[%i] : memref<64xi32>
    %d = memref.cast %a : memref<64xi32> to memref<?xi32>
    scf.yield %d : memref<?xi32>
  } else {
    %b = memref.alloc() : memref<32xi32>
    memref.store %v, %b[%i] : memref<32xi32>
    %d = memref.cast %b : memref<32xi32> to memref<?xi32>
    scf.yield %d : memref<?xi32>
  }
  %r = memref.load %m[%i] : memref<?xi32>
  memref.dealloc %m : memref<?xi32>
  return %r : i32
}
"""


def test_branches_of_which_one_runs_share_bytes(mlir: Mlir) -> None:
    assert mlir.plan(ONE_BRANCH).bytes == [256]


LOOP: Final = """
func.func @loop(%n: index) -> i32 {
  %i = arith.constant 0 : index
  %one = arith.constant 1 : index
  %v = arith.constant 1 : i32
  %a = memref.alloc() : memref<64xi32>
  memref.store %v, %a[%i] : memref<64xi32>
  scf.for %k = %i to %n step %one {
    %x = memref.load %a[%i] : memref<64xi32>
    %b = memref.alloc() : memref<32xi32>
    memref.store %x, %b[%i] : memref<32xi32>
    memref.dealloc %b : memref<32xi32>
    %c = memref.alloc() : memref<16xi32>
    memref.store %x, %c[%i] : memref<16xi32>
    memref.dealloc %c : memref<16xi32>
  }
  memref.dealloc %a : memref<64xi32>
  %d = memref.alloc() : memref<90xi32>
  memref.store %v, %d[%i] : memref<90xi32>
  %r = memref.load %d[%i] : memref<90xi32>
  memref.dealloc %d : memref<90xi32>
  return %r : i32
}
"""


def test_what_a_loop_reads_from_before_it_lives_through_it(mlir: Mlir) -> None:
    # The two of the loop's body take turns beside it.
    for before in ("", "convert-scf-to-cf,"):
        assert mlir.plan(LOOP, before=before).bytes == [(64 + 32) * 4]


def test_each_memory_space_has_an_arena(mlir: Mlir) -> None:
    planned = mlir.plan("""
func.func @spaces(%i: index) {
  %v = arith.constant 1 : i32
  %a = memref.alloc() : memref<4xi32>
  %b = memref.alloc() : memref<8xi32, 1>
  memref.store %v, %a[%i] : memref<4xi32>
  memref.store %v, %b[%i] : memref<8xi32, 1>
  return
}
""")
    assert planned.bytes == [16, 32]
    assert "memref.alloc() {alignment = 4 : i64} : memref<32xi8, 1>" in planned.text


PAIR: Final = """
func.func @pair(%i: index) {
  %v = arith.constant 1 : i8
  %a = memref.alloc() : memref<40xi8>
  %b = memref.alloc() : memref<24xi8>
  memref.store %v, %a[%i] : memref<40xi8>
  memref.store %v, %b[%i] : memref<24xi8>
  memref.store %v, %a[%i] : memref<40xi8>
  return
}
"""


def test_options_of_the_memory(mlir: Mlir) -> None:
    assert mlir.plan(PAIR).bytes == [64]
    assert mlir.plan(PAIR, "alignment=16 capacity=72").bytes == [72]
    why = mlir.fails(PAIR, "capacity=63")
    assert "the allocations of @pair do not fit into the capacity of 63 bytes: they need at least 64" in why
    assert "40 bytes: live at the same time" in why
    assert "alignment must be a power of two" in mlir.fails(PAIR, "alignment=24")
    assert mlir.plan(PAIR, "remarks=false").remarks == ""
    assert mlir.plan(PAIR, "time-limit=5").bytes == mlir.plan(PAIR, "work-limit=1000").bytes == [64]


PROGRAM: Final = """
func.func private @inner(%x: memref<8xi64>) -> i64 {
  %i = arith.constant 0 : index
  %a = memref.alloc() : memref<8xi64>
  %b = memref.alloc() : memref<8xi64>
  memref.copy %x, %a : memref<8xi64> to memref<8xi64>
  memref.copy %a, %b : memref<8xi64> to memref<8xi64>
  %r = memref.load %b[%i] : memref<8xi64>
  memref.dealloc %a : memref<8xi64>
  memref.dealloc %b : memref<8xi64>
  return %r : i64
}
func.func @main() -> i64 {
  %i = arith.constant 0 : index
  %v = arith.constant 41 : i64
  %x = memref.alloc() : memref<8xi64>
  memref.store %v, %x[%i] : memref<8xi64>
  %r = func.call @inner(%x) : (memref<8xi64>) -> i64
  memref.dealloc %x : memref<8xi64>
  %y = memref.alloc() : memref<8xi64>
  memref.store %r, %y[%i] : memref<8xi64>
  %s = memref.load %y[%i] : memref<8xi64>
  memref.dealloc %y : memref<8xi64>
  return %s : i64
}
"""


def test_the_arena_is_an_allocation_a_global_or_in_that_of_the_caller(mlir: Mlir) -> None:
    allocated = mlir.plan(PROGRAM)
    assert allocated.bytes == [128, 64]
    assert allocated.text.count("memref.alloc(") == allocated.text.count("memref.dealloc") == 2
    globals_ = mlir.plan(PROGRAM, "arena=global")
    assert globals_.bytes == [128, 64]
    assert re.findall(r"memref.global \"private\" @(\w+)", globals_.text) == ["inner_arena", "main_arena"]
    assert "memref.alloc(" not in globals_.text
    nested = mlir.plan(PROGRAM, "nested=true")
    assert nested.bytes == [128, 192]
    assert nested.text.count("memref.alloc(") == 1
    for planned in (allocated, globals_, nested):
        assert mlir.result(planned.text) == 41


def with_caller(text: str) -> str:
    """A module planned with `arena=argument`, and a caller that gives `@main` its arena."""
    match = re.search(r"func.func @main\(%\w+: (memref<\d+xi8>) \{memstow.alignment = (\d+) : i64\}\)", text)
    if match is None:
        return text
    kind, alignment = match.groups()
    caller = f"""
  func.func @main() -> i64 {{
    %arena = memref.alloc() {{alignment = {alignment} : i64}} : {kind}
    %r = func.call @planned(%arena) : ({kind}) -> i64
    memref.dealloc %arena : {kind}
    return %r : i64
  }}
}}
"""
    end = text.rindex("}")
    return text[:end].replace("@main(", "@planned(") + caller


def test_the_arena_is_an_argument(mlir: Mlir) -> None:
    planned = mlir.plan(PROGRAM, "arena=argument")
    assert planned.bytes == [128, 192]
    assert "memref.alloc(" not in planned.text
    assert mlir.result(with_caller(planned.text)) == 41


def test_functions_that_may_run_twice_at_once_have_no_global_arena(mlir: Mlir) -> None:
    text = PROGRAM.replace(
        "%r = memref.load %b",
        "%never = arith.constant false\n scf.if %never { func.call @inner(%b) : (memref<8xi64>) -> i64 }\n"
        "%r = memref.load %b",
    )
    for options in ("arena=global", "nested=true"):
        planned = mlir.plan(text, options)
        assert "the arena of @inner is allocated in it: " in planned.remarks
        assert mlir.result(planned.text) == 41


def check(mlir: Mlir, seed: int) -> int:
    """A random program computes the same with planned memory; how many allocations were planned."""
    text = random_module(seed, Random(seed).randint(1, 12))
    wanted = mlir.result(text)
    count = 0
    before = Random(seed).choice(("", "convert-scf-to-cf,"))
    for options in (
        "",
        "arena=global",
        "nested=true",
        "arena=argument",
        "alignment=64 arena=global nested=true",
    ):
        planned = mlir.plan(text, options, before)
        assert mlir.result(with_caller(planned.text)) == wanted, (seed, options)
        count += len(planned.bytes)
    return count


@pytest.mark.parametrize("seed", range(3))
def test_random_programs_compute_the_same(mlir: Mlir, seed: int) -> None:
    assert check(mlir, seed) > 0


@pytest.mark.campaign
@pytest.mark.parametrize("seed", range(1000, 1150))
def test_many_random_programs_compute_the_same(mlir: Mlir, seed: int) -> None:
    check(mlir, seed)


def test_the_same_module_is_planned_alike_each_time(mlir: Mlir) -> None:
    text = random_module(7, 6)
    assert mlir.plan(text) == mlir.plan(text)


def test_the_function_of_the_page_gets_what_the_page_says(mlir: Mlir) -> None:
    source, remark = re.findall(
        r"```mlir\n(.*?)```.*?```text\n(.*?)```", PAGE.read_text(encoding="utf-8"), re.DOTALL
    )[0]
    assert remark.strip() in mlir.plan(source).remarks
