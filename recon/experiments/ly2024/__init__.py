"""What differentially private greedy rule lists cost in accuracy, mechanism by mechanism, and what they give away."""

__all__ = []
