"""Earlier releases about the same rows: a folder of them, and what a new one adds to what they give away."""

__all__ = ["adding", "decisions", "index", "register", "versions"]
