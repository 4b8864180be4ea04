"""What can be asked of memstow: requests read from JSON and bytes, and what comes of them."""
