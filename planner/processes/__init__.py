"""Child processes: start one, exchange messages, limit and end it, so that nothing is left behind.

Nothing here knows what the work is. A module with the child's side of it is started by `child_command` and
serves by `run_child`; its parent uses `ask_child`, `converse` or a `Session`:

| child | parent | what it does |
| --- | --- | --- |
| `planner/backends/child.py` | `planner/backends/isolated_solver.py` | a back end solves one task |
| `planner/plugins/host.py` | `planner/plugins/process.py` | a plug-in solves, reads or writes |
| `planner/formats/onnx/child.py` | `planner/formats/onnx/inference.py` | shapes of an ONNX model |
| `planner/tflm/measure_child.py` | `planner/tflm/measure.py` | memory that a runtime asks for |
| `planner/bench/supervisor.py` | `planner/bench/executors.py` | runs of a bench, each in a fork of its own |
| `api/workers/child.py` | `api/workers/isolated_run.py` | an operation of the service |
"""
