"""What optimal and greedy trees and rule lists leak by size, accuracy and limits: the SaTML 2024 paper's figures."""

__all__ = ["experiment"]
