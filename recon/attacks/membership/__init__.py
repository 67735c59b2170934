"""Who was a training row: shadow models, robustness of labels, likelihood ratios; several attacks as one."""

__all__ = ["attacks", "shadow_data"]
