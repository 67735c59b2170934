"""The experiment: statistical attacks and certificates about the same rows of the same releases, four questions.

Noise on released counts: what certificates still prove, what attacks still guess, and what is still right.

Who was trained on: what certificates prove and what attacks guess, about the same rows of the same releases.

Correlations of columns that a released model tests: intervals by `recon.attacks.attacking.correlations`.

What the results of the four questions say: tables, figures and sentences.

Certificates beside attacks, without noise and with it; intervals of correlations; explanations.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import combinations, pairwise
from typing import Any

import numpy as np
import pandas as pd

from encoders.encode.encoder import CONFIDENCE, EncodedRelease
from recon.attacks.attacking.correlations import DEFINITE, DISCRETE, WORLDS, correlations, noisy_releases
from recon.attacks.attacking.membership import Judged, guessed, guesses, judged
from recon.attacks.attacking.records import Population, RecordSplit, population, splits
from recon.attacks.correlation.model_less import bin_of, decided, exact_accuracy, in_one_bin
from recon.attacks.evaluation import Evaluation, both_sides, duplicates, evaluated, unique_rows
from recon.attacks.membership.attacks import attack, attacked
from recon.attacks.membership.shadow_data import knowledge
from recon.experiments.declaration import Declaration, where
from recon.experiments.experiment import Point, Row
from recon.experiments.fits import (
    COUNTED,
    NAMES,
    confident_worlds,
    covers,
    domain_of,
    noisy_draws,
    released,
    train_test_sample,
)
from recon.experiments.joint.releases import LEARNERS, explained, published, shuffled_rows
from recon.learners.rule_lists.estimator import RuleListClassifier
from recon.learners.rule_lists.vulnerability import vulnerability_of
from recon.queries.answers.counting import count
from recon.queries.inputs import Bits, Ints, predicted
from recon.queries.measures.sweeping import exact_counts, removed_per_row
from recon.queries.noisy.posterior import posterior
from recon.queries.questions.questions import certify
from solvers.foundation.errors import EmptyConfidenceSet, ReleaseError, Unsupported
from solvers.foundation.limits import Limits

NOISE = ("noise epsilon=10", "noise epsilon=1", "noise epsilon=0.1")
EXACT = (DEFINITE, DISCRETE, WORLDS)
ATTACKERS = (DEFINITE, DISCRETE, *NOISE[::-1], WORLDS)
SKETCHED = dict(zip((*EXACT, *NOISE), (1.887, 0.913, 0.506, 0.507, 0.517, 0.614), strict=True))
ROUNDING = 1e-9
MODEL = ["dataset", "columns", "model", "counted"]
DECLARED = Declaration(
    "joint", NAMES=NAMES, LEARNERS=list(LEARNERS), ATTACKERS=ATTACKERS, SKETCHED=SKETCHED, EXACT=EXACT
)


def _correlations(some: pd.DataFrame) -> dict[str, Any]:
    """Return whether the attackers' intervals hold the truth, and how often it lies in the commonest bin."""
    some = DECLARED.frame("pairs", some)
    found: dict[str, Any] = {"pairs": some, "held": _truths_held(some)}
    if len(used := where(some, columns="used")):
        truths = used.drop_duplicates(["first", "second", *MODEL])["truth"].to_numpy(dtype=np.float64)
        commonest = np.bincount(bin_of(truths)).max() / len(truths)
        found |= {"uniform": exact_accuracy(side=400), "commonest": commonest}
    return found


def _truths_held(some: pd.DataFrame) -> dict[str, int]:
    """Return how many intervals hold the truth, without noise, with noise, and with noise inside its intervals."""
    sure, noisy = some[some["confidence"] == 1], some[some["confidence"] < 1]
    parts = {"sure": sure, "noisy": noisy, "inside": noisy[noisy["covered"].astype(bool)]}
    nested, chains, left_out = _nesting(some)
    return {
        **{name: int(part["holds"].sum()) for name, part in parts.items()},
        **{f"of_{name}": len(part) for name, part in parts.items()},
        "nested": nested, "chains": chains, "left_out": left_out,
    }  # fmt: skip


def _nesting(some: pd.DataFrame) -> tuple[int, int, int]:
    """Return how many chains (a pair, a draw, an epsilon) are nested, of how many, and draws left out.

    A draw whose noise lies outside its joint intervals is left out: it need not hold what exact counts leave.
    """
    keys = [*MODEL, "first", "second"]
    ends = {name: where(some, attacker=name).set_index(keys)[["low", "high"]] for name in EXACT}
    nested = total = other = 0
    for _, part in where(some, attacker=NOISE).groupby(["attacker", "draw"]):
        covered = part["covered"].astype(bool)
        other += int(part.loc[~covered].groupby(MODEL).ngroups)
        lines = part[covered].set_index(keys)[["low", "high"]]
        chain = [ends[DEFINITE].loc[lines.index], ends[DISCRETE].loc[lines.index], lines, ends[WORLDS].loc[lines.index]]
        good = np.ones(len(lines), dtype=bool)
        for outer, inner in pairwise(one.to_numpy() for one in chain):
            good &= (outer[:, 0] <= inner[:, 0] + ROUNDING) & (inner[:, 1] <= outer[:, 1] + ROUNDING)
        nested, total = nested + int(good.sum()), total + len(lines)
    return nested, total, other


FOUR = ("Juvenile-Crimes=0", "Prior-Crimes=0", "Prior-Crimes>3", "Prior-Crimes>5")  # of COMPAS, in the sketch
KEPT = (str, int, float, bool)
NOISE_OF_PAIRS = (10.0, 1.0, 0.1)


def correlated(point: Point, frame: pd.DataFrame, limits: Limits) -> list[Row]:
    """Return a line per pair of columns, attacker and draw of noise (attackers without noise: once).

    `columns` "four": the sketch's columns of COMPAS, all pairs of them whether the model tests them or not; "used":
    those that the model tests.
    """
    whole = train_test_sample(point.dataset, frame, 0).whole
    label = str(whole.columns[-1])
    pairs = None
    if point["columns"] == "four":
        whole, pairs = whole[[*FOUR, label]], list(combinations(FOUR, 2))
    model = published(point["learner"], whole, {**point.parameters, "seed": 0}, limits).model
    release = released(model, domain_of(whole, point["counted"]))
    _, truth = exact_counts(release)
    out: list[Row] = []
    for draw in range(point["draws"]):
        limits.check("correlations are bounded")
        found = correlations(release, whole, pairs, NOISE_OF_PAIRS, seed=draw, limits=limits)
        noisy = noisy_releases(release, NOISE_OF_PAIRS, CONFIDENCE, draw)
        held = {f"noise epsilon={epsilon:g}": covers(one, truth) for epsilon, one in noisy}
        for line in found.frame.to_dict("records"):
            if draw and line["attacker"] not in held:
                continue
            more: Row = {"draw": draw, "columns_used": len(found.views), "rows": len(whole)}
            out.append({**_binned(line), **more, "covered": held.get(str(line["attacker"]))})
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


CERTIFYING_ATTACKS = ("mia", "label-only", "aloa")
CERTIFYING = 25.0  # seconds for the verdicts in one domain


@dataclass(frozen=True, eq=False)
class JointVerdicts:
    """What a release proves of rows (members and others): proved in, proved out, else open; of values, not persons.

    `wrong`: rows of which the opposite of the truth was proved; the truth about a row that is both inside and outside
    is that it is inside. `single`: rows that occur once among all, inside and outside: their membership is
    well defined. `certificates`: verdicts on distinct rows
    with a certificate, each verified, of `settled` ones.
    """

    inside: Bits
    outside: Bits
    wrong: Bits
    member: Bits
    single: Bits
    certificates: int
    settled: int
    unknown: int
    confidence: float

    def worth(self, index: Bits) -> Evaluation:
        """Return the verdicts on some rows as a guess: proved in above open above proved out."""
        scores = self.inside.astype(np.float64) - self.outside.astype(np.float64)
        return evaluated(scores[index], self.inside[index], self.member[index])

    def row(self) -> Row:
        """Return the figures; shares of members or of others, coverage of all; the same of rows that occur once."""
        member, single = self.member, self.single
        worth = self.worth(np.ones(len(member), dtype=bool))
        found: Row = {
            "members_in": float(self.inside[member].mean()), "others_out": float(self.outside[~member].mean()),
            "coverage": float((self.inside | self.outside).mean()), "errors": int(self.wrong.sum()),
            "others_in": int(self.inside[~member].sum()), "verdicts": len(member), "auc": worth.auc,
            "auc_low": worth.auc_low, "auc_high": worth.auc_high, "certificates": self.certificates,
            "settled_rows": self.settled, "unknown": self.unknown, "confidence": self.confidence,
        }  # fmt: skip
        if member[single].any() and not member[single].all():
            found |= {
                "members_once": int((single & member).sum()), "others_once": int((single & ~member).sum()),
                "members_in_once": float(self.inside[single & member].mean()),
                "others_out_once": float(self.outside[single & ~member].mean()),
                "others_in_once": int(self.inside[single & ~member].sum()), "auc_once": self.worth(single).auc,
            }  # fmt: skip
        return found


def _compared(point: Point, frame: pd.DataFrame, limits: Limits) -> list[Row]:
    """Return a line about the model, one per domain of certificates, one per attack, shadow data and choice of rows.

    `rows` training rows, as many others where there are: half of these are the attackers' shadow rows.
    """
    inside, others = shuffled_rows(frame, point["rows"], point["rows"], point["seed"])
    of = published(point["learner"], inside, point.parameters, limits)
    found = population(released(of.model, domain_of(frame)), inside, others)
    asked = splits(found, 1, point["asked"], np.random.default_rng(point["seed"]))[0]
    out: list[Row] = [{"what": "model", **_about(found, asked), "fidelity": of.fidelity}]
    if isinstance(of.model, RuleListClassifier):
        y = str(frame.columns[-1])
        one, other = ((part.drop(columns=y), part[y]) for part in (inside, others))
        out[0] |= {"v": vulnerability_of(of.model, one, other),
                   "v_authors": vulnerability_of(of.model, one, other, "authors")}  # fmt: skip
    for counted in COUNTED:
        limits.check("rows are certified")
        release = found.release if counted == COUNTED[0] else released(of.model, domain_of(frame, counted))
        proved = _verdicts(release, found, asked.asked, limits)
        out.append({"what": "certificates", "counted": counted, **proved.row()})
    for said in [*guesses(found, asked, CERTIFYING_ATTACKS, point["shadow"].split(), point["seed"], limits, 0, 0.95),
                *_additive(found, asked, point["seed"], limits)]:  # fmt: skip
        if isinstance(said, Judged):
            out.append({"what": "attack", "attack": said.attack, "shadow": said.shadow, "asked_rows": said.rows,
                        "note": said.note, **said.evaluation.row()})  # fmt: skip
        else:
            out.append({"what": "refused", "attack": said.attack, "shadow": said.shadow, "note": said.why})
    return out


def _verdicts(release: EncodedRelease, found: Population, asked: Ints, limits: Limits) -> JointVerdicts:
    """Return what a release (of the population's model, over any domain) proves of the rows asked about."""
    number = found.number
    truly = np.bincount(number[found.member], minlength=int(number.max()) + 1) > 0
    distinct, first, back = np.unique(number[asked], return_index=True, return_inverse=True)
    lines = certify(release, found.table(asked[first]), limits=limits.at_most(CERTIFYING))
    word = lines["verdict"].to_numpy(dtype=object)
    least = pd.to_numeric(lines["min_count"]).fillna(0).to_numpy(dtype=float)
    if (word == "outside").any():
        raise ReleaseError("some row of the data is outside the domain that was read off them")
    inside, outside = least > 0, word == "impossible"
    wrong = (inside & ~truly[distinct]) | (outside & truly[distinct])
    return JointVerdicts(
        inside[back], outside[back], wrong[back], found.member[asked],
        unique_rows(number)[asked], int(lines["certificate"].notna().sum()),
        int((inside | outside).sum()), int((word == "unknown")[back].sum()), float(release.confidence),
    )  # fmt: skip


def _about(found: Population, asked: RecordSplit) -> Row:
    """Return the model's size and accuracy on members and others asked about, and how rows repeat."""
    member = found.member[asked.asked]
    x, y = found.rows.x[asked.asked], found.rows.y[asked.asked]
    right = predicted(found.box, x, len(found.rows.classes)) == y
    again = duplicates(found.number[asked.asked], member)
    return {
        "leaves": found.box.model.groups(), "accuracy_members": float(right[member].mean()),
        "accuracy_others": float(right[~member].mean()), "members": int(member.sum()), "others": int((~member).sum()),
        "distinct": again.distinct, "best_auc": again.best_auc,
        "both_sides": float(both_sides(found.number[asked.asked], member).mean()),
    }  # fmt: skip


def _additive(found: Population, asked: RecordSplit, seed: int, limits: Limits) -> Iterator[Judged]:
    """Yield what the agnostic attack is worth that flips bits, under the shadow data that it is meant for."""
    rng = np.random.default_rng([seed, 1])
    known = knowledge("random", found.rows.columns, len(found.rows.classes), len(asked.shadow), rng)
    one = attack("aloa", additive=True)
    x, y = found.rows.x[asked.asked], found.rows.y[asked.asked]
    if one.refuses(found.box, known) is None:
        guess = attacked(one, found.box, known, x, y, seed, limits)
        member, single = found.member[asked.asked], unique_rows(found.number)[asked.asked]
        yield from judged(guess, one.name, "random", member, single, seed, 0, 0.95)


ATTACKS = ("mia", "label-only")


def _noised(point: Point, frame: pd.DataFrame, limits: Limits) -> list[Row]:
    """Return a line per draw of discrete Laplace noise of one epsilon on the counts of a model (0: no noise, once).

    epsilon is that of the counts, one row added or removed; the model's shape was chosen on exact rows and is not
    private. Certificates hold at the joint confidence .95 of all counts of a draw.
    """
    inside, others = shuffled_rows(frame, point["rows"], point["rows"], point["seed"])
    of = published(point["learner"], inside, point.parameters, limits)
    release, out = released(of.model, domain_of(frame, point["counted"])), []
    _, truth = exact_counts(release)
    noisy_ones = noisy_draws(release, point["epsilon"], point["draws"], point["seed"], limits)
    for draw, noisy in enumerate(noisy_ones if point["epsilon"] else [release]):
        found = population(noisy, inside, others)
        right = predicted(found.box, found.rows.x, len(found.rows.classes)) == found.rows.y
        line: Row = {
            "draw": draw, "counts": len(truth), "covered": covers(noisy, truth),
            "accuracy_members": float(right[found.member].mean()),
            "accuracy_others": float(right[~found.member].mean()),
        }  # fmt: skip
        line |= _left_by(noisy, point["cap_seconds"], limits)
        out.append(line | _guesses_and_proofs(found, point["asked"], point["seed"], draw, limits))
    return out


def _left_by(noisy: EncodedRelease, seconds: float, limits: Limits) -> Row:
    """Return bits removed per row: expected under the posterior (prior on counts), and for certain at the confidence.

    Without noise both are what the exact counts remove.
    """
    if not noisy.noisy:
        removed = removed_per_row(noisy, count(noisy, "ordered", limits).bounds[1], limits)
        return {"removed_posterior": removed, "removed_confidence": removed, "status": "exact"}
    line: Row = {"removed_posterior": removed_per_row(noisy, posterior(noisy, "counts", limits).entropy_bits, limits)}
    line["status"], high = confident_worlds(noisy, seconds, limits)
    return line if high is None else line | {"removed_confidence": max(0.0, removed_per_row(noisy, high, limits))}


def _guesses_and_proofs(found: Population, each: int, seed: int, draw: int, limits: Limits) -> Row:
    """Return what certificates settle of rows (so many of each side), and the AUC of attacks on the same rows."""
    asked = splits(found, 1, each, np.random.default_rng(seed))[0]
    line: Row = {}
    try:
        said = _verdicts(found.release, found, asked.asked, limits).row()
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


EXPERIMENT = DECLARED.experiment(
    {"correlations": correlated, "membership": _compared, "explanations": explained, "noise": _noised},
    {"correlations": _correlations},
)
