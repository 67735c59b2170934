"""From published models to one release of all of them."""

__all__ = ["encoder", "joining", "known", "learner_facts", "marginals", "predicted_regions", "typed_rows"]
