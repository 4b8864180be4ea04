"""Writes proofs that no plan of a problem has a lower peak: `docs/proofs.md` says what they consist of."""
