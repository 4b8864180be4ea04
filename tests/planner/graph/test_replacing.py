"""Cycles that alternatives close, against the links of the whole graph with the alternative in it."""

from dataclasses import replace
from random import Random

import pytest

from memstow.planner.graph import check
from memstow.planner.graph.check import find_issues
from memstow.planner.graph.graph_issues import find_cycle
from memstow.planner.graph.links import links_of
from memstow.planner.graph.schedules import with_alternative
from memstow.planner.model.graph import Alternative, Graph, Operator, Tensor


def random_graph(seed: int) -> Graph:
    """A graph with states, pairs of `before`, and alternatives that may read anything."""
    r = Random(seed)
    states = [f"s{i}" for i in range(r.choice((0, 0, 1, 2)))]
    operators: list[Operator] = []
    there = ["in"]
    for i in range(r.randint(2, 9)):
        made = [f"t{i}.{k}" for k in range(r.choice((1, 1, 2)))]
        read = r.sample(there, min(len(there), r.randint(1, 3)))
        used, written = ([state for state in states if r.random() < 0.25] for _ in range(2))
        operators.append(Operator(id=f"o{i}", inputs=[*read, *used], outputs=[*made, *written]))
        there += made
    before = [sorted(r.sample(range(len(operators)), 2)) for _ in range(r.choice((0, 0, 1, 2)))]
    if r.random() < 0.5:
        r.shuffle(operators)
    alternatives = [_alternative(r, f"a{k}", operators, there, states) for k in range(r.randint(1, 6))]
    return Graph(
        tensors=[
            *(Tensor(id=name, size=4) for name in there),
            *(Tensor(id=name, size=4, kind="state") for name in states),
        ],
        operators=operators,
        inputs=["in"],
        outputs=[entry for entry in there if entry == there[-1] or r.random() < 0.2],
        before=[(f"o{a}", f"o{b}") for a, b in before],
        order="free",
        alternatives=alternatives,
    )


def _alternative(
    r: Random, name: str, operators: list[Operator], there: list[str], states: list[str]
) -> Alternative:
    at = r.randrange(len(operators))
    near = operators[at : at + r.randint(1, 3)]
    replaced = near if r.random() < 0.6 else r.sample(operators, min(len(operators), r.randint(1, 3)))
    own = [f"{name}.{k}" for k in range(r.randint(0, 2))]
    outputs: list[list[str]] = [[] for _ in range(r.randint(1, 3))]
    made = [output for operator in replaced for output in operator.outputs]
    for fromkey in dict.fromkeys((*made, *own)):
        r.choice(outputs).append(fromkey)
    read = [entry for operator in replaced for entry in operator.inputs if entry not in made]
    some = read * 3 + made + own + (there + states if r.random() < 0.3 else [])
    return Alternative(
        id=name,
        replaces=[entry.id for entry in replaced],
        tensors=[Tensor(id=name, size=3) for name in own],
        operators=[
            Operator(
                id=f"{name}:{j}",
                inputs=list(dict.fromkeys(r.choice(some) for _ in range(r.randint(0, 3)))),
                outputs=them,
            )
            for j, them in enumerate(outputs)
        ],
    )


def expected_cycle(graph: Graph, alternative: Alternative) -> list[str]:
    replaced = with_alternative(graph, alternative)
    return [replaced.operators[entry].id for entry in find_cycle(links_of(replaced).successors())]


@pytest.mark.parametrize("part", range(10))
def test_cycles_are_those_of_the_graph_with_the_alternative(part: int) -> None:
    cycles = none = 0
    for seed in range(part * 60, part * 60 + 60):
        graph = random_graph(seed)
        result = {issue.path: issue for issue in find_issues(graph)}
        if any(not path.startswith("$.alternatives") for path in result):
            continue
        for i, alternative in enumerate(graph.alternatives):
            inside = [entry for path, entry in result.items() if path.startswith(f"$.alternatives[{i}]")]
            if any(issue.code != "cycle" for issue in inside):
                continue
            names = expected_cycle(graph, alternative)
            if not names:
                assert not inside
                none += 1
                continue
            assert [entry.path for entry in inside] == [f"$.alternatives[{i}]"]
            said = ", ".join(map(repr, names[:10]))
            assert inside[0].message == f"with the alternative, operators wait for each other: {said}"
            cycles += 1
    assert cycles > 20
    assert none > 20


def test_thousands_of_alternatives_of_a_large_graph_are_checked() -> None:
    count = 4_000
    graph = Graph(
        tensors=[Tensor(id=f"t{i}", size=8) for i in range(count + 1)],
        operators=[Operator(id=f"o{i}", inputs=[f"t{i}"], outputs=[f"t{i + 1}"]) for i in range(count)],
        inputs=["t0"],
        outputs=[f"t{count}"],
        alternatives=[
            Alternative(
                id=f"a{i}",
                replaces=[f"o{i}", f"o{i + 1}"],
                tensors=[Tensor(id=f"a{i}.y", size=3)],
                operators=[
                    Operator(id=f"a{i}.1", inputs=[f"t{i}"], outputs=[f"a{i}.y"]),
                    Operator(id=f"a{i}.2", inputs=[f"a{i}.y"], outputs=[f"t{i + 2}"]),
                ],
            )
            for i in range(count - 1)
        ],
    )
    assert find_issues(graph) == []


def test_alternatives_that_take_too_long_to_check_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    # Each waits for what runs after what waits for it in the order of the document, without a cycle.
    graph = Graph(
        tensors=[Tensor(id=name, size=8) for name in ("in", "a", "b", "end")],
        operators=[
            Operator(id="first", inputs=["in"], outputs=["a"]),
            Operator(id="last", inputs=["a"], outputs=["end"]),
            Operator(id="aside", inputs=["in"], outputs=["b"]),
        ],
        inputs=["in"],
        outputs=["end", "b"],
        order="free",
        alternatives=[
            Alternative(
                id=f"a{k}",
                replaces=["first"],
                operators=[Operator(id=f"a{k}.1", inputs=["b"], outputs=["a"])],
            )
            for k in range(10)
        ],
    )
    assert find_issues(replace(graph, name="enough")) == []
    monkeypatch.setattr(check, "_MOST_STEPS", 30)
    (issue,) = find_issues(replace(graph, name="too many"))
    assert (issue.path, issue.code) == ("$.alternatives[4]", "too_many_alternatives")
