"""A release as statements about one unknown dataset: blocks, their numbering, the noise on them."""
