"""Arrays in C: lines as full as they can be, however many cells come at once."""

from random import Random

from memstow.planner.exports.c_text import BETWEEN, array


def one_by_one(cells: list[str]) -> list[str]:
    """The lines of an array, filled cell by cell."""
    lines, line = [], " "
    for cell in cells:
        if len(line) + len(cell) > 100 and line.strip():
            lines.append(line)
            line = " "
        line += f" {cell},"
    return [*lines, line]


def test_lines_are_filled_in_order() -> None:
    random = Random(1)
    for _ in range(500):
        longest = random.choice((3, 12, 50, 99, 100, 101, 140))
        cells = [
            "{1, 2}" if random.random() < 0.1 else "7" * random.randint(1, longest)
            for _ in range(random.randint(1, 80))
        ]
        at = sorted(random.choices(range(len(cells) + 1), k=3))
        parts = [cells[begin:end] for begin, end in zip([0, *at], [*at, None], strict=True)]
        joined = [BETWEEN.join(part) for part in parts if part]
        expected = "\n".join(["static const int x[] = {", *one_by_one(cells), "};\n"])
        assert array("const int x[]", cells) == array("const int x[]", joined) == expected
