"""Writes the input of ExecuTorch's planner for Cadence; refuses fields that it cannot express."""

from collections.abc import Mapping, Sequence
from dataclasses import replace

from memstow.planner.formats.format import Refusals
from memstow.planner.formats.plain_problem import single_life
from memstow.planner.model.problem import Buffer, Pool, Problem, allowed_pools


def document_of(problem: Problem, refusals: Refusals) -> dict[str, object]:
    """The problem as specs and constraints; fields that they cannot express are added to the refusals."""
    _refuse(problem, refusals)
    number_of = {pool.id: number for number, pool in enumerate(problem.pools, start=1)}
    return {
        "memory_config": _config(problem.pools),
        "specs": [
            _spec(buffer, f"$.buffers[{index}]", number_of, refusals)
            for index, buffer in enumerate(problem.buffers)
        ],
        "relative_placement": [
            # Lifetimes are written as they are, so none needs to be widened.
            {"dependent": tie.buffer, "source": tie.base, "offset": tie.offset, "update_lifetime": False}
            for tie in problem.relative
        ],
        "absolute_placement": [
            {
                "spec": buffer.id,
                "pinned_memory_id": number_of[allowed_pools(problem, buffer)[0]],
                "offset": buffer.offset,
            }
            for buffer in problem.buffers
            if buffer.pool is not None
        ],
    }


def _config(pools: Sequence[Pool]) -> dict[str, object]:
    config: dict[str, object] = {
        "memory_sizes": [pool.capacity for pool in pools],
        "memory_alignments": [pool.alignment for pool in pools],
        "memory_names": [pool.id for pool in pools],
    }
    if all(pool.base is not None for pool in pools):
        config["base_addrs"] = [pool.base for pool in pools]
    return config


def _spec(buffer: Buffer, path: str, number_of: Mapping[str, int], refusals: Refusals) -> dict[str, object]:
    first, after = single_life(buffer, path, refusals)
    allowed = buffer.pools if buffer.pools is not None else tuple(number_of)
    if list(allowed) != [name for name in number_of if name in allowed]:
        refusals.add(f"{path}.pools", "memories are tried in the order of their ids")
    spec: dict[str, object] = {
        "id": buffer.id,
        "allocated_memory": buffer.size,
        "lifetime": [first, after - 1],
        "alignment": buffer.alignment,
    }
    blocked = [number for name, number in number_of.items() if name not in allowed]
    return {**spec, "blocklist": blocked} if blocked else spec


def _refuse(problem: Problem, refusals: Refusals) -> None:
    for field in ("conflicts", "exclusive", "in_place", "reuse_costs"):
        if getattr(problem, field):
            refusals.add(f"$.{field}")
    if problem.terms() != replace(problem, objective=None).terms():
        refusals.add("$.objective", "it has none, so that only the usual one can be meant")
    _refuse_distances(problem, refusals)
    _refuse_pools(problem, refusals)
    for index, buffer in enumerate(problem.buffers):
        if buffer.accesses is not None:
            refusals.add(f"$.buffers[{index}].accesses")


def _refuse_distances(problem: Problem, refusals: Refusals) -> None:
    alignments = {pool.alignment for pool in problem.pools}
    for index, tie in enumerate(problem.relative):
        if len(alignments) > 1 and any(tie.offset % alignment for alignment in alignments):
            why = "in memories of different alignments distances are multiples of all of them"
            refusals.add(f"$.relative[{index}].offset", why)


def _refuse_pools(problem: Problem, refusals: Refusals) -> None:
    some_based = any(pool.base is not None for pool in problem.pools)
    steps = {buffer.alignment for buffer in problem.buffers}
    for index, pool in enumerate(problem.pools):
        _refuse_pool(f"$.pools[{index}]", pool, refusals)
        if some_based and pool.base is None:
            refusals.add(f"$.pools[{index}].base", "all memories have a base or none")
        elif pool.base is not None and any(pool.base % step for step in {*steps, pool.alignment}):
            refusals.add(f"$.pools[{index}].base", "offsets are aligned there, not addresses")


def _refuse_pool(path: str, pool: Pool, refusals: Refusals) -> None:
    if pool.capacity is None:
        refusals.add(f"{path}.capacity", "every memory has a size")
    elif pool.capacity % pool.alignment:
        refusals.add(f"{path}.capacity", "what does not fill a whole step of the alignment is not used")
    for field in ("reserved", "cost"):
        if getattr(pool, field):
            refusals.add(f"{path}.{field}")
