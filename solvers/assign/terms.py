"""The terms of the objective in the master, as expressions over the pools of items."""

from collections.abc import Mapping, Sequence

from ortools.sat.python import cp_model

from memstow.solvers.assign.crowd import Pair
from memstow.solvers.cpsat.peaks import Expr, Literal, peak_expression
from memstow.solvers.models.places import Choice
from memstow.solvers.models.relations import Relations
from memstow.solvers.solver import HintPlace, Task, Term, TermKind, choice_weights


class Terms:
    """An expression for each term, and the literals for reuse costs and moves."""

    def __init__(
        self,
        cp: cp_model.CpModel,
        task: Task,
        relations: Relations,
        choices: Sequence[Sequence[Choice]],
        taken: Sequence[Mapping[int, Literal]],
        peaks: Mapping[int, cp_model.IntVar],
        horizon: Sequence[int],
    ) -> None:
        self._cp = cp
        self._task = task
        self._relations = relations
        self._choices = choices
        self._taken = taken
        self._peaks = peaks
        self._most = max(horizon)
        self.stays: list[tuple[HintPlace, Literal]] = []
        """Places of the hint, and whether the item stays there."""
        self.paid: dict[Pair, Literal] = {}
        """Pairs with a cost of reuse, and whether it is paid."""
        self.expressions = [self._expression(term) for term in task.terms]

    def _expression(self, term: Term) -> Expr:
        instance = self._task.instance
        match term.kind:
            case TermKind.PEAK | TermKind.POOL_PEAK | TermKind.MAX_PEAK:
                return peak_expression(self._cp, term, self._peaks, self._most)
            case TermKind.PLACEMENT_COST | TermKind.PREFERENCE:
                adds = choice_weights(instance, term.kind)
                return sum(
                    adds[choice.index] * self._taken[item][choice.pool]
                    for item, mine in enumerate(self._choices)
                    for choice in mine
                )
            case TermKind.REUSE_COST:
                return self._reuse_cost()
            case TermKind.MOVES:
                return self._moves()

    def _reuse_cost(self) -> Expr:
        pairs, fixed = self._relations.reuse()
        for reuse in pairs:
            pair = (reuse.first, reuse.second)
            self.paid.setdefault(pair, self._cp.new_bool_var(f"paid{pair}"))
        return sum(r.cost * self.paid[r.first, r.second] for r in pairs) + fixed

    def _moves(self) -> Expr:
        for place in self._task.hint_places:
            for choice in self._choices[place.item]:
                if choice.pool == place.pool and choice.step_of(place.offset) is not None:
                    stays = self._cp.new_bool_var(f"stays{place.item}_{place.offset}")
                    self._cp.add_implication(stays, self._taken[place.item][place.pool])
                    self.stays.append((place, stays))
        by_item: dict[int, list[Literal]] = {}
        for place, stays in self.stays:
            by_item.setdefault(place.item, []).append(stays)
        for literals in by_item.values():
            self._cp.add_at_most_one(literals)
        return self._task.hint_buffers - sum(place.count * stays for place, stays in self.stays)
