"""Learners with certified optimal training accuracy: trees and rule lists, and what equally good models give away."""

__all__ = ["lists", "trees"]
