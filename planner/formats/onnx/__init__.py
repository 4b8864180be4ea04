"""ONNX models as graphs: `models` reads them.

`dimensions` and `graph` know the file, `inference` the shapes that ONNX itself finds, in a `child` where that
may take any memory. `derive` follows shapes as formulas from node to node, by `rules` and `numbers`, in
`terms`.
"""
