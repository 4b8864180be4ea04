"""Names of the features of `mixed`: apart from it, so that the command line can list them cheaply."""

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
