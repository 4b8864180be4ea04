"""A format for memstow: for each buffer a row with its name, its bytes, and the first and last time it lives.

A plan has the name and the offset of each buffer. Comments begin with #.
"""

from collections.abc import Iterator

from memstow import Buffer, InputError, Placement, Plan, Pool, Problem, Status


class Rows:
    """Buffers in one memory without a limit."""

    summary = "rows of text: name, bytes, first and last time"

    def read_problem(self, data: bytes) -> Problem:
        """The problem in the rows."""
        buffers = [
            Buffer(id=name, size=size, lifetime=(first, last + 1))
            for name, size, first, last in _rows(data, 4)
        ]
        return Problem(buffers=buffers)

    def write_problem(self, problem: Problem) -> bytes:
        """The rows of a problem; InputError for what they have no place for."""
        plain = Problem(
            buffers=[Buffer(id=one.id, size=one.size, lifetime=one.lifetime) for one in problem.buffers],
            pools=[Pool(id=problem.pools[0].id)],
            name=problem.name,
            objective=problem.objective if problem.objective in (("peak",), None) else None,
        )
        if plain != problem or any(not isinstance(one.lifetime, tuple) for one in plain.buffers):
            raise InputError.single(
                "not_expressible", "$", "rows are buffers in one memory, with one lifetime each"
            )
        return _written(
            (_name(one.id), one.size, one.lifetime[0], one.lifetime[1] - 1) for one in plain.buffers
        )

    def read_plan(self, data: bytes, problem: Problem) -> Plan:
        """The plan in the rows."""
        pool = problem.pools[0].id
        places = [Placement(buffer=name, pool=pool, offset=offset) for name, offset in _rows(data, 2)]
        return Plan(status=Status.FEASIBLE, placements=places)

    def write_plan(self, problem: Problem, plan: Plan) -> bytes:
        """The rows of a plan."""
        if len(problem.pools) > 1:
            raise InputError.single("not_expressible", "$.pools", "rows are places in one memory")
        return _written((_name(place.buffer), place.offset) for place in plan.placements)


def _rows(data: bytes, width: int) -> Iterator[tuple]:
    """The name of each row and its numbers."""
    try:
        lines = data.decode().splitlines()
    except UnicodeDecodeError as error:
        raise InputError.single("not_utf8", "$", f"no UTF-8 from byte {error.start} on") from None
    for number, line in enumerate(lines, 1):
        words = line.partition("#")[0].split()
        if not words:
            continue
        try:
            name, *numbers = words[0], *map(int, words[1:])
        except ValueError:
            numbers = []
        # Larger numbers than these are no bytes and no times.
        if len(numbers) != width - 1 or any(not -(1 << 53) < value < 1 << 53 for value in numbers):
            raise InputError.single(
                "damaged", f"line {number}", f"a row is a name and {width - 1} whole numbers"
            )
        if numbers[0] < 0 or (width == 4 and numbers[1] > numbers[2]):
            raise InputError.single(
                "damaged", f"line {number}", "bytes and offsets are not negative, times ascend"
            )
        yield name, *numbers


def _name(text: str) -> str:
    if text.split() != [text] or "#" in text:
        raise InputError.single("not_expressible", "$.buffers", f"{text!r} is no name in a row")
    return text


def _written(rows: "Iterator[tuple]") -> bytes:
    return "".join(f"{' '.join(map(str, row))}\n" for row in rows).encode()
