"""The problems of a bench: where they come from and what tells them apart."""
