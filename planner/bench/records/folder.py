"""The files in the folder of a run besides the results; some look like problems."""

from typing import Final

PATHS: Final = "paths.json"
"""The paths given to the run, with which reports find the problems again."""
BEST: Final = "best_known.json"
"""The best value known of each instance."""
RUNS: Final = "runs.csv"
SUMMARY: Final = "summary.csv"
"""A report as tables."""
WRITTEN: Final = frozenset((PATHS, BEST, RUNS, SUMMARY))
