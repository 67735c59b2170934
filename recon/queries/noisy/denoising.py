"""Consistent counts: the non-negative whole numbers that add up and make the published noise most likely.

Source: docs/mathematics.md, "Noise"; Hay, Rastogi, Miklau, Suciu, "Boosting the accuracy of
differentially private histograms through consistency", VLDB 2010 (post-processing costs no privacy).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import singledispatch

from encoders.domain.domain import Domain
from encoders.encode.encoder import EncodedRelease
from encoders.models.models import (
    AnyModel,
    Boosting,
    Forest,
    PublishedFigure,
    PublishedModel,
    Rule,
    RuleList,
    RuleSet,
    Table,
    Tree,
    unsupported,
)
from encoders.models.nodes import UNPUBLISHED, Support
from recon.readers.formats.release.writing import publishable
from recon.readers.loading.loading import Released, single_release_of
from solvers.foundation.displayed import Displayed
from solvers.foundation.errors import Unsupported
from solvers.foundation.limits import Limits
from solvers.noisy.likelihood.maximum import Likeliest
from solvers.noisy.likelihood.most_likely import capped_rows, most_likely_counts
from solvers.statements.observations import StatementIndex, observations, widened
from solvers.statements.questions.answers import how, no_world_reason
from solvers.statements.release import Release, RowCount

DENOISED = "the counts are denoised, {} and not the true ones: verdicts about them prove nothing"
BEST, GOOD = "the most likely ones", "likely ones (not proved to be the most likely)"


@dataclass(frozen=True, eq=False, repr=False)
class Denoised(Displayed):
    """A release's models with consistent counts, and its domain with a note that says so.

    `found` says how likely their histogram is and whether it is proved best. `moved`: Σ |published - consistent| over
    the noisy counts; `rows` the number of rows of the counts.
    """

    domain: Domain
    models: tuple[AnyModel, ...]
    found: Likeliest
    moved: float
    rows: int


def certain_release(release: EncodedRelease, limits: Limits) -> Release:
    """Return what holds whatever the noise, with a number of rows that is bounded.

    Where nothing bounds it, rows are left out that make every dataset e^42 times less likely than some dataset.
    """
    if release.statements.unstated:
        raise Unsupported(f"{no_world_reason(release.statements)}; take that out{how(release.statements)}")
    sure, declared = widened(release.statements), release.declared or RowCount()
    return capped_rows(replace(sure, rows=declared), limits)


def denoise(release: Released, limits: Limits | None = None) -> Denoised:
    """Return the models of a noisy release with consistent counts.

    Consistent counts are post-processing: they are as private as the noisy counts, but no longer have the law of the
    noise. Raises `Unsupported` for exact releases and too many cells, `ContradictionError` where exact statements
    clash.

    >>> import json
    >>> import tempfile
    >>> from pathlib import Path
    >>> import recon
    >>> domain = {"attributes": [{"name": "old", "values": [0, 1]}], "label": {"name": "ill", "values": [0, 1]}}
    >>> nodes = [{"if": {"old": 0}, "then": 1, "else": 2}, {"counts": [3, -1]}, {"counts": [0, 1]}]
    >>> models = [{"kind": "tree", "nodes": nodes, "noise": {"law": "discrete_laplace", "scale": 1}}]
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = Path(folder, "tree.json")
    ...     size = path.write_text(json.dumps({"recon": 1, "rows": 3, "domain": domain, "models": models}))
    ...     release = recon.load(path)
    >>> recon.denoise(release)
    <Denoised: moved 2, rows 3>
    """
    release = single_release_of(release, limits)
    if not release.noisy:
        raise Unsupported("the counts carry no noise: they are consistent or contradict each other")
    limits = limits or Limits()
    sure = certain_release(release, limits)
    seen = observations(sure)
    counts, found = most_likely_counts(sure, seen, limits)
    moved = float(sum(abs(o.published - counts[o.statement]) for o in seen))
    by_block: dict[int, list[int]] = {}
    index = StatementIndex(release.statements)
    for b, observed in enumerate(release.statements.observed):
        if observed is not None:
            by_block[b] = [counts[index.first[b] + s] for s, p in enumerate(observed.published) if p is not None]
    left = iter([by_block[b] for b in sorted(by_block)])
    models = tuple(m if m.noise is None else filled(m, left) for m in release.models)
    text = DENOISED.format(BEST if found.proved else GOOD)
    noted = replace(release.domain, notes=(*publishable(release.domain).notes, text))
    return Denoised(noted, models, found, moved, int(found.histogram.sum()))


@singledispatch
def filled(model: PublishedModel, left: Iterator[list[int]]) -> AnyModel:
    """Return a model with the given counts, block by block in the order in which they are encoded, without noise."""
    raise unsupported(model, "counts without noise cannot be put into it")


@filled.register
def _(model: Forest | Boosting, left: Iterator[list[int]]) -> AnyModel:
    leaves = [iter(next(left)) for _ in model.trees]
    trees = tuple(_filled_tree(t, one, left) for t, one in zip(model.trees, leaves, strict=True))
    return replace(model, trees=trees, noise=None)


@filled.register
def _(model: Tree, left: Iterator[list[int]]) -> AnyModel:
    return _filled_tree(model, iter(next(left)), left)


@filled.register
def _(model: Table, left: Iterator[list[int]]) -> AnyModel:
    counts = iter(next(left, []))
    return replace(model, statements=tuple(_filled_figure(f, counts) for f in model.statements), noise=None)


@filled.register
def _(model: RuleList | RuleSet, left: Iterator[list[int]]) -> AnyModel:
    counts = iter(next(left, []))
    rules = tuple(Rule(r.condition, _filled_support(r.support, counts), r.name) for r in model.rules)
    return replace(model, rules=rules, noise=None)


def _filled_tree(tree: Tree, leaves: Iterator[int], left: Iterator[list[int]]) -> Tree:
    """Return a tree with the counts of its leaves; inner nodes keep none: they are sums of leaves now."""
    nodes = tree.nodes
    filled = nodes.counting_leaves(_filled_support(one, leaves) for one in nodes.leaf_counts)
    if (nodes.inner & (nodes.counts.published | (nodes.counts.different != UNPUBLISHED))).any():
        next(left)
    return replace(tree, nodes=filled, noise=None)


def _filled_support(support: Support, counts: Iterator[int]) -> Support:
    """Return a support with the next counts."""
    if support.counts is not None:
        return Support(counts=tuple(next(counts) for _ in support.counts))
    return Support(count=None if support.count is None else next(counts))


def _filled_figure(figure: PublishedFigure, counts: Iterator[int]) -> PublishedFigure:
    """Return a figure with the next count."""
    return figure if figure.count is None else replace(figure, count=next(counts))
