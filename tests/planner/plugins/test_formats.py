"""Formats of other packages: what they read is checked, and what else they do stays with their process."""

import textwrap

import pytest

import memstow
from memstow import Buffer, Graph, Pool, Problem
from memstow.planner import formats
from memstow.planner.plugins import process
from tests.plugins import HEAD, Plugins

TWO = Problem(
    buffers=[Buffer(id="a", size=64, lifetime=(0, 4)), Buffer(id="b", size=32, lifetime=(1, 2))],
)


def form(plugins: Plugins, name: str, **methods: str) -> None:
    """A format with these methods, of which the bodies are given."""
    arguments = {
        "read_problem": "data",
        "write_problem": "problem",
        "read_plan": "data, problem",
        "write_plan": "problem, plan",
    }
    source = f"{HEAD}\nclass Plugin:\n    summary = 'of a test'\n"
    for method, body in methods.items():
        source += f"    def {method}(self, {arguments[method]}):\n{textwrap.indent(body, 8 * ' ')}\n"
    plugins.install(f"test-{name}", "memstow.formats", name, source)


def test_the_example_reads_and_writes_problems_and_plans(plugins: Plugins) -> None:
    plugins.template("format")
    data = memstow.write_problem(TWO, "rows")
    assert data == b"a 64 0 3\nb 32 1 1\n"
    assert memstow.read_problem(data, "rows") == TWO
    plan = memstow.plan(TWO)
    written = memstow.write_plan(TWO, plan, "rows")
    assert memstow.read_plan(written, TWO, "rows").placements == plan.placements


def test_what_it_finds_wrong_is_told_as_issues(plugins: Plugins) -> None:
    plugins.template("format")
    with pytest.raises(memstow.InputError, match="line 2: a row is a name and 3 whole numbers"):
        memstow.read_problem(b"a 64 0 3\nb many 1 1\n", "rows")
    limited = Problem(buffers=TWO.buffers, pools=[Pool(id="memory", capacity=100)])
    with pytest.raises(memstow.InputError, match="not_expressible"):
        memstow.write_problem(limited, "rows")


def test_a_graph_may_come_of_it(plugins: Plugins) -> None:
    text = (
        '{"version": 1, "inputs": ["x"], "tensors": [{"id": "x", "size": 8}, {"id": "y", "size": 8}], '
        '"operators": [{"id": "f", "inputs": ["x"], "outputs": ["y"]}]}'
    )
    form(plugins, "model", read_problem=f"return memstow.read_graph({text.encode()!r})")
    assert isinstance(formats.read_document(b"?", "model"), Graph)
    assert len(memstow.read_problem(b"?", "model").buffers) == 2


def test_what_it_lacks_is_told(plugins: Plugins) -> None:
    form(plugins, "narrow", read_problem="return memstow.Problem(buffers=[])")
    with pytest.raises(
        memstow.InputError, match=r"'narrow' of test-narrow 1\.0 has no problems that can be written"
    ):
        memstow.write_problem(TWO, "narrow")
    with pytest.raises(memstow.InputError, match="has no plans that can be read"):
        memstow.read_plan(b"?", TWO, "narrow")


def test_an_unknown_name_is_told_with_those_of_plug_ins(plugins: Plugins) -> None:
    form(plugins, "narrow", read_problem="return None")
    with pytest.raises(memstow.InputError, match=r"there is no format 'narow'; use json, .*, narrow"):
        memstow.read_problem(b"?", "narow")


def test_a_format_of_ours_is_never_that_of_a_plug_in(plugins: Plugins) -> None:
    form(plugins, "csv", read_problem="raise RuntimeError", write_problem="raise RuntimeError")
    assert memstow.read_problem(memstow.write_problem(TWO, "csv"), "csv") == TWO


@pytest.mark.parametrize(
    ("body", "said"),
    [
        ("raise KeyError('x')", "KeyError: 'x'"),
        ("return {'buffers': []}", "read_problem returned dict, and not Problem"),
        ("os._exit(5)", "ended with status 5"),
        ("ctypes.string_at(0)", "killed by signal 11"),
        ("time.sleep(600)", "it did not end within 2 s"),
        ("raise memstow.MemstowError('not mine')", "MemstowError: not mine"),
    ],
)
def test_what_goes_wrong_in_it_is_told_and_stays_there(
    plugins: Plugins, monkeypatch: pytest.MonkeyPatch, body: str, said: str
) -> None:
    if "sleep" in body:
        monkeypatch.setattr(process, "_SECONDS", 2.0)
    form(plugins, "bad", read_problem=body)
    with pytest.raises(memstow.PlugInError) as caught:
        memstow.read_problem(b"?", "bad")
    assert said in str(caught.value)
    assert "the format 'bad' of test-bad 1.0 failed" in str(caught.value)


def test_what_it_reads_is_checked_as_a_file_would_be(plugins: Plugins) -> None:
    form(
        plugins,
        "wrong",
        read_problem="return memstow.Problem(buffers=[memstow.Buffer(id='a', size=1, lifetime=(0, 1))] * 2)",
        read_plan="return stacked(memstow.Problem(buffers=(*problem.buffers, *problem.buffers)))",
        write_problem="return 'text'",
    )
    with pytest.raises(memstow.InputError, match="duplicate"):
        memstow.read_problem(b"?", "wrong")
    with pytest.raises(memstow.InputError, match="repeated_placement"):
        memstow.read_plan(b"?", TWO, "wrong")
    with pytest.raises(memstow.PlugInError, match="write_problem returned str, and not bytes"):
        memstow.write_problem(TWO, "wrong")


def test_content_is_never_taken_for_that_of_a_plug_in(plugins: Plugins) -> None:
    form(plugins, "trap", read_problem="os._exit(9)")
    assert memstow.read_problem(memstow.write_problem(TWO)) == TWO
