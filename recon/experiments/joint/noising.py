"""Noise on released counts: what certificates still prove, what attacks still guess, and what is still right."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pandas as pd

from encoders.encode.encoder import EncodedRelease
from encoders.models.models import Noise
from recon.attacks.attacking.membership import guessed
from recon.attacks.attacking.records import Population, population, splits
from recon.attacks.evaluation.figures import evaluated
from recon.attacks.membership.shadow_data import knowledge
from recon.experiments.experiment import Point, Row
from recon.experiments.joint.certifying import verdicts
from recon.experiments.joint.releases import domain_of, published, shuffled_rows
from recon.queries.answers.counting import count
from recon.queries.measures.sweeping import exact_counts, removed_per_row, with_noise
from recon.queries.noisy.posterior import posterior
from recon.queries.prediction.records import predicted
from solvers.foundation.errors import EmptyConfidenceSet, Inconclusive, Unsupported
from solvers.foundation.limits import Limits
from solvers.laws.noise.laws import NoiseLaw
from solvers.laws.noise.sampling import Randomness

ATTACKS = ("mia", "label-only")


def noised(point: Point, frame: pd.DataFrame, limits: Limits) -> list[Row]:
    """Return a line per draw of discrete Laplace noise of one epsilon on the counts of a model (0: no noise, once).

    epsilon is that of the counts, one row added or removed; the model's shape was chosen on exact rows and is not
    private. Certificates hold at the joint confidence .95 of all counts of a draw.
    """
    inside, others = shuffled_rows(frame, point["rows"], point["rows"], point["seed"])
    release = published(point["learner"], inside, point.parameters, limits).over(domain_of(frame, point["counted"]))
    _, truth = exact_counts(release)
    dice, out = Randomness(point["seed"]), []
    for draw in range(point["draws"] if point["epsilon"] else 1):
        limits.check("noise is drawn")
        noisy = release
        if point["epsilon"]:
            epsilon = Fraction(repr(float(point["epsilon"])))
            noise = Noise(NoiseLaw("discrete_laplace", 1 / epsilon), epsilon, Fraction(0), Fraction(1), "add_remove")
            noisy = with_noise(release, [int(c) + dice.discrete_laplace(noise.law.scale) for c in truth], noise)
        found = population(noisy, inside, others)
        line: Row = {"draw": draw, "counts": len(truth), "covered": covers(noisy, truth), **accuracies(found)}
        line |= left_by(noisy, point["cap_seconds"], limits)
        out.append(line | guesses_and_proofs(found, point["asked"], point["seed"], draw, limits))
    return out


def covers(noisy: EncodedRelease, truth: np.ndarray) -> bool:
    """Return whether the joint intervals hold the true counts."""
    own = noisy.statements.partitions[0]
    return bool(((own.low <= truth) & (truth <= own.high)).all())


def accuracies(found: Population) -> Row:
    """Return the accuracy of the released shares on members and on all others."""
    right = predicted(found.box, found.rows.x, len(found.rows.classes)) == found.rows.y
    return {
        "accuracy_members": float(right[found.member].mean()),
        "accuracy_others": float(right[~found.member].mean()),
    }


def left_by(noisy: EncodedRelease, seconds: float, limits: Limits) -> Row:
    """Return bits removed per row: expected under the posterior (prior on counts), and for certain at the confidence.

    Without noise both are what the exact counts remove.
    """
    if not noisy.noisy:
        removed = removed_per_row(noisy, count(noisy, "ordered", limits).bounds[1], limits)
        return {"removed_posterior": removed, "removed_confidence": removed, "status": "exact"}
    line: Row = {"removed_posterior": removed_per_row(noisy, posterior(noisy, "counts", limits).entropy_bits, limits)}
    try:
        found = count(noisy, "ordered", limits.lasting(min(seconds, limits.left())))
    except EmptyConfidenceSet:
        return line | {"status": "empty"}
    except Inconclusive:
        return line | {"status": "unknown"}
    high = found.bounds[1]
    if not np.isfinite(high):
        return line | {"status": "empty" if high < 0 else "unknown"}
    return line | {"status": found.status, "removed_confidence": max(0.0, removed_per_row(noisy, high, limits))}


def guesses_and_proofs(found: Population, each: int, seed: int, draw: int, limits: Limits) -> Row:
    """Return what certificates settle of rows (so many of each side), and the AUC of attacks on the same rows."""
    asked = splits(found, 1, each, np.random.default_rng(seed))[0]
    line: Row = {}
    try:
        said = verdicts(found.release, found, asked.asked, limits).row()
        line |= {name: said[name] for name in ("members_in", "others_out", "coverage", "errors", "certificates",
                                               "settled_rows", "confidence", "unknown")}  # fmt: skip
    except EmptyConfidenceSet:
        line["empty"] = True
    member = found.member[asked.asked]
    known = knowledge("noise", found.rows.columns, len(found.rows.classes), len(asked.shadow),
                      np.random.default_rng([seed, draw]), found.rows.x[asked.shadow])  # fmt: skip
    for name in ATTACKS:
        short = name.replace("-", "_")
        try:
            guess = guessed(found, asked, name, known, seed, limits)
        except Unsupported as error:
            line[f"refused_{short}"] = str(error)
            continue
        of = evaluated(guess.scores, guess.members, member)
        line |= {f"auc_{short}": of.auc, f"auc_low_{short}": of.auc_low, f"auc_high_{short}": of.auc_high,
                 f"tpr_at_01_{short}": of.tpr_at_01}  # fmt: skip
    return line
