"""Formats of graphs, and the problem of a graph where a problem is wanted."""
