"""The commands of those who study learners: models trained, the experiments of the papers run again."""

__all__ = ["attack", "learn", "reproduce"]
