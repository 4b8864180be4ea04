"""Pairs the runs of old and new results by instance, solver and seed; or those of two solvers."""

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from memstow.planner.bench.records.record import Machine, hash_of
from memstow.planner.bench.records.results import Results, Run
from memstow.planner.model.errors import InputError
from memstow.planner.show.formatting import count, plain

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
        """Whether both runs are deterministic: differences, except in times, are not chance.

        Of two solvers each may be better somewhere, so which instances there are is chance.
        """
        if self.old.record.solver.name != self.new.record.solver.name:
            return False
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


def pairs(old: Results, new: Results, solvers: tuple[str, str] | None = None) -> Pairs:
    """Pair them up; an InputError where they have nothing in common.

    With `solvers` the runs of the first in the old results are paired with those of the second in the new
    ones, which may be the same results.
    """
    if solvers is not None:
        return _pairs_of_solvers(old, new, *solvers)
    # Where one name stands for several sets of options, only equal options belong together.
    several = _with_several_options(old.runs) | _with_several_options(new.runs)
    before, after = ({_key(run, several): run for run in results.runs} for results in (old, new))
    both = tuple(Pair(key[1], run, after[key]) for key, run in sorted(before.items()) if key in after)
    if not both:
        message = f"no instance, solver and seed of it is in {old.path} as well"
        if {run.instance.digest for run in old.runs} & {run.instance.digest for run in new.runs}:
            message += f"; --solvers A,B compares solver A of these ({_named(old.solvers)}) "
            message += f"with B of these ({_named(new.solvers)})"
        raise InputError.single("nothing_in_common", str(new.path), message)
    return Pairs(
        both,
        tuple(run for key, run in sorted(before.items()) if key not in after),
        tuple(run for key, run in sorted(after.items()) if key not in before),
        (*_unreadable(old, new), *_notes(both)),
    )


def _pairs_of_solvers(old: Results, new: Results, first: str, second: str) -> Pairs:
    before, after = _runs_of(old, first), _runs_of(new, second)
    label = f"{first} -> {second}"
    both = tuple(Pair(label, run, after[key]) for key, run in sorted(before.items()) if key in after)
    if not both:
        message = f"{second} has no run of an instance and seed that {first} has in {old.path}"
        raise InputError.single("nothing_in_common", str(new.path), message)
    results = (old,) if old.path == new.path else (old, new)
    notes = [*_unreadable(*results), *_notes(both)]
    for solver, runs in ((first, before), (second, after)):
        if alone := len(runs) - len(both):
            notes.append(f"runs of {plain(solver)} without a partner, which do not count: {count(alone)}")
    return Pairs(both, (), (), tuple(notes))


def _runs_of(results: Results, solver: str) -> dict[tuple[str, int], Run]:
    """The runs of a solver by digest and seed; it is named as a report names it, or in short."""
    labels = {run.solver for run in results.runs if solver in (run.solver, run.record.solver.name)}
    if len(labels) != 1:
        wrong = "no results of" if not labels else "several sets of options for"
        message = f"there are {wrong} {solver!r}; name one of: {_named(sorted(labels) or results.solvers)}"
        raise InputError.single("unknown_solver", str(results.path), message)
    return {(run.instance.digest, run.record.seed): run for run in results.runs if run.solver in labels}


def _named(solvers: Sequence[str]) -> str:
    return ", ".join(plain(solver, most=80) for solver in solvers)


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
    model = f" ({machine.model})" if machine.model else ""
    return f"{machine.cpus} processors{model}, {machine.system}" if machine.cpus else ""
