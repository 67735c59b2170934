"""Differentially private learning: draws, noisy thresholds, private mining."""

__all__ = ["dp_greedy_rule_list", "private_mining"]
