"""The operations of the service: reading and checking requests, carrying them out, and their results."""
