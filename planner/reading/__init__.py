"""From bytes to a problem, a plan or options, with every error of a document at once."""
