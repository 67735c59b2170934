"""What the kinds of models share: cut domains, the base class, supports, statistics, sums.

>>> from encoders.parts.base import numbered_names
>>> numbered_names(["tree", "tree"], "model")
('tree (model 0)', 'tree (model 1)')
"""

__all__ = ["base", "linear", "statistics"]
