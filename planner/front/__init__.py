"""Finds fronts: all the plans worth choosing from between two terms, such as memory against work.

`find_front` is the entry; `problem_front` and `graph_front` yield the points of one front as they are found.
"""
