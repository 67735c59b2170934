"""What was released, before it becomes statements.

>>> from encoders.models.nodes import Support
>>> Support(counts=(3, 1))
Support(counts=(3, 1), count=None, distinct=None)
"""

__all__ = ["adversary", "learner_facts", "ledger", "linear_figures", "models", "nodes", "related"]
