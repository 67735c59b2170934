"""What several models of the same rows say together: the worlds left by a tree, a rule list and a forest, joined."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations
from typing import Any

from encoders.domain.domain import Domain
from encoders.encode.encoder import encode
from encoders.models.models import AnyModel
from recon.answers.counting import count
from recon.experiments.beyond.sizes import domain_of
from recon.experiments.experiment import Point, Row
from recon.experiments.splits import Split
from recon.learners.optimal.lists.optimal_rule_list import OptimalRuleListClassifier
from recon.learners.optimal.trees.by_depth import optimal_trees
from recon.loading.loading import models_of
from solvers.figures.bits import bits_before
from solvers.foundation.limits import Limits
from solvers.questions.query import Convention
from solvers.statements.release import Rows

CONVENTIONS: tuple[Convention, ...] = ("ordered", "multiset")


def together(point: Point, some: Split, limits: Limits) -> list[Row]:
    """Return the worlds left by every combination of three models of the first `rows` training rows (0: of all)."""
    n = point["rows"] or some.rows
    domain = domain_of(some, "attributes")
    parts = three_models(point, some.x.head(n), some.y.head(n), domain)
    named = [chosen for size in range(1, len(parts) + 1) for chosen in combinations(parts, size)]
    return [
        worlds_left(domain, {name: parts[name] for name in chosen}, n, convention, point["cap_seconds"], limits)
        for chosen in named
        for convention in CONVENTIONS
    ]


def three_models(point: Point, x: Any, y: Any, domain: Domain) -> dict[str, list[AnyModel]]:
    """Return an optimal tree, an optimal rule list and a forest (no bootstrap) of the same rows."""
    from sklearn.ensemble import RandomForestClassifier

    least, seconds = max(1, int(point["support"] * len(x))), point["fit_seconds"]
    tree = optimal_trees(x, y, point["depth"], least, seconds)[-1]
    rules = OptimalRuleListClassifier(point["rules"], least, seconds=seconds).fit(x, y)
    forest = RandomForestClassifier(
        point["trees"], max_depth=point["forest_depth"], min_samples_leaf=least, bootstrap=False,
        random_state=1 + point["seed"],
    ).fit(x, y)  # fmt: skip
    return {
        "tree": [tree.to_model(label_values=tree.classes_.tolist())],
        "rule list": [rules.to_model()],
        "forest": list(models_of(forest, domain)),
    }


def worlds_left(
    domain: Domain, parts: dict[str, Sequence[AnyModel]], n: int, convention: Convention, seconds: float, limits: Limits
) -> Row:
    """Return log2 of the worlds left by some models together, exact or between rigorous bounds, and bits removed.

    `ordered`: sequences of n rows with labels; `multiset`: datasets without an order.
    """
    limits.check("worlds are counted")
    rows = Rows(n, n)
    release = encode(domain, [model for models in parts.values() for model in models], rows)
    before = bits_before(release.statements, [n], convention, limits)
    found = count(release, convention, limits.lasting(min(seconds, limits.left())))
    low, high = max(0.0, found.bounds[0]), min(found.bounds[1], before)
    return {
        "models": " + ".join(parts), "convention": convention, "status": found.status, "engine": found.engine,
        "n": n, "before": before, "log2_low": low, "log2_high": high,
        "removed_low": (before - high) / n, "removed_high": (before - low) / n,
    }  # fmt: skip
