"""The experiment: statistical attacks and certificates about the same rows of the same releases, four questions.

Noise on released counts: what certificates still prove, what attacks still guess, and what is still right.

Who was trained on: what certificates prove and what attacks guess, about the same rows of the same releases.

Correlations of columns that a released model tests: intervals by `recon.attacks.attacking.correlations`.

What the results of the four questions say: tables, figures and sentences.

Certificates beside attacks, without noise and with it; intervals of correlations; explanations.

The models whose release is attacked: learners by name, what each publishes of its training rows, counts included.

Explanations as releases: what local rules and global surrogate trees with their counts say of the training rows.

A rule that says only what the black box predicts is a statement about the black box: it excludes no training set. With
its support, the numbers of training rows per class that meet it, every rule is a statement about the training rows.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations, pairwise
from typing import Any

import numpy as np
import pandas as pd

from encoders.domain.domain import Condition
from encoders.domain.values import Test, equals
from encoders.encode.encoder import CONFIDENCE, EncodedRelease, encode
from encoders.models.models import ModelNode, Nodes, Rule, RuleSet, Support, Tree
from recon.attacks.attacking.correlations import DEFINITE, DISCRETE, WORLDS, correlations, noisy_releases
from recon.attacks.attacking.membership import Judged, guessed, guesses, judged
from recon.attacks.attacking.records import Population, RecordSplit, population, splits
from recon.attacks.correlation.model_less import bin_of, decided, exact_accuracy, in_one_bin
from recon.attacks.evaluation import Evaluation, both_sides, duplicates, evaluated, unique_rows
from recon.attacks.explainers.lore import Explanation, lore, lores
from recon.attacks.explainers.sampling import diverse_rows
from recon.attacks.explainers.surrogate import Surrogate
from recon.attacks.explainers.trepan import trepan
from recon.attacks.membership.attacks import CHEAP, attack, attacked
from recon.attacks.membership.shadow_data import Knowledge, MembershipGuess, ensemble, knowledge
from recon.experiments.experiment import Declaration, Point, Row, where
from recon.experiments.fits import (
    COUNTED,
    NAMES,
    confident_worlds,
    covers,
    domain_of,
    fitted,
    noisy_draws,
    released,
    train_test_sample,
    worlds_left,
)
from recon.learners.optimal.lists.optimal_rule_list import OptimalRuleListClassifier
from recon.learners.optimal.trees.optimal_tree import optimal_trees
from recon.learners.rule_lists.estimator import RuleListClassifier
from recon.learners.rule_lists.greedy_rule_list import GreedyRuleListClassifier
from recon.learners.rule_lists.vulnerability import vulnerability_of
from recon.queries.answers.counting import count
from recon.queries.inputs import Bits, Ints, RecordColumns, Records, Target, predicted
from recon.queries.measures.sweeping import exact_counts, removed_per_row
from recon.queries.noisy.posterior import posterior
from recon.queries.questions.questions import certify
from recon.readers.frames.world import violations
from solvers.foundation.errors import EmptyConfidenceSet, EngineError, ReleaseError, Unsupported
from solvers.foundation.limits import Limits
from solvers.statements.release import RowCount

MARGIN = 1e-6  # bits, relatively: bounds nearer than this are one number
TREES = 100  # of the forest that is explained
NEIGHBOURS = 1000  # of a local explanation
MINIMUM = 1000  # labelled rows that decide at a node of TREPAN


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
        records = diverse_rows(rows.x, point["most"], point["seed"])[: point["explained"]]
        local = lores(target, rows.x[records], rows.x, rows.columns, 2, seed=point["seed"], size=NEIGHBOURS,
                      limits=limits)  # fmt: skip
        rules = _rules_of(local, rows)
        model: RuleSet | Tree = rules
        surrogates: list[Target] = [one.surrogate for one in local]
        size, fidelity = len(rules.rules), float(np.mean([one.fidelity for one in local]))
    else:
        found = trepan(target, rows.x, rows.columns, 2, seed=point["seed"], minimum=MINIMUM, limits=limits)
        model = tree = counted_surrogate(found, rows)
        surrogates, size, fidelity = [found], len(tree.nodes.leaves), found.fidelity(target, rows.x)
    release = encode(domain_of(frame, "attributes"), [model], RowCount(n, n))
    if broken := violations(release, inside):
        raise EngineError(f"explanations break what they were counted from: {broken[0]}")
    line: Row = {"statements": size, "fidelity": fidelity, "distinct": int(rows.numbered().max()) + 1}
    left = worlds_left(release, "ordered", point["cap_seconds"], limits)
    line |= {**left.row(MARGIN), "before_per_row": left.before / n}
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
    guess = answered[0] if len(answered) == 1 else ensemble(answered)
    own, theirs = (evaluated(one.scores, one.members, member) for one in (black_box, guess))
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


@dataclass(frozen=True, eq=False)
class JointModel:
    """What is released: a fitted model, or a surrogate tree with its counts.

    `fidelity`: of a surrogate, the share of its training rows of which it says what its black box says.
    """

    model: Any
    fidelity: float | None = None


def published(learner: str, rows: pd.DataFrame, settings: Mapping[str, Any], limits: Limits) -> JointModel:
    """Return what a learner (`LEARNERS`) publishes of training rows, the label their last column.

    `settings`: seed, support (rows in a leaf or rule, a share), width, rules, depth, fit_seconds.
    """
    return LEARNERS[learner](rows.iloc[:, :-1], rows.iloc[:, -1], settings, limits)


def _greedy_tree(x: pd.DataFrame, y: pd.Series, at: Mapping[str, Any]) -> Any:
    """Return scikit-learn's tree of limited depth; depth 0: full-grown, at its defaults, whatever the support."""
    limit = {"max_depth": at["depth"], "min_samples_leaf": at["support"]} if at["depth"] else {}
    return fitted("tree", x, y, random_state=at["seed"], **limit)


def forest_of(x: Any, y: Any, seed: int) -> Target:
    """Return the forest that is explained."""
    found: Target = fitted("forest", x, y, n_estimators=TREES, random_state=seed, n_jobs=1)
    return found


def _network_of(x: Any, y: Any, seed: int) -> Target:
    """Return the feed-forward network that is explained."""
    found: Target = fitted("network", x, y, hidden_layer_sizes=(50, 20), early_stopping=True, random_state=seed)
    return found


def _explainer_of(black_box: Callable[[Any, Any, int], Target], local: bool = False) -> Callable[..., JointModel]:
    """Return the learner that explains a black box and counts the training rows at the leaves.

    By TREPAN, or `local`: by LORE's tree about one record.
    """

    def explained(x: pd.DataFrame, y: pd.Series, at: Mapping[str, Any], limits: Limits) -> JointModel:
        rows, seed = Records.of(pd.concat([x, y], axis=1)), at["seed"]
        target, classes = black_box(rows.x, rows.y, seed), len(rows.classes)
        if local:
            record = rows.x[diverse_rows(rows.x, 1, seed)[0]]
            tree = lore(
                target, record, rows.x, rows.columns, classes, seed=seed, size=NEIGHBOURS, limits=limits
            ).surrogate
        else:
            tree = trepan(target, rows.x, rows.columns, classes, seed=seed, minimum=MINIMUM, limits=limits)
        return JointModel(counted_surrogate(tree, rows), fidelity=tree.fidelity(target, rows.x))

    return explained


def counted_surrogate(found: Surrogate, rows: Records) -> Tree:
    """Return a surrogate as a published tree with the counts of rows per class at its leaves."""
    nodes = (
        ModelNode(Support(tuple(node["counts"]))) if "counts" in node
        else ModelNode(Support(), as_condition(node["if"], rows.columns), node["then"], node["else"])
        for node in found.nodes(rows.x, rows.y)
    )  # fmt: skip
    return Tree(Nodes.of(nodes), name=found.kind)


def as_condition(given: Mapping[str, Any], columns: RecordColumns) -> Condition:
    """Return conditions on columns as an explainer writes them; those on bits as values."""
    continuous = dict(zip(columns.names, columns.continuous, strict=True))
    tests = []
    for name, test in given.items():
        if not continuous[name]:
            tests.append((name, equals(0 if isinstance(test, Mapping) else int(test))))
        elif isinstance(test, Mapping):
            tests.append((name, Test(low=test.get("above"), high=test.get("at_most"), low_open="above" in test)))
    return tuple(tests)


LEARNERS: dict[str, Callable[[pd.DataFrame, pd.Series, Mapping[str, Any], Limits], JointModel]] = {
    "greedy rule list": lambda x, y, at, _: JointModel(
        GreedyRuleListClassifier(at["width"], at["support"], at["rules"] + 1).fit(x, y)
    ),
    "optimal rule list": lambda x, y, at, _: JointModel(
        OptimalRuleListClassifier(at["rules"], at["support"], seconds=at["fit_seconds"]).fit(x, y)
    ),
    "greedy tree": lambda x, y, at, _: JointModel(_greedy_tree(x, y, at)),
    "optimal tree": lambda x, y, at, _: JointModel(
        optimal_trees(x, y, at["depth"], max(1, int(at["support"] * len(x))), at["fit_seconds"])[-1]
    ),
    "full-grown tree": lambda x, y, at, _: JointModel(_greedy_tree(x, y, {**at, "depth": 0})),
    "TREPAN of a forest": _explainer_of(forest_of),
    "TREPAN of a network": _explainer_of(_network_of),
    "LORE tree of a forest": _explainer_of(forest_of, local=True),
}


def shuffled_rows(frame: pd.DataFrame, rows: int, others: int, seed: int) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Return so many training rows and others in the random order of a seed; fewer others where there are no more."""
    order = np.random.default_rng(seed).permutation(len(frame))
    inside, outside = order[:rows], order[rows : rows + others]
    return frame.iloc[inside].reset_index(drop=True), frame.iloc[outside].reset_index(drop=True)


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
