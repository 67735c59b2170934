"""Charts of a report as inline SVG: exposure, trees and lists, attributes, intervals, remedies."""

__all__ = ["curve", "intervals", "svg", "trees"]
