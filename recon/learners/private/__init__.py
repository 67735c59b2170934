"""Differentially private learning: draws, noisy thresholds, private mining."""
