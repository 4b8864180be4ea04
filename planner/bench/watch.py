"""The page that follows a bench: a file that is replaced again and again, which the browser loads again.

It says when it was written: a run that was killed leaves a page that grows old.
"""

import base64
import hashlib
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from html import escape
from typing import Final, Self

from memstow.planner.bench import report_text
from memstow.planner.bench.journal import RECENT, Journal
from memstow.planner.bench.record import Ending, Record
from memstow.planner.bench.report import framed
from memstow.planner.bench.report_pictures import COLOURS
from memstow.planner.bench.run import Bundle, Tally
from memstow.planner.show.formatting import clock, count, percent, plain, seconds

RUNNING: Final = "Running"
FINISHED: Final = "Finished"
INTERRUPTED: Final = "Interrupted"

_EVERY_SECONDS: Final = 1.0
# Writing may take this part of the time of the thread that hands out runs.
_WRITING_SHARE: Final = 0.05
_RELOAD_SECONDS: Final = 2
# An older page of a run that goes on is that of a run that was killed.
_OLD_SECONDS: Final = 60
_MOST_UNDER_WAY: Final = 20
_LONGEST_NOTE: Final = 300

_BLUE, _ORANGE, _GREEN, _RED, _PURPLE, _TEAL, _BROWN, _GREY = COLOURS
_COLOUR: Final = {
    Ending.OPTIMAL: _GREEN,
    Ending.FEASIBLE: _BLUE,
    Ending.INFEASIBLE: _TEAL,
    Ending.UNKNOWN: _GREY,
    Ending.DECLINED: _BROWN,
    Ending.KILLED: _PURPLE,
    Ending.ERROR: _ORANGE,
    Ending.INVALID: _RED,
}
_FAILED: Final = (Ending.KILLED, Ending.ERROR, Ending.INVALID)

_STYLE: Final = """
h1 small { font-weight: 400; color: var(--quiet); overflow-wrap: anywhere; }
.state { font-size: 1.15rem; color: var(--ink); margin: 0; }
.state b { margin-right: .4em; }
.bar { display: block; width: 100%; height: .7rem; border-radius: 3px; background: var(--rule); }
.whole { height: 1.1rem; margin: .6rem 0; }
td .bar { min-width: 7rem; }
td.wide-cell { width: 40%; vertical-align: middle; }
.counts { display: flex; flex-wrap: wrap; gap: .2rem 1.6rem; margin: 0; }
.counts div { display: flex; gap: .4em; }
.counts dt { color: var(--quiet); }
.counts dd { margin: 0; font-weight: 600; font-variant-numeric: tabular-nums; }
.key { display: inline-block; width: .7em; height: .7em; border-radius: 2px; margin-right: .35em; }
table { width: 100%; }
td.number, th { white-space: nowrap; }
th, td { text-align: left; }
.number { text-align: right; }
li { overflow-wrap: anywhere; }
[hidden] { display: none; }
@media (max-width: 40rem) {
  body { padding: .8rem; }
  .less { display: none; }
  td .bar { min-width: 3.5rem; }
  th, td { padding: .25rem .2rem; font-size: .9rem; }
}
"""
_SCRIPT: Final = (
    f"if(Date.now()/1e3-document.getElementById('written').dataset.at>{_OLD_SECONDS})"
    "document.getElementById('old').hidden=false"
)


@dataclass(frozen=True, slots=True)
class Side:
    """Results of one folder, and who makes them."""

    name: str
    """What it is called beside others; empty if there is one."""
    journal: Journal
    solvers: Sequence[str]


class Watch:
    """Writes the page while it is open, not too often, and at last how the run has ended."""

    def __init__(
        self,
        title: str,
        sides: Sequence[Side],
        write: Callable[[bytes], None],
        now: Callable[[], float] = time.time,
    ) -> None:
        self._title = title
        self._sides = sides
        self._write = write
        self._now = now
        self._tally: Tally | None = None
        self._next = 0.0
        self.interrupted = False

    def look(self, tally: Tally) -> None:
        """Write the page again, if it is time to. The first time an OSError is the caller's."""
        now = time.monotonic()
        if now < self._next:
            return
        if self._tally is None:
            self._write(self.page(tally, RUNNING))
            self._tally = tally
        else:
            self._put(tally, RUNNING)
        after = time.monotonic()
        self._next = after + max(_EVERY_SECONDS, (after - now) / _WRITING_SHARE)

    def __enter__(self) -> Self:
        """Nothing is written before there is a tally."""
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: object) -> None:
        """Write how the run has ended."""
        if self._tally is not None:
            state = INTERRUPTED if self.interrupted else FINISHED
            self._put(self._tally, state if kind is None else f"Stopped: {error}")

    def _put(self, tally: Tally, state: str) -> None:
        """Results are worth more than the page: where it cannot be written, that is noted once."""
        try:
            self._write(self.page(tally, state))
        except OSError as error:
            tally.note(f"the page to watch could not be written: {error.strerror or error}")

    def page(self, tally: Tally, state: str) -> bytes:
        """The page; while the run goes on the browser loads it again."""
        runs = state == RUNNING
        digest = base64.b64encode(hashlib.sha256(_SCRIPT.encode()).digest()).decode()
        script = f"; script-src 'sha256-{digest}'" if runs else ""
        head = [
            '<meta http-equiv="Content-Security-Policy" content="default-src \'none\'; '
            f"style-src 'unsafe-inline'; img-src data:; base-uri 'none'; form-action 'none'{script}\">",
            *([f'<meta http-equiv="refresh" content="{_RELOAD_SECONDS}">'] if runs else ()),
            '<link rel="icon" href="data:,">',
        ]
        # Rounded down: the whole is done at the end alone.
        done = 100 * tally.settled // max(tally.total, 1)
        title = f"{done} % of {self._title}" if runs else f"{state.partition(':')[0]}: {self._title}"
        return framed(_name(title), self._body(tally, state), head, _STYLE).encode(errors="backslashreplace")

    def _body(self, tally: Tally, state: str) -> Iterator[str]:
        now = self._now()
        runs = state == RUNNING
        left = self._left(tally, now) if runs else ""
        yield (
            f'<p class="state"><b{_alarm(state)}>{_name(state, _LONGEST_NOTE)}.</b> '
            f"{count(tally.settled)} of {count(tally.total)} runs{left}</p>"
        )
        endings = {ending: self._ended(ending) for ending in Ending}
        yield _bar(endings, tally.total, "bar whole")
        yield '<dl class="counts">'
        for ending, number in endings.items():
            if number:
                key = f'<span class="key" style="background:{_COLOUR[ending]}"></span>'
                yield f"<div><dt>{key}{ending.value}</dt><dd>{count(number)}</dd></div>"
        waiting = tally.total - tally.settled
        handed = sum(len(bundle.tries) for bundle in tally.handed_out.values()) if runs else 0
        for what, number in (
            ("under way", handed),
            ("left", waiting - handed),
            ("recorded before", tally.before),
            ("the same as another", tally.same),
            ("not readable", tally.left_out),
            ("lost", tally.lost),
        ):
            if number > 0 or what == "left":
                yield f"<div><dt>{what}</dt><dd>{count(max(number, 0))}</dd></div>"
        yield "</dl>"
        written = f'<p id="written" data-at="{now:.0f}">Written {_date(now)}'
        if runs:
            yield f"{written}, again each second. If it gets old, the run was killed: --resume continues.</p>"
            yield '<p id="old" class="alarm" hidden>It is old: the run was killed, or its machine sleeps.</p>'
            yield f"<script>{_SCRIPT}</script>"
        else:
            yield f"{written}.</p>"
        yield from self._solvers(tally)
        if runs:
            yield from _under_way(tally)
        yield from self._notes(tally)
        yield from self._results()

    def _left(self, tally: Tally, now: float) -> str:
        left = tally.seconds_left()
        if left is None:
            return ""
        return f", about {clock(left)} left, until {_date(now + left)}"

    def _ended(self, ending: Ending) -> int:
        return sum(
            number
            for side in self._sides
            for (_, ended), number in side.journal.endings.items()
            if ended == ending
        )

    def _solvers(self, tally: Tally) -> Iterator[str]:
        heads = ("solver", "", "results", "failed", "left")
        yield from _table_head("Solvers", heads, numbers=(2, 3, 4))
        each = tally.total // max(sum(len(side.solvers) for side in self._sides), 1)
        for side in self._sides:
            endings = side.journal.endings
            for solver in dict.fromkeys((*side.solvers, *sorted(name for name, _ in endings))):
                by_ending = {ending: endings[solver, ending] for ending in Ending}
                ended = sum(by_ending.values())
                failed = sum(by_ending[ending] for ending in _FAILED)
                left = each - tally.by_solver[side.journal, solver] if solver in side.solvers else 0
                cells = (f'<td class="number">{count(number)}</td>' for number in (ended, failed, left))
                bar = _bar(by_ending, max(ended + left, each), "bar")
                shown = f"{side.name}: {solver}" if side.name else solver
                yield f'<tr><td>{_name(shown)}</td><td class="wide-cell">{bar}</td>{"".join(cells)}</tr>'
        yield "</tbody></table></div>"

    def _notes(self, tally: Tally) -> Iterator[str]:
        notes = [*tally.notes]
        for side in self._sides:
            for (solver, status), example in sorted(side.journal.faults.items()):
                notes.append(f"{side.name} {solver}: {status}, the first time on {example}".lstrip())
        if notes:
            yield "<h2>What went wrong</h2><ul>"
            yield from (f"<li>{_name(note, _LONGEST_NOTE)}</li>" for note in notes)
            yield "</ul>"

    def _results(self) -> Iterator[str]:
        heads = ("instance", "solver", "seed", "status", "value", "gap", "time")
        yield from _table_head(f"The last results, up to {RECENT}", heads, (2, 4, 5, 6), less=(2, 5))
        for side in self._sides:
            for record in reversed(side.journal.recent):
                yield f"<tr>{''.join(_cells(record, side.name))}</tr>"
        yield "</tbody></table></div>"


def _under_way(tally: Tally) -> Iterator[str]:
    now = time.monotonic()

    def begin(bundle: Bundle) -> float:
        return now + 1 if bundle.began is None else bundle.began

    bundles = sorted(tally.handed_out.values(), key=begin)
    if not bundles:
        return
    heads = ("instance", "solver", "seed", "for")
    yield from _table_head("Under way, the oldest first", heads, numbers=(2, 3), less=(2,))
    for bundle in bundles[:_MOST_UNDER_WAY]:
        task, others = bundle.tries[0].task, len(bundle.tries) - 1
        more = f" and {count(others)} more" if others else ""
        age = "waits" if bundle.began is None else clock(now - bundle.began)
        yield f"<tr><td>{_name(task.source.name)}{more}</td><td>{_name(task.solver.title)}</td>"
        yield f'<td class="number less">{task.seed}</td><td class="number">{age}</td></tr>'
    yield "</tbody></table></div>"
    if len(bundles) > _MOST_UNDER_WAY:
        yield f"<p>and {count(len(bundles) - _MOST_UNDER_WAY)} more</p>"


def _cells(record: Record, side: str) -> Iterator[str]:
    checked = record.judged is not None and record.judged.checked is not None
    status = f"{record.status.value}{', checked' if checked else ''}"
    solver = f"{side}: {record.solver.name}" if side else record.solver.name
    value = count(record.objective[0].value) if record.objective else report_text.NONE
    gap = report_text.NONE if record.gap is None else percent(record.gap)
    yield f"<td>{_name(record.instance.name)}</td><td>{_name(solver)}</td>"
    yield f'<td class="number less">{record.seed}</td>'
    yield f"<td{_alarm(record.status.value)}>{status}</td>"
    yield f'<td class="number">{value}</td><td class="number less">{gap}</td>'
    yield f'<td class="number">{seconds(record.seconds)}</td>'


def _table_head(
    title: str, heads: Sequence[str], numbers: Sequence[int], less: Sequence[int] = ()
) -> Iterator[str]:
    """The beginning of a table; those in `less` are left out on a narrow screen."""
    yield f'<h2>{title}</h2><div class="wide"><table><thead><tr>'
    for place, head in enumerate(heads):
        kinds = " ".join(name for name, places in (("number", numbers), ("less", less)) if place in places)
        yield f'<th scope="col" class="{kinds}">{head}</th>'
    yield "</tr></thead><tbody>"


def _bar(numbers: dict[Ending, int], whole: int, kind: str) -> str:
    """Parts of a whole as a picture, in the order of the endings."""
    words = ", ".join(f"{count(number)} {ending.value}" for ending, number in numbers.items() if number)
    at, parts = 0, []
    whole = max(whole, sum(numbers.values()), 1)
    for ending, number in numbers.items():
        if number:
            place = f'x="{at / whole:.4%}" width="{number / whole:.4%}" height="100%"'
            parts.append(f'<rect {place} fill="{_COLOUR[ending]}"/>')
            at += number
    return f'<svg class="{kind}" role="img" aria-label="{words or "no results"}">{"".join(parts)}</svg>'


def _alarm(state: str) -> str:
    is_wrong = state in _FAILED or state not in (RUNNING, FINISHED, INTERRUPTED, *Ending)
    return ' class="alarm"' if is_wrong else ""


def _date(moment: float) -> str:
    return datetime.fromtimestamp(moment, UTC).strftime("%Y-%m-%d %H:%M:%S UTC")


def _name(text: str, most: int = report_text.LONGEST_NAME) -> str:
    return escape(plain(text, most=most))
