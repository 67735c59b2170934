"""A release as statements about one unknown dataset: blocks, their numbering, the noise on them."""

__all__ = ["bags", "boxes", "meetings", "numbering", "observations", "regions", "release", "row_problem"]
