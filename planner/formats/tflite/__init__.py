"""TensorFlow Lite models: a reader of flatbuffers of our own, and the graph that a model holds."""
