"""A report is whole, safe to open, the same every time, and can be made of whatever a run has left."""

import csv
import io
import random
import re
import shutil
import subprocess
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from html.parser import HTMLParser
from pathlib import Path
from xml.etree import ElementTree

import pytest

from memstow.planner.bench.analysis import rate
from memstow.planner.bench.compare import duels
from memstow.planner.bench.journal import Results, Run, read
from memstow.planner.bench.record import (
    COMMANDS,
    Command,
    Ending,
    Instance,
    JudgeResult,
    Layout,
    ProgressEvent,
    Record,
    commands_file,
)
from memstow.planner.bench.report import MOST_DRAWN, MOST_ROWS, figures, report
from memstow.planner.bench.report_pgf import pgf_figures
from memstow.planner.bench.report_pictures import Picture, Sketch, whole
from memstow.planner.bench.report_text import duel_sentences
from memstow.planner.model.errors import InputError, MissingBackEndError
from memstow.planner.model.plan import Plan
from memstow.planner.model.problem import Buffer, Pool, Problem
from tests.api.page.browser import browser
from tests.campaign import gate_first
from tests.planner.bench.make import made, results, write

EVIL = "<script>alert('&\"')</script> | $x_1$ *b* \x1b[31m"
PICTURES = ("profiles", "cactus", "gap", "size")

pytest.importorskip("matplotlib", reason="the reports of the bench need the extra bench")


def _none(_: Sequence[Instance]) -> Mapping[str, Problem]:
    return {}


def _report(
    folder: Path,
    *records: Record,
    problems: Callable[[Sequence[Instance]], Mapping[str, Problem]] = _none,
    memory_pictures: int = 100,
) -> dict[str, str]:
    return report(rate(results(folder, *records), {}), "title", problems, memory_pictures=memory_pictures)


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """The report of some results, as its files."""
    return _report(tmp_path_factory.mktemp("some"), *_some())


@pytest.fixture
def undrawn(monkeypatch: pytest.MonkeyPatch) -> None:
    """Empty pictures, for tests of tables and sentences: drawing is nearly all of the work of a report."""

    def empty(sketch: Sketch) -> Picture:
        return Picture(sketch.name, sketch.title, sketch.caption, "<svg></svg>")

    monkeypatch.setattr("memstow.planner.bench.report.picture", empty)


def _some() -> list[Record]:
    chance = random.Random(5)
    return [
        made(
            f"{family}{k}",
            solver,
            chance.randrange(100, 140),
            seed=seed,
            family=family,
            bound=100,
            buffers=chance.randrange(5, 500),
            seconds=chance.uniform(0.001, 10),
            events=[
                ProgressEvent(chance.uniform(0, 1), incumbent=150),
                ProgressEvent(chance.uniform(0, 1), bound=90),
            ],
        )
        for family in ("f", "g")
        for k in range(6)
        for solver in ("x", "y", "z")
        for seed in (0, 1)
    ]


class _Checked(HTMLParser):
    """Collects elements, what they refer to, and whether each is closed."""

    EMPTY = frozenset({"meta", "br", "path", "use", "rect", "img"})

    def __init__(self, text: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.seen: set[str] = set()
        self.ids: list[str] = []
        self.refers: list[str] = []
        self.text = ""
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.seen.add(tag)
        for name, value in attrs:
            assert not name.startswith("on"), (tag, name)
            if name == "id":
                self.ids.append(value or "")
            if name in {"href", "xlink:href", "src", "srcset", "action"}:
                self.refers.append(value or "")
        if tag not in self.EMPTY:
            self.open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.handle_starttag(tag, attrs)
        if tag not in self.EMPTY:
            self.open.pop()

    def handle_endtag(self, tag: str) -> None:
        if tag not in self.EMPTY:
            assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.text += data


def test_the_page_needs_nothing_from_anywhere(files: dict[str, str]) -> None:
    page = files["report.html"]
    checked = _Checked(page)
    assert checked.open == []
    assert not checked.seen & {"script", "link", "iframe", "object", "embed", "img", "base"}
    assert checked.refers
    assert all(place.startswith("#") for place in checked.refers)
    assert re.findall(r"url\((?!#)|@import", page) == []
    assert {place[1:] for place in checked.refers} <= set(checked.ids)
    assert len(checked.ids) == len(set(checked.ids))


def test_pictures_are_svg_in_the_page_and_in_files(files: dict[str, str]) -> None:
    names = {*PICTURES, "scatter"}
    assert {f"report-{name}.svg" for name in names} == {name for name in files if name.endswith(".svg")}
    for name in names:
        drawn = ElementTree.fromstring(files[f"report-{name}.svg"])
        assert drawn.tag == "{http://www.w3.org/2000/svg}svg"
        assert f"(report-{name}.svg)" in files["report.md"]
        # Text that can be searched, and colours that follow the reader's.
        assert "<text" in files[f"report-{name}.svg"]
        assert "currentColor" not in files[f"report-{name}.svg"]
    assert files["report.html"].count('<svg role="img"') == len(names)
    assert "currentColor" in files["report.html"]


def test_panels_have_letters_and_what_is_told_names_them(files: dict[str, str]) -> None:
    for name in (*PICTURES, "scatter"):
        drawn = files[f"report-{name}.svg"]
        assert [drawn.count(f">({letter})</text>") for letter in "abc"] == [1, 1, 0], name
    matches = re.findall("<figcaption>(.*?)</figcaption>", files["report.html"])
    assert len(matches) == len(PICTURES) + 1
    assert all("(a)" in text and "(b)" in text for text in matches)
    assert "fastest of the instance and seed" in matches[0]


def test_a_scatter_tells_how_many_points_are_in_one_place(tmp_path: Path) -> None:
    alike = [made(f"i{k}", solver, 100) for k in range(37) for solver in ("x", "y")]
    thin_out = [made("other", "x", 100, seconds=1), made("other", "y", 200, seconds=9)]
    drawn = _report(tmp_path, *alike, *thin_out)["report-scatter.svg"]
    assert drawn.count(">37</text>") == 2


@pytest.mark.campaign
def test_no_table_is_wider_than_the_page_lets_be_seen(tmp_path: Path) -> None:
    many = [made("i", f"solver number {k} of a long name", 100) for k in range(14)]
    page = _report(tmp_path, *many)["report.html"]
    # What is too wide for the screen can be scrolled to, on paper it becomes narrower, and nothing keeps
    # words from being broken into lines.
    assert 0 < page.count("<table") == page.count('<div class="wide"><table>')
    assert 0 < page.count('<div class="rows"') == page.count('<div class="wide">\n<div class="rows"')
    assert ".wide { overflow-x: auto; }" in page
    assert "nowrap" not in page
    assert "minmax(0, 1fr)" in page[page.index("@media print") :]


@pytest.mark.campaign
def test_figures_for_papers_are_pdf_with_their_letters_in_them(tmp_path: Path) -> None:
    bench = rate(results(tmp_path, *_some()), {})
    drawn = figures(bench)
    assert set(drawn) == {f"report-{name}.pdf" for name in (*PICTURES, "scatter")}
    assert figures(bench) == drawn
    for data in drawn.values():
        assert data.startswith(b"%PDF-")
        # TrueType, which publishers take, and not Type 3.
        assert b"/FontFile2" in data
        assert b"/Type3" not in data
        assert b"CreationDate" not in data


def test_runs_are_counted_in_whole_numbers() -> None:
    from matplotlib.figure import Figure

    panel = Figure().subplots()
    for runs in (1, 2, 3, 17, 60_000):
        panel.set_xlim(0.9, runs + 0.1)
        whole(panel, "x")
        assert all(tick == int(tick) for tick in panel.get_xticks())


def test_the_same_results_give_the_same_bytes(files: dict[str, str], tmp_path: Path) -> None:
    some = _some()
    assert _report(tmp_path, *random.Random(1).sample(some, len(some))) == files


@pytest.mark.usefixtures("undrawn")
def test_what_is_proven_and_checked_is_counted(tmp_path: Path) -> None:
    optimal = made("a", "x", 10, status=Ending.OPTIMAL, bound=10)
    proven = [
        replace(optimal, seed=seed, judged=JudgeResult(True, (), by))
        for seed, by in enumerate(("judge", "proof", None))
    ]
    files = _report(tmp_path, *proven, made("a", "x", 10, seed=3))
    (row,) = csv.DictReader(io.StringIO(files["summary.csv"]))
    assert (row["proven"], row["checked"]) == ("3", "2")
    runs = csv.DictReader(io.StringIO(files["runs.csv"]))
    assert [run["checked"] for run in runs] == ["judge", "proof", "", ""]


def test_no_name_is_taken_for_markup(tmp_path: Path) -> None:
    evil = made(EVIL, EVIL, 10, family=EVIL, status=Ending.OPTIMAL, bound=12)
    files = _report(tmp_path, evil, made(EVIL, "_x", 11, family=EVIL))
    checked = _Checked(files["report.html"])
    assert "script" not in checked.seen
    assert "alert('&\"')" in checked.text
    assert "\x1b" not in files["report.html"] + files["report.md"]
    assert "<script" not in files["report.md"]
    assert "_x" in files["report-cactus.svg"]
    for line in files["report.md"].splitlines():
        if line.startswith("|"):
            assert len(re.findall(r"(?<!\\)\|", line)) in (7, 10, 13)
    rows = list(csv.DictReader(io.StringIO(files["runs.csv"])))
    assert {row["instance"] for row in rows} == {EVIL}


@pytest.mark.usefixtures("undrawn")
def test_tables_for_latex_are_balanced_and_no_name_is_a_command(tmp_path: Path) -> None:
    evil = r"100%_of\input{x}~^$&#|<>" + '"\n'
    records = [made(name, solver, 10, family=evil) for name in ("a", evil) for solver in (evil, "y")]
    text = _report(tmp_path, *records)["report.tex"]
    lines = [line for line in text.splitlines() if not line.startswith("%")]
    assert not [line for line in lines if re.search(r"(?<!\\)[%$#~^<>|]|\\input", line)]
    bare = re.sub(r"\\[{}]", "", "\n".join(lines))
    assert bare.count("{") == bare.count("}")
    assert re.findall(r"\\(?:begin|end)\{\w+\}", text) == [
        *[r"\begin{table}", r"\begin{tabular}", r"\end{tabular}", r"\end{table}"],
        *[r"\begin{longtable}", r"\end{longtable}"] * 2,
    ]
    cells = {len(re.findall(r"(?<!\\)&", line)) for line in lines if line.endswith(r"\\")} - {0}
    # Nine columns of solvers, and of statistics; three and two solvers of instances.
    assert cells == {8, 4}


@pytest.mark.usefixtures("undrawn")
def test_no_name_is_an_argument_of_the_end_of_a_row_in_latex(tmp_path: Path) -> None:
    records = [made(name, "[x]", 10) for name in ("[4pt]1", "*star1", "a")]
    text = _report(tmp_path, *records)["report.tex"]
    rows = [line for line in text.splitlines() if line.endswith(r"\\")]
    assert not [line for line in rows if line.startswith(("[", "*"))]
    assert sum(line.startswith(("{}[4pt]1 &", "{}*star1 &", "{}[x] &")) for line in rows) >= 3


def test_the_tables_are_what_latex_reads(files: dict[str, str], tmp_path: Path) -> None:
    program = shutil.which("pdflatex")
    if program is None:
        pytest.skip("LaTeX is not installed (Debian: apt-get install texlive-latex-recommended)")
    (tmp_path / "report.tex").write_text(files["report.tex"])
    (tmp_path / "paper.tex").write_text(
        r"\documentclass{article}\usepackage[T1]{fontenc}\usepackage{booktabs,longtable}"
        r"\begin{document}\input{report}\end{document}"
    )
    command = [program, "-interaction=nonstopmode", "-halt-on-error", "paper.tex"]
    ran = subprocess.run(command, cwd=tmp_path, capture_output=True, check=False)
    assert ran.returncode == 0, ran.stdout.decode(errors="replace")[-2000:]


@pytest.mark.campaign
def test_no_head_of_a_column_breaks_within_a_word(tmp_path: Path) -> None:
    names = ("cadence-position", "storage-tokens", "improve", "greedy", "first-fit", "x", "y", "z")
    many = _report(tmp_path / "results", *_some(), *(made("all0", name, 100) for name in names))
    (tmp_path / "report.html").write_text(many["report.html"])
    with browser() as running:
        for wide in (1440, 700, 390):
            page = running.new_page(viewport={"width": wide, "height": 900})
            page.goto((tmp_path / "report.html").as_uri())
            # A word of several lines has several rectangles.
            broken = page.evaluate("""() => {
              const words = [];
              for (const cell of document.querySelectorAll('.rows .head > *, thead th, h3')) {
                const text = cell.firstChild, range = document.createRange();
                for (const word of text.textContent.matchAll(/[a-z]+/g)) {
                  range.setStart(text, word.index); range.setEnd(text, word.index + word[0].length);
                  if (range.getClientRects().length > 1) words.push(word[0]);
                }
              }
              return words; }""")
            assert broken == []


@pytest.mark.campaign
def test_the_facts_have_the_processor_the_command_and_its_date(tmp_path: Path) -> None:
    record = made("a", "x", 10)
    write(tmp_path, replace(record, machine=replace(record.machine, model="Some CPU 3000")))
    for began, command in (
        ("2026-11-01 10:00 UTC", "memstow bench run a.csv"),
        ("2026-11-02 09:30 UTC", "b <c>"),
    ):
        (tmp_path / COMMANDS).write_bytes(commands_file(tmp_path, Command(began, command)))
    files = report(rate(read(tmp_path), {}), "title", _none)
    for name in ("report.md", "report.html"):
        assert "Some CPU 3000" in files[name]
        assert "memstow bench run a.csv (2026-11-01 10:00 UTC)" in files[name]
        assert "b &lt;c&gt; (2026-11-02 09:30 UTC)" in files[name]
    (tmp_path / COMMANDS).write_text('[{"command": 3}')
    assert "bench run" not in report(rate(read(tmp_path), {}), "title", _none)["report.md"]


@pytest.mark.parametrize(
    "records",
    gate_first(
        [
            [made("a", "x")],
            [made("a", "x", 10)],
            [made("a", "x", 0, status=Ending.OPTIMAL, bound=0), made("a", "y", 5)],
            [made("a", "x", status=Ending.ERROR, seconds=0.0), made("a", "y", status=Ending.KILLED)],
            [made("a", "x", status=Ending.DECLINED), made("b", "y", 10)],
            [made("a", "x", ()), made("a", "y", ())],
            [made("a", "x", status=Ending.INFEASIBLE), made("a", "y", status=Ending.INFEASIBLE)],
            [made("a", "x", 10, buffers=0, seconds=0.0, options={})],
            [made("a", f"solver {k}", 10 + k) for k in range(20)],
            [made("a", "x", 1), made("a", "y", 10**9), made("a", "z", 1 << 62)],
        ],
        4,
    ),
)
def test_whatever_a_run_has_left_can_be_reported(tmp_path: Path, records: list[Record]) -> None:
    files = _report(tmp_path, *records)
    assert _Checked(files["report.html"]).open == []
    rows = list(csv.DictReader(io.StringIO(files["runs.csv"])))
    assert len(rows) == len(records)


@pytest.mark.usefixtures("undrawn")
def test_false_claims_stand_before_everything_else(tmp_path: Path) -> None:
    files = _report(tmp_path, made("a", "x", 10), made("a", "y", status=Ending.INFEASIBLE))
    for name in ("report.html", "report.md"):
        assert 0 < files[name].index("Claims that are not true") < files[name].index("Summary")
        assert "it says that nothing fits" in files[name]


@pytest.mark.campaign
def test_a_name_does_not_repeat_the_family_it_stands_below(tmp_path: Path) -> None:
    family = "planted,n=60,slack=0.2"
    files = _report(tmp_path, made(f"{family},seed=3", "x", 10, family=family), made("other", "x", 10))
    assert "<i>seed=3</i>" in files["report.html"]
    assert "<i>other</i>" in files["report.html"]
    assert f"| seed=3 | {family} |" in files["report.md"]
    assert f"{family},seed=3" in files["runs.csv"].replace('"', "")


@pytest.mark.campaign
def test_of_very_many_instances_the_page_shows_those_that_differ(tmp_path: Path) -> None:
    same = [made(f"same{k}", solver, 10) for k in range(MOST_ROWS + 500) for solver in "xy"]
    files = _report(tmp_path, *same, made("apart", "x", 10), made("apart", "y", 12))
    shown = re.findall(r"<i>(\w+)</i>", files["report.html"])
    assert len(shown) == MOST_ROWS + 1  # with the heading
    assert "apart" in shown
    assert len(files["runs.csv"].splitlines()) == len(same) + 3


def _problem(pool: str) -> Problem:
    buffers = (Buffer(id=EVIL, size=4, lifetime=(0, 2)), Buffer(id="b", size=8, lifetime=(1, 3)))
    return Problem(version=1, pools=(Pool(id=pool),), buffers=buffers)


@pytest.mark.campaign
def test_a_row_opens_the_picture_of_its_best_plan(tmp_path: Path) -> None:
    plans = {12: Layout((0, 0), (8, 0)), 13: Layout((0, 0), (9, 0))}
    records = [
        made("a", f"of {value}", value, plan=plan, bound=12, digest="one") for value, plan in plans.items()
    ]
    bare = _report(tmp_path, *records)["report.html"]
    drawn = _report(tmp_path, *records, problems=lambda _: {"one": _problem("the pool")})["report.html"]
    assert "<details>" not in bare
    assert drawn.count("<details>") == 1
    assert "the pool: peak 12" in drawn
    assert "4 bytes at 8" in drawn
    checked = _Checked(drawn)
    assert "script" not in checked.seen
    less = _report(
        tmp_path,
        *records,
        problems=lambda wanted: {i.digest: _problem("p") for i in wanted},
        memory_pictures=0,
    )
    assert "<details>" not in less["report.html"]


@pytest.mark.usefixtures("undrawn")
def test_no_picture_is_drawn_of_an_instance_of_many_buffers(tmp_path: Path) -> None:
    plan = Layout((0, 0), (8, 0))
    records = [
        made(f"of {count}", "a", 12, plan=plan, digest=str(count), buffers=count)
        for count in (MOST_DRAWN, MOST_DRAWN + 1)
    ]
    files = _report(tmp_path, *records, problems=lambda wanted: {i.digest: _problem("p") for i in wanted})
    assert files["report.html"].count("<details>") == 1


@pytest.mark.usefixtures("undrawn")
def test_with_a_viewer_each_plan_has_a_page_that_its_row_links_to(tmp_path: Path) -> None:
    records = [
        made("a", solver, 12, seed=seed, plan=Layout((0, 0), (8, 0)), bound=11, digest="one")
        for solver in ("x", EVIL)
        for seed in range(2)
    ]
    records.append(made("a", "no plan", 12, digest="one"))
    seen: dict[str, tuple[Problem, Plan, Run]] = {}
    page = report(
        rate(results(tmp_path, *records), {}),
        "title",
        lambda _: {"one": _problem("p")},
        viewer=lambda file, *them: seen.__setitem__(file, them),
    )["report.html"]
    assert len(seen) == 4
    assert all(page.count(f'<a href="{file}">') == 1 for file in seen)
    assert "x, seed 1</a>" in page
    checked = _Checked(page)
    assert "script" not in checked.seen
    for _, plan, run in seen.values():
        assert [(placement.buffer, placement.offset) for placement in plan.placements] == [
            (EVIL, 8),
            ("b", 0),
        ]
        assert (plan.solver, plan.objective[0].value) == (run.solver, 12)


def test_solvers_to_set_against_each_other_must_be_there(tmp_path: Path) -> None:
    bench = rate(results(tmp_path, *_some()), {})
    assert "x against z" in report(bench, "t", _none, pair=("x", "z"))["report.html"]
    with pytest.raises(InputError, match="nobody"):
        report(bench, "t", _none, pair=("x", "nobody"))


def test_without_matplotlib_it_says_what_to_install(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    with pytest.raises(MissingBackEndError, match=re.escape("memstow[bench]")):
        _report(tmp_path, made("a", "x", 10))


def test_figures_for_latex_have_every_solver_and_no_name_is_a_command(tmp_path: Path) -> None:
    records = [
        made(f"i{number}", solver, value, status=Ending.OPTIMAL, bound=value)
        for number in range(3)
        for solver, value in (("one_of", 10 + number), (r"\input{all} 100%", 12), ("exact", 10))
    ]
    records.append(made("i9", "never", None))
    written = pgf_figures(rate(results(tmp_path, *records), {}))
    assert sorted(written) == ["report-cactus.pgf", "report-gap.pgf", "report-profiles.pgf"]
    for data in written.values():
        text = data.decode()
        assert text.count(r"\begin{axis}") == text.count(r"\end{axis}") == 2
        assert [text.count(letter) for letter in "{["] == [text.count(letter) for letter in "}]"]
        named = re.findall(r"\\addlegendentry\{(.*)\}", text)
        assert sorted(named) == sorted([r"one\_of", r"\textbackslash{}input\{all\} 100\%", "exact", "never"])
    assert pgf_figures(rate(results(tmp_path, *records), {})) == written


def _duelling(folder: Path, many: int) -> Results:
    records = []
    for number in range(many):
        for seed in range(2):
            records.append(made(f"i{number}", "good", 100, seed=seed, seconds=0.1))
            records.append(
                made(f"i{number}", "bad", 110 + number, seed=seed, seconds=2.0, status=Ending.OPTIMAL)
            )
            records.append(made(f"i{number}", "lost", None, seed=seed, seconds=10.0))
    return results(folder, *records)


def test_statistics_say_in_words_who_is_better_at_what(tmp_path: Path) -> None:
    pytest.importorskip("scipy", reason="the tests need the extra bench")
    compared = duels(_duelling(tmp_path, 12))
    lines = {(duel.first, duel.second, duel.line.measure): duel.line for duel in compared}
    value = lines["bad", "good", "value"]
    # Twelve instances and not 24 runs, all in one direction; the least of seven p-values.
    assert (value.instances, value.better, value.worse) == (12, 12, 0)
    assert value.chance == pytest.approx(2 / 2**12 * len(compared), rel=0.5)
    assert value.mean is not None
    assert value.mean < 1
    time = lines["bad", "good", "time"]
    assert time.mean == pytest.approx(1.1 / 3.0)
    assert lines["bad", "lost", "time"].mean == pytest.approx(11 / 3)
    assert ("good", "lost", "value") not in lines
    sentences = duel_sentences(compared)
    assert any(
        one.startswith("good gave better plans than bad: on 12 of 12 instances, worse on 0")
        for one in sentences
    )
    assert any(one.startswith("bad was faster than lost") for one in sentences)
    assert any(one.startswith("good solved more than lost") for one in sentences)


@pytest.mark.usefixtures("undrawn")
def test_few_instances_show_nothing_and_one_solver_may_be_set_against_all(tmp_path: Path) -> None:
    pytest.importorskip("scipy", reason="the tests need the extra bench")
    few = duels(_duelling(tmp_path, 3))
    assert duel_sentences(few) == [f"{len(few)} of {len(few)} comparisons show no difference at 0.05."]
    against = duels(_duelling(tmp_path, 3), "lost")
    assert {(duel.first, duel.second) for duel in against} == {("lost", "bad"), ("lost", "good")}
    text = report(rate(_duelling(tmp_path, 3), {}), "title", _none, against="lost")
    for file in ("report.html", "report.md", "report.tex"):
        assert "comparisons show no difference" in text[file]
    with pytest.raises(InputError, match="there are no results of 'none'"):
        report(rate(_duelling(tmp_path, 3), {}), "title", _none, against="none")
