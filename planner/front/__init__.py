"""Finds fronts: all the plans worth choosing from between two terms, such as memory against work.

`front` is the entry; `problems` and `graphs` find the points, and yield each as it is found.
"""
