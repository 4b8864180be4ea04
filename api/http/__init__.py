"""The HTTP service: the app, its settings and its routes. The planning itself is done by `planner`."""
