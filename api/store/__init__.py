"""The database of the service: jobs, plans, keys and events, and their retention."""
