"""The interface of MiniMalloc over libmemstow."""

import shutil
import subprocess
from pathlib import Path
from typing import Final

import pytest

from memstow.planner.library import library_path
from tests.waiting import PATIENCE

NATIVE: Final = Path(__file__).parents[3] / "planner" / "library" / "native"
PACKAGES: Final = ("absl_statusor", "absl_time", "absl_strings")


def run(*words: str | Path, cwd: Path) -> str:
    """What a program prints; fails with what was wrong."""
    ran = subprocess.run(words, cwd=cwd, capture_output=True, text=True, timeout=PATIENCE * 4, check=False)
    assert ran.returncode == 0, ran.stdout[-3000:] + ran.stderr[-3000:]
    return ran.stdout


def build(folder: Path, program: str, source: Path) -> Path:
    """A program over Abseil and libmemstow; skips where Abseil is missing."""
    compiler, config = shutil.which("g++"), shutil.which("pkg-config")
    if compiler is None or config is None:
        pytest.skip("needs g++ and pkg-config")
    flags = subprocess.run(
        [config, "--cflags", "--libs", *PACKAGES], capture_output=True, text=True, check=False
    )
    if flags.returncode != 0:
        pytest.skip("needs Abseil: libabsl-dev")
    library = library_path()
    run(
        compiler, "-std=c++20", "-O0", "-Wall", "-Wextra", "-Wno-missing-field-initializers", "-Werror",
        f"-I{NATIVE}", source, library, f"-Wl,-rpath,{library.parent}", *flags.stdout.split(), "-pthread",
        "-o", program, cwd=folder,
    )  # fmt: skip
    return folder / program


PROGRAM: Final = """
#include "memstow_minimalloc.hpp"

#include <atomic>
#include <cstdio>
#include <thread>

namespace {

using minimalloc::Buffer;
using minimalloc::Problem;

void show(const char* name, const Problem& problem, const minimalloc::SolverParams& params = {}) {
  minimalloc::Solver solver(params);
  const auto solution = solver.Solve(problem);
  if (!solution.ok()) {
    std::printf("%s: %s\\n", name, absl::StatusCodeToString(solution.status().code()).c_str());
    return;
  }
  std::printf("%s: height %lld at", name, static_cast<long long>(solution->height));
  for (const auto offset : solution->offsets) std::printf(" %lld", static_cast<long long>(offset));
  std::printf("\\n");
}

// So many buffers in no more than is live at once that a search goes on and on.
Problem hard() {
  Problem problem;
  unsigned long long seed = 1;
  const auto draw = [&](int most) {
    seed = seed * 6364136223846793005ULL + 1442695040888963407ULL;
    return static_cast<int>((seed >> 33) % static_cast<unsigned long long>(most));
  };
  for (int i = 0; i < 2000; ++i) {
    const int begin = draw(1000);
    problem.buffers.push_back({.lifespan = {begin, begin + 1 + draw(300)}, .size = 1000 + draw(997)});
  }
  problem.capacity = 1;
  for (int t = 0; t < 1300; ++t) {
    minimalloc::Capacity live = 0;
    for (const Buffer& buffer : problem.buffers)
      if (buffer.lifespan.lower() <= t && t < buffer.lifespan.upper()) live += buffer.size;
    problem.capacity = std::max(problem.capacity, live);
  }
  return problem;
}

}  // namespace

int main() {
  minimalloc::SolverParams least;
  least.minimize_capacity = true;
  const Problem pair = {.buffers = {{.lifespan = {0, 2}, .size = 8},
                                    {.lifespan = {1, 3}, .size = 4, .alignment = 8},
                                    {.lifespan = {2, 3}, .size = 8}}, .capacity = 100};
  show("least", pair, least);
  Problem tight = pair;
  tight.capacity = 11;
  show("tight", tight);
  Problem wrong = pair;
  wrong.buffers[1].size = -1;
  show("wrong", wrong);
  show("nothing", {});
  show("never live", {.buffers = {{.lifespan = {3, 3}, .size = 5}}, .capacity = 5});
  show("never live, and too large", {.buffers = {{.lifespan = {3, 3}, .size = 6}}, .capacity = 5});
  // All of the first in gaps: the lower half, then the upper one.
  show("halves", {.buffers = {{.lifespan = {0, 2}, .size = 4,
                               .gaps = {{{0, 1}, {{0, 2}}}, {{1, 2}, {{2, 4}}}}},
                              {.lifespan = {0, 1}, .size = 2}, {.lifespan = {1, 2}, .size = 2, .offset = 0}},
                  .capacity = 4});
  // Two that fit into each other: what one leaves free the other one takes.
  show("hooks", {.buffers = {{.lifespan = {0, 10}, .size = 2, .gaps = {{{0, 5}, {{0, 1}}}}},
                             {.lifespan = {0, 10}, .size = 2, .gaps = {{{5, 10}, {{1, 2}}}}}},
                 .capacity = 3});
  show("a hole", {.buffers = {{.lifespan = {0, 4}, .size = 2, .gaps = {{{1, 3}, {}}}},
                              {.lifespan = {1, 3}, .size = 2}}, .capacity = 2});
  Problem kept = pair;
  kept.buffers[0].hint = 16;
  kept.buffers[1].hint = 8;
  kept.buffers[2].hint = 0;
  show("kept", kept);
  const Buffer stair = {.lifespan = {0, 15}, .size = 3, .gaps = {{{0, 5}, {{0, 1}}}, {{5, 10}, {{0, 2}}}}};
  const Buffer on_it = {.lifespan = {0, 15}, .size = 3, .gaps = {{{5, 10}, {{1, 3}}}, {{10, 15}, {{2, 3}}}}};
  const Buffer later = {.lifespan = {15, 16}, .size = 3};
  std::printf("above: %d, below: %d, apart: %d\\n", static_cast<int>(*stair.effective_size(on_it)),
              static_cast<int>(*on_it.effective_size(stair)), stair.effective_size(later).has_value());
  Problem stripped = {.buffers = {stair, on_it}, .capacity = 4};
  std::printf("strip: %d", stripped.strip_solution().ok());
  stripped.buffers[0].offset = 1;
  stripped.buffers[1].offset = 2;
  std::printf(" %d", stripped.strip_solution()->offsets == std::vector<minimalloc::Offset>{1, 2});
  std::printf(" %d\\n", stripped == Problem{.buffers = {stair, on_it}, .capacity = 4});
  minimalloc::SolverParams short_time;
  short_time.timeout = absl::ZeroDuration();
  Problem large = hard();
  show("no time", {.buffers = large.buffers, .capacity = large.capacity}, short_time);
  minimalloc::Solver solver;
  absl::Status status;
  std::atomic<bool> done = false;
  std::thread other([&] { status = solver.Solve(large).status(), done = true; });
  while (!done) {
    absl::SleepFor(absl::Milliseconds(10));
    solver.Cancel();
  }
  other.join();
  std::printf("cancelled: %s\\n", absl::StatusCodeToString(status.code()).c_str());
  const auto subset = solver.ComputeIrreducibleInfeasibleSubset(
      {.buffers = {{.lifespan = {0, 9}, .size = 1}, {.lifespan = {2, 5}, .size = 6},
                   {.lifespan = {4, 9}, .size = 5}},
       .capacity = 10});
  std::printf("subset:");
  for (const auto buffer : *subset) std::printf(" %lld", static_cast<long long>(buffer));
  std::printf("\\n");
}
"""


def test_programs_in_the_terms_of_minimalloc(tmp_path: Path) -> None:
    (tmp_path / "program.cpp").write_text(PROGRAM, encoding="utf-8")
    lines = run(build(tmp_path, "program", tmp_path / "program.cpp"), cwd=tmp_path).splitlines()
    assert lines == [
        "least: height 12 at 0 8 0",
        "tight: NOT_FOUND",
        "wrong: INVALID_ARGUMENT",
        "nothing: height 0 at",
        "never live: height 5 at 0",
        "never live, and too large: NOT_FOUND",
        "halves: height 4 at 0 2 0",
        "hooks: height 3 at 0 1",
        "a hole: height 2 at 0 0",
        "kept: height 24 at 16 8 0",
        "above: 1, below: 3, apart: 0",
        "strip: 0 1 1",
        "no time: DEADLINE_EXCEEDED",
        "cancelled: ABORTED",
        "subset: 1 2",
    ]
