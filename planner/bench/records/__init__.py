"""Records of runs: a line each, made from what happened, kept in a folder and read again."""
