"""The library of instances: what is one, what is shown, what is refused."""
