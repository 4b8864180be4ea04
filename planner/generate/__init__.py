"""Problems made from a seed, of any size: the same arguments, the same problem.

Here are the names of features and families, apart from the generators, so that the command line can list
them cheaply.
"""

from typing import Final

FEATURES: Final = (
    "alignments",
    "always",
    "capacities",
    "conflicts",
    "exclusive",
    "graph",
    "in_place",
    "lifetimes",
    "objective",
    "pins",
    "pools",
    "relative",
    "reserved",
    "reuse_costs",
    "zero",
)


SYMBOLIC_FEATURES: Final = (
    "alignments",
    "always",
    "base",
    "capacities",
    "conflicts",
    "exclusive",
    "in_place",
    "lifetimes",
    "pins",
    "pools",
    "relative",
    "reserved",
    "zero",
)


FAMILIES: Final = ("chain", "cells", "wiring", "training")
