"""How a problem is run: the solver, and what ends the run."""

from dataclasses import dataclass
from random import Random
from typing import Final

SOLVERS: Final = (
    "auto",
    "greedy",
    "exact",
    "improve",
    "reuse",
    "first-fit",
    "tflm",
    "cadence-position",
    "cadence-gap",
    "usmp-size",
    "usmp-conflicts",
    "storage-tokens",
    "xla-heap",
    "cpsat",
    "assign",
    "cbc",
    "highs",
)
# Solvers of someone else's take some milliseconds for the smallest problem: each has every third.
MODELS: Final = ("cpsat", "assign", "cbc")
# OR-tools and highspy bring different copies of HiGHS under the same names, so this one has its own process.
ALONE: Final = "highs"
# What these do not prove without a limit is a defect, though not a false claim.
COMPLETE: Final = ("auto", "exact", "cpsat", "cbc", "highs")
ENDLESS: Final = ("improve",)
GAPS: Final = (0.0, 0.02, 0.1, 0.5)
LONG: Final = 120.0


@dataclass(frozen=True)
class Run:
    """Options, as the planner has them, and the event at which the run is cancelled."""

    solver: str = "auto"
    gap: float = 0.0
    time_limit: float = LONG
    work_limit: int | None = None
    deterministic: bool = False
    workers: int | None = 1
    seed: int = 0
    cancelled_at: int | None = None
    on_target: bool = False
    """The pools come from a target, and those of the problem are others."""

    @property
    def limited(self) -> bool:
        """Whether something may end the run before it is done."""
        return (
            self.time_limit < LONG
            or self.work_limit is not None
            or self.deterministic
            or self.cancelled_at is not None
        )

    def features(self) -> list[str]:
        """What is asked for, for counting."""
        has = {
            f"gap {self.gap:g}": True,
            "time limit 0": self.time_limit == 0,
            "time limit, small": 0 < self.time_limit < LONG,
            "work limit": self.work_limit is not None,
            "deterministic": self.deterministic,
            f"workers {self.workers}": True,
            "cancelled midway": self.cancelled_at is not None,
            "no limit": not self.limited,
            "target": self.on_target,
        }
        return [name for name, so in has.items() if so]


def run_of(rng: Random, solver: str) -> Run:
    """One way to run, most of them without a limit."""
    deterministic = rng.random() < 0.25
    ends = rng.choice(("never", "never", "never", "time", "work", "cancel"))
    if solver in ENDLESS:
        # What proves nothing goes on for as long as it may, and a deterministic run does not see the clock.
        ends = "work" if deterministic else rng.choice(("time", "work"))
    return Run(
        solver=solver,
        gap=rng.choice(GAPS),
        time_limit=rng.choice((0.0, 0.0, 0.0005, 0.002, 0.01)) if ends == "time" else LONG,
        work_limit=rng.choice((0, 1, 10, 100, 1000)) if ends == "work" else None,
        deterministic=deterministic,
        workers=rng.choice((1, 1, 2, 3)),
        seed=rng.randrange(3),
        cancelled_at=rng.randrange(12) if ends == "cancel" else None,
        on_target=rng.random() < 0.1,
    )
