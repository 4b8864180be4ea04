"""What links libmemstow: the examples of docs/c-library.md, its symbols, and what its builds install."""

import os
import re
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path
from typing import Final

import pytest

import memstow
from memstow.planner.library import library_path
from tests.waiting import PATIENCE

ROOT: Final = Path(__file__).parents[3]
NATIVE: Final = ROOT / "planner" / "library" / "native"
PAGE: Final = ROOT / "docs" / "c-library.md"
STRICT: Final = ("-Wall", "-Wextra", "-Wpedantic", "-Wconversion", "-Werror", f"-I{NATIVE}")
COMPILERS: Final = {"c": ("gcc", "-std=c11"), "cpp": ("g++", "-std=c++20")}


def needs(program: str) -> str:
    path = shutil.which(program)
    if path is None:
        pytest.skip(f"needs {program}")
    return path


def run(*words: str | Path, cwd: Path | None = None, patience: float | None = PATIENCE * 4) -> str:
    """What a program prints; fails with what was wrong."""
    ran = subprocess.run(words, cwd=cwd, capture_output=True, text=True, timeout=patience, check=False)
    assert ran.returncode == 0, ran.stdout + ran.stderr
    return ran.stdout


def examples() -> list[tuple[str, str, str]]:
    """The programs of the page: language, source, output."""
    text = PAGE.read_text(encoding="utf-8")
    return re.findall(r"```(c|cpp)\n(.*?)```\n\n```text\n(.*?)```", text, re.DOTALL)


@pytest.mark.parametrize("language", ["c", "cpp"])
def test_the_programs_of_the_page_print_what_the_page_says(language: str, tmp_path: Path) -> None:
    programs = [(source, output) for kind, source, output in examples() if kind == language]
    assert programs
    command, standard = COMPILERS[language]
    compiler, library = needs(command), library_path()
    for source, output in programs:
        (tmp_path / f"program.{language}").write_text(source, encoding="utf-8")
        run(
            compiler, standard, *STRICT, f"program.{language}", str(library), f"-Wl,-rpath,{library.parent}",
            "-o", "program", cwd=tmp_path,
        )  # fmt: skip
        assert run(tmp_path / "program") == output


def declared() -> set[str]:
    """The functions of the header."""
    return set(re.findall(r"\b(memstow_\w+)\(", re.sub(r"/\*.*?\*/", "", header(), flags=re.DOTALL)))


def header() -> str:
    return (NATIVE / "memstow.h").read_text(encoding="utf-8")


# What programs that were linked before rely on: one that goes asks for another MEMSTOW_ABI_VERSION.
SYMBOLS: Final = """
memstow_abi_version
memstow_add_bank_conflict
memstow_add_banks
memstow_add_buffers
memstow_add_lifetime
memstow_add_pools
memstow_add_reuse_cost
memstow_add_term
memstow_allow_banks
memstow_allow_in_place
memstow_allow_pools
memstow_buffer_count
memstow_code_text
memstow_judge
memstow_judge_in
memstow_keep_apart
memstow_keep_within_bank
memstow_never_together
memstow_options_init
memstow_pin
memstow_plan_bound
memstow_plan_crowd
memstow_plan_crowds
memstow_plan_destroy
memstow_plan_moves
memstow_plan_offsets
memstow_plan_peak
memstow_plan_pool
memstow_plan_pool_proof
memstow_plan_pool_proof_time
memstow_plan_pools
memstow_plan_proof
memstow_plan_proof_buffers
memstow_plan_proof_pools
memstow_plan_proof_time
memstow_plan_proof_window
memstow_plan_searches
memstow_plan_solver
memstow_plan_status
memstow_plan_term
memstow_plan_terms
memstow_plan_work
memstow_pool_count
memstow_problem_create
memstow_problem_create_in
memstow_problem_destroy
memstow_problem_error
memstow_reserve
memstow_reserve_in
memstow_set_accesses
memstow_set_addresses
memstow_set_capacity
memstow_set_cost
memstow_solve
memstow_status_text
memstow_stop_create
memstow_stop_destroy
memstow_stop_pull
memstow_tie
memstow_version
"""


def test_the_library_has_the_symbols_of_its_header_and_no_others() -> None:
    listed = run(needs("nm"), "-D", "--defined-only", str(library_path())).splitlines()
    symbols = {line.split()[-1].partition("@")[0] for line in listed if " A " not in line}
    assert symbols == declared() == set(SYMBOLS.split())
    versions = (NATIVE / "symbols.map").read_text(encoding="utf-8")
    assert set(re.findall(r"memstow_\w+", versions)) == declared()


def test_the_page_describes_each_call_and_each_option() -> None:
    text = PAGE.read_text(encoding="utf-8")
    cells = re.findall(r"^\| (.+?) \|", text, re.MULTILINE)
    named = set()
    for cell in cells:
        first = ""
        for word in re.findall(r"`(\w+)`", cell):
            first = word if word.startswith("memstow_") else first
            named.add(word if not word.startswith("_") else first.rpartition("_")[0] + word)
    assert declared() <= named
    fields = re.search(r"typedef struct memstow_options \{(.*?)\}", header(), re.DOTALL)
    assert fields is not None
    members = re.findall(r"(\w+);|\(\*(\w+)\)", re.sub(r"/\*.*?\*/", "", fields[1], flags=re.DOTALL))
    assert {one or other for one, other in members} <= named


# What programs that were compiled before rely on: a change here asks for another MEMSTOW_ABI_VERSION.
LAYOUT: Final = """\
options 120
struct_size 0
time_limit 8
work_limit 16
gap 24
seed 32
workers 40
flags 44
start 48
stop 56
on_better 64
on_bound 72
context 80
message 88
message_size 96
start_pools 104
on_better_in 112
"""


def test_the_layout_of_options_stays(tmp_path: Path) -> None:
    compiler = needs("gcc")
    names = [line.split()[0] for line in LAYOUT.splitlines()[1:]]
    lines = "".join(f'  printf("{name} %zu\\n", offsetof(memstow_options, {name}));\n' for name in names)
    source = (
        '#include <stdio.h>\n#include <memstow.h>\nint main(void) {\n  printf("options %zu\\n", '
        f"sizeof(memstow_options));\n{lines}  return 0;\n}}\n"
    )
    (tmp_path / "layout.c").write_text(source, encoding="utf-8")
    run(compiler, "-std=c11", *STRICT, "layout.c", "-o", "layout", cwd=tmp_path)
    assert run(tmp_path / "layout") == LAYOUT


def test_a_run_starts_no_thread_that_nobody_asks_for(tmp_path: Path) -> None:
    if not Path("/proc/self/status").exists():
        pytest.skip("threads are counted in /proc")
    source = """
#include <memstow.h>
#include <stdio.h>
#include <string.h>
static int most;
static int better(void *context, int64_t peak, const int64_t *offsets) {
  char line[256];
  FILE *status = fopen("/proc/self/status", "r");
  (void)context, (void)peak, (void)offsets;
  while (status && fgets(line, sizeof line, status)) {
    int threads = 0;
    if (sscanf(line, "Threads: %d", &threads) == 1 && threads > most) most = threads;
  }
  if (status) fclose(status);
  return 0;
}
int main(void) {
  memstow_problem *problem;
  memstow_plan *plan;
  memstow_options options;
  int64_t seed = 7;
  memstow_options_init(&options);
  options.on_better = better;
  options.work_limit = 3000000;
  if (memstow_problem_create(&problem) != MEMSTOW_OK) return 1;
  for (int i = 0; i < 300; ++i) {
    seed = (seed * 1103515245 + 12345) % 2147483648;
    int64_t size = 1 + seed / 65536 % 97, begin = seed / 1024 % 50, end = begin + 1 + seed / 4096 % 19;
    if (memstow_add_buffers(problem, 1, &size, &begin, &end, NULL) != MEMSTOW_OK) return 1;
  }
  if (memstow_solve(problem, &options, &plan) != MEMSTOW_OK) return 1;
  printf("%d\\n", most);
  memstow_plan_destroy(plan);
  memstow_problem_destroy(problem);
  return 0;
}
"""
    (tmp_path / "threads.c").write_text(source, encoding="utf-8")
    library = library_path()
    run(
        needs("gcc"), "-std=c11", *STRICT, "threads.c", str(library), f"-Wl,-rpath,{library.parent}",
        "-o", "threads", cwd=tmp_path,
    )  # fmt: skip
    assert run(tmp_path / "threads") == "1\n"


def test_the_crate_for_rust_passes_its_own_tests(tmp_path: Path) -> None:
    cargo = needs("cargo")
    crate = tmp_path / "crate"
    shutil.copytree(NATIVE / "rust", crate)
    folder = str(library_path().parent)
    environment = {**os.environ, "LIBMEMSTOW_DIR": folder, "LD_LIBRARY_PATH": folder}
    # The crate needs no other, and nothing is fetched.
    ran = subprocess.run(
        [cargo, "test", "--offline"],
        cwd=crate, env=environment, capture_output=True, text=True, timeout=PATIENCE * 4, check=False,
    )  # fmt: skip
    assert ran.returncode == 0, ran.stdout + ran.stderr
    assert ran.stdout.count("test result: ok. ") >= 2


def test_the_crate_has_the_version_of_the_package() -> None:
    with (NATIVE / "rust" / "Cargo.toml").open("rb") as manifest:
        assert tomllib.load(manifest)["package"]["version"] == memstow.__version__


PROGRAM: Final = """
#include <memstow.h>
int main(void) { return memstow_abi_version() == MEMSTOW_ABI_VERSION ? 0 : 1; }
"""


@pytest.mark.campaign
@pytest.mark.timeout(0)  # compilers end, but on a busy machine nobody knows when
def test_make_installs_a_library_that_programs_link(tmp_path: Path) -> None:
    needs("g++")
    prefix = tmp_path / "prefix"
    make = (needs("make"), "-C", str(NATIVE), "-j2", f"BUILD={tmp_path / 'build'}", "CXXFLAGS=-O1")
    # Where it goes is said when it is installed, and not before.
    run(*make, patience=None)
    run(*make, "install", f"PREFIX={prefix}", patience=None)
    assert f"prefix={prefix}\n" in (prefix / "lib" / "pkgconfig" / "memstow.pc").read_text(encoding="utf-8")
    assert run(prefix / "bin" / "memstow-plan", "--version").startswith("memstow-plan ")
    assert (prefix / "lib" / "libmemstow.so").stat().st_size < 2_000_000
    (tmp_path / "program.c").write_text(PROGRAM, encoding="utf-8")
    flags = [f"-I{prefix / 'include'}", "program.c"]
    run(
        "gcc",
        *flags,
        f"-L{prefix / 'lib'}",
        "-lmemstow",
        f"-Wl,-rpath,{prefix / 'lib'}",
        "-o",
        "one",
        cwd=tmp_path,
    )
    run(
        "gcc",
        *flags,
        str(prefix / "lib" / "libmemstow.a"),
        "-lstdc++",
        "-lm",
        "-pthread",
        "-o",
        "two",
        cwd=tmp_path,
    )
    run(tmp_path / "one")
    run(tmp_path / "two")


@pytest.mark.campaign
@pytest.mark.timeout(0)  # compilers end, but on a busy machine nobody knows when
def test_cmake_finds_what_it_has_installed(tmp_path: Path) -> None:
    cmake = Path(sys.executable).with_name("cmake")
    if not cmake.exists():
        pytest.skip("needs cmake, as constraints.txt pins it")
    build, prefix = tmp_path / "build", tmp_path / "prefix"
    run(cmake, "-S", NATIVE, "-B", build, f"-DCMAKE_INSTALL_PREFIX={prefix}", "-DCMAKE_CXX_FLAGS_RELEASE=-O1")
    run(cmake, "--build", build, "-j2", patience=None)
    run(cmake, "--install", build)
    user = tmp_path / "user"
    user.mkdir()
    (user / "program.c").write_text(PROGRAM, encoding="utf-8")
    (user / "CMakeLists.txt").write_text(
        "cmake_minimum_required(VERSION 3.20)\nproject(user C)\nfind_package(memstow REQUIRED)\n"
        "foreach(kind shared static)\n  add_executable(${kind} program.c)\n"
        "  target_link_libraries(${kind} PRIVATE memstow::${kind})\nendforeach()\n",
        encoding="utf-8",
    )
    run(cmake, "-S", user, "-B", user / "build", f"-DCMAKE_PREFIX_PATH={prefix}")
    run(cmake, "--build", user / "build")
    run(user / "build" / "shared")
    run(user / "build" / "static")
