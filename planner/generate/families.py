"""The families of generated graphs, apart from the generator, which the command line imports late."""

from typing import Final

FAMILIES: Final = ("chain", "cells", "wiring", "training")
