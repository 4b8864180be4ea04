"""The problems that greedy and the bound do not decide: `make bench-hard`, some minutes on two cores."""

from benchmarks.hard import altered, cores, fitting, idealloc, kernels, minimalloc, reuse, tilings

PARTS = {
    "minimalloc": minimalloc.measure,
    "fitting": fitting.measure,
    "altered": altered.measure,
    "idealloc": idealloc.measure,
    "planted": tilings.measure,
    "kernels": kernels.measure,
    "reuse": reuse.measure,
    "cores": cores.measure,
}
