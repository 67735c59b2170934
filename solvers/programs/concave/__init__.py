"""The greatest sum of concave functions of counts: relaxations, rounding, local search, proved bounds."""
