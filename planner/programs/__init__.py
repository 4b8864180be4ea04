"""Programs that take turns, as one problem: read, made, and its plan as a plan for each program.

The programs run one after the other, so buffers of two of them are never live together and may share bytes.
Buffers that are kept live through all of it, at distance 0 from each other. The plan of this problem is that
of all programs, and what is proven of it is proven of them.
"""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from itertools import count
from typing import Annotated, Any, Final, Literal

from memstow.planner.check import find_issues
from memstow.planner.model import Status
from memstow.planner.model.errors import InputError, Issue, closest_match
from memstow.planner.model.model_class import Field, model_class
from memstow.planner.model.plan import Placement, Plan
from memstow.planner.model.printable import shown
from memstow.planner.model.problem import (
    ALWAYS,
    LIMIT,
    Buffer,
    Distances,
    Group,
    Id,
    Interval,
    Pair,
    Pool,
    Problem,
    Relative,
    allowed_pools,
    rigid_groups,
    spans,
)
from memstow.planner.model.programs import (
    BETWEEN,
    AnyPrograms,
    Kept,
    Program,
    Programs,
    name_in_all,
)
from memstow.planner.reading.json_text import parse_path
from memstow.planner.reading.sections import Findings, read_section

Life = Interval | Literal["always"]
_LONGEST_ID: Final = 1024
_MOST_PAIRS: Final = 4_000_000
"""More pairs of buffers without lifetimes and buffers that are kept are not worth the memory."""


@model_class
class _Entry:
    """A program as it is written: its problem in any format that is JSON, or the name of a file with it."""

    id: Id
    problem: Any = None
    file: Id | None = None


@model_class
class _Written(AnyPrograms):
    """The document."""

    programs: Annotated[tuple[_Entry, ...], Field(min_length=1)]


def parse_programs(
    raw: object,
    read_problem: Callable[[object], Problem],
    read_file: Callable[[str], Problem] | None = None,
) -> Programs:
    """The programs that a JSON value describes; an InputError with all that is wrong otherwise.

    `read_problem` reads the problem of a program from JSON, `read_file` from a file if files may be named.
    """
    findings = Findings(raw)
    section = read_section(_Written, raw, findings)
    entries: tuple[_Entry, ...] = () if "programs" in section.lost else section.values.get("programs", ())
    programs: list[Program] = []
    for index, entry in enumerate(entries):
        try:
            programs.append(Program(id=entry.id, problem=_problem_of(entry, read_problem, read_file)))
        except InputError as error:
            at = ("programs", index, "problem" if entry.file is None else "file")
            for issue in error.issues:
                inside = parse_path(issue.path) if entry.file is None else ()
                where = "" if entry.file is None or issue.path == "$" else f"{issue.path}: "
                findings.add(issue.code, (*at, *inside), f"{where}{issue.message}")
    if findings:
        raise findings.error()
    document = Programs(**{**section.values, "programs": programs})
    for issue in find_programs_issues(document):
        findings.add(issue.code, parse_path(issue.path), issue.message)
    if findings:
        raise findings.error()
    return document


def programs_of(problems: Iterable[tuple[str, Problem]], kept: Iterable[str] = ()) -> Programs:
    """Programs by name, one after the other; buffers of two and more that have a name in `kept` are one.

    Of names that are there several times, all but the first get a number.
    """
    programs: list[Program] = []
    for name, problem in problems:
        taken = {program.id for program in programs}
        others = (f"{name}-{number}" for number in count(2))
        free = name if name not in taken else next(other for other in others if other not in taken)
        programs.append(Program(id=free, problem=problem))
    ids = {program.id: {buffer.id for buffer in program.problem.buffers} for program in programs}
    entries = []
    for name in dict.fromkeys(kept):
        pairs = [(program, name) for program, buffers in ids.items() if name in buffers]
        if not pairs:
            message = _unknown("buffer", name, set().union(*ids.values()))
            raise InputError.single("unknown_buffer", "$.kept", message)
        entries.append(Kept(buffers=pairs))
    return Programs(programs=programs, kept=entries)


def _problem_of(
    entry: _Entry, read_problem: Callable[[object], Problem], read_file: Callable[[str], Problem] | None
) -> Problem:
    if (entry.problem is None) == (entry.file is None):
        message = "a program has its problem in `problem`, or the name of a file with it in `file`: give one"
        raise InputError.single("no_problem", "$", message)
    if entry.file is None:
        return read_problem(entry.problem)
    if read_file is None:
        message = "files are read by the command line alone; put the problem itself into `problem`"
        raise InputError.single("file_named", "$", message)
    return read_file(entry.file)


def find_programs_issues(document: Programs) -> list[Issue]:
    """What is wrong with programs whose problems are right, each by itself and together."""
    issues = [*_name_issues(document), *_kept_issues(document), *_common_issues(document)]
    if issues:
        return issues
    joint = _Joint(document)
    if joint.pair_count() > _MOST_PAIRS:
        message = (
            f"{joint.pair_count():,} pairs of buffers that are kept, or always live, and buffers without "
            f"lifetimes are more than {_MOST_PAIRS:,}; give the buffers lifetimes"
        )
        return [Issue("too_large", "$.programs", message)]
    problem = joint.problem()
    return [joint.placed(issue) for issue in find_issues(problem)] or list(joint.clashes(problem))


def _name_issues(document: Programs) -> Iterator[Issue]:
    seen: set[str] = set()
    for index, program in enumerate(document.programs):
        path = f"$.programs[{index}].id"
        if BETWEEN in program.id:
            message = f"{shown(program.id)} has a {BETWEEN}, which stands before the names of its buffers"
            yield Issue("not_a_name", path, f"{message}; leave it out")
        if program.id in seen:
            yield Issue("duplicate_program", path, f"{shown(program.id)} is the id of another program")
        seen.add(program.id)
        longest = max((len(buffer.id) for buffer in program.problem.buffers), default=0)
        if len(program.id) + len(BETWEEN) + longest > _LONGEST_ID:
            message = f"with the id of a buffer, which has up to {longest:,} characters, it is too long"
            yield Issue("too_long", path, f"{message}: at most {_LONGEST_ID:,} together; give shorter ids")


def _kept_issues(document: Programs) -> Iterator[Issue]:
    problems = {program.id: program.problem for program in document.programs}
    ids = {name: {buffer.id for buffer in problem.buffers} for name, problem in problems.items()}
    seen: set[Pair] = set()
    for index, kept in enumerate(document.kept):
        programs = Counter(program for program, _ in kept.buffers)
        for at, (program, buffer) in enumerate(kept.buffers):
            path = f"$.kept[{index}].buffers[{at}]"
            if program not in ids:
                yield Issue("unknown_program", f"{path}[0]", _unknown("program", program, ids))
            elif buffer not in ids[program]:
                message = _unknown(f"buffer of {shown(program)} called", buffer, ids[program])
                yield Issue("unknown_buffer", f"{path}[1]", message)
            elif (program, buffer) in seen:
                message = f"{shown(buffer)} of {shown(program)} is kept already; name it once"
                yield Issue("kept_twice", path, message)
            elif programs[program] > 1:
                message = f"two buffers of {shown(program)} cannot be one: tie them in it by `relative`"
                yield Issue("same_program", path, message)
            seen.add((program, buffer))


def _unknown(kind: str, name: str, known: Iterable[str]) -> str:
    close = closest_match(name, known)
    return f"there is no {kind} {shown(name)}" + ("" if close is None else f"; did you mean {shown(close)}?")


def _common_issues(document: Programs) -> Iterator[Issue]:
    pools: dict[str, Pool] = {}
    for index, program in enumerate(document.programs if document.pools is None else ()):
        for pool in program.problem.pools:
            if pools.setdefault(pool.id, pool) != pool:
                message = f"the pool {shown(pool.id)} is another in {shown(program.id)} than in those before"
                yield Issue(
                    "pools_differ",
                    f"$.programs[{index}].problem.pools",
                    f"{message}; give the pools of all in `pools` of this document",
                )
    objectives = {program.problem.objective for program in document.programs}
    if document.objective is None and len(objectives) > 1:
        message = "the programs have different objectives; give that of all in `objective` of this document"
        yield Issue("objectives_differ", "$", message)


def joint_problem(programs: Programs) -> Problem:
    """The one problem that the programs are; an InputError with all that is wrong with them."""
    issues = find_programs_issues(programs)
    if issues:
        raise InputError(issues)
    return _Joint(programs).problem()


class _Joint:
    """Makes the problem of programs that name each other's buffers rightly."""

    def __init__(self, document: Programs) -> None:
        self._document = document
        self._kept_by = {pair: kept for kept in document.kept for pair in kept.buffers}
        pools = document.pools or (pool for program in document.programs for pool in program.problem.pools)
        self._pools = tuple({pool.id: pool for pool in pools}.values())
        self._turns = list(_turns(document))

    def problem(self) -> Problem:
        document = self._document
        objective = document.objective
        return Problem(
            name=document.name,
            pools=self._pools,
            buffers=[
                self._buffer(index, buffer)
                for index, program in enumerate(document.programs)
                for buffer in program.problem.buffers
            ],
            conflicts=[*self._pairs("conflicts"), *self._held()],
            exclusive=[pair for pair in self._pairs("exclusive") if not self._keeps(pair)],
            relative=[*self._ties(), *self._same_places()],
            in_place=[
                replace(pair, input=first, output=second)
                for program in document.programs
                for pair in program.problem.in_place
                for first, second in [_in_all(program, (pair.input, pair.output))]
                if not self._keeps((first, second))
            ],
            reuse_costs=[
                replace(cost, buffers=_in_all(program, cost.buffers))
                for program in document.programs
                for cost in program.problem.reuse_costs
            ],
            bank_conflicts=[
                replace(entry, buffers=tuple(name_in_all(program.id, name) for name in entry.buffers))
                for program in document.programs
                for entry in program.problem.bank_conflicts
            ],
            objective=document.programs[0].problem.objective if objective is None else objective,
        )

    def placed(self, issue: Issue) -> Issue:
        """The issue of the one problem with its place in the document."""
        keys = parse_path(issue.path)
        if self._document.kept:
            # What is kept is tied without that the document says so in these words.
            issue = replace(issue, message=issue.message.replace("`relative`", "`kept` or `relative`"))
        if keys[:1] == ("buffers",) and len(keys) > 1 and isinstance(keys[1], int):
            at = keys[1]
            for index, program in enumerate(self._document.programs):
                if at < len(program.problem.buffers):
                    return replace(issue, path=f"$.programs[{index}].problem.buffers[{at}]")
                at -= len(program.problem.buffers)
        if keys[:1] in (("pools",), ("objective",)):
            return issue
        return replace(issue, path="$.kept" if self._document.kept else "$")

    def clashes(self, problem: Problem) -> Iterator[Issue]:
        """Buffers that are put on bytes of each other by what is kept, and have to survive each other.

        Members of a rigid group of one program may be; here groups of several programs become one.
        """
        if not self._document.kept:
            return
        members = _Members(self._document)
        exempt = {frozenset(pair) for pair in problem.exclusive}
        exempt |= {frozenset((pair.input, pair.output)) for pair in problem.in_place}
        listed = {frozenset(pair) for pair in problem.conflicts}
        buffers = problem.buffers
        for group in rigid_groups(problem, {buffer.id: index for index, buffer in enumerate(buffers)}):
            for one, other in members.over_each_other(group):
                pair = frozenset((buffers[one].id, buffers[other].id))
                if pair not in listed and (pair in exempt or not self._meet(members, problem, one, other)):
                    continue
                message = (
                    f"what is kept as one, and what is tied to it, puts {shown(buffers[other].id)} and "
                    f"{shown(buffers[one].id)} on bytes of each other, and they live together; leave one "
                    "out of `kept`, or tie them to others"
                )
                yield Issue("kept_overlap", "$.kept", message)
                return

    def _meet(self, members: "_Members", problem: Problem, one: int, other: int) -> bool:
        """Whether two buffers, by index, live together in the time of all programs."""
        both = [problem.buffers[index] for index in (one, other)]
        numbers = [members.numbers[index] for index in (one, other)]
        if numbers[0] == numbers[1] and all(map(_is_timeless, both)):
            return False
        turns = [self._turns[number][:2] for number in numbers]
        lives = [_lives(buffer) or [turn] for buffer, turn in zip(both, turns, strict=True)]
        return any(a[0] < b[1] and b[0] < a[1] for a in lives[0] for b in lives[1])

    def _buffer(self, index: int, buffer: Buffer) -> Buffer:
        program = self._document.programs[index]
        names = buffer.pools
        if names is None and buffer.pool is None and self._document.pools is None:
            own = allowed_pools(program.problem, buffer)
            names = None if own == tuple(pool.id for pool in self._pools) else own
        changed = replace(buffer, id=name_in_all(program.id, buffer.id), pools=names, group=program.id)
        life = self._life(program.id, buffer)
        if life is not None:
            return replace(changed, lifetime=life, lifetimes=None)
        shift = self._turns[index][2]
        return replace(
            changed,
            lifetime=_shifted(buffer.lifetime, shift)
            if isinstance(buffer.lifetime, tuple)
            else buffer.lifetime,
            lifetimes=None
            if buffer.lifetimes is None
            else tuple(_shifted(life, shift) for life in buffer.lifetimes),
        )

    def _life(self, program: str, buffer: Buffer) -> Life | None:
        """When a buffer lives that is kept; None for others."""
        kept = self._kept_by.get((program, buffer.id))
        if kept is None or kept.life == ALWAYS:
            return None if kept is None else ALWAYS
        return self._used(kept)

    def _used(self, kept: Kept) -> Life:
        """From where the first of the buffers begins to where the last ends."""
        begins: list[int] = []
        ends: list[int] = []
        named = dict(kept.buffers)
        for (begin, end, shift), program in zip(self._turns, self._document.programs, strict=True):
            if program.id not in named:
                continue
            buffer = next(entry for entry in program.problem.buffers if entry.id == named[program.id])
            if buffer.lifetime == ALWAYS:
                return ALWAYS
            lives = spans(buffer)
            begins.append(lives[0][0] + shift if lives else begin)
            ends.append(lives[-1][1] + shift if lives else end)
        return min(begins), max(ends)

    def _keeps(self, pair: Pair) -> bool:
        """Whether one of them lives longer than its program says, which no pair may lift."""
        return any(split_name(name) in self._kept_by for name in pair)

    def _pairs(self, field: str) -> Iterator[Pair]:
        for program in self._document.programs:
            pairs: tuple[Pair, ...] = getattr(program.problem, field)
            yield from (_in_all(program, pair) for pair in pairs)

    def _ties(self) -> Iterator[Relative]:
        for program in self._document.programs:
            for tie in program.problem.relative:
                buffer, base = _in_all(program, (tie.buffer, tie.base))
                yield replace(tie, buffer=buffer, base=base)

    def _same_places(self) -> Iterator[Relative]:
        """The buffers that are kept as one."""
        empty = {
            (program.id, buffer.id) for program, buffer in _each_buffer(self._document) if not buffer.size
        }
        for kept in self._document.kept:
            names = [name_in_all(*pair) for pair in kept.buffers if pair not in empty]
            yield from (Relative(buffer=name, base=names[0], offset=0) for name in names[1:])

    def pair_count(self) -> int:
        """At most so many pairs are made of what is held and buffers without lifetimes."""
        timeless = held = 0
        for program in self._document.programs:
            for buffer in program.problem.buffers:
                is_kept = (program.id, buffer.id) in self._kept_by
                held += is_kept or buffer.lifetime == ALWAYS
                timeless += _is_timeless(buffer) and not is_kept
        return held * timeless

    def _held(self) -> Iterator[Pair]:
        """What lives on while another program runs, and the buffers without lifetimes of that program."""
        document = self._document
        timeless = [
            (index, buffer)
            for index, program in enumerate(document.programs)
            for buffer in program.problem.buffers
            if _is_timeless(buffer) and buffer.size and (program.id, buffer.id) not in self._kept_by
        ]
        if not timeless:
            return
        tied = Distances()
        index_of = {
            name_in_all(program.id, buffer.id): at
            for at, (program, buffer) in enumerate(_each_buffer(document))
        }
        for tie in (*self._ties(), *self._same_places()):
            tied.tie(index_of[tie.buffer], index_of[tie.base], tie.offset)
        listed = {frozenset(pair) for pair in self._pairs("conflicts")}
        for program, buffer in _each_buffer(document):
            kept = self._kept_by.get((program.id, buffer.id))
            if not buffer.size or (kept is None and buffer.lifetime != ALWAYS):
                continue
            name = name_in_all(program.id, buffer.id)
            life = ALWAYS if kept is None or kept.life == ALWAYS else self._used(kept)
            for index, other in timeless:
                begin, end, _ = self._turns[index]
                beside = document.programs[index]
                lives_then = life == ALWAYS or (life[0] < end and begin < life[1])
                if not lives_then or (kept is None and beside.id == program.id):
                    continue
                pair = name, name_in_all(beside.id, other.id)
                one_group = tied.find(index_of[pair[0]])[0] == tied.find(index_of[pair[1]])[0]
                if not one_group and frozenset(pair) not in listed:
                    yield pair


def _each_buffer(document: Programs) -> Iterator[tuple[Program, Buffer]]:
    return ((program, buffer) for program in document.programs for buffer in program.problem.buffers)


class _Members:
    """All buffers by index, and in which rigid groups of their own programs they are."""

    def __init__(self, document: Programs) -> None:
        numbers = {program.id: number for number, program in enumerate(document.programs)}
        every = [(numbers[program.id], buffer) for program, buffer in _each_buffer(document)]
        self.numbers = [number for number, _ in every]
        self.buffers = [buffer for _, buffer in every]
        index_of = {(number, buffer.id): index for index, (number, buffer) in enumerate(every)}
        own = Distances()
        for number, program in enumerate(document.programs):
            for tie in program.problem.relative:
                own.tie(index_of[number, tie.buffer], index_of[number, tie.base], tie.offset)
        self._own = [own.find(index)[0] for index in range(len(every))]
        self._entry: dict[int, int] = {}
        # By the groups of programs that it is in, as one with others: how large it is there.
        self._sizes = [{self._own[index]: buffer.size} for index, buffer in enumerate(self.buffers)]
        for entry, kept in enumerate(document.kept):
            indices = [index_of[numbers[program], name] for program, name in kept.buffers]
            sizes = {self._own[index]: self.buffers[index].size for index in indices}
            for index in indices:
                self._sizes[index] = sizes
                self._entry[index] = entry

    def _may_lie_so(self, one: tuple[int, int], other: tuple[int, int]) -> bool:
        """Whether a program ties two buffers that share so much there, by their ends and indices."""
        (end, member), (other_end, beside) = one, other
        if self.numbers[member] == self.numbers[beside]:
            return self._own[member] == self._own[beside]
        begin, other_begin = end - self.buffers[member].size, other_end - self.buffers[beside].size
        sizes, other_sizes = self._sizes[member], self._sizes[beside]
        return any(
            min(begin + sizes[group], other_begin + other_sizes[group]) >= min(end, other_end)
            for group in sizes.keys() & other_sizes.keys()
        )

    def over_each_other(self, group: Group) -> Iterator[tuple[int, int]]:
        """Of a rigid group of all those that no group of their programs lets lie over each other so far.

        Buffers of two programs count if one of them outlives its program; of those that are one, the largest.
        """
        placed = sorted(
            zip(group.deltas, group.members, strict=True),
            key=lambda entry: (entry[0], -self.buffers[entry[1]].size),
        )
        by_program: dict[int, list[tuple[int, int]]] = {}
        held: list[tuple[int, int]] = []
        others: list[tuple[int, int]] = []
        seen: set[int] = set()
        for begin, member in placed:
            own = begin + self.buffers[member].size, member
            beside = by_program.setdefault(self.numbers[member], [])
            beside[:] = [before for before in beside if before[0] > begin]
            yield from ((member, before[1]) for before in beside if not self._may_lie_so(own, before))
            beside.append(own)
            entry = self._entry.get(member)
            if entry in seen:
                continue
            if entry is not None:
                seen.add(entry)
            is_held = entry is not None or self.buffers[member].lifetime == ALWAYS
            held = [before for before in held if before[0] > begin]
            if is_held:
                others = [before for before in others if before[0] > begin]
            for before in [*held, *(others if is_held else [])]:
                if not self._may_lie_so(own, before):
                    yield member, before[1]
            (held if is_held else others).append(own)


def _lives(buffer: Buffer) -> Sequence[Interval]:
    """When it lives; of what is always live all the time that there is."""
    return [(-LIMIT, LIMIT)] if buffer.lifetime == ALWAYS else spans(buffer)


def _is_timeless(buffer: Buffer) -> bool:
    return buffer.lifetime is None and buffer.lifetimes is None


def _in_all(program: Program, pair: Pair) -> Pair:
    return name_in_all(program.id, pair[0]), name_in_all(program.id, pair[1])


def _shifted(life: Interval, shift: int) -> Interval:
    return life[0] + shift, life[1] + shift


def _turns(document: Programs) -> Iterator[tuple[int, int, int]]:
    """Of each program its turn in the time of all, from begin to end, and how far its times are moved."""
    begin = 0
    for program in document.programs:
        lives = [life for buffer in program.problem.buffers for life in spans(buffer)]
        first = min((life[0] for life in lives), default=0)
        last = max((life[1] for life in lives), default=1)
        yield begin, begin + last - first, begin - first
        begin += last - first


def program_plans(plan: Plan) -> dict[str, Plan]:
    """The plan of each program, in its own names, of the plan of all; empty where that has no places.

    An InputError for a plan whose buffers are not called as those of programs are.
    """
    placements: dict[str, list[Placement]] = {}
    for index, place in enumerate(plan.placements):
        program, buffer = split_name(place.buffer)
        if not program or not buffer:
            message = f"{shown(place.buffer)} is no PROGRAM{BETWEEN}BUFFER: it is no plan of several programs"
            raise InputError.single("not_programs", f"$.placements[{index}].buffer", message)
        placements.setdefault(program, []).append(replace(place, buffer=buffer))
    return {
        program: Plan(status=Status.FEASIBLE, placements=places) for program, places in placements.items()
    }


def plan_of_all(plans: Iterable[tuple[str, Plan]]) -> Plan:
    """The plan of all programs of the plan of each: the other way round, with the places alone."""
    return Plan(
        status=Status.FEASIBLE,
        placements=[
            replace(place, buffer=name_in_all(program, place.buffer))
            for program, plan in plans
            for place in plan.placements
        ],
    )


def split_name(name: str) -> Pair:
    """The program and the buffer of a name in the plan of all; empty ones where it is no such name."""
    program, _, buffer = name.partition(BETWEEN)
    return program, buffer
