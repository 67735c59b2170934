"""Which learner's rule is asked about: what files and `--learner` say, and what no exact count can be made of."""

from __future__ import annotations

from dataclasses import replace

from encoders.encode.encoder import EncodedRelease
from encoders.models.learner import Learner, LearnerName
from encoders.models.models import AnyModel, Boosting, Forest, RuleList, Tree
from recon.io.console.learner_option import EXAMPLE, LearnerSettings, asked_of
from solvers.foundation.errors import Unsupported
from solvers.foundation.escaping import named

GREEDY: tuple[LearnerName, ...] = ("sklearn tree", "sklearn forest", "greedy rule list")
OPTIMAL: tuple[LearnerName, ...] = ("optimal tree", "optimal rule list")
OWN = "--learner"


def learners_of(release: EncodedRelease, asked: str, /) -> tuple[Learner | None, ...]:
    """Return the learner of every model of a release, None where its rule is not used.

    `asked`: "none", "midpoints" (thresholds of scikit-learn's trees only), "greedy", "optimal", each of the last two
    with settings after a colon or not, or "auto", what the file says of each model. Settings that are given go before
    those of the file. Raises `Unsupported` where "greedy" or "optimal" are asked for and no model says how it was
    learned, and for a learner that never is what was asked for; `ReleaseError` for another word or setting.
    """
    wanted = asked_of(asked)
    if wanted.known == "none":
        return (None,) * len(release.models)
    found = tuple(_learner(model, wanted) for model in release.models)
    if wanted.known == "auto" or any(one is not None for one in found):
        return found
    raise Unsupported(_nothing_said(release, wanted))


def learner_of(release: EncodedRelease, asked: str, /) -> Learner | None:
    """Return the learner of a release's models, None where none of them has one; see `learners_of`.

    Raises `Unsupported` naming two models with different learners: their rules are asked about one by one.
    """
    found = [(m, one) for m, one in zip(release.models, learners_of(release, asked), strict=True) if one is not None]
    for model, one in found[1:]:
        if one != found[0][1]:
            first, second = named(found[0][0].name), named(model.name)
            raise Unsupported(f"{first} and {second} have different learners or settings: ask about one file at a time")
    return found[0][1] if found else None


def _learner(model: AnyModel, asked: LearnerSettings) -> Learner | None:
    """Return the learner of one model as asked for, None where it has none of that kind."""
    said = None if model.origin is None else model.origin.learner
    if asked.known == "auto":
        return said
    if asked.known == "midpoints":
        return _midpoints(model, said)
    names = GREEDY if asked.known == "greedy" else OPTIMAL
    base = said if said is not None and said.name in names else None
    if not asked.settings:
        return base
    name = _name(model, names)
    if name is None:
        return None
    if base is not None:
        return replace(base, source=f"{base.source} and {OWN}", **asked.settings)
    start = Learner(name, source=OWN)
    if name in OPTIMAL:
        start = replace(start, criterion="errors")
    elif name == "greedy rule list":
        start = replace(start, criterion="gini", width=1, min_support=1)
    else:
        start = replace(start, criterion="gini")
    return replace(start, **asked.settings)


def _name(model: AnyModel, names: tuple[LearnerName, ...]) -> LearnerName | None:
    """Return the learner of this kind of model among some, None where they learn no such model."""
    kinds: dict[type, tuple[LearnerName, ...]] = {
        Tree: ("sklearn tree", "optimal tree"),
        Forest: ("sklearn forest",),
        RuleList: ("greedy rule list", "optimal rule list"),
    }
    return next((n for n in kinds.get(type(model), ()) if n in names), None)


def _midpoints(model: AnyModel, said: Learner | None) -> Learner | None:
    """Return a scikit-learn learner whose thresholds lie halfway; `Unsupported` where they were drawn."""
    if not isinstance(model, (Tree, Forest)):
        return None
    if said is None:
        return Learner("sklearn forest" if isinstance(model, Forest) else "sklearn tree", source=OWN)
    if said.name not in GREEDY:
        return None
    if said.splitter == "random":
        raise Unsupported(
            f"{named(model.name)}: splitter random draws thresholds, they are no midpoints: --learner auto"
        )
    return said


def _nothing_said(release: EncodedRelease, asked: LearnerSettings) -> str:
    """Return why no model has the learner asked for, and what to do."""
    if asked.known == "midpoints":
        return "no model is a tree or a forest: midpoints are of their thresholds"
    if all(isinstance(m, Boosting) for m in release.models):
        return f"boosted models have no rule that is used: their trees fit residuals (--learner {asked.known})"
    names = GREEDY if asked.known == "greedy" else OPTIMAL
    if not any(_name(m, names) for m in release.models):
        kinds = ", ".join(dict.fromkeys(m.kind.replace("_", " ") for m in release.models)) or "nothing"
        return f"no {asked.known} learner of {kinds} is known: trees, forests and rule lists have one"
    said = {m.origin.learner.name for m in release.models if m.origin is not None and m.origin.learner is not None}
    if said:
        return f"the file says that it was learned by {', '.join(sorted(said))}: --learner auto takes that"
    return (
        "the file does not say how its model was learned: give the settings, as in "
        f"--learner {EXAMPLE.replace('greedy', asked.known)}, or the stored model itself"
    )


def exact_refusals(learner: Learner, columns: int) -> tuple[str, ...]:
    """Return, one sentence each, why no exact count is made under a learner's rule over so many columns; () if one is.

    Limits (`max_depth`, `min_samples_*`, `max_leaf_nodes`, `min_impurity_decrease`, `ccp_alpha`) never are a reason.
    """
    what = f"{learner.name} ({learner.source or 'settings'})"
    out = []
    if learner.name not in {"sklearn tree", "greedy rule list"}:
        out.append(f"{what}: exact counts are made for single greedy trees and greedy rule lists")
    if learner.weighted:
        out.append(f"{what}: rows are weighted (class_weight or sample_weight), and gains depend on the weights")
    if learner.bootstrap:
        out.append(f"{what}: the tree counts rows that were drawn (bootstrap), not the training rows")
    if learner.splitter != "best":
        out.append(f"{what}: splitter {learner.splitter} draws thresholds, and the gain is not the best one")
    if learner.max_features is not None and learner.max_features < columns:
        tried = f"max_features {learner.max_features} of {columns}"
        out.append(f"{what}: {tried}: which columns were tried at a node is not known, so no column had to lose")
    if learner.monotonic:
        out.append(f"{what}: monotonic constraints forbid splits, whatever their gain")
    if learner.name == "sklearn tree" and learner.criterion not in {"gini", "entropy", "log_loss"}:
        out.append(f"{what}: criterion {learner.criterion}: exact counts are made for gini and entropy (log_loss)")
    if learner.name == "greedy rule list" and (learner.width or 1) > 1:
        out.append(f"{what}: width {learner.width}: conjunctions couple the columns, exact counts are made for width 1")
    if learner.columns is not None and learner.columns != columns:
        given = f"the learner chose among {learner.columns} columns, the domain has {columns}"
        out.append(
            f"{what}: {given}: declare the learner's own columns as the domain (--domain, --independent-columns)"
        )
    return tuple(out)
