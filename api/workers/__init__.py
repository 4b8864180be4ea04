"""The workers of the service: threads that run jobs, and processes or a cluster that solve them."""
