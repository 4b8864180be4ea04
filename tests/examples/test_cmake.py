"""The sample firmware, built by CMake: planned when its problem has changed, and only then."""

import re

import pytest

from tests.examples.building import Sample, tool

PLANNED = "Planning the memory of net"
FILES = ("net.h", "net.c", "net.check.c", "net.ld")


@pytest.fixture(params=["Ninja", "Unix Makefiles"])
def build(request: pytest.FixtureRequest, sample: Sample) -> Sample:
    """The sample after a first build."""
    tool("ninja" if request.param == "Ninja" else "make")
    configure(sample, "-G", request.param)
    assert PLANNED in make(sample)
    return sample


def configure(sample: Sample, *more: str) -> str:
    """Run CMake."""
    folder = sample.run("memstow", "cmake-dir").strip()
    return sample.run("cmake", "-S", ".", "-B", "build", f"-Dmemstow_DIR={folder}", "-Werror=dev", *more)


def make(sample: Sample) -> str:
    """Build, and return what was done."""
    return sample.run("cmake", "--build", "build")


def check(sample: Sample) -> None:
    """Run the tests of the sample: the firmware, and its self-check."""
    said = sample.run("ctest", "--test-dir", "build", "--output-on-failure")
    assert re.search(r"100% tests passed.* out of 2", said)


def test_the_sample_is_planned_built_and_right_and_so_it_is_when_its_problem_has_changed(
    build: Sample,
) -> None:
    check(build)
    said = build.run("build/firmware")
    assert said == "51 peaks in 1024 + 1024 bytes instead of 4352\n"
    addresses = re.findall(r"(0x\w+)\s+net_at_(\w+) =", (build.folder / "build/firmware.map").read_text())
    assert {name for _, name in addresses} == {"signal", "smooth", "slope", "rising", "peaks"}

    lock, before = (build.folder / "net.json.lock").read_bytes(), build.times("main.c.o")
    build.change()
    assert PLANNED in make(build)
    after = build.times("main.c.o")
    assert after.keys() == before.keys()
    assert all(after[name] > before[name] for name in before)
    assert (build.folder / "net.json.lock").read_bytes() != lock
    check(build)
    objects = build.times("*.o")
    make(build)
    assert PLANNED not in make(build)
    assert build.times("*.o") == objects


@pytest.mark.campaign
def test_nothing_is_compiled_where_nothing_has_changed_but_times(build: Sample) -> None:
    lock, before = (build.folder / "net.json.lock").read_bytes(), build.times(*FILES, "*.o")
    assert PLANNED not in make(build)
    for file in ("net.json", "net.json.lock"):
        build.touch(file)
        assert PLANNED in make(build)
        assert PLANNED not in make(build)
    assert build.times(*FILES, "*.o") == before
    assert (build.folder / "net.json.lock").read_bytes() == lock


def test_a_locked_build_takes_the_lock_or_says_how_to_make_it_hold(sample: Sample) -> None:
    configure(sample, "-DMEMSTOW_LOCKED=ON")
    make(sample)
    sample.change()
    lock = (sample.folder / "net.json.lock").read_bytes()
    said = sample.fail("cmake", "--build", "build")
    assert "the lock is for another problem, or the problem has changed; run: memstow solve" in said
    assert (sample.folder / "net.json.lock").read_bytes() == lock
    sample.run("memstow", "solve", "net.json", "--lock", "net.json.lock")
    make(sample)
    check(sample)


@pytest.mark.campaign
def test_the_lock_is_made_by_the_first_build(sample: Sample) -> None:
    lock = sample.folder / "net.json.lock"
    kept = lock.read_bytes()
    lock.unlink()
    configure(sample)
    make(sample)
    assert lock.read_bytes() == kept


@pytest.mark.campaign
def test_cxx_alone_is_enough(sample: Sample) -> None:
    sample.change("CMakeLists.txt", "LANGUAGES C)", "LANGUAGES CXX)")
    sample.change("CMakeLists.txt", "main.c)", "main.cpp)")
    (sample.folder / "main.cpp").write_text(
        '#include "net.h"\nint main() { return NET_AT_peaks == nullptr; }\n'
    )
    configure(sample)
    make(sample)
    check(sample)


def test_files_in_the_arguments_are_named_from_the_folder_of_the_project(sample: Sample) -> None:
    board = sample.folder / "board.json"
    board.write_text(
        '{"version": 1, "pools": [{"id": "ram", "capacity": 65536}, {"id": "tcm", "capacity": 2048}]}'
    )
    more = "LINKER_SCRIPT ARGUMENTS --target board.json DEPENDS board.json)"
    sample.change("CMakeLists.txt", "LINKER_SCRIPT)", more)
    configure(sample)
    assert PLANNED in make(sample)
    (header,) = sample.folder.rglob("net.h")
    assert "NET_POOL_CAPACITY_ram 65536u" in header.read_text()
    sample.change("board.json", "65536", "32768")
    assert PLANNED in make(sample)
    assert "NET_POOL_CAPACITY_ram 32768u" in header.read_text()


@pytest.mark.parametrize(
    ("before", "after", "said"),
    [
        ("PREFIX net ", "PREFX net ", "memstow_plan: not understood: PREFX"),
        ("memstow_plan(firmware", "memstow_plan(firmwear", "memstow_plan: there is no target firmwear"),
        (
            "add_test(",
            "memstow_plan(firmware net.json PREFIX net)\nadd_test(",
            "memstow_plan: firmware has a plan with the PREFIX net; give each its own",
        ),
        ("find_package(memstow", "find_package(memstow 99", "99"),
    ],
)
def test_mistakes_are_told_when_cmake_runs(sample: Sample, before: str, after: str, said: str) -> None:
    sample.change("CMakeLists.txt", before, after)
    folder = sample.run("memstow", "cmake-dir").strip()
    assert said in sample.fail("cmake", "-S", ".", "-B", "build", f"-Dmemstow_DIR={folder}")


def test_the_version_of_the_package_is_that_of_memstow(sample: Sample) -> None:
    version = sample.run("memstow", "version").split()[-1]
    sample.change("CMakeLists.txt", "find_package(memstow", f"find_package(memstow {version} EXACT")
    sample.change("CMakeLists.txt", "REQUIRED)", 'REQUIRED)\nmessage(STATUS "is ${memstow_VERSION}")')
    assert f"is {version}" in configure(sample)


def test_a_missing_program_is_told(sample: Sample) -> None:
    folder = sample.run("memstow", "cmake-dir").strip()
    command = ("cmake", "-S", ".", "-B", "build", f"-Dmemstow_DIR={folder}")
    assert "the program memstow was not found" in sample.fail(*command, path="/usr/bin:/bin")
