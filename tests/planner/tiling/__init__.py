"""Tests of planner/tiling."""
