"""The trusted kernel: claims, cells walked anew, the checker of proofs, unit propagation. Nothing here searches."""
