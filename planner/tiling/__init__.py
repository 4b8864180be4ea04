"""One operator in tiles for a small memory."""
