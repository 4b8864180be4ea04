"""What the service sends when a job has ended, and to whom it may be sent."""
