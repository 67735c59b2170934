"""What forests with noisy leaf counts give back, by privacy budget, trees and depth: the SaTML 2026 paper's figures."""

__all__ = []
