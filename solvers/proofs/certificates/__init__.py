"""The search for proofs that the kernel accepts."""
