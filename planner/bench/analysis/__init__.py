"""What many runs tell: the best known values, ratios to them, means, curves and tests."""
