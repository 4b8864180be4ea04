"""What a problem is said to hold."""

from memstow.planner.graph.graph_document import Label
from memstow.planner.model.problem import ALWAYS, Buffer, Pool, Problem, Relative, Reserved
from memstow.planner.show.survey import facts, survey
from memstow.planner.show.text_picture import ASCII

PROBLEM = Problem(
    version=1,
    name="two\npools",
    pools=(Pool(id="fast", capacity=64, reserved=(Reserved(offset=0, size=8),)), Pool(id="slow", cost=3)),
    buffers=(
        Buffer(id="a", size=16, lifetime=(0, 4), pools=("fast",)),
        Buffer(id="b", size=32, lifetimes=((0, 1), (2, 3)), alignment=16),
        Buffer(id="w", size=8, lifetime=ALWAYS, pool="slow", offset=0),
        Buffer(id="g", size=0),
    ),
    relative=(Relative(buffer="b", base="a", offset=0),),
)


def test_every_kind_of_buffer_is_counted() -> None:
    buffers = facts(PROBLEM, 1)["buffers"]
    assert (buffers["count"], buffers["bytes"], buffers["largest"]) == (4, 56, 32)
    kinds = ("empty", "always", "timeless", "several_lifetimes", "pinned")
    assert [buffers[kind] for kind in kinds] == [1, 1, 1, 1, 1]
    assert buffers["alignments"] == {"1": 3, "16": 1}


def test_pools_say_what_they_may_and_must_hold() -> None:
    fast, slow = facts(PROBLEM, 1)["pools"]
    assert (fast["may_hold"], fast["must_hold"], fast["reserved"], fast["bound"]) == (3, 1, 8, 40)
    assert (slow["may_hold"], slow["must_hold"], slow["capacity"], slow["bound"]) == (3, 1, None, 8)


def test_the_survey_is_safe_for_terminals_and_as_wide_as_asked() -> None:
    text = survey(PROBLEM, 3, 70, ASCII)
    assert "name       two\\npools" in text
    assert "besides    1 relative" in text
    assert max(map(len, text.splitlines())) <= 100


def test_a_problem_without_time_says_what_is_always_live() -> None:
    problem = Problem(version=1, buffers=(Buffer(id="w", size=8, lifetime=ALWAYS),))
    assert "always live: 8 bytes" in survey(problem, 3, 70, ASCII)


def test_a_problem_without_lifetimes_does_not_speak_of_what_is_live() -> None:
    problem = Problem(
        version=1, buffers=(Buffer(id="a", size=8), Buffer(id="b", size=8)), conflicts=(("a", "b"),)
    )
    text = survey(problem, 3, 70, ASCII)
    assert text.endswith("no lifetimes: what may not share bytes is what the problem lists as conflicts")
    assert "always live" not in text


def test_times_are_written_as_all_numbers_are() -> None:
    problem = Problem(version=1, buffers=(Buffer(id="a", size=8, lifetime=(-5_000, 12_000)),))
    text = survey(problem, 3, 70, ASCII)
    assert "time       -5,000 to 12,000, 1 step; lives of 17,000 to 17,000, median 17,000" in text
    assert "\n-5,000 until 12,000  a " in text


def test_an_empty_problem_has_no_sizes_to_tell() -> None:
    text = survey(Problem(version=1, buffers=()), 5, 80, ASCII)
    assert text.startswith("buffers    0 of 0 bytes in all\nobjective  peak\n")


def test_bytes_reserved_twice_count_once() -> None:
    twice = (Reserved(offset=0, size=8), Reserved(offset=4, size=8))
    pool = Pool(id="p", capacity=16, reserved=twice)
    buffer = Buffer(id="b", size=1, lifetime=(0, 1))
    output = facts(Problem(version=1, pools=(pool,), buffers=(buffer,)), 0)
    assert output["pools"][0]["reserved"] == 12


def test_the_farthest_times_there_may_be_are_told() -> None:
    far = 10**4000 - 1
    buffers = tuple(Buffer(id=f"b{i}", size=1, lifetime=(-far, far)) for i in range(3))
    problem = Problem(version=1, buffers=buffers)
    assert "lives of 1.999e4000 to 1.999e4000" in survey(problem, 5, 80, ASCII)
    assert facts(problem, 1)["time"] == {"begin": -far, "end": far, "steps": 1}


def test_what_the_largest_buffers_of_the_hardest_moment_are_is_said_where_it_is_known() -> None:
    problem = Problem(
        version=1,
        buffers=(Buffer(id="54", size=36_864, lifetime=(0, 2)), Buffer(id="x", size=8, lifetime=(1, 2))),
    )
    labels = {"54": Label("CONV_2D int8 [1,48,48,16]", "net/Relu6")}
    assert survey(problem, 1, 80, ASCII, labels).splitlines()[-3:] == [
        "largest then   bytes  made by",
        "54            36,864  CONV_2D int8 [1,48,48,16] net/Relu6",
        "x                  8",
    ]
    assert "largest then" not in survey(problem, 1, 80, ASCII)
    assert facts(problem, 1, labels)["hardest"][0]["largest"] == [
        {"buffer": "54", "size": 36_864, "label": "CONV_2D int8 [1,48,48,16] net/Relu6"},
        {"buffer": "x", "size": 8},
    ]
