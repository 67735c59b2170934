"""Rule list learners, plain and greedy, and what they share."""

__all__ = ["bayesian_rule_list", "brl_posterior", "brl_sampling", "estimator", "greedy_rule_list", "vulnerability"]
