"""The experiment: statistical attacks and certificates about the same rows of the same releases, four questions.

Noise on released counts: what certificates still prove, what attacks still guess, and what is still right.

Who was trained on: what certificates prove and what attacks guess, about the same rows of the same releases.

Correlations of columns that a released model tests: intervals by `recon.attacks.attacking.correlations`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from fractions import Fraction
from itertools import combinations, product
from typing import Any

import numpy as np
import pandas as pd

from encoders.encode.encoder import CONFIDENCE, EncodedRelease
from encoders.models.models import Noise
from recon.attacks.attacking.correlations import correlations, noisy_releases
from recon.attacks.attacking.membership import Judged, guessed, guesses, judged
from recon.attacks.attacking.records import Population, RecordSplit, population, splits
from recon.attacks.correlation.model_less import bin_of, decided, in_one_bin
from recon.attacks.evaluation import Evaluation, both_sides, duplicates, evaluated, unique_rows
from recon.attacks.membership.attacks import attack, attacked
from recon.attacks.membership.shadow_data import knowledge
from recon.experiments.experiment import Point, Row, Scalar, Size
from recon.experiments.joint.findings import DECLARED, findings
from recon.experiments.joint.releases import COUNTED, LEARNERS, domain_of, explained, leaves, published, shuffled_rows
from recon.experiments.splits import train_test_sample
from recon.learners.rule_lists.vulnerability import vulnerability_of
from recon.queries.answers.counting import count
from recon.queries.inputs import Bits, Ints, predicted
from recon.queries.measures.sweeping import exact_counts, removed_per_row, with_noise
from recon.queries.noisy.posterior import posterior
from recon.queries.questions.questions import certify
from solvers.foundation.errors import EmptyConfidenceSet, Inconclusive, ReleaseError, Unsupported
from solvers.foundation.limits import Limits
from solvers.statements.noise.laws import NoiseLaw
from solvers.statements.noise.sampling import Randomness

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
    release = published(point["learner"], whole, {**point.parameters, "seed": 0}, limits).over(
        domain_of(whole, point["counted"])
    )
    out: list[Row] = []
    for draw in range(point["draws"]):
        limits.check("correlations are bounded")
        found = correlations(release, whole, pairs, NOISE_OF_PAIRS, seed=draw, limits=limits)
        held = _coverage(release, draw)
        for line in found.frame.to_dict("records"):
            if draw and line["attacker"] not in held:
                continue
            more: Row = {"draw": draw, "columns_used": len(found.views), "rows": len(whole)}
            out.append({**_binned(line), **more, "covered": held.get(str(line["attacker"]))})
    return out


def _coverage(release: EncodedRelease, draw: int) -> dict[str, bool]:
    """Return per attacker with noise whether the joint intervals of a draw hold the true counts."""
    _, truth = exact_counts(release)
    out = {}
    for epsilon, noisy in noisy_releases(release, NOISE_OF_PAIRS, CONFIDENCE, draw):
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
    found = population(of.over(domain_of(frame, COUNTED[0])), inside, others)
    asked = splits(found, 1, point["asked"], np.random.default_rng(point["seed"]))[0]
    out: list[Row] = [{"what": "model", **_about(found, asked), "fidelity": of.fidelity}]
    if of.rules is not None:
        y = str(frame.columns[-1])
        one, other = ((part.drop(columns=y), part[y]) for part in (inside, others))
        out[0] |= {"v": vulnerability_of(of.rules, one, other),
                   "v_authors": vulnerability_of(of.rules, one, other, "authors")}  # fmt: skip
    for counted in COUNTED:
        limits.check("rows are certified")
        release = found.release if counted == COUNTED[0] else of.over(domain_of(frame, counted))
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
    lines = certify(release, found.table(asked[first]), limits=limits.lasting(min(CERTIFYING, limits.left())))
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
        "leaves": leaves(found.box.model), "accuracy_members": float(right[member].mean()),
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
        line: Row = {"draw": draw, "counts": len(truth), "covered": _covers(noisy, truth), **_accuracies(found)}
        line |= _left_by(noisy, point["cap_seconds"], limits)
        out.append(line | _guesses_and_proofs(found, point["asked"], point["seed"], draw, limits))
    return out


def _covers(noisy: EncodedRelease, truth: np.ndarray) -> bool:
    """Return whether the joint intervals hold the true counts."""
    own = noisy.statements.partitions[0]
    return bool(((own.low <= truth) & (truth <= own.high)).all())


def _accuracies(found: Population) -> Row:
    """Return the accuracy of the released shares on members and on all others."""
    right = predicted(found.box, found.rows.x, len(found.rows.classes)) == found.rows.y
    return {
        "accuracy_members": float(right[found.member].mean()),
        "accuracy_others": float(right[~found.member].mean()),
    }


def _left_by(noisy: EncodedRelease, seconds: float, limits: Limits) -> Row:
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


DATASETS = ("compas27", "adult24")
SEEDS = (0, 1)
SUPPORT = 0.01  # training rows in a leaf or rule, a share of all
FIT_SECONDS = 8.0  # of a learner that proves optimality
DRAWS = 3  # of noise per point
EPSILONS = (0.0, 0.1, 1.0, 10.0)  # 0: no noise
MAX_EXPLANATIONS = 120  # explanations
SHADOW = "random noise"  # REVEAL's shadow data

QUESTIONS: dict[str, Callable[[Point, pd.DataFrame, Limits], list[Row]]] = {
    "correlations": correlated,
    "membership": _compared,
    "explanations": explained,
    "noise": _noised,
}


def _points(size: Size) -> list[Point]:
    """Return the points of all questions; the quick ones are some of the others."""
    quick = size == "quick"
    datasets = DATASETS[:1] if quick else DATASETS
    found = [*_correlations(quick), *_explanations(quick)]
    for dataset in datasets:
        found += [*_memberships(dataset, quick), *_noises(dataset, quick)]
    return found


def _learner(name: str, **other: Scalar) -> dict[str, Scalar]:
    """Return the parameters of a learner."""
    given: dict[str, Scalar] = {"width": 2, "rules": 10, "depth": 3 if name == "optimal tree" else 5} | other
    return {"learner": name, "support": SUPPORT, "fit_seconds": FIT_SECONDS, **given}


def _correlations(quick: bool) -> list[Point]:
    """Return the points of correlation intervals: the sketch's columns of COMPAS, then columns that models test."""
    asked: dict[str, Scalar] = {"question": "correlations", "draws": DRAWS}
    four = [
        Point("compas27", {**asked, "columns": "four", "counted": counted,
                           **_learner("greedy rule list", width=width, rules=3)}, 3.0)
        for width, counted in product((1, 2), COUNTED)
    ]  # fmt: skip
    models = [
        _learner("greedy rule list", width=1, rules=4), _learner("greedy rule list", width=2, rules=4),
        _learner("optimal rule list", rules=4), _learner("greedy tree", depth=3), _learner("optimal tree", depth=3),
    ]  # fmt: skip
    used = [
        Point(dataset, {**asked, "columns": "used", "counted": counted, **model}, 12.0)
        for dataset, model, counted in product(DATASETS, models, COUNTED)
    ]
    return [*four[::2], used[0]] if quick else [*four, *used]


def _memberships(dataset: str, quick: bool) -> list[Point]:
    """Return the points of membership: all learners."""
    names = ("greedy rule list", "full-grown tree", "TREPAN of a forest") if quick else tuple(LEARNERS)
    return [
        Point(
            dataset,
            {"question": "membership", "rows": 3_600, "asked": 2_000, "seed": seed, "shadow": SHADOW, **_learner(name)},
            16.0,
        )
        for name, seed in product(names, SEEDS[:1] if quick else SEEDS)
    ]


def _explanations(quick: bool) -> list[Point]:
    """Return the points of explanations: so many local ones, or one tree, of forests of few rows."""
    out = []
    for dataset, rows in product(DATASETS[:1] if quick else DATASETS, (200,) if quick else (200, 500)):
        for what, number in (("LORE", 40), ("LORE", 80), ("LORE", MAX_EXPLANATIONS), ("TREPAN", 0)):
            if number > 40 and (quick or rows > 200):  # too many worlds to bound them closely in a minute
                continue
            named: dict[str, Scalar] = {
                "question": "explanations",
                "what": what,
                "explained": number,
                "most": MAX_EXPLANATIONS,
            }
            cost = 30.0 + number / 5
            out.append(Point(dataset, {**named, "rows": rows, "seed": 0, "cap_seconds": 25.0}, cost))
    return out


def _noises(dataset: str, quick: bool) -> list[Point]:
    """Return the points of noise: every epsilon on its own."""
    out = []
    for name, rows, asked in (("greedy rule list", 2_000, 1_000), ("greedy tree", 2_000, 1_000),
                              ("full-grown tree", 500, 250)):  # fmt: skip
        for epsilon, seed in product(EPSILONS[::2] if quick else EPSILONS, SEEDS[:1] if quick else SEEDS):
            if quick and name != "greedy rule list":
                continue
            named: dict[str, Scalar] = {"question": "noise", "epsilon": epsilon, "draws": DRAWS, "rows": rows}
            named |= {"asked": asked, "seed": seed, "counted": "attributes", "cap_seconds": 3.0}
            cost = (45.0 if name == "full-grown tree" else 12.0) if epsilon else 5.0
            out.append(Point(dataset, {**named, **_learner(name)}, cost))
    return out


def _run(point: Point, frame: pd.DataFrame | None, limits: Limits) -> list[Row]:
    """Return the rows of a point: those of its question."""
    assert frame is not None
    return QUESTIONS[point["question"]](point, frame, limits)


EXPERIMENT = DECLARED.experiment(_points, _run, findings)
