"""TensorFlow Lite Micro: what it makes of a model, and models that carry a plan for it.

In: a model and a plan. Out: the model with the plan in it; the plan that a model carries; the arena that the
runtime needs; what its kernels ask for when they run.
"""
