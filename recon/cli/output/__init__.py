"""What commands print besides single objects."""
