"""Features of random symbolic problems: apart, so that the command line can list them cheaply."""

from typing import Final

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
