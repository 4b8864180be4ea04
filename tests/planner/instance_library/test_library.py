"""What a library takes in, what it refuses, and what is there after an interruption."""

import gzip
import json
import os
import threading
import tracemalloc
from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace
from hashlib import sha256
from pathlib import Path
from typing import Any, Final

import pytest

from memstow.planner import formats
from memstow.planner.generate.graph import graph
from memstow.planner.generate.random_problems import mixed
from memstow.planner.graph.changes import with_order
from memstow.planner.instance_library import folder as folders
from memstow.planner.instance_library.folder import Folder, answer_of, instance_of, pack, posed_of, unpack
from memstow.planner.instance_library.judging import Answer, judged
from memstow.planner.instance_library.records import (
    Credit,
    Library,
    diff,
    faults_of,
    fetch,
    opened,
    posed,
)
from memstow.planner.instance_library.standard import first_answer, generate, recipes
from memstow.planner.model import Status
from memstow.planner.model.errors import InputError
from memstow.planner.model.plan import Exhausted, Model, Plan, Refuted
from memstow.planner.model.problem import Buffer, Pool, Problem, spans
from memstow.planner.proofs.prove import prove
from tests.planner.instance_library.libraries import (
    CREDIT,
    KNOT,
    WORK,
    Document,
    about,
    add,
    answered,
    falsify,
    faults,
    made,
    random_problem,
    stacked,
    swap,
    tree,
)


def everything(_: str) -> bool:
    return True


def code_of(error: pytest.ExceptionInfo[InputError]) -> str:
    return error.value.issues[0].code


def test_a_library_that_was_just_made_has_nothing_wrong(tmp_path: Path) -> None:
    folder = made(tmp_path / "lib")
    assert folder.ids() == ["p0", "p1"]
    assert faults(folder) == {}
    instance = instance_of(folder, "p0")
    assert instance.state == "proven"
    assert instance.best[0].value == instance.best[0].bound > 0
    assert instance.history[0].by == CREDIT.by
    assert instance.slack == round(instance.best[0].value / (instance.live or 1), 4)


def test_graphs_have_records_too(tmp_path: Path) -> None:
    folder = Folder(tmp_path / "lib")
    with opened(folder) as library:
        add(library, "net", with_order(graph(12, 1), "free"))
    instance = instance_of(folder, "net")
    assert (instance.kind, instance.features["operators"]) == ("graph", 12)
    assert instance.best
    assert faults(folder) == {}


def test_a_bare_plan_of_a_graph_has_no_bound_of_its_own_order(tmp_path: Path) -> None:
    document = with_order(graph(40, 1, family="wiring"), "free")
    listed = first_answer(posed(with_order(document, "given")), WORK)
    assert listed is not None
    assert listed.plan.objective[0].bound > 0
    bare = Plan(status=Status.FEASIBLE, placements=listed.plan.placements, schedule=listed.plan.schedule)
    folder = Folder(tmp_path / "lib")
    with opened(folder) as library:
        add(library, "net", document, solved=False)
        library.submit("net", Answer(bare), CREDIT)
        worse = library.instances["net"].best[0]
        assert (worse.value, worse.bound) == (listed.plan.objective[0].value, 0)
        # As a plan of the graph, its bound is a lie.
        with pytest.raises(InputError, match="this order alone"):
            library.submit("net", Answer(listed.plan), CREDIT)
        best = first_answer(posed(document), WORK)
        assert best is not None
        assert library.submit("net", best, CREDIT) == ("value", "bound", "proof")
        assert library.instances["net"].best[0].value < worse.value
    assert faults(folder) == {}


def test_nothing_fits_is_a_record(tmp_path: Path) -> None:
    folder = Folder(tmp_path / "lib")
    full = replace(KNOT, pools=(Pool(id="memory", capacity=20),))
    with opened(folder) as library:
        add(library, "full", full)
    instance = instance_of(folder, "full")
    assert instance.state == "infeasible"
    assert [event.changed for event in instance.history] == [("infeasible", "proof")]
    assert faults(folder) == {}


def test_the_same_under_other_names_is_refused(tmp_path: Path) -> None:
    folder = Folder(tmp_path / "lib")
    backwards = [(one, spans(one)[0]) for one in reversed(KNOT.buffers)]
    renamed = Problem(
        buffers=[
            Buffer(id=f"x{one.id}", size=one.size * 3, lifetime=(-end, -begin))
            for one, (begin, end) in backwards
        ]
    )
    with opened(folder) as library:
        add(library, "knot", KNOT, solved=False)
        with pytest.raises(InputError, match="it is knot but for names") as error:
            add(library, "other", renamed, solved=False)
        assert code_of(error) == "duplicate"
        with pytest.raises(InputError, match="there is an instance of this id"):
            add(library, "knot", random_problem(), solved=False)
    assert folder.ids() == ["knot"]


@pytest.mark.parametrize(
    "licence",
    [
        *("unknown", "None", " ", "NOASSERTION", "()", "MIT OR", "OR", "MIT AND OR MIT", "(MIT", "MIT)", "_"),
        *("MIT MIT", "(MIT)MIT", "MIT(MIT)", "MIT WITH", "MIT WITH (MIT)", "(MIT) WITH MIT", "+", "MIT++"),
    ],
)
def test_a_licence_has_to_be_clear(tmp_path: Path, licence: str) -> None:
    with opened(Folder(tmp_path / "lib")) as library, pytest.raises(InputError, match="licence"):
        library.add(about("p", licence=licence), posed(KNOT))


@pytest.mark.parametrize(
    "licence",
    [
        "MIT",
        "GPL-2.0-or-later WITH Classpath-exception-2.0 OR (MIT AND (CC0-1.0 OR Zlib)) AND X11",
        "GPL-2.0+",
    ],
)
def test_a_licence_is_an_expression_of_spdx(tmp_path: Path, licence: str) -> None:
    with opened(Folder(tmp_path / "lib")) as library:
        assert library.add(about("p", licence=licence), posed(KNOT)).licence == licence


@pytest.mark.parametrize(
    "name", ["../p", "/p", "a/b", ".p", "..", "P", "p ", "", "p\x00", "a..b", "x" * 101, "index.json"]
)
def test_an_id_is_a_plain_name(tmp_path: Path, name: str) -> None:
    with opened(Folder(tmp_path / "lib")) as library, pytest.raises(InputError):
        library.add(about(name), posed(KNOT))
    assert sorted(os.listdir(tmp_path)) == ["lib"]
    assert os.listdir(tmp_path / "lib") == []


def test_html_in_metadata_is_text(tmp_path: Path) -> None:
    folder = Folder(tmp_path / "lib")
    title = "<script>alert('x')</script> & more"
    with opened(folder) as library:
        library.add(about("p", title=title), posed(KNOT))
    assert instance_of(folder, "p").title == title
    assert faults(folder) == {}


def test_a_problem_that_counts_moves_has_no_place() -> None:
    with pytest.raises(InputError, match="moves"):
        posed(replace(KNOT, objective=("moves", "peak")))


# Records.


def unsolved(tmp_path: Path, problem: Problem = KNOT) -> Folder:
    folder = Folder(tmp_path / "lib")
    with opened(folder) as library:
        add(library, "knot", problem, solved=False)
    return folder


def submit(folder: Folder, answer: Answer, credit: Credit = CREDIT) -> tuple[str, ...]:
    with opened(folder) as library:
        return library.submit("knot", answer, credit)


def test_a_record_becomes_better_and_never_worse(tmp_path: Path) -> None:
    folder, best = unsolved(tmp_path), answered(KNOT)
    assert submit(folder, Answer(stacked(KNOT))) == ("value",)
    first = instance_of(folder, "knot")
    # The bound of a bare layout is what can be counted.
    assert (first.best[0].value, first.best[0].bound, first.state) == (47, 20, "open")
    assert submit(folder, Answer(replace(best.plan, proof_sha256=None))) == ("value",)
    # The search is the word of a solver, until there is a proof.
    claimed = instance_of(folder, "knot")
    assert (claimed.best[0].value, claimed.best[0].bound, claimed.best[0].claimed) == (21, 20, 21)
    assert claimed.state == "claimed"
    assert submit(folder, Answer(stacked(KNOT))) == ()
    assert submit(folder, best) == ("bound", "proof")
    proven = instance_of(folder, "knot")
    assert (proven.best[0].bound, proven.best[0].shown_by, proven.state) == (21, "proof", "proven")
    assert submit(folder, best) == ()
    assert [event.values for event in proven.history] == [(47,), (21,), (21,)]
    assert faults(folder) == {}


def test_who_found_places_and_nothing_else_is_kept(tmp_path: Path) -> None:
    folder = unsolved(tmp_path)
    plan = replace(stacked(KNOT), solver="mine", version="2.0", seconds=0.25)
    assert submit(folder, Answer(plan)) == ("value",)
    instance = instance_of(folder, "knot")
    event, buffers = instance.history[-1], KNOT.buffers
    assert (event.solver, event.version) == ("mine", "2.0")
    assert instance.best[0].value == sum(buffer.size for buffer in buffers)
    assert instance.best[0].bound == 20
    assert faults(folder) == {}


def test_a_proof_counts_although_its_plan_is_worse(tmp_path: Path) -> None:
    folder, best = unsolved(tmp_path), answered(KNOT)
    assert best.proof is not None
    submit(folder, Answer(replace(best.plan, proof_sha256=None)))
    assert submit(folder, Answer(stacked(KNOT), best.proof)) == ("bound", "proof")
    instance = instance_of(folder, "knot")
    assert (instance.best[0].value, instance.best[0].bound, instance.state) == (21, 21, "proven")
    assert faults(folder) == {}


def test_a_stronger_proof_takes_the_place_of_a_weaker_one(tmp_path: Path) -> None:
    folder, best = unsolved(tmp_path), answered(KNOT)
    counted = judged(posed(KNOT), Answer(stacked(KNOT))).answer.plan
    weak = tmp_path / "weak.proof"
    proof = prove(posed(KNOT).data, counted, weak)
    assert proof is not None
    assert proof.bound == 20
    good = replace(best.plan, proof_sha256=None)
    assert submit(folder, Answer(good, weak.read_bytes())) == ("value", "proof")
    assert submit(folder, Answer(stacked(KNOT), best.proof)) == ("bound",)
    assert instance_of(folder, "knot").state == "proven"
    assert submit(folder, Answer(good, weak.read_bytes())) == ()
    assert faults(folder) == {}


def test_a_bound_that_was_counted_outlives_its_plan(tmp_path: Path) -> None:
    problem = replace(KNOT, objective=("max_peak",))
    folder = unsolved(tmp_path, problem)
    good = replace(answered(problem).plan, proof_sha256=None)
    weak = replace(
        good,
        status=Status.FEASIBLE,
        objective=(replace(good.objective[0], bound=0, gap=1.0, certificate=None),),
        pools=(replace(good.pools[0], bound=0, certificate=None),),
    )
    submit(folder, Answer(stacked(problem)))
    assert instance_of(folder, "knot").best[0].bound == 20
    assert submit(folder, Answer(weak)) == ("value",)
    assert instance_of(folder, "knot").best[0].bound == 20


@pytest.mark.parametrize(
    "certificate",
    [Model(solver="cpsat"), Exhausted(solver="exact", refuted=(Refuted(height=46, nodes=9),))],
    ids=["model", "search"],
)
def test_a_bound_that_is_only_claimed_is_no_record(tmp_path: Path, certificate: Any) -> None:
    folder = unsolved(tmp_path)
    submit(folder, Answer(stacked(KNOT)))
    before = tree(folder.path)
    with opened(folder) as library:
        answer = answer_of(folder, library.instances["knot"])
    assert answer is not None
    term = replace(answer.plan.objective[0], bound=47, gap=0.0, certificate=certificate)
    pools = (replace(answer.plan.pools[0], bound=47, certificate=None),)
    lie = replace(answer.plan, status=Status.OPTIMAL, objective=(term,), pools=pools, proof_sha256=None)
    with suppress(InputError):  # The judge may have a better layout of its own.
        assert submit(folder, Answer(lie)) == ()
    assert tree(folder.path) == before


def lying_plans() -> list[tuple[str, Callable[[Plan], Plan]]]:
    def lower(plan: Plan) -> Plan:
        term = plan.objective[0]
        return replace(plan, objective=(replace(term, value=term.value - 1, bound=term.value - 1),))

    def overlapping(plan: Plan) -> Plan:
        return replace(plan, placements=tuple(replace(place, offset=0) for place in plan.placements))

    return [
        ("value", lower),
        ("overlap", overlapping),
        ("missing", lambda plan: replace(plan, placements=plan.placements[1:])),
        ("digest", lambda plan: replace(plan, digest="0" * 64)),
        ("no_plan", lambda _: Plan(status=Status.UNKNOWN)),
    ]


@pytest.mark.parametrize(("code", "lie"), lying_plans(), ids=[code for code, _ in lying_plans()])
def test_a_plan_that_is_wrong_is_refused(tmp_path: Path, code: str, lie: Callable[[Plan], Plan]) -> None:
    folder, best = unsolved(tmp_path), answered(KNOT)
    before = tree(folder.path)
    with pytest.raises(InputError) as error:
        submit(folder, Answer(lie(replace(best.plan, proof_sha256=None))))
    assert code in {issue.code for issue in error.value.issues}
    assert tree(folder.path) == before


def test_that_nothing_fits_is_refused_where_something_does(tmp_path: Path) -> None:
    roomy = replace(KNOT, pools=(Pool(id="memory", capacity=47),))
    tight = replace(KNOT, pools=(Pool(id="memory", capacity=20),))
    folder, lie = unsolved(tmp_path, roomy), replace(answered(tight).plan, digest=None, proof_sha256=None)
    submit(folder, Answer(stacked(roomy)))
    with pytest.raises(InputError):
        submit(folder, Answer(lie))


def test_a_proof_of_something_else_is_refused(tmp_path: Path) -> None:
    folder, best = unsolved(tmp_path), answered(KNOT)
    other = answered(replace(KNOT, name="another file of the same problem"))
    assert best.proof is not None
    assert other.proof is not None
    for plan, proof in (
        (replace(best.plan, proof_sha256=None), other.proof),
        (replace(best.plan, proof_sha256="0" * 64), best.proof),
        (replace(best.plan, proof_sha256=None), best.proof[:-3]),
        (replace(best.plan, proof_sha256=None), b"no proof"),
    ):
        with pytest.raises(InputError) as error:
            submit(folder, Answer(plan, proof))
        assert code_of(error) == "proof"
    assert instance_of(folder, "knot").best == ()


def test_a_record_is_not_dated_before_the_last(tmp_path: Path) -> None:
    folder = unsolved(tmp_path)
    submit(folder, Answer(stacked(KNOT)))
    with pytest.raises(InputError, match="later"):
        submit(folder, answered(KNOT), Credit("B", "2025-01-01"))
    for wrong in ("yesterday", "2026-02-30", "2026-1-1", "20260101"):
        with pytest.raises(InputError, match="date"):
            submit(folder, answered(KNOT), Credit("B", wrong))
    with pytest.raises(InputError, match="more than a year from now"):
        submit(folder, answered(KNOT), Credit("B", "9999-12-31"))


# Lies in the folder.


def better_value(document: Document) -> None:
    document["best"][0] |= {"value": 20, "bound": 20}
    document["history"][-1] |= {"values": [20], "bounds": [20]}


LIES: dict[str, Callable[[Document], None]] = {
    'its best is not what plan and proof show: [{"term": "peak", "value": 21, ': better_value,
    "its state is not": lambda document: document.update(state="open"),
    "its slack is not": lambda document: document.update(slack=0.5),
    "its features is another": lambda document: document["features"].update(buffers=3),
    "its live is another": lambda document: document.update(live=1),
    "its digest is another": lambda document: document.update(digest="0" * 64),
    "its form is another": lambda document: document.update(form="0" * 64),
    "the last of its history": lambda document: document["history"][-1].update(values=[99], bounds=[9]),
    "a bound above its value": lambda document: document["history"][-1].update(bounds=[99]),
    "more than a year from now": lambda document: document["history"][-1].update(date="9999-12-31"),
    "a wrong date": lambda document: document["history"][-1].update(date="2026-02-31"),
    "a plan and no history": lambda document: document.update(history=[]),
    "its id is p9": lambda document: document.update(id="p9"),
    "no clear licence": lambda document: document.update(licence="unknown"),
    "not those that instance.json names": lambda document: document["files"][0].update(sha256="0" * 64),
    "there is no such file": lambda document: (
        document["files"].append({"name": "graph.json", "bytes": 1, "sha256": "0" * 64})
        or (document["files"].pop(0) and document.update(kind="graph"))
    ),
    "names a file twice": lambda document: document["files"].append(document["files"][0]),
    "files[0].name": lambda document: document["files"][0].update(name="../p1/problem.json"),
    "$.id": lambda document: document.update(id="../p0"),
    "$.other": lambda document: document.update(other=1),
    "$.title": lambda document: document.update(title="two\nlines"),
    "nothing names this file": lambda document: document["files"].pop(),
}


@pytest.mark.parametrize("says", LIES)
def test_metadata_that_lie_are_shown(tmp_path: Path, says: str) -> None:
    folder = Folder(tmp_path / "lib")
    with opened(folder) as library:
        add(library, "p0", KNOT)
    falsify(folder, "p0", LIES[says])
    assert says in " ".join(faults(folder)["p0"])


def test_a_plan_and_a_proof_that_were_exchanged_are_shown(tmp_path: Path) -> None:
    folder = Folder(tmp_path / "lib")
    with opened(folder) as library:
        add(library, "p0", KNOT)
    worse = formats.write_plan(KNOT, stacked(KNOT))
    swap(folder, "p0", "plan.json", worse)
    assert "its best is not" in " ".join(faults(folder)["p0"])
    other = answered(replace(KNOT, name="another file"))
    assert other.proof is not None
    swap(folder, "p0", "plan.proof", other.proof)
    assert "memstow-check does not accept" in " ".join(faults(folder)["p0"])


def test_what_is_no_json_or_has_nan_is_shown(tmp_path: Path) -> None:
    folder = made(tmp_path / "lib", 1)
    path = folder.path / "p0" / "instance.json"
    text = path.read_text()
    path.write_text(text.replace('"slack": ', '"slack": NaN, "was": '))
    assert "not a finite number" in faults(folder)["p0"][0]
    path.write_text(text.replace('"id"', '"id": "p0", "id"', 1))
    assert "more than once" in faults(folder)["p0"][0]
    with pytest.raises(InputError, match=r"^p0/instance\.json: \$\.id: "), opened(folder):
        pass
    path.write_text(text)
    swap(folder, "p0", "plan.json", b"[" * 10_000)
    assert faults(folder)["p0"][0].startswith("p0/plan.json: ")


def test_a_folder_where_a_file_should_be_is_one_fault_of_its_own(tmp_path: Path) -> None:
    folder = made(tmp_path / "lib")
    for name in ("plan.json", "instance.json"):
        (folder.path / "p0" / name).unlink()
        (folder.path / "p0" / name).mkdir()
        wrong = faults(folder)
        assert wrong["p0"] == [f"p0/{name}: this is no plain file"]
        assert "p1" not in wrong
    (folder.path / "index.json").unlink()
    (folder.path / "index.json").mkdir()
    assert "index.json: this is no plain file" in faults(folder)[""]


def test_links_and_pipes_are_not_followed(tmp_path: Path) -> None:
    folder = made(tmp_path / "lib")
    problem = folder.path / "p0" / "problem.json"
    problem.rename(tmp_path / "elsewhere.json")
    problem.symlink_to(tmp_path / "elsewhere.json")
    assert "link" in faults(folder)["p0"][0]
    problem.unlink()
    os.mkfifo(problem)
    assert "no plain file" in faults(folder)["p0"][0]
    problem.unlink()
    (tmp_path / "elsewhere.json").rename(problem)
    assert faults(folder) == {}
    (folder.path / "p1").rename(tmp_path / "p1")
    (folder.path / "p1").symlink_to(tmp_path / "p1")
    assert "link" in faults(folder)["p1"][0]


def test_an_index_that_disagrees_is_shown_and_made_again(tmp_path: Path) -> None:
    folder = made(tmp_path / "lib")
    index = folder.path / "index.json"
    true = index.read_bytes()
    index.write_bytes(true.replace(b'"proven"', b'"open"', 1))
    assert "not what the instances say" in faults(folder)[""][0]
    with opened(folder) as library:
        library.put_index()
    assert index.read_bytes() == true
    index.unlink()
    assert "no index.json" in faults(folder)[""][0]
    twice = json.loads(true)
    twice["instances"].append(twice["instances"][0])
    with pytest.raises(InputError, match="twice"):
        folders.parse_index(json.dumps(twice).encode())


def test_the_same_instance_twice_is_shown(tmp_path: Path) -> None:
    folder = made(tmp_path / "lib", 1)
    copy = folder.path / "copy"
    copy.mkdir()
    for file in (folder.path / "p0").iterdir():
        (copy / file.name).write_bytes(file.read_bytes())
    falsify(folder, "copy", lambda document: document.update(id="copy"))
    assert "but for names" in faults(folder)[""][0]


def test_large_documents_are_packed_and_no_bomb_is_unpacked(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(folders, "LARGEST_PLAIN", 100)
    folder = made(tmp_path / "lib", 1)
    assert sorted(os.listdir(folder.path / "p0")) == [
        "instance.json",
        "plan.json",
        "plan.proof",
        "problem.json.gz",
    ]
    assert faults(folder) == {}
    assert pack("problem", b"x" * 200) == pack("problem", b"x" * 200)
    assert unpack(pack("problem", b"x" * 200)[1], "p") == b"x" * 200
    for wrong in (b"no gzip", gzip.compress(b"x" * 200)[:-1], gzip.compress(b"x") + b"more"):
        with pytest.raises(InputError):
            unpack(wrong, "p")
    monkeypatch.setattr(folders, "LARGEST_FILE", 5000)
    swap(folder, "p0", "problem.json.gz", gzip.compress(b" " * 10_000_000, mtime=0)[:5000])
    bomb = gzip.compress(b" " * 1_000_000, mtime=0)
    assert len(bomb) < 5000
    swap(folder, "p0", "problem.json.gz", bomb)
    assert "unpacks to more than" in faults(folder)["p0"][0]
    tracemalloc.start()
    with pytest.raises(InputError, match="unpacks to more than"):
        unpack(bomb, "p")
    _, most = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert most < len(bomb) + 100_000


def test_no_more_than_a_limit_is_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = made(tmp_path / "lib", 1)
    monkeypatch.setattr(folders, "LARGEST_FILE", 100)
    assert "more than 100 bytes" in faults(folder)["p0"][0]
    monkeypatch.setattr(folders, "LARGEST_METADATA", 100)
    assert "more than 100 bytes" in faults(folder)["p0"][0]


# Interruptions.


class Interruption(Exception):  # noqa: N818
    """Stands for the end of the process."""


@pytest.mark.parametrize("calls", range(8))
def test_a_writer_that_is_cut_short_leaves_the_old_record_or_the_new(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, calls: int
) -> None:
    folder = unsolved(tmp_path)
    submit(folder, Answer(stacked(KNOT)))
    left = calls
    replace_file, unlink = os.replace, Path.unlink

    def counted(work: Callable[..., Any]) -> Callable[..., Any]:
        def run(*args: Any, **words: Any) -> Any:
            nonlocal left
            left -= 1
            if left < 0:
                raise Interruption
            return work(*args, **words)

        return run

    with monkeypatch.context() as patch:
        patch.setattr(os, "replace", counted(replace_file))
        patch.setattr(Path, "unlink", counted(unlink))
        with suppress(Interruption):
            submit(folder, answered(KNOT))
    instance = instance_of(folder, "knot")
    entry, answer = posed_of(folder, instance), answer_of(folder, instance)
    assert instance.best[0].value in (21, 47)
    assert faults_of(instance, entry, answer) == []
    # The next writer clears up, and what was cut short can be done again.
    submit(folder, answered(KNOT))
    with opened(folder) as library:
        library.put_index()
    assert instance_of(folder, "knot").state == "proven"
    assert not [name for name in tree(folder.path) if name.endswith((".next", ".unfinished"))]
    assert faults(folder) == {}


def test_an_instance_that_is_cut_short_is_not_there(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = made(tmp_path / "lib", 1)
    before = tree(folder.path)
    with monkeypatch.context() as patch, opened(folder) as library:

        def fail(*_: object) -> None:
            raise Interruption

        patch.setattr(os, "rename", fail)
        with pytest.raises(Interruption):
            add(library, "knot", KNOT)
    assert tree(folder.path) == before
    # As a process that was killed leaves it.
    (folder.path / ".knot.123.unfinished").mkdir()
    assert faults(folder) == {}
    with opened(folder):
        assert not (folder.path / ".knot.123.unfinished").exists()


def test_two_writers_do_not_meet(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = made(tmp_path / "lib", 1)
    monkeypatch.setattr(folders, "PATIENCE", 0.0)
    with folder.writing(), pytest.raises(InputError, match="another process"), folder.writing():
        pass
    with folder.writing():
        pass


# Two libraries.


def fetched(into: Folder, source: Folder) -> dict[str, str]:
    with opened(into) as library:
        return {one.name: one.outcome for one in fetch(library, source, everything)}


def test_what_is_new_or_better_is_fetched(tmp_path: Path) -> None:
    one, two = made(tmp_path / "one"), Folder(tmp_path / "two")
    assert fetched(two, one) == {"p0": "new", "p1": "new"}
    assert tree(one.path) == tree(two.path)
    for folder, answer in ((one, answered(KNOT)), (two, Answer(stacked(KNOT)))):
        with opened(folder) as library:
            add(library, "knot", KNOT, solved=False)
            library.submit("knot", answer, CREDIT)
    assert {each.name: each.side for each in diff(one, two, everything)} == {"knot": "better here"}
    assert {each.name: each.side for each in diff(two, one, everything)} == {"knot": "better there"}
    assert fetched(two, one) == {"knot": "better", "p0": "kept", "p1": "kept"}
    assert list(diff(one, two, everything)) == []
    assert faults(two) == {}


def test_lies_are_not_fetched(tmp_path: Path) -> None:
    one, two = made(tmp_path / "one", 3), Folder(tmp_path / "two")
    falsify(one, "p0", lambda document: document["best"][0].update(value=1, bound=1))
    swap(one, "p1", "plan.json", formats.write_plan(KNOT, stacked(KNOT)))
    assert fetched(two, one) == {"p0": "refused", "p1": "refused", "p2": "new"}
    assert two.ids() == ["p2"]
    assert faults(two) == {}
    with opened(two) as library:
        add(library, "p0", random_problem(7))
    assert fetched(two, one)["p0"] == "refused"
    assert [each.side for each in diff(one, two, lambda name: name == "p0")] == ["other problem"]


# The standard library.


def test_the_table_has_500_recipes_that_differ() -> None:
    table = recipes()
    assert len(table) == 500
    assert len({recipe.about.name for recipe in table}) == 500
    sizes = [recipe.about.name.split("-")[1] for recipe in table]
    assert {size: sizes.count(size) for size in sizes} == dict.fromkeys(
        ("trivial", "small", "large", "huge"), 125
    )


SMALL: Final = "420da4b0638c6f1bf53ca8f7d7a66e04f0027032ca01f897d78d6d6a4b7d2e9f"
ALL: Final = "049908d070750e1849af67dcc18d41b25b79ed65ebd23675484a40e056c6bc9e"
"""Of all files in order. A recipe of something else takes another id: records are about what it makes."""


def digest_of_all(sizes: tuple[str, ...]) -> str:
    made_by = (recipe for recipe in recipes() if recipe.about.name.split("-")[1] in sizes)
    entries = ((recipe.about.name, sha256(posed(recipe.make()).data).hexdigest()) for recipe in made_by)
    return sha256("".join(f"{name} {digest}\n" for name, digest in entries).encode()).hexdigest()


def test_recipes_make_what_they_made() -> None:
    assert digest_of_all(("trivial", "small")) == SMALL


@pytest.mark.campaign
def test_all_recipes_make_what_they_made_and_none_is_another(tmp_path: Path) -> None:
    folder = Folder(tmp_path / "lib")
    with opened(folder) as library:
        # Adding refuses what is there already.
        assert len(list(generate(library, everything, 0, CREDIT))) == 500
    assert faults(folder) == {}
    assert digest_of_all(("trivial", "small", "large", "huge")) == ALL


def test_it_is_made_again_byte_for_byte_and_goes_on_where_it_was(tmp_path: Path) -> None:
    def wanted(name: str) -> bool:
        return name.endswith("-trivial-01")

    def run(folder: Folder, most: int | None = None) -> list[bool]:
        cancel, new = threading.Event(), []
        with opened(folder) as library:
            for one in generate(library, wanted, 100_000, CREDIT, cancel):
                new.append(one.is_new)
                if most is not None and len(new) == most:
                    cancel.set()
        return new

    one, two = Folder(tmp_path / "one"), Folder(tmp_path / "two")
    count = sum(wanted(recipe.about.name) for recipe in recipes())
    assert run(one) == [True] * count
    assert run(two, 3) == [True] * 3
    assert faults(two) == {}
    assert run(two) == [False] * 3 + [True] * (count - 3)
    assert tree(one.path) == tree(two.path)
    assert faults(one) == {}


def test_a_call_that_is_cut_short_keeps_what_is_whole(tmp_path: Path) -> None:
    cancel = threading.Event()
    cancel.set()
    with opened(Folder(tmp_path / "lib")) as library:
        assert list(generate(library, everything, 100_000, CREDIT, cancel)) == []
    assert os.listdir(tmp_path / "lib") == []
    folder = made(tmp_path / "other")
    assert "" not in faults(folder, cancel)


def test_a_record_of_several_terms_keeps_the_bounds_that_hold(tmp_path: Path) -> None:
    problem = mixed(10, 3, features=["pools"])
    folder = Folder(tmp_path / "lib")
    with opened(folder) as library:
        add(library, "pools", problem)
        instance = library.instances["pools"]
        assert [term.term for term in instance.best] == ["placement_cost", "peak"]
        bare = Plan(status=Status.FEASIBLE, placements=answered(problem).plan.placements)
        assert library.submit("pools", Answer(bare), CREDIT) == ()
        assert library.instances["pools"] == instance
    shown = judged(posed(problem), Answer(bare))
    assert shown.values == tuple(term.value for term in instance.best)
    assert faults(folder) == {}


def test_a_library_is_read_in_the_order_of_ids(tmp_path: Path) -> None:
    folder = made(tmp_path / "lib")
    (folder.path / "notes").mkdir()
    (folder.path / "README").write_text("not an instance")
    assert list(Library(folder).instances) == ["p0", "p1"]
