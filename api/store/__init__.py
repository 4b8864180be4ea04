"""What the service keeps: jobs, plans, keys and events in a database, and for how long."""
