"""What the benches of figures' intervals share: synthetic rows, models read, the largest used part of an interval."""

from __future__ import annotations

import sys
import tempfile
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from boosted_cases import true_points
from numpy.typing import NDArray

import recon
from encoders.domain.domain import Domain
from solvers.leaf_values.combining import interval_use
from solvers.statements.gradients.boosted import Boosted


def synthetic(random: np.random.Generator, gaps: bool = False, classes: int = 2) -> tuple[pd.DataFrame, Domain]:
    """Return rows of bits and small whole numbers with a label that depends on them, last, and their domain."""
    n = int(random.choice([30, 100, 400, 1500, 6000], p=[0.25, 0.3, 0.25, 0.15, 0.05]))
    bits, numbers = int(random.integers(1, 6)), int(random.integers(1, 3))
    x: dict[str, NDArray[Any]] = {f"b{i}": random.integers(0, 2, n).astype(float) for i in range(bits)}
    x |= {f"n{i}": random.integers(0, int(random.integers(3, 12)), n).astype(float) for i in range(numbers)}
    frame = pd.DataFrame(x)
    score = frame.to_numpy() @ random.normal(0, float(random.choice([0.1, 1, 4])), frame.shape[1])
    score = score - np.quantile(score, float(random.uniform(0.1, 0.9))) + random.logistic(0, 1, n)
    edges = np.quantile(score, np.linspace(0, 1, classes + 1)[1:-1]) if classes > 2 else [0.0]
    y = np.digitize(score, edges)
    y[:classes] = range(classes)
    if gaps:
        holes = random.random(frame.shape) < 0.1
        frame = frame.mask(holes)
    frame["y"] = y
    return frame, Domain.from_frame(frame, label="y")


@dataclass
class Worst:
    """The largest used part of an interval, and every model whose rows were outside."""

    largest: float = 0.0
    figures: int = 0
    models: int = 0
    outside: list[str] = field(default_factory=list)

    def add(self, boosted: Boosted, points: NDArray[np.int64], times: NDArray[np.int64], what: object) -> None:
        """Compare one model with its rows."""
        self.models += 1
        for tree, part in zip(boosted.trees, interval_use(boosted, points, times), strict=True):
            self.figures += len(part)
            worst = float(part.max(initial=0.0))
            if worst > self.largest:
                self.largest = worst
                print(f"{worst:.4f} in {tree.names[int(part.argmax())]} of {what}", flush=True)
            if not worst <= 1:
                self.outside.append(f"{worst:.3g} in {tree.names[int(part.argmax())]} of {what}")

    def report(self) -> int:
        """Print the result; return 1 where the truth was outside, else 0."""
        print(f"{self.models} models, {self.figures} figures: at most {self.largest:.4f} of an interval is used")
        print(*self.outside[:20], sep="\n")
        return 1 if self.outside else 0


Maker = Callable[[np.random.Generator, pd.DataFrame, Path, int], tuple[Path, object] | str]


def compared(maker: Maker, gaps: bool = False) -> int:
    """Fit as many models as the command line says (1000, seed 0), compare each with its rows, and return the status.

    `maker` writes the file of model k of some rows, label last, into a folder: its path and settings, or why there is
    none. `gaps`: every fifth model has missing values.
    """
    models, seed = (int(given) for given in (*sys.argv[1:], *("1000", "0")[len(sys.argv) - 1 :]))
    random, worst, read = np.random.default_rng(seed), Worst(), Counter[str]()
    with tempfile.TemporaryDirectory() as folder:
        for k in range(models):
            frame, domain = synthetic(random, gaps=gaps and k % 5 == 0)
            made = maker(random, frame, Path(folder), k)
            if isinstance(made, str):
                read[f"not fitted: {made[-60:]}"] += 1
                continue
            try:
                release = recon.load(made[0], domain=domain)
            except recon.ReconError as error:
                read[f"{str(error)[:90]}"] += 1
                continue
            if not release.statements.boosted:
                read["counts: " + "; ".join(release.reader_notes)[-90:]] += 1
                continue
            read["leaf values"] += 1
            worst.add(*true_points(release, frame), (k, len(frame), made[1]))
    for what, n in read.most_common():
        print(f"{n:6} {what}")
    return worst.report()
