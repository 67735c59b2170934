"""What a published number says about the hidden one: laws of noise, gradients of boosting."""

__all__ = ["gradients", "noise"]
