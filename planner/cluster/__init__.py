"""A cluster of Dask: which of its workers can do a run, which are alive, and calls of functions there."""
