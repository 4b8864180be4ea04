"""Who works on jobs: threads that take them, children that solve them, and where these run."""
