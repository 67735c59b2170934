"""What forests give back of their training rows, by trees, depth, rows and bags: the ICML 2024 paper's figures."""

__all__ = ["findings"]
