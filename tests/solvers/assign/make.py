"""Instances for the tests of the packing and its cuts, from buffers in the words of a problem."""

from collections.abc import Sequence
from random import Random

from memstow.planner.model.problem import Buffer, Pool, Problem, Reserved
from memstow.planner.reduce import Reduction, reduce
from memstow.solvers import _native
from memstow.solvers.instance import Instance
from memstow.solvers.solver import Task


def instance_of(pools: Sequence[Pool], buffers: Sequence[Buffer]) -> Instance:
    """The arrays of a problem in units of one byte."""
    # A buffer of one byte, so that nothing is divided.
    unit = Buffer(id="unit", size=1, lifetime=(99, 100))
    reduction = reduce(Problem(version=1, pools=tuple(pools), buffers=(*buffers, unit)))
    assert isinstance(reduction, Reduction)
    assert reduction.unit == 1
    return reduction.instance


def task_of(instance: Instance) -> Task:
    """A task that asks for any layout, in one thread."""
    return Task(instance=instance, terms=(), lower_bounds=(), deterministic=True)


def endless() -> _native.Budget:
    """A budget that tiny instances do not spend."""
    return _native.Budget(-1.0, -1)


def crowded(rng: Random) -> Instance:
    """A small pool, another one, and a few buffers that may not all fit in the first."""
    reserved = (Reserved(offset=rng.randint(1, 6), size=1),) if rng.random() < 0.5 else ()
    pools = (Pool(id="small", capacity=rng.randint(8, 12), reserved=reserved), Pool(id="large", capacity=64))
    buffers = []
    for i in range(6):
        begin = rng.randint(0, 3)
        life = (begin, begin + rng.randint(1, 3))
        size, alignment = rng.randint(1, 4), rng.choice((1, 1, 2, 4))
        buffers.append(Buffer(id=f"b{i}", size=size, lifetime=life, alignment=alignment))
    return instance_of(pools, buffers)
