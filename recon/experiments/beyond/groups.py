"""Who is exposed: bits that models remove about the training rows of each group, and by how much groups differ.

What several models of the same rows say together: the worlds left by a tree, a rule list and a forest, joined.

Models of equal size, of wider rules, and the same models counted over true attributes beside independent bits.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import combinations
from typing import Any

import numpy as np
from numpy.typing import NDArray

from encoders.domain.domain import Domain
from encoders.domain.values import Categorical
from encoders.encode.encoder import EncodedRelease
from encoders.encode.encoder import encode as encode_models
from encoders.models.models import AnyModel
from recon.experiments.experiment import Point, Row
from recon.experiments.ferry2024 import DEEPEST, FITS, LimitedFit, least_rows, row, with_bounds
from recon.experiments.fits import WorldsLeft, fitted, released, worlds_left
from recon.experiments.splits import COUNTED, TrainTestSplit, domain_of
from recon.learners.optimal.lists.optimal_rule_list import OptimalRuleListClassifier
from recon.learners.optimal.trees.optimal_tree import optimal_trees, trees_by_leaves
from recon.learners.rule_lists.greedy_rule_list import GreedyRuleListClassifier
from recon.queries.measures.measures import measure
from recon.readers.frames.selections import raw_indices
from recon.readers.frames.world import TrueRows
from recon.readers.loading.loading import models_of
from recon.release.auditing.persons.row_groups import row_groups
from solvers.foundation.errors import Unsupported
from solvers.foundation.limits import Limits
from solvers.statements.questions.query import Convention
from solvers.statements.release import RowCount


def _figures(learner: str, fits: Iterator[LimitedFit], some: TrainTestSplit, limits: Limits) -> Iterator[Row]:
    """Yield the figures of models as in the paper's experiment, without the leaks per row."""
    domain = domain_of(some.whole)
    for fit in fits:
        limits.check("models are counted")
        found = row(fit, some, domain, limits)
        found.pop("leaks")
        yield {"learner": learner, **found}


def matched(point: Point, some: TrainTestSplit, limits: Limits) -> list[Row]:
    """Return trees and rule lists, optimal and greedy, with 2, 3, ... `most_leaves` leaves or rules (default included).

    Of the optimal trees with so many leaves two: the one that leaves most open, and the one that leaves least.
    """
    least, seconds = least_rows(point, some), point["cap_seconds"]
    found = trees_by_leaves(some.x, some.y, point["most_leaves"], least, seconds, limits.memory, limits.stop)
    chosen = {"optimal trees": [(t.leaves, t.fewest_tree) for t in found],
              "optimal trees that leak most": [(t.leaves, t.most_tree) for t in found]}  # fmt: skip
    out: list[Row] = []
    for learner, trees in chosen.items():
        out += _figures(learner, (LimitedFit(size, tree, tree.bound_) for size, tree in trees), some, limits)
    out += _figures("greedy trees", _greedy_trees(point, some), some, limits)
    for learner in ("optimal rule lists", "greedy rule lists"):
        short = (fit for fit in FITS[learner](point, some, limits) if fit.limit < point["most_leaves"])
        out += _figures(learner, short, some, limits)
    return out


def _greedy_trees(point: Point, some: TrainTestSplit) -> Iterator[LimitedFit]:
    """Yield scikit-learn's trees grown best first to so many leaves."""
    settings = {"min_samples_leaf": least_rows(point, some), "random_state": 1 + point["seed"]}
    for leaves in range(2, point["most_leaves"] + 1):
        yield LimitedFit(leaves, fitted("tree", some.x, some.y, max_leaf_nodes=leaves, **settings))


def attributes(point: Point, some: TrainTestSplit, limits: Limits) -> list[Row]:
    """Return the same models of one learner counted over independent bits and over true attributes."""
    domains = {counted: domain_of(some.whole, counted) for counted in COUNTED}
    out = []
    for fit in FITS[point["learner"]](point, some, limits, point["depth"]):
        line: Row = {"limit": fit.limit}
        for counted, domain in domains.items():
            found = measure(released(fit.model, domain), "assigned", limits)
            line |= {
                f"dist_g_{counted}": found.dist_g, f"removed_{counted}": found.bits_removed_per_row,
                f"log2_worlds_{counted}": found.entropy_bits,
                f"before_{counted}": None if found.uninformed_bits is None else found.uninformed_bits / some.rows,
            }  # fmt: skip
        out.append(line)
    return out


def widths(point: Point, some: TrainTestSplit, limits: Limits) -> list[Row]:
    """Return rule lists with rules of up to `width` literals and up to so many rules."""
    learner = f"{point['kind']}, width {point['width']}"
    if point["kind"] == "greedy":
        found: Any = GreedyRuleListClassifier(point["width"], point["support"], DEEPEST + 1)
        fits = _beginnings(found.fit(some.x, some.y))
    else:
        found = OptimalRuleListClassifier(DEEPEST, point["support"], seconds=point["cap_seconds"], width=point["width"])
        fits = with_bounds(found.fit(some.x, some.y, limits.stop))
    return list(_figures(learner, fits, some, limits))


def _beginnings(found: Any) -> Iterator[LimitedFit]:
    """Yield the lists of the first 1, 2, ... rules of a greedy list: greedy lists are beginnings of one another."""
    whole: Sequence[Any] = found.rules_
    for length in range(1, len(whole)):
        rest = [sum(counts) for counts in zip(*(counts for _, counts in whole[length:]), strict=True)]
        found.rules_ = [*whole[:length], ((), rest)]
        yield LimitedFit(length, found)


CONVENTIONS: tuple[Convention, ...] = ("ordered", "multiset")  # rows in order; datasets without an order
Names = tuple[str, ...]


def joint_worlds(point: Point, some: TrainTestSplit, limits: Limits) -> list[Row]:
    """Return the worlds left by every combination of three models of the first `rows` training rows (0: of all)."""
    n = point["rows"] or some.rows
    domain = domain_of(some.whole, "attributes")
    parts = _three_models(point, some.x.head(n), some.y.head(n), domain, limits)
    named = [chosen for size in range(1, len(parts) + 1) for chosen in combinations(parts, size)]
    out: list[Row] = []
    for convention in CONVENTIONS:
        found: dict[Names, WorldsLeft] = {}
        for chosen in named:
            limits.check("worlds are counted")
            release = encode_models(domain, [model for name in chosen for model in parts[name]], RowCount(n, n))
            found[chosen] = worlds_left(release, convention, point["cap_seconds"], limits)
        out += _lines(found, convention, n)
    return out


def _lines(found: Mapping[Names, WorldsLeft], convention: Convention, n: int) -> list[Row]:
    """Return a line per combination: log2 of the worlds and bits removed per row, at least and at most.

    More models leave no more worlds, so that bounds on some models bound others.
    """
    out: list[Row] = []
    for chosen, left in found.items():
        high = min(other.high for names, other in found.items() if set(names) <= set(chosen))
        low = max(other.low for names, other in found.items() if set(names) >= set(chosen))
        bounds = WorldsLeft(n, left.before, low, high, left.engine)
        out.append({"models": " + ".join(chosen), "convention": convention, "n": n, **bounds.row()})
    return out


def _three_models(point: Point, x: Any, y: Any, domain: Domain, limits: Limits) -> dict[str, list[AnyModel]]:
    """Return an optimal tree, an optimal rule list and a forest (no bootstrap) of the same rows."""
    least, seconds = max(1, int(point["support"] * len(x))), point["fit_seconds"]
    tree = optimal_trees(x, y, point["depth"], least, seconds, stop=limits.stop)[-1]
    rules = OptimalRuleListClassifier(point["rules"], least, seconds=seconds).fit(x, y, limits.stop)
    forest = fitted("forest", x, y, n_estimators=point["forest_trees"], max_depth=point["forest_depth"],
                    min_samples_leaf=least, bootstrap=False, random_state=1 + point["seed"])  # fmt: skip
    return {
        "tree": [tree.to_model(label_values=tree.classes_.tolist())],
        "rule list": [rules.to_model()],
        "forest": list(models_of(forest, domain)),
    }


ATTRIBUTES: dict[str, dict[str, str]] = {  # what groups people -> attribute of the domain
    "compas27": {"race": "Race", "sex": "Gender=Male", "age": "Age"},
    "adult24": {"sex": "gender", "age": "age"},
}
TOGETHER = {"compas27": ("race", "sex"), "adult24": ("sex", "age")}  # whose combinations are subgroups
NAMES: dict[str, Mapping[object, str]] = {
    "Gender=Male": {0: "women", 1: "men"},
    "gender": {"Female": "women", "Male": "men"},
    "age": {"low": "age low", "high": "age high"},  # as the published data call them
}
LEAST_ROWS = 30  # of a group that differences are taken of: means of fewer rows say little
DRAWS = 200  # of random groups of the same sizes
CHANCE = 0.95  # of such draws differ less than the figure called chance
EXPOSED = 0.1  # of all rows, those with the most bits removed, are called most exposed


def by_group(point: Point, some: TrainTestSplit, limits: Limits) -> list[Row]:
    """Return a line per way of counting, kind of group and group, for the largest model of one learner."""
    *_, fit = FITS[point["learner"]](point, some, limits, point["depth"])
    groups = _groups_of(point.dataset, some)
    out: list[Row] = []
    for counted in COUNTED:
        release = released(fit.model, domain_of(some.whole, counted))
        removed, before = removed_bits(release, some, limits)
        line: Row = {"limit": fit.limit, "counted": counted, "before": before}
        out += (line | one for kind, names in groups.items() for one in _exposures(kind, names, removed, before, point))
    return out


def _groups_of(dataset: str, some: TrainTestSplit) -> dict[str, NDArray[np.str_]]:
    """Return the group of every training row, by what groups people; "everybody" first."""
    domain = domain_of(some.whole, "attributes")
    values = raw_indices(domain, some.x.assign(**{str(some.y.name): some.y}))
    out = {"everybody": np.full(some.rows, "everybody")}
    for kind, name in ATTRIBUTES[dataset].items():
        k = domain.place[name]
        words = NAMES.get(name, {})
        attribute = domain.all[k]
        assert isinstance(attribute, Categorical)
        texts = np.array([words.get(v, str(v)) for v in attribute.values])
        out[kind] = texts[values[:, k]]
    both = TOGETHER[dataset]
    pairs = zip(*(out[kind].tolist() for kind in both), strict=True)
    return out | {" and ".join(both): np.array([", ".join(pair) for pair in pairs])}


def removed_bits(release: EncodedRelease, some: TrainTestSplit, limits: Limits) -> tuple[NDArray[np.float64], float]:
    """Return the bits that a tree or rule list removes about each training row, and the bits of a row before.

    Conditional on the row's leaf or rule and its label (`assigned`), as in the paper.
    """
    if release.statements.single is None:
        raise Unsupported("exposure by group is told for one tree or rule list")
    figures = measure(release, "assigned", limits)
    found = row_groups(release, figures, TrueRows.of(release, some.x.assign(**{str(some.y.name): some.y})), limits)
    lines = figures.exposure
    before = float((lines["bits_left"] + lines["bits_removed"]).iloc[0])
    return before - found.bits_left, before


def _among_most(removed: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return of every row the chance to be among the most exposed, rows exposed alike being drawn by lot."""
    wanted, rounded = EXPOSED * len(removed), np.round(removed, 9)
    last = np.sort(rounded)[::-1][max(0, int(np.ceil(wanted)) - 1)]
    above, level = rounded > last, rounded == last
    return np.where(above, 1.0, np.where(level, (wanted - above.sum()) / level.sum(), 0.0))


def _exposures(
    kind: str, names: NDArray[np.str_], removed: NDArray[np.float64], before: float, point: Point
) -> list[Row]:
    """Return a line per group: rows, bits removed per row, Dist_G, the share of its rows among the most exposed tenth.

    `gap`: the greatest difference of bits removed per row between two groups of `LEAST_ROWS` rows or more;
    `chance`: what `CHANCE` of random groups of the same sizes stay below.
    """
    found, group = np.unique(names, return_inverse=True)
    group = group.reshape(-1)
    rows = np.bincount(group)
    means = np.bincount(group, removed) / rows
    shares = np.bincount(group, _among_most(removed)) / rows
    large = rows >= LEAST_ROWS
    gap = chance = None
    if large.sum() > 1:
        dice = np.random.default_rng(point["seed"])
        gap = float(np.ptp(means[large]))
        drawn = [float(np.ptp((np.bincount(group, dice.permutation(removed)) / rows)[large])) for _ in range(DRAWS)]
        chance = float(np.quantile(drawn, CHANCE))
    return [
        {
            "kind": kind, "group": str(found[g]), "rows": int(rows[g]), "share": float(rows[g] / len(names)),
            "removed": float(means[g]), "dist_g": 1 - float(means[g]) / before, "exposed": float(shares[g]),
            "gap": gap, "chance": chance,
        }
        for g in range(len(found))
    ]  # fmt: skip
