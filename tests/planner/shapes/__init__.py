"""Tests of planner/shapes."""
