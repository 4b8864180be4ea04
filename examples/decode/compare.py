"""Compare the C with Python, and both with the judge: `python3 compare.py decode.json plan.json ./decode`."""

import argparse
import random
import subprocess
import sys
from pathlib import Path

import memstow


def main() -> int:
    """Try random values, and the ends of all ranges."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("problem", type=Path)
    parser.add_argument("plan", type=Path)
    parser.add_argument("program", type=Path)
    parser.add_argument("--values", type=int, default=50, help="how many random values (default: 50)")
    args = parser.parse_args()
    problem = memstow.read_symbolic(args.problem.read_bytes())
    plan = memstow.read_symbolic_plan(args.plan.read_bytes())
    layout = memstow.Layout(problem, plan)
    draw = random.Random(18)
    ends = [
        {symbol.id: symbol.min for symbol in problem.symbols},
        {symbol.id: symbol.max for symbol in problem.symbols},
    ]
    some = [
        {symbol.id: draw.randint(symbol.min, symbol.max) for symbol in problem.symbols}
        for _ in range(args.values)
    ]
    for at in ends + some:
        words = [str(at[name]) for name in ("b", "t", "c")]
        ran = subprocess.run([args.program.resolve(), *words], capture_output=True, text=True, check=True)
        there = layout.lay_out(at)
        if [int(line) for line in ran.stdout.split()] != [*there.peaks, *there.offsets]:
            print(f"at {at} the C computes something else", file=sys.stderr)
            return 1
        # The ordinary plan at this value: no two buffers that live at once share a byte.
        ordinary = memstow.plan_at(problem, plan, at)
        if memstow.verify(memstow.problem_at(problem, at), ordinary):
            print(f"at {at} the plan is not valid", file=sys.stderr)
            return 1
    print(f"{len(ends + some)} values: the C computes what Python computes, and the judge accepts it")
    return 0


if __name__ == "__main__":
    sys.exit(main())
