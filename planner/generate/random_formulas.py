"""Formulas at random that are sizes: small, and never negative."""

from collections.abc import Sequence

from memstow.planner.generate.random_numbers import Chance
from memstow.planner.model.symbolic import Symbol


def random_formula(chance: Chance, symbols: Sequence[Symbol]) -> str:
    """A formula in these symbols."""
    one, other = chance.pick(symbols).id, chance.pick(symbols).id
    few, more = chance.between(1, 6), chance.between(2, 40)
    return chance.pick(
        [
            f"{more}*{one}",
            f"{few}*{one}*{other}",
            f"{more}*{one} + {few}",
            f"{more} + {few}*{one}*{one}",
            f"{one} + {other}*{few}",
            f"({more}*{one})//{few}",
            f"ceil_div({more}*{one}, {few})*{few}",
            f"align({few}*{one} + {more}, 8)",
            f"max({few}*{one}, {more})",
            f"min({few}*{one}*{other}, {more} + {other})",
            f"max(0, {more} - {few}*{one})",
            f"max({more} - {one}, {few}*{other})",
            f"({one} + {few}) % {few + 1} + {more}",
            f"({one} - {few})*({one} - {few})",
            f"{few}*max({one}, {other})",
            f"-(-{more})*{one} + 2*(3 + {few})",
        ]
    )
