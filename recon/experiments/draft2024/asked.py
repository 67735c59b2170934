"""What an attack asks of a release: one world, how many there are, who certainly is in the data."""

from __future__ import annotations

import math
import re

import numpy as np

from encoders.encode.encoder import EncodedRelease
from recon.experiments.draft2024.rows import Bits, TrainingSample, error, right
from recon.experiments.experiment import Row
from recon.queries.answers.counting import count
from recon.queries.questions.questions import certify, reconstruct
from recon.readers.frames.world import World
from solvers.foundation.errors import ReconError
from solvers.foundation.limits import Limits

OUT_OF_TIME = re.compile(r"time was up|more time than|limits? ended|seconds", re.IGNORECASE)


def timed(limits: Limits, seconds: float) -> Limits:
    """Return the same limits with so many seconds from now at most."""
    return limits.lasting(min(limits.left(), seconds))


def guessed(release: EncodedRelease, truth: Bits, seed: int, limits: Limits) -> Row:
    """Return how far the best world found is from the truth, in the columns of the training table.

    `unique`: whether it is proved to be the only one (None: not decided). `why`: why there is none.
    """
    try:
        world = reconstruct(release, seed, limits)
    except ReconError as problem:
        return {"error": None, "rows_right": None, "unique": None, "why": short(problem)}
    guess = guess_of(release, world)
    return {"error": error(truth, guess), "rows_right": right(truth, guess), "unique": world.unique, "why": ""}


def guess_of(release: EncodedRelease, world: World) -> Bits:
    """Return a world in the columns of the training table."""
    columns = list(release.domain.in_order or ())
    return world.to_frame(views=True)[columns].to_numpy(dtype=np.int64)


def short(problem: ReconError) -> str:
    """Return why there is no world, in a few words."""
    if OUT_OF_TIME.search(str(problem)):
        return "the time was up"
    return f"{type(problem).__name__}: {problem}"[:200]


def numbered(release: EncodedRelease, order: str, limits: Limits) -> Row:
    """Return log2 of the number of worlds, or bounds on it; nothing where there are not even bounds."""
    try:
        answer = count(release, order, limits)
    except ReconError as problem:
        return {"count": "unknown", "log2_low": None, "log2_high": None, "engine": short(problem)}
    low, high = answer.bounds
    high = min(high, before(release))
    return {
        "count": answer.status,
        "log2_low": low if math.isfinite(low) else None,
        "log2_high": high if math.isfinite(high) else None,
        "engine": answer.engine,
    }


def before(release: EncodedRelease) -> float:
    """Return log2 of the number of tables with so many rows: no release leaves more."""
    rows, spans = release.statements.rows.high, [a.span for a in release.domain.all]
    return math.inf if rows is None else rows * math.fsum(math.log2(end - start) for start, end in spans)


def certain(release: EncodedRelease, some: TrainingSample, unique: bool, limits: Limits) -> Row:
    """Return the share of training rows that are in every world: proved members, whoever knows the release alone."""
    if unique:
        return {"certain": 1.0}
    table = some.x.assign(**{str(some.y.name): some.y}).drop_duplicates()
    try:
        verdicts = certify(release, table, limits=limits, certificates=False)
    except ReconError:
        return {"certain": None}
    found = verdicts.loc[verdicts["verdict"] == "certain", "min_count"]
    return {"certain": float(found.sum()) / len(some.x)}
