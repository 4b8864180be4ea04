"""Sizes that are formulas of symbols: what they are at a value, and plans that lay out every value.

`formula` reads and bounds formulas, `sizes` evaluates those of a problem. `symbolic_check` and
`symbolic_documents` read problems, graphs and plans; `onnx_models` makes symbolic graphs of ONNX models,
whose shapes `onnx_derive` follows from node to node. `plan_symbolic` finds plans: the problem at each
point is solved as an ordinary one (`point_plans`), which gives the least peak and an order to start from;
the search then improves orders at all points at once. `symbolic_layout` and `symbolic_c` compute offsets
at a value.
"""
