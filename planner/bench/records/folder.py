"""The folder of a run: what is in it besides the results and looks like a problem."""

from typing import Final

PATHS: Final = "paths.json"
"""What the run was told to run, so that reports find the problems again."""
BEST: Final = "best_known.json"
"""The best value known of each instance."""
RUNS: Final = "runs.csv"
SUMMARY: Final = "summary.csv"
"""A report as tables."""
WRITTEN: Final = frozenset((PATHS, BEST, RUNS, SUMMARY))
