"""From published models to one release of all of them."""
