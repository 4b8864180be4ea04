"""What can be mixed into a generated problem, in names that the command line lists without a generator."""

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
