"""Why nothing fits, and what it would take.

Takes a problem without a plan. Returns the buffers that do not fit together, the capacities with which a plan
exists, and the single constraints without which a plan exists.
"""
