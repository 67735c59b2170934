"""The models whose release is attacked: learners by name, what each publishes of its training rows, counts included.

Explanations as releases: what local rules and global surrogate trees with their counts say of the training rows.

A rule that says only what the black box predicts is a statement about the black box: it excludes no training set. With
its support, the numbers of training rows per class that meet it, every rule is a statement about the training rows.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from encoders.domain.domain import Condition
from encoders.domain.values import Test, equals
from encoders.encode.encoder import encode
from encoders.models.models import ModelNode, Nodes, Rule, RuleSet, Support, Tree
from recon.attacks.evaluation import evaluated
from recon.attacks.explainers.lore import Explanation, lore, lores
from recon.attacks.explainers.sampling import diverse_rows
from recon.attacks.explainers.surrogate import Surrogate
from recon.attacks.explainers.trepan import trepan
from recon.attacks.membership.attacks import CHEAP, attack, attacked
from recon.attacks.membership.shadow_data import Knowledge, MembershipGuess, ensemble, knowledge
from recon.experiments.experiment import Point, Row
from recon.experiments.fits import domain_of, fitted, worlds_left
from recon.learners.optimal.lists.optimal_rule_list import OptimalRuleListClassifier
from recon.learners.optimal.trees.optimal_tree import optimal_trees
from recon.learners.rule_lists.greedy_rule_list import GreedyRuleListClassifier
from recon.queries.inputs import Bits, RecordColumns, Records, Target
from recon.readers.frames.world import violations
from solvers.foundation.errors import EngineError, Unsupported
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
