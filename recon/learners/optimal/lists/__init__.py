"""Rule lists with as few training errors as possible, proved or with the gap that is left."""

__all__ = ["optimal_rule_list"]
