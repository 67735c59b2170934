"""Stored scikit-learn trees and what is made of them: node arrays, class counts, bags."""

__all__ = ["arrays", "draft", "settings", "survival", "trees"]
