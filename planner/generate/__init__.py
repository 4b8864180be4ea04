"""Problems made from a seed, of any size, one file a kind: the same arguments, the same problem."""
