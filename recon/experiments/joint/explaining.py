"""Explanations as releases: what local rules and global surrogate trees with their counts say of the training rows.

A rule that says only what the black box predicts is a statement about the black box: it excludes no training set. With
its support, the numbers of training rows per class that meet it, every rule is a statement about the training rows.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pandas as pd

from encoders.encode.encoder import EncodedRelease, encode
from encoders.models.models import Rule, RuleSet, Support, Tree
from recon.attacks.evaluation import Evaluation, evaluated
from recon.attacks.explainers.lore import Explanation, lores
from recon.attacks.explainers.sampling import chosen
from recon.attacks.explainers.trepan import trepan
from recon.attacks.membership.attacks import CHEAP, attack, attacked
from recon.attacks.membership.shadow_data import Knowledge, MembershipGuess, ensemble, knowledge
from recon.experiments.experiment import Point, Row
from recon.experiments.joint.releases import (
    MINIMUM,
    NEIGHBOURS,
    as_condition,
    counted,
    domain_of,
    forest_of,
    shuffled_rows,
)
from recon.queries.answers.counting import count
from recon.queries.inputs import Bits, Records, Target
from recon.readers.frames.world import violations
from solvers.engines.figures.bits import bits_before
from solvers.foundation.errors import EngineError, Inconclusive, Unsupported
from solvers.foundation.limits import Limits
from solvers.statements.release import RowCount

MARGIN = 1e-6  # bits, relatively: bounds nearer than this are one number


def explained(point: Point, frame: pd.DataFrame, limits: Limits) -> list[Row]:
    """Return a line about what explanations of a forest leave open, and REVEAL's attack on the same surrogates.

    `rows` training rows, as many unused ones for the attacker and as many others asked about. `what` "LORE": the rules
    of the first `explained` of the records that REVEAL's method of choice names for the greatest number of them;
    "TREPAN": one tree, as many explained records as rows. Counted over the attributes behind the columns.
    """
    n = point["rows"]
    inside, rest = shuffled_rows(frame, n, 2 * n, point["seed"])
    rows, other = Records.of(inside), Records.of(rest)
    target = forest_of(rows.x, rows.y, point["seed"])
    unused, asked = other.take(np.arange(n)), other.take(np.arange(n, 2 * n))
    if point["what"] == "LORE":
        records = chosen(rows.x, point["most"], point["seed"])[: point["explained"]]
        local = lores(target, rows.x[records], rows.x, rows.columns, 2, seed=point["seed"], size=NEIGHBOURS,
                      limits=limits)  # fmt: skip
        rules = _rules_of(local, rows)
        model: RuleSet | Tree = rules
        surrogates: list[Target] = [one.surrogate for one in local]
        size, fidelity = len(rules.rules), float(np.mean([one.fidelity for one in local]))
    else:
        found = trepan(target, rows.x, rows.columns, 2, seed=point["seed"], minimum=MINIMUM, limits=limits)
        model = tree = counted(found, rows)
        surrogates, size, fidelity = [found], len(tree.nodes.leaves), found.fidelity(target, rows.x)
    release = encode(domain_of(frame, "attributes"), [model], RowCount(n, n))
    if broken := violations(release, inside):
        raise EngineError(f"explanations break what they were counted from: {broken[0]}")
    line: Row = {"statements": size, "fidelity": fidelity, "distinct": int(rows.numbered().max()) + 1}
    line |= _left_by(release, n, point["cap_seconds"], limits)
    return [line | _reveal(target, surrogates, rows, unused, asked, point["seed"], limits)]


def _rules_of(local: Sequence[Explanation], rows: Records) -> RuleSet:
    """Return the different rules of explanations with their support per class on the training rows."""
    place = {name: k for k, name in enumerate(rows.columns.names)}
    found: dict[tuple[tuple[str, str], ...], Rule] = {}
    for one in local:
        condition = as_condition(one.rule, rows.columns)
        met = np.ones(len(rows), dtype=bool)
        for name, test in condition:
            held = rows.x[:, place[name]]
            if test.values is not None:
                met &= held == test.values[0]
                continue
            if test.low is not None:
                met &= held > float(test.low)
            if test.high is not None:
                met &= held <= float(test.high)
        counts = np.bincount(rows.y[met], minlength=len(rows.classes)).tolist()
        found[tuple(sorted((name, str(test)) for name, test in condition))] = Rule(condition, Support(tuple(counts)))
    return RuleSet(tuple(found.values()), "local explanations")


def _left_by(release: EncodedRelease, n: int, seconds: float, limits: Limits) -> Row:
    """Return log2 of the worlds (sequences of rows) before and after: exact, or rigorous bounds within the time."""
    before = bits_before(release.statements, [n], "ordered", limits)
    try:
        found = count(release, "ordered", limits.lasting(min(seconds, limits.left())))
        low, high, engine = max(0.0, found.bounds[0]), min(found.bounds[1], before), found.engine
    except (Inconclusive, Unsupported) as error:
        low, high, engine = 0.0, before, f"none ({str(error)[:80]})"
    exact = high - low <= MARGIN * max(1.0, high)
    return {
        "before": before, "log2_low": low, "log2_high": high, "engine": engine, "exact": exact,
        "removed_low": (before - high) / n, "removed_high": (before - low) / n, "before_per_row": before / n,
    }  # fmt: skip


def _reveal(
    target: Target, surrogates: Sequence[Target], rows: Records, unused: Records, asked: Records, seed: int,
    limits: Limits,
) -> Row:  # fmt: skip
    """Return REVEAL's attack on the black box and on its surrogates (several: the ensemble of local attacks).

    Shokri's, the attacker's rows random ones; recall, false positives and AUC of both, and the difference of recalls.
    """
    rng = np.random.default_rng([seed, 7])
    known = knowledge("noise", rows.columns, len(rows.classes), len(unused), rng, unused.x)
    x, y = np.concatenate([rows.x, asked.x]), np.concatenate([rows.y, asked.y])
    member: Bits = np.arange(len(x)) < len(rows)
    black_box = _guess_of(target, known, x, y, seed, limits)
    guesses = [_guess_of(one, known, x, y, seed + i, limits) for i, one in enumerate(surrogates)]
    answered = [one for one in guesses if one is not None]
    line: Row = {"surrogates": len(surrogates), "attacked": len(answered)}
    if black_box is None or not answered:
        return line
    own = _worth(black_box, member)
    theirs = _worth(answered[0] if len(answered) == 1 else ensemble(answered), member)
    for who, of in (("black_box", own), ("explainer", theirs)):
        line |= {f"{name}_{who}": getattr(of, name) for name in ("recall", "fpr", "precision", "auc", "advantage")}
    return line | {"delta_recall": theirs.recall - own.recall, "auc_low_explainer": theirs.auc_low,
                   "auc_high_explainer": theirs.auc_high}  # fmt: skip


def _guess_of(
    target: Target, known: Knowledge, x: np.ndarray, y: np.ndarray, seed: int, limits: Limits
) -> MembershipGuess | None:
    """Return what Shokri's attack says, None where it does not apply (a local surrogate of one class)."""
    try:
        return attacked(attack("mia", **CHEAP["mia"]), target, known, x, y, seed, limits)
    except Unsupported:
        return None


def _worth(guess: MembershipGuess, member: Bits) -> Evaluation:
    return evaluated(guess.scores, guess.members, member)
