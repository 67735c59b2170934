"""What was released, before it becomes statements."""

__all__ = ["learner_facts", "ledger", "models", "nodes"]
