"""Charts of a report as inline SVG: exposure, trees and lists, attributes, intervals, remedies."""

__all__ = ["bars", "curve", "intervals", "svg", "trees"]
