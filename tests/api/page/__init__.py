"""The web page: its files, and what it does in a browser."""
