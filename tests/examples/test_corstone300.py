"""examples/corstone300: the self-check on a machine with the memories of the target, emulated."""

import csv
import shutil
from pathlib import Path

import pytest

from tests.examples.building import CPU, MACHINE, ROOT, Sample, tool
from tests.planner.exports.toolchains import symbols

FILES = ("net.h", "net.c", "net.ld", "net.check.c", "plan.csv")


@pytest.fixture
def board(tmp_path: Path) -> Sample:
    """A copy of the example, with its problem planned."""
    for name in ("arm-none-eabi-gcc", "qemu-system-arm"):
        tool(name)
    shutil.copytree(ROOT / "examples" / "corstone300", tmp_path / "a board")
    sample = Sample(tmp_path / "a board")
    outputs = (word for file in FILES for word in ("--output", file))
    sample.run(
        "memstow", "solve", "net.json", "--target", "corstone300", "--quiet", "--prefix", "net", *outputs
    )
    return sample


def build(board: Sample) -> None:
    sources = ("start.c", "net.check.c", "net.c", "-T", "net.ld", "-T", "board.ld")
    strict = ("-std=c11", "-O1", "-Wall", "-Wextra", "-Werror")
    board.run("arm-none-eabi-gcc", *strict, *CPU, *sources, "-o", "check.elf")


def test_every_buffer_is_at_its_address_in_four_memories_and_none_is_overwritten(board: Sample) -> None:
    build(board)
    with (board.folder / "plan.csv").open(newline="") as text:
        places = {row["id"]: (row["pool"], int(row["address"], 16)) for row in csv.DictReader(text)}
    assert {pool for pool, _ in places.values()} == {"dtcm", "sram", "bram", "ddr"}
    at = symbols(board.folder, "check.elf", "arm-none-eabi-nm")
    assert {name: at[f"net_at_{name}"] for name in places} == {
        name: entry for name, (_, entry) in places.items()
    }
    said = board.run("qemu-system-arm", *MACHINE, "-kernel", "check.elf")
    assert "net: no live buffer is overwritten\n" in said


def test_a_buffer_that_another_overwrites_is_named_on_the_device(board: Sample) -> None:
    header = (board.folder / "net.h").read_text()
    places = {line.split()[1]: line for line in header.splitlines() if line.startswith("#define NET_AT_")}
    moved = places["NET_AT_right"].replace("NET_AT_right", "NET_AT_left")
    (board.folder / "net.h").write_text(header.replace(places["NET_AT_left"], moved))
    build(board)
    said = board.fail("qemu-system-arm", *MACHINE, "-kernel", "check.elf")
    assert "is overwritten while it lives" in said
