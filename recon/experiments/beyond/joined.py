"""What several models of the same rows say together: the worlds left by a tree, a rule list and a forest, joined."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from itertools import combinations
from typing import Any

from encoders.domain.domain import Domain
from encoders.encode.encoder import EncodedRelease, encode
from encoders.models.models import AnyModel
from recon.experiments.beyond.sizes import domain_of
from recon.experiments.experiment import Point, Row
from recon.experiments.splits import TrainTestSplit
from recon.learners.optimal.lists.optimal_rule_list import OptimalRuleListClassifier
from recon.learners.optimal.trees.by_depth import optimal_trees
from recon.queries.answers.counting import count
from recon.readers.loading.loading import models_of
from solvers.engines.figures.bits import bits_before
from solvers.foundation.limits import Limits
from solvers.questions.query import Convention
from solvers.statements.release import RowCount

CONVENTIONS: tuple[Convention, ...] = ("ordered", "multiset")  # rows in order; datasets without an order
EXACT = 1e-9  # bounds that differ by no more, relatively, are one number
Names = tuple[str, ...]


def together(point: Point, some: TrainTestSplit, limits: Limits) -> list[Row]:
    """Return the worlds left by every combination of three models of the first `rows` training rows (0: of all)."""
    n = point["rows"] or some.rows
    domain = domain_of(some, "attributes")
    parts = three_models(point, some.x.head(n), some.y.head(n), domain, limits)
    named = [chosen for size in range(1, len(parts) + 1) for chosen in combinations(parts, size)]
    out: list[Row] = []
    for convention in CONVENTIONS:
        found: dict[Names, WorldsLeft] = {}
        for chosen in named:
            limits.check("worlds are counted")
            release = encode(domain, [model for name in chosen for model in parts[name]], RowCount(n, n))
            found[chosen] = left_by(release, convention, point["cap_seconds"], limits)
        out += lines(found, convention, n)
    return out


@dataclass(frozen=True)
class WorldsLeft:
    """log2 of the worlds before a release and after it, at least and at most, and who counted them."""

    before: float
    low: float
    high: float
    engine: str


def left_by(release: EncodedRelease, convention: Convention, seconds: float, limits: Limits) -> WorldsLeft:
    """Return the worlds that a release leaves, exact or between rigorous bounds."""
    n = release.rows.low
    before = bits_before(release.statements, [n], convention, limits)
    found = count(release, convention, limits.lasting(min(seconds, limits.left())))
    return WorldsLeft(before, max(0.0, found.bounds[0]), min(found.bounds[1], before), found.engine)


def lines(found: Mapping[Names, WorldsLeft], convention: Convention, n: int) -> list[Row]:
    """Return a line per combination: log2 of the worlds and bits removed per row, at least and at most.

    More models leave no more worlds, so that bounds on some models bound others.
    """
    out: list[Row] = []
    for chosen, left in found.items():
        high = min(other.high for names, other in found.items() if set(names) <= set(chosen))
        low = max(other.low for names, other in found.items() if set(names) >= set(chosen))
        out.append({
            "models": " + ".join(chosen), "convention": convention, "n": n, "engine": left.engine,
            "exact": high - low <= EXACT * max(1.0, high), "before": left.before, "log2_low": low, "log2_high": high,
            "removed_low": (left.before - high) / n, "removed_high": (left.before - low) / n,
        })  # fmt: skip
    return out


def three_models(point: Point, x: Any, y: Any, domain: Domain, limits: Limits) -> dict[str, list[AnyModel]]:
    """Return an optimal tree, an optimal rule list and a forest (no bootstrap) of the same rows."""
    from sklearn.ensemble import RandomForestClassifier

    least, seconds = max(1, int(point["support"] * len(x))), point["fit_seconds"]
    tree = optimal_trees(x, y, point["depth"], least, seconds, stop=limits.stop)[-1]
    rules = OptimalRuleListClassifier(point["rules"], least, seconds=seconds).fit(x, y, limits.stop)
    forest = RandomForestClassifier(
        point["forest_trees"], max_depth=point["forest_depth"], min_samples_leaf=least, bootstrap=False,
        random_state=1 + point["seed"],
    ).fit(x, y)  # fmt: skip
    return {
        "tree": [tree.to_model(label_values=tree.classes_.tolist())],
        "rule list": [rules.to_model()],
        "forest": list(models_of(forest, domain)),
    }
