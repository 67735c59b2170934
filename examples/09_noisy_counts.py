"""Read a private release: what its noisy counts say, at which confidence, and what the noise bought."""

from __future__ import annotations

from pathlib import Path

import recon

RELEASES = Path(__file__).parent / "releases"
release = recon.load(RELEASES / "noisy_tree.json")
print(release.assumptions[-2])

# Verdicts hold at a joint confidence over the noise, never for certain; probabilities name their prior.
found = recon.certify(release, [{"smoker": 1, "age": "young"}, {"smoker": 1, "age": "old"}])
print(found[["verdict", "min_count", "max_count", "confidence", "probability", "probability_before"]].to_string())

# The posterior over the true counts, and the consistent counts that make the noise most likely.
posterior = recon.posterior(release)
print(posterior.counts.to_string())
print(f"{posterior.bits_removed:.2f} bits removed; prior: {posterior.prior_text}")
consistent = recon.denoise(release)
print(f"consistent counts of {consistent.rows} rows, proved most likely: {consistent.found.proved}")

# What noise would buy for an exact release of the same kind.
exact = recon.load(RELEASES / "compas_tree.json")
print(recon.sweep(exact, [1.0], draws=20)[["epsilon", "bits_removed_per_row_q50", "typical_q50"]].to_string())
