"""Names for the arrays that modules pass to each other."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]
Bits = NDArray[np.bool_]
