"""What follows for rows told apart: revision of rows, counts of values, flows, probing, to the fixpoint."""
