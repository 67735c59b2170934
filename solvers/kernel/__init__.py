"""The trusted kernel: claims, cells walked anew, the checker of proofs, unit propagation. Nothing here searches."""

__all__ = ["cells", "checker", "claims", "facts", "leaf_values", "located", "proof_format", "removals"]
