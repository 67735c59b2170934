"""What stands around scikit-learn's trees: transformers, searches, votes, calibration."""

__all__ = ["encoders", "pipeline", "prepared", "steps"]
