"""ONNX models as those of TensorFlow Lite, so that layers, plans and programs are the same.

`model` reads one and says what is planned; `lowering` keeps tensors and operators while `nodes` turns node
after node into them; `layouts` knows how values lie in memory, `constants` computes what never changes, and
`layers` has what only these models need. `referee` runs a model, in a `child`, for the check of a program.
"""
