"""Analysis of many runs: best known values, ratios to them, means, curves and tests."""
