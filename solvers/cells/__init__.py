"""From statements to cells: the row space refined, a sparse whole-number system over live cells, its components."""
