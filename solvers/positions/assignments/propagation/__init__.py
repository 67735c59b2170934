"""What follows for rows told apart: rows revised, values counted, flows, values tried, until nothing changes."""
