"""The HTTP service: the app, its settings, its routes. What is planned here is planned by `planner`."""
