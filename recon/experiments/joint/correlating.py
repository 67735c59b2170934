"""Correlations of columns that a released model tests: intervals by `recon.attacks.attacking.correlations`."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import combinations
from typing import Any

import numpy as np
import pandas as pd

from encoders.encode.encoder import CONFIDENCE, EncodedRelease
from recon.attacks.attacking.correlations import correlations, noisy_releases
from recon.attacks.correlation.model_less import bin_of, decided, in_one_bin
from recon.experiments.experiment import Point, Row
from recon.experiments.joint.releases import domain_of, published
from recon.experiments.splits import split
from recon.queries.measures.sweeping import exact_counts
from solvers.foundation.limits import Limits

FOUR = ("Juvenile-Crimes=0", "Prior-Crimes=0", "Prior-Crimes>3", "Prior-Crimes>5")  # of COMPAS, in the sketch
KEPT = (str, int, float, bool)
EPSILONS = (10.0, 1.0, 0.1)


def correlated(point: Point, frame: pd.DataFrame, limits: Limits) -> list[Row]:
    """Return a line per pair of columns, attacker and draw of noise (attackers without noise: once).

    `columns` "four": the sketch's columns of COMPAS, all pairs of them whether the model tests them or not; "used":
    those that the model tests.
    """
    whole = split(point.dataset, frame, 0).whole
    label = str(whole.columns[-1])
    pairs = None
    if point["columns"] == "four":
        whole, pairs = whole[[*FOUR, label]], list(combinations(FOUR, 2))
    release = published(point["learner"], whole, {**point.parameters, "seed": 0}, limits).over(
        domain_of(whole, point["counted"])
    )
    out: list[Row] = []
    for draw in range(point["draws"]):
        limits.check("correlations are bounded")
        found = correlations(release, whole, pairs, EPSILONS, seed=draw, limits=limits)
        held = _covered(release, draw)
        for line in found.frame.to_dict("records"):
            if draw and line["attacker"] not in held:
                continue
            more: Row = {"draw": draw, "columns_used": len(found.views), "rows": len(whole)}
            out.append({**_binned(line), **more, "covered": held.get(str(line["attacker"]))})
    return out


def _covered(release: EncodedRelease, draw: int) -> dict[str, bool]:
    """Return per attacker with noise whether the joint intervals of a draw hold the true counts."""
    _, truth = exact_counts(release)
    out = {}
    for epsilon, noisy in noisy_releases(release, EPSILONS, CONFIDENCE, draw):
        own = noisy.statements.partitions[0]
        out[f"noise epsilon={epsilon:g}"] = bool(((own.low <= truth) & (truth <= own.high)).all())
    return out


def _binned(line: Mapping[Any, Any]) -> Row:
    """Return a line with the bin (negative, low, positive) that its interval names, whether surely and rightly."""
    low, high, truth = (np.array([line[name]], dtype=np.float64) for name in ("low", "high", "truth"))
    said = int(decided(low, high)[0])
    return {
        **{str(name): value for name, value in line.items() if name != "width" and isinstance(value, KEPT)},
        "interval": float(line["width"]),
        "bin_right": said == int(bin_of(truth)[0]), "bin_sure": bool(in_one_bin(low, high)[0]),
    }  # fmt: skip
