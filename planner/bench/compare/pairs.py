"""Pairs the runs of old and new results by instance, solver and seed."""

from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from memstow.planner.bench.records.record import Machine, hash_of
from memstow.planner.bench.records.results import Results, Run
from memstow.planner.model.errors import InputError
from memstow.planner.show.formatting import count

Key = tuple[str, str, int]
"""Digest of the instance, solver, seed."""


@dataclass(frozen=True, slots=True)
class Pair:
    """A run before and after."""

    solver: str
    old: Run
    new: Run

    @property
    def deterministic(self) -> bool:
        """Whether both runs are deterministic: differences, except in times, are not chance."""
        return all(run.record.solver.options.get("deterministic") is True for run in (self.old, self.new))

    @property
    def side_by_side(self) -> bool:
        """Whether one ran right after the other, on the same machine in the same state."""
        return self.old.record.turn is not None and self.new.record.turn is not None


@dataclass(frozen=True, slots=True)
class Pairs:
    """The pairs, and the runs that only one side has."""

    pairs: tuple[Pair, ...]
    only_old: tuple[Run, ...]
    only_new: tuple[Run, ...]
    notes: tuple[str, ...]
    """Other differences than the program: options, machines, unreadable lines."""

    @property
    def side_by_side(self) -> bool:
        """Whether all of them are."""
        return all(pair.side_by_side for pair in self.pairs)

    @property
    def solvers(self) -> tuple[str, ...]:
        return tuple(sorted({pair.solver for pair in self.pairs}))


def pairs(old: Results, new: Results) -> Pairs:
    """Pair them up; an InputError where they have nothing in common."""
    # Where one name stands for several sets of options, only equal options belong together.
    several = _with_several_options(old.runs) | _with_several_options(new.runs)
    before, after = ({_key(run, several): run for run in results.runs} for results in (old, new))
    both = tuple(Pair(key[1], run, after[key]) for key, run in sorted(before.items()) if key in after)
    if not both:
        raise InputError.single(
            "nothing_in_common", str(new.path), f"no instance, solver and seed of it is in {old.path} as well"
        )
    return Pairs(
        both,
        tuple(run for key, run in sorted(before.items()) if key not in after),
        tuple(run for key, run in sorted(after.items()) if key not in before),
        (*_unreadable(old, new), *_notes(both)),
    )


def _with_several_options(runs: Iterable[Run]) -> frozenset[str]:
    options = {(run.record.solver.name, hash_of(run.record.solver.options)) for run in runs}
    return frozenset(name for name, many in Counter(name for name, _ in options).items() if many > 1)


def _key(run: Run, several: frozenset[str]) -> Key:
    solver = run.record.solver
    name = f"{solver.name} {hash_of(solver.options)}" if solver.name in several else solver.name
    return run.instance.digest, name, run.record.seed


def _unreadable(*both: Results) -> Iterator[str]:
    for results in both:
        if results.unreadable:
            yield f"{results.path}: {count(results.unreadable)} of its lines cannot be read"


def _notes(both: Iterable[Pair]) -> Iterator[str]:
    differing: dict[str, tuple[object, object]] = {}
    machines = set()
    for pair in both:
        one, other = pair.old.record, pair.new.record
        for name in one.solver.options.keys() | other.solver.options.keys():
            values = one.solver.options.get(name), other.solver.options.get(name)
            if values[0] != values[1]:
                differing[f"{pair.solver}: {name}"] = values
        machines |= {_machine(record.machine) for record in (one, other)}
    yield from (f"{name} was {was} and is {now}" for name, (was, now) in sorted(differing.items()))
    # A file that is kept to compare with may leave out where it was made.
    machines.discard("")
    if len(machines) > 1:
        yield f"machines differ, so seconds do not compare: {'; '.join(sorted(machines))}"


def _machine(machine: Machine) -> str:
    return f"{machine.cpus} processors, {machine.system}" if machine.cpus else ""
