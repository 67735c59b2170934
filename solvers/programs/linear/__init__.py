"""Linear and mixed-integer programs over cells: one builder, one exact rounding of duals."""
