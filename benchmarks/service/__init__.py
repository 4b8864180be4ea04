"""The service under load, client and server on the same processors."""
