"""Jobs solved on a cluster of Dask: the server's side, the worker's side, and a run between them."""
