"""A symbolic problem at sizes that were counted elsewhere."""

import pytest

from memstow.planner.model.symbolic import Symbol, SymbolicBuffer, SymbolicProblem, with_sizes

PROBLEM = SymbolicProblem(
    symbols=[Symbol(id="s", min=1, max=2)],
    buffers=[SymbolicBuffer(id=name, size="s", lifetime=(0, 1)) for name in "ab"],
)


@pytest.mark.parametrize("sizes", [[1, 1.0], [-1, 1], [1, (1 << 62) + 1], [True, 1], [1], [1, 1, 1]])
def test_only_whole_numbers_in_range_are_sizes(sizes: list[int]) -> None:
    with pytest.raises(ValueError, match="sizes are whole numbers"):
        with_sizes(PROBLEM, sizes)


def test_each_buffer_has_its_size() -> None:
    assert [buffer.size for buffer in with_sizes(PROBLEM, [0, 1 << 62]).buffers] == [0, 1 << 62]
