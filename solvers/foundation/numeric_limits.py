"""Up to where whole numbers are exact, in 64 bits and in double precision, and what stands for an open side."""

from __future__ import annotations

EXACT = 1 << 62  # sums whose terms' absolute values add up to less stay exact in 64 bits
OPEN = 1 << 60  # stands for no bound in sums and in CP-SAT, which refuses bounds near 2^62
MAX_SUM = 1 << 59  # sums over all cells: exact in 64 bits, and below what stands for no bound
DOUBLE = 1 << 53  # whole numbers up to here are exact in double precision
