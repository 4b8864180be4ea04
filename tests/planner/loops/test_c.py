"""The tables in C: they compile without a warning, and a program reads in them what the table says."""

from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

import pytest

import memstow
from memstow.planner.model.loops import Loops, StripeLoops
from memstow.planner.model.plan import Plan
from tests.planner.exports.toolchains import ALL, Compiler, found, run
from tests.planner.loops.samples import in_two_strips, with_all

# Prints all numbers of all stripes, and where tensors are.
READER = r"""
#include <stdio.h>
#include "net.loops.h"

int main(void) {
  for (unsigned i = 0; i < sizeof net_loops_tensors / sizeof *net_loops_tensors; ++i) {
    const net_loops_tensor *it = net_loops_tensors + i;
    printf("tensor %d %llu %llu %d %d\n", it->pool, (unsigned long long)it->offset,
           (unsigned long long)it->size, it->first, it->last);
  }
  for (int i = 0; i < NET_LOOPS_SEGMENT_COUNT; ++i) {
    const net_loops_segment *segment = net_loops_segments + i;
    if (segment->kind != 2) {
      printf("%s %d %d\n", segment->kind == 0 ? "operator" : "copy", net_loops_arguments[segment->inputs],
             net_loops_arguments[segment->outputs]);
      continue;
    }
    const net_loops_stripe *stripe = net_loops_stripes + segment->what;
    for (unsigned m = 0; m < stripe->member_count; ++m) {
      printf("member %d %d\n", stripe->members[m].op, stripe->members[m].makes);
    }
    for (unsigned r = 0; r < stripe->ring_count; ++r) {
      printf("ring %llu %u %llu\n", (unsigned long long)stripe->rings[r].offset, stripe->rings[r].rows,
             (unsigned long long)stripe->rings[r].pitch);
    }
    for (unsigned c = 0; c < stripe->strip_count * stripe->member_count; ++c) {
      printf("columns");
      for (unsigned k = 0; k < stripe->width; ++k) printf(" %u", stripe->columns[c * stripe->width + k]);
      printf("\n");
    }
    for (unsigned s = 0; s < stripe->step_count; ++s) {
      printf("step");
      for (unsigned k = 0; k < stripe->width; ++k) printf(" %u", stripe->steps[s * stripe->width + k]);
      printf("\n");
    }
  }
  return 0;
}
"""


def lines(table: Loops) -> Iterator[str]:
    """What the program must print."""
    pools = {pool.id: number for number, pool in enumerate(table.pools)}
    tensors = {tensor.id: number for number, tensor in enumerate(table.tensors)}
    operators: dict[str, int] = {}
    for tensor in table.tensors:
        yield f"tensor {pools[tensor.pool]} {tensor.offset} {tensor.size} {tensor.first} {tensor.last}"
    for segment in table.segments:
        if segment.kind == "operator":
            operators.setdefault(segment.runs or segment.id, len(operators))
            yield f"operator {tensors[segment.inputs[0]]} {tensors[segment.outputs[0]]}"
        elif segment.kind == "copy":
            yield f"copy {tensors[segment.source]} {tensors[segment.target]}"
        else:
            yield from _stripe(segment, tensors, operators)


def _stripe(stripe: StripeLoops, tensors: dict[str, int], operators: dict[str, int]) -> Iterator[str]:
    places = {**tensors, **{ring.tensor: -1 - number for number, ring in enumerate(stripe.rings)}}
    for operator in stripe.operators:
        number = operators.setdefault(operator.runs or operator.id, len(operators))
        yield f"member {number} {places[operator.makes]}"
    for ring in stripe.rings:
        yield f"ring {ring.offset} {ring.rows} {ring.pitch}"
    for strip in stripe.strips:
        for columns in strip:
            yield " ".join(map(str, ("columns", *columns)))
    for step in stripe.steps:
        yield " ".join(map(str, ("step", *step)))


@pytest.mark.parametrize("which", [in_two_strips, with_all], ids=["strips", "all"])
def test_a_program_reads_what_the_table_says(
    which: Callable[[], tuple[memstow.Graph, Plan]], tmp_path: Path
) -> None:
    table = memstow.loops(*which())
    (tmp_path / "net.loops.h").write_bytes(memstow.write_loops(table, "loops-header", prefix="net"))
    (tmp_path / "read.c").write_text(READER)
    strict = ("-std=c11", "-Wall", "-Wextra", "-Wpedantic", "-Werror", "-Wno-unused-const-variable")
    run(tmp_path, found("cc"), *strict, "read.c", "-o", "read")
    assert run(tmp_path, str(tmp_path / "read")).splitlines() == list(lines(table))


@pytest.mark.parametrize("compiler", ALL, ids=str)
def test_hostile_names_compile(compiler: Compiler, tmp_path: Path) -> None:
    graph, plan = in_two_strips()
    odd = {"x": 'int */ #"\\', "wide": "Y", "y": "y", "score": "0 ä"}
    table = memstow.loops(graph, plan)
    table = replace(
        table,
        name="a */ b ??/",
        tensors=tuple(replace(tensor, id=odd[tensor.id]) for tensor in table.tensors),
    )
    (tmp_path / "net.loops.h").write_bytes(memstow.write_loops(table, "loops-header"))
    source = f"use.{'c' if compiler.language == 'c' else 'cpp'}"
    (tmp_path / source).write_text(
        '#include "net.loops.h"\nint use(void);\nint use(void) { return plan_loops_segments[0].kind; }\n'
    )
    compiler.compile(tmp_path, source)


def test_a_prefix_that_is_no_name_is_refused() -> None:
    with pytest.raises(memstow.InputError, match="cannot begin a name"):
        memstow.write_loops(memstow.loops(*in_two_strips()), "loops-header", prefix="9")
