"""Judges the plans of programs that take turns: each in its own program, and what has to survive the others.

It knows nothing of the one problem that all programs make: the plans are laid over each other as they are.
"""

from collections.abc import Iterator, Mapping
from dataclasses import replace
from operator import attrgetter
from typing import Final

from memstow.planner.model import Status
from memstow.planner.model.plan import Placement, Plan
from memstow.planner.model.problem import ALWAYS, Buffer, Distances, Problem, spans
from memstow.planner.model.programs import BETWEEN, Kept, Program, Programs, name_in_all
from memstow.planner.verify.problem_verdict import judge_problem
from memstow.planner.verify.verdict import Code, Findings, Verdict, Violation
from memstow.records import record

_EVER: Final = None


@record
class _Placed:
    """The bytes of a buffer of a program, and when it needs them to stay as they are."""

    program: int
    buffer: Buffer
    group: tuple[int, int]
    """The rigid group of its program that it is in: its members may lie over each other."""
    sizes: "Mapping[tuple[int, int], int]"
    """By the groups that it is in, as one with buffers of other programs: how large it is there."""
    begin: int
    end: int
    held_in: "dict[int, tuple[int, int] | None]"
    """By program in which others may not have its bytes: from when to when there; None: all the time."""


def verify_programs(programs: Programs, plans: Mapping[str, Plan]) -> list[Violation]:
    """All violations of these plans, by program: of each in its own problem, and of all together.

    A buffer that is kept has one address, and no program overwrites it, nor a buffer that is always live.
    """
    findings = Findings()
    for program in programs.programs:
        plan = plans.get(program.id)
        if plan is None:
            if program.problem.buffers:
                findings.add(Code.MISSING, "the program {!r} has no plan", program.id)
            continue
        problem = _as_one_of_all(programs, program)
        bare = Plan(status=Status.FEASIBLE, placements=plan.placements)
        for violation in judge_problem(problem, bare, None, refutes=False).violations:
            findings.add(
                violation.code,
                "{!r}: {}",
                program.id,
                violation.message,
                buffers=tuple(name_in_all(program.id, name) for name in violation.buffers),
                pool=violation.pool,
            )
    known = {program.id for program in programs.programs}
    for name in plans:
        if name not in known:
            findings.add(Code.UNKNOWN_BUFFER, "there is no program {!r}", name[:64])
    if not findings.total:
        _check_kept(programs, plans, findings)
    return findings.violations()


def judged_apart(programs: Programs, problem: Problem, plan: Plan, verdict: Verdict) -> Verdict:
    """The verdict on the plan of the one problem, with what is wrong with it program by program."""
    if not verdict.valid or not plan.placements:
        return verdict
    places: dict[str, list[Placement]] = {program.id: [] for program in programs.programs}
    for place in plan.placements:
        program, _, buffer = place.buffer.partition(BETWEEN)
        places.setdefault(program, []).append(replace(place, buffer=buffer))
    plans = {name: Plan(status=Status.FEASIBLE, placements=own) for name, own in places.items()}
    violations = verify_programs(replace(programs, pools=problem.pools), plans)
    return replace(verdict, violations=tuple(violations))


def _as_one_of_all(programs: Programs, program: Program) -> Problem:
    """Its problem in the pools in force, without the pairs that what is kept is in: they do not lift it.

    The objective says nothing of where a buffer may be.
    """
    kept = {name for entry in programs.kept for owner, name in entry.buffers if owner == program.id}
    problem = program.problem
    return replace(
        problem,
        pools=programs.pools or problem.pools,
        objective=(),
        exclusive=tuple(pair for pair in problem.exclusive if kept.isdisjoint(pair)),
        in_place=tuple(pair for pair in problem.in_place if kept.isdisjoint((pair.input, pair.output))),
    )


def _check_kept(programs: Programs, plans: Mapping[str, Plan], findings: Findings) -> None:
    places = [
        {place.buffer: place for place in plans[program.id].placements} if program.id in plans else {}
        for program in programs.programs
    ]
    buffers = [{buffer.id: buffer for buffer in program.problem.buffers} for program in programs.programs]
    groups = _groups(programs)
    first_of: dict[int, tuple[str, Placement, int]] = {}
    for (number, name), (group, distance) in groups.items():
        if not buffers[number][name].size:
            continue
        place, full_name = places[number][name], name_in_all(programs.programs[number].id, name)
        first_name, first, first_distance = first_of.setdefault(group, (full_name, place, distance))
        apart = distance - first_distance
        if (first.pool, first.offset + apart) != (place.pool, place.offset):
            findings.add(
                Code.RELATIVE_DISTANCE if first.pool == place.pool else Code.RELATIVE_POOL,
                "{!r} is at {} in {!r} and {!r} at {} in {!r}: what is kept as one, and what is tied to "
                "it, puts {} bytes between them",
                first_name,
                first.offset,
                first.pool,
                full_name,
                place.offset,
                place.pool,
                apart,
                buffers=(first_name, full_name),
            )
    if findings.total:
        return
    by_pool: dict[str, list[_Placed]] = {}
    for placed, pool in _placed(programs, places):
        by_pool.setdefault(pool, []).append(placed)
    for pool, all_placed in by_pool.items():
        _sweep(programs, all_placed, pool, findings)


def _groups(programs: Programs) -> "dict[tuple[int, str], tuple[int, int]]":
    """By number of the program and buffer: the group of all that is tied or kept as one, and where in it."""
    number_of = {program.id: number for number, program in enumerate(programs.programs)}
    keys = [
        (number, buffer.id)
        for number, program in enumerate(programs.programs)
        for buffer in program.problem.buffers
    ]
    index_of = {key: index for index, key in enumerate(keys)}
    distances = Distances()
    for number, program in enumerate(programs.programs):
        for tie in program.problem.relative:
            distances.tie(index_of[number, tie.buffer], index_of[number, tie.base], tie.offset)
    empty = {
        (program.id, buffer.id)
        for program in programs.programs
        for buffer in program.problem.buffers
        if not buffer.size
    }
    for kept in programs.kept:
        there = [index_of[number_of[pair[0]], pair[1]] for pair in kept.buffers if pair not in empty]
        for other in there[1:]:
            distances.tie(other, there[0], 0)
    return {key: distances.find(index) for key, index in index_of.items()}


def _placed(
    programs: Programs,
    places: "list[dict[str, Placement]]",
) -> "Iterator[tuple[_Placed, str]]":
    """Every buffer that has bytes, with its pool."""
    kept_by = {pair: kept for kept in programs.kept for pair in kept.buffers}
    own = _own_groups(programs)
    number_of = {program.id: number for number, program in enumerate(programs.programs)}
    size_of = {
        (program.id, buffer.id): buffer.size
        for program in programs.programs
        for buffer in program.problem.buffers
    }
    sizes_of = {
        pair: sizes
        for kept in programs.kept
        for sizes in [{own[number_of[one[0]], one[1]]: size_of[one] for one in kept.buffers}]
        for pair in kept.buffers
    }
    for number, program in enumerate(programs.programs):
        for buffer in program.problem.buffers:
            if not buffer.size:
                continue
            place = places[number][buffer.id]
            kept_as = kept_by.get((program.id, buffer.id))
            held_in: dict[int, tuple[int, int] | None] = {}
            if kept_as is not None:
                held_in = _held_in(programs, kept_as)
            elif buffer.lifetime == ALWAYS:
                held_in = {other: _EVER for other in range(len(programs.programs)) if other != number}
            begin, end = place.offset, place.offset + buffer.size
            group = own[number, buffer.id]
            sizes = sizes_of.get((program.id, buffer.id), {group: buffer.size})
            yield _Placed(number, buffer, group, sizes, begin, end, held_in), place.pool


def _own_groups(programs: Programs) -> "dict[tuple[int, str], tuple[int, int]]":
    """By number of the program and buffer: the program, and the group that its own ties make."""
    groups: dict[tuple[int, str], tuple[int, int]] = {}
    for number, program in enumerate(programs.programs):
        index_of = {buffer.id: index for index, buffer in enumerate(program.problem.buffers)}
        distances = Distances()
        for tie in program.problem.relative:
            distances.tie(index_of[tie.buffer], index_of[tie.base], tie.offset)
        for name, index in index_of.items():
            groups[number, name] = number, distances.find(index)[0]
    return groups


def _held_in(programs: Programs, kept: Kept) -> "dict[int, tuple[int, int] | None]":
    """The programs in which nothing else may have the bytes of what is kept, and from when to when."""
    every = range(len(programs.programs))
    if kept.life == "always":
        return dict.fromkeys(every, _EVER)
    named = dict(kept.buffers)
    users = [number for number in every if programs.programs[number].id in named]
    lives = {}
    for number in (users[0], users[-1]):
        program = programs.programs[number]
        buffer = next(entry for entry in program.problem.buffers if entry.id == named[program.id])
        if buffer.lifetime == ALWAYS:
            return dict.fromkeys(every, _EVER)
        lives[number] = spans(buffer)
    held_in: dict[int, tuple[int, int] | None] = dict.fromkeys(range(users[0], users[-1] + 1), _EVER)
    for number in {users[0], users[-1]}:
        times = [
            time
            for entry in programs.programs[number].problem.buffers
            for life in spans(entry)
            for time in life
        ]
        if lives[number]:
            begin = lives[number][0][0] if number == users[0] else min(times)
            end = lives[number][-1][1] if number == users[-1] else max(times)
            held_in[number] = begin, end
    return held_in


def _sweep(programs: Programs, all_placed: list[_Placed], pool: str, findings: Findings) -> None:
    """Note each buffer that lies on bytes that are held while its program runs."""
    holding: list[_Placed] = []
    others: list[_Placed] = []
    for placed in sorted(all_placed, key=attrgetter("begin")):
        holding = [entry for entry in holding if entry.end > placed.begin]
        if placed.held_in:
            others = [entry for entry in others if entry.end > placed.begin]
        beside = [*holding, *others] if placed.held_in else holding
        for entry in beside:
            if _are_tied_so(placed, entry) or not (_disturbs(placed, entry) or _disturbs(entry, placed)):
                continue
            names = tuple(
                name_in_all(programs.programs[one.program].id, one.buffer.id) for one in (entry, placed)
            )
            findings.add(
                Code.OVERLAP,
                "{!r} and {!r} share bytes of {!r} from {}, and one has to survive the other's program",
                *names,
                pool,
                placed.begin,
                buffers=names,
                pool=pool,
            )
        (holding if placed.held_in else others).append(placed)


def _are_tied_so(one: _Placed, other: _Placed) -> bool:
    """Whether a program ties them, or what is one with them, and they share as much there."""
    if one.program == other.program:
        return one.group == other.group
    return any(
        min(one.begin + one.sizes[group], other.begin + other.sizes[group]) >= min(one.end, other.end)
        for group in one.sizes.keys() & other.sizes.keys()
    )


def _disturbs(placed: _Placed, holder: _Placed) -> bool:
    """Whether a buffer lives in its program while another's bytes are held there."""
    if placed.program not in holder.held_in:
        return False
    held = holder.held_in[placed.program]
    lives = spans(placed.buffer)
    return held is _EVER or not lives or any(begin < held[1] and held[0] < end for begin, end in lives)
