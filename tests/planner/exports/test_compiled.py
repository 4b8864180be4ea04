"""What is written compiles without a warning wherever it should, links, and lies where the plan says."""

import re
from pathlib import Path

import pytest

from memstow.planner.model.plan import Plan
from memstow.planner.model.problem import Problem
from tests.planner.exports.sample import files, plan_of, sample
from tests.planner.exports.toolchains import (
    ALL,
    HOST,
    STRICT,
    Compiler,
    attempt,
    found,
    link,
    run,
    symbols,
    write_all,
)

# Low, so that a program of the host may have it, and far from where the rest of the program is.
BASE = 0x20000000
# A board of the machine that QEMU calls mps2: a vector table, code, data, and two memories.
BOARD = """
MEMORY
{
  FLASH (rx) : ORIGIN = 0x00000000, LENGTH = 4M
  TCM (rw) : ORIGIN = 0x20000000, LENGTH = 32K
  RAM (rwx) : ORIGIN = 0x21000000, LENGTH = 4M
}
ENTRY(main)
SECTIONS
{
  .text : { *(.text .text.*) *(.rodata .rodata.*) } > FLASH
  .data : { *(.data .data.*) } > RAM AT > FLASH
  .bss (NOLOAD) : { *(.bss .bss.*) *(COMMON) } > RAM
  end_of_bss = .;
}
"""


@pytest.fixture(scope="module")
def problem() -> Problem:
    return sample(BASE)


@pytest.fixture(scope="module")
def plan(problem: Problem) -> Plan:
    return plan_of(problem)


@pytest.fixture
def folder(problem: Problem, plan: Plan, tmp_path: Path) -> Path:
    write_all(tmp_path, files(problem, plan))
    return tmp_path


def addresses(header: str, plan: Plan) -> list[tuple[str, int]]:
    """The names of the buffers and their offsets, in the order of the problem."""
    offsets = re.findall(r"#define NET_OFFSET_(\w+) (\d+)u", header)
    assert [int(offset) for _, offset in offsets] == [place.offset for place in plan.placements]
    return [(name, int(offset)) for name, offset in offsets]


def check_places(found_at: dict[str, int], header: str, problem: Problem, plan: Plan) -> None:
    """Every symbol of a buffer has the address that the plan gives it."""
    (low, high) = (found_at[f"net_arena_tcm{end}"] for end in ("", "_2"))
    assert (low, high) == (BASE + 1024, BASE + 3072)
    start = {"tcm": BASE, "ddr": found_at["net_arena_ddr"]}
    assert start["ddr"] % 32 == 0
    for (name, offset), place, buffer in zip(
        addresses(header, plan), plan.placements, problem.buffers, strict=True
    ):
        assert found_at[f"net_at_{name.lower()}"] == start[place.pool] + offset
        assert found_at[f"net_at_{name.lower()}"] % buffer.alignment == 0


@pytest.mark.parametrize("compiler", ALL, ids=str)
def test_it_compiles_without_a_warning(folder: Path, compiler: Compiler) -> None:
    (folder / "use.c").write_text('#include "net.h"\n#include "net.h"\nvoid *use = NET_AT_low;\n')
    for source in ("net.c", "net.check.c", "use.c"):
        compiler.compile(folder, source)


@pytest.mark.parametrize(
    ("linker", "optimised"),
    [
        ("bfd", ()),
        ("lld", ()),
        ("bfd", ("-O2", "-flto", "-fdata-sections", "-Wl,--gc-sections")),
    ],
)
def test_a_program_has_every_buffer_where_the_plan_says_and_passes_its_check(
    folder: Path, problem: Problem, plan: Plan, linker: str, optimised: tuple[str, ...]
) -> None:
    if linker == "lld":
        found("ld.lld")
    objects = [HOST.compile(folder, source, "-fno-pie", *optimised) for source in ("net.c", "net.check.c")]
    options = ("-no-pie", f"-fuse-ld={linker}", "-Wl,-T,net.ld", "-Wl,-Map,net.map", *optimised)
    link(folder, "program", objects, *options)
    check_places(symbols(folder, "program"), (folder / "net.h").read_text(), problem, plan)
    assert run(folder, str(folder / "program")) == "net: no live buffer is overwritten\n"
    in_map = re.search(r"\s(0x0*20000400|0*20000400)\s", (folder / "net.map").read_text())
    assert in_map is not None


def test_the_arenas_take_no_space_in_the_file(folder: Path) -> None:
    objects = [HOST.compile(folder, source, "-fno-pie") for source in ("net.c", "net.check.c")]
    link(folder, "program", objects, "-no-pie", "-Wl,-T,net.ld")
    sections = run(folder, found("readelf"), "-SW", "program")
    kinds = dict(re.findall(r"\] (\S+)\s+(PROGBITS|NOBITS)", sections))
    assert (kinds[".memstow.net.tcm"], kinds[".memstow.net.tcm_2"], kinds[".bss"]) == ("NOBITS",) * 3


def test_a_program_without_the_fragment_is_told_by_the_check_that_its_arenas_are_elsewhere(
    folder: Path,
) -> None:
    objects = [HOST.compile(folder, source) for source in ("net.c", "net.check.c")]
    link(folder, "program", objects)
    ran = attempt(folder, str(folder / "program"))
    assert ran.returncode == 1
    assert "net: low is overwritten while it lives, or at a wrong address" in ran.stdout
    objects = [HOST.compile(folder, source, "-DNET_CHECK_ANY_ADDRESS") for source in ("net.c", "net.check.c")]
    link(folder, "program", objects)
    run(folder, str(folder / "program"))


def test_the_linker_refuses_an_arena_that_is_not_where_it_must_be(
    problem: Problem, plan: Plan, tmp_path: Path
) -> None:
    """With a section of the program's own, the program's linker script says where it is: wrong, here."""
    write_all(tmp_path, files(problem, plan, sections={"tcm": ".tcm_bss"}))
    assert '__attribute__((section(".tcm_bss")))' in (tmp_path / "net.h").read_text()
    objects = [HOST.compile(tmp_path, source) for source in ("net.c", "net.check.c")]
    command = (found("gcc"), *objects, "-no-pie", "-Wl,-T,net.ld", "-o", "program")
    ran = attempt(tmp_path, *command)
    assert ran.returncode != 0
    assert "memstow: net_arena_tcm is not at 0x20000400" in ran.stderr


@pytest.mark.parametrize("linker", ["bfd", "lld"])
def test_firmware_for_arm_has_every_buffer_where_the_plan_says(
    folder: Path, problem: Problem, plan: Plan, linker: str
) -> None:
    gcc = found("arm-none-eabi-gcc")
    (folder / "board.ld").write_text(BOARD)
    (folder / "main.c").write_text('#include "net.h"\nint main(void) { return *(char *)NET_AT_in; }\n')
    cpu = ("-mcpu=cortex-m7", "-mthumb", "-ffreestanding")
    for source in ("main.c", "net.c", "net.check.c"):
        run(
            folder,
            gcc,
            "-std=c11",
            *STRICT,
            *cpu,
            "-DNET_CHECK_WITHOUT_MAIN",
            "-c",
            source,
            "-o",
            f"{source}.o",
        )
    command = ("arm-none-eabi-ld",) if linker == "bfd" else ("ld.lld",)
    objects = ("main.c.o", "net.c.o", "net.check.c.o")
    # GNU ld reads what is inserted first, LLD last; each refuses the other order.
    order = ("net.ld", "board.ld") if linker == "bfd" else ("board.ld", "net.ld")
    scripts = (*(word for script in order for word in ("-T", script)), "--gc-sections", "-Map", "net.map")
    libraries = run(folder, gcc, *cpu, "-print-libgcc-file-name").strip()
    run(folder, found(command[0]), *objects, *scripts, libraries, "-o", "firmware.elf")
    at = symbols(folder, "firmware.elf", "arm-none-eabi-nm")
    check_places(at, (folder / "net.h").read_text(), problem, plan)
    assert 0x21000000 < at["end_of_bss"] < 0x21400000


@pytest.mark.parametrize("edition", ["2021", "2024"])
def test_rust_compiles_without_a_warning_and_agrees_with_the_header(folder: Path, edition: str) -> None:
    header = (folder / "net.h").read_text()
    constants = re.findall(r"#define NET_((?:OFFSET|SIZE|ADDRESS|POOL_SIZE|POOL_BASE)_\w+) (\d+)u", header)
    assert len(constants) > 50
    checks = "".join(f"    assert_eq!(net_memory::{name.upper()}, {value});\n" for name, value in constants)
    start = "net_memory::ARENA_DDR.start()"
    inside = f"    assert_eq!(net_memory::at_in() as usize, {start} + net_memory::OFFSET_IN);\n"
    aligned = "    assert_eq!(net_memory::at_low() as usize, net_memory::ADDRESS_LOW);\n"
    (folder / "main.rs").write_text(f'include!("net.rs");\nfn main() {{\n{checks}{inside}{aligned}}}\n')
    options = ("-C", "relocation-model=static", "-C", "link-arg=-no-pie", "-C", "link-arg=-Wl,-T,net.ld")
    run(folder, found("rustc"), "--edition", edition, "-D", "warnings", *options, "main.rs", "-o", "program")
    run(folder, str(folder / "program"))
    at = symbols(folder, "program")
    assert at["net_arena_tcm"] == BASE + 1024
