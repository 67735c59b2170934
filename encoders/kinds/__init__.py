"""One encoder per kind of model."""
