"""The search for proofs that the kernel accepts."""

__all__ = ["certifier", "trimming"]
