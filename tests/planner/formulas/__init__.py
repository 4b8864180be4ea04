"""Tests of planner/formulas."""
