"""What is left for rows told apart, asked about: verdicts on profiles, bounds on the number of worlds, worlds."""
