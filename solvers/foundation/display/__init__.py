"""How values show themselves: a short line, a table for notebooks, a plot; nothing is solved or counted for it."""
