"""Models whose counts carry noise: the same regions as without it, every count an interval at a joint confidence.

The encoder of a kind writes the blocks of the model with its counts set to 0; here they get the intervals that the
noise law leaves at level 1 - (1 - α)^{1/m} per statement (independent draws, m noisy statements in all).

Source: docs/mathematics.md, "Noise"; Dwork, Roth, "The Algorithmic Foundations of Differential Privacy", 2014.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from fractions import Fraction

import numpy as np

from encoders.domain.domain import Domain
from encoders.domain.values import Position
from encoders.kinds.table import source_of
from encoders.kinds.tree import splits
from encoders.models.linear_figures import LinearFigure
from encoders.models.models import (
    AnyModel,
    Noise,
    Published,
    PublishedFigure,
    Table,
    Tree,
)
from encoders.models.nodes import UNPUBLISHED, Support
from encoders.parts.base import CutDomain, Encoder, Resolutions, label_texts
from encoders.parts.linear import noisy_sum
from solvers.foundation.errors import ReleaseError
from solvers.foundation.exact import short_number
from solvers.statements.boxes import Box, Region
from solvers.statements.noise.laws import NoiseLaw
from solvers.statements.observations import certain_bounds
from solvers.statements.release import UNBOUNDED, Block, Loose, Observed, RowCount, Statement

WORDS = {"add_remove": "adding or removing a row", "replace": "replacing a row"}


def _noise_of(model: AnyModel) -> Noise:
    assert model.noise is not None
    return model.noise


@dataclass(frozen=True)
class NoisyEncoder(Encoder[AnyModel]):
    """Wraps the encoder of a kind; `alpha` is the share of noise that each interval leaves out (0: none)."""

    inner: Encoder[AnyModel]
    alpha: Fraction = Fraction(0)

    def check(self, model: AnyModel, domain: Domain, place: str) -> None:
        """Refuse counts that the law cannot give, and whatever the kind refuses whatever its counts."""
        if model.resampled:
            raise ReleaseError("noisy counts of resamples (bootstrap) are not read yet", place=f"{place}.noise")
        if model.scores:
            message = "leaf values of a boosted model are of the rows themselves: noise on its counts is not read"
            raise ReleaseError(message, place=f"{place}.noise")
        for tree, at in _trees_of(model, place):
            for i in np.flatnonzero(tree.nodes.counts.different != UNPUBLISHED).tolist():
                message = "numbers of different rows are not read beside noisy counts"
                raise ReleaseError(message, place=f"{at}.nodes[{i}].distinct")
        self.inner.check(_without_counts(model), domain, place)
        if isinstance(model, Table) and model.complete:
            message = "which combinations hold no row is exact: put it into a table of its own that has no 'noise'"
            raise ReleaseError(message, place=f"{place}.complete")
        law = _noise_of(model).law
        for i, figure in enumerate(model.figures()):
            _refuse_exact(figure, f"{place}.statements[{i}]")
            if figure.linear is not None:
                _check_noisy_sum(figure.linear, law, f"{place}.statements[{i}]")
        counts = [(count, at) for count, at in published(model, place) if not at.endswith(".value")]
        for count, at in counts:
            if (reason := law.impossible(Fraction(count))) is not None:
                raise ReleaseError(f"the noisy count {short_number(count, 12)}: {reason}", place=at)
        if law.clamped or all(Fraction(f).denominator == 1 for f, _ in counts):
            return
        if zero := next((at for count, at in counts if count == 0), None):
            message = (
                f"a count of exactly 0 has probability 0 under {law.name} noise: say 'clamped' if 0 stands for less"
            )
            raise ReleaseError(message, place=zero)

    def resolve(self, model: AnyModel, domain: Domain, place: str, into: Resolutions) -> None:
        """Add every condition, see `Encoder`."""
        self.inner.resolve(_without_counts(model), domain, place, into)

    def total(self, model: AnyModel) -> None:
        """Return None: noisy counts fix no number of rows."""
        return

    def least(self, model: AnyModel) -> int:
        """Return 0: so does any noisy count."""
        return 0

    def further_cuts(self, model: AnyModel, domain: Domain) -> Mapping[int, set[Position]]:
        """Return the cuts of the kind."""
        return self.inner.further_cuts(_without_counts(model), domain)

    def assumes(self, model: AnyModel) -> tuple[str, ...]:
        """Return the law of the noise, what it protects, and what the kind assumes."""
        noise = _noise_of(model)
        return (
            *self.inner.assumes(_without_counts(model)),
            f"{model.name}: {_describe(noise)}",
            *_doubts(model, noise),
        )

    def blocks(
        self, model: AnyModel, cut: CutDomain, resolved: Resolutions, rows: RowCount, place: str
    ) -> tuple[Block, ...]:
        """Return the blocks with an interval for every noisy count."""
        return tuple(block for block, _ in self.observed(model, cut, resolved, rows, place))

    def observed(
        self, model: AnyModel, cut: CutDomain, resolved: Resolutions, rows: RowCount, place: str
    ) -> list[tuple[Block, Observed | None]]:
        """Return the blocks and the noisy figures behind each."""
        law = _noise_of(model).law
        if isinstance(model, Table):
            return self._table(model, cut, resolved, rows, place)
        blocks = self.inner.blocks(_without_counts(model), cut, resolved, rows, place)
        figures: list[list[Published]] = [table.values.tolist() for table in model.count_tables()]
        out: list[tuple[Block, Observed | None]] = [
            self._filled(b, law, f, rows) for b, f in zip(blocks, figures, strict=bool(blocks))
        ]
        for tree, _ in _trees_of(model, place):
            if inner := list(_inner_statements(tree, cut, resolved)):
                statements = Loose(tuple(s for s, _ in inner))
                out.append(self._filled(statements, law, [f for _, f in inner], rows))
        return out

    def _filled(self, block: Block, law: NoiseLaw, figures: list[Published], rows: RowCount) -> tuple[Block, Observed]:
        """Return a block with the intervals of its figures; a statement more (a default rule) is left open."""
        bounds = [self._interval(law, Fraction(f), rows) for f in figures]
        seen: list[Fraction | None] = [Fraction(f) for f in figures]
        if len(block) == len(seen) + 1:
            seen.append(None)
            bounds.append((0, UNBOUNDED if rows.high is None else rows.high))
        low, high = np.array(bounds, dtype=np.int64).reshape(-1, 2).T
        return block.bounded(low.copy(), high.copy()), Observed(law, tuple(seen))

    def _interval(self, law: NoiseLaw, figure: Fraction, rows: RowCount) -> tuple[int, int]:
        """Return the counts that the noise leaves possible; every one where unbounded noise may not be left out.

        An empty interval stays empty: (1, 0).
        """
        maximum = UNBOUNDED if rows.high is None else rows.high
        if self.alpha and not law.bounded:  # bounded noise costs no confidence
            low, high = law.interval(figure, law.radius(self.alpha))
        else:
            low, high = certain_bounds(law, figure)
        return (low, min(high, maximum)) if low <= min(high, maximum) else (1, 0)

    def _table(
        self, model: Table, cut: CutDomain, resolved: Resolutions, rows: RowCount, place: str
    ) -> list[tuple[Block, Observed | None]]:
        """Return the noisy counts of a table as one block, one block per noisy sum, and suppressed figures."""
        counted = [i for i, f in enumerate(model.statements) if f.count is not None]
        silent = (f for f in model.statements if f.count is None and f.linear is None)
        rest = replace(model, noise=None, statements=tuple(silent))
        out: list[tuple[Block, Observed | None]] = []
        if counted:
            boxes = [cut.box(resolved[model.statements[i].condition]) for i in counted]
            every = zip(boxes, counted, strict=True)
            loose = Loose(tuple(Statement.count(Region(b), 0, UNBOUNDED, source_of(model, i)) for b, i in every))
            figures = [f.count for f in model.statements if f.count is not None]
            out.append(self._filled(loose, _noise_of(model).law, figures, rows))
        for i, figure in enumerate(model.statements):
            if figure.linear is not None and figure.linear.value is not None:
                law, source = _noise_of(model).law, source_of(model, i)
                found = noisy_sum(figure.linear, (law.discrete or law.rounded), cut, resolved, rows, source)
                scaled, most = law.divided(found.unit), RowCount(0, found.most)
                value = figure.linear.value / found.unit + found.shift
                out.append(self._filled(Loose((found.statement,)), scaled, [value], most))
        return out + [(b, None) for b in self.inner.blocks(rest, cut, resolved, rows, place)]


def _refuse_exact(figure: PublishedFigure, place: str) -> None:
    """Refuse a figure of a noisy table that is not a count: the law is one of counts, and nothing says it is exact."""
    interval = figure.low is not None or figure.high is not None
    if figure.statistic is None and not interval:
        return
    what = f"a {figure.statistic.kind}" if figure.statistic is not None else "an interval of counts"
    message = (
        f"{what} is in a table whose 'noise' is a law of counts: if it was published without noise, put it into "
        "a table of its own that has no 'noise'; with noise of its own it cannot be used"
    )
    raise ReleaseError(message, place=place)


def _check_noisy_sum(linear: LinearFigure, law: NoiseLaw, place: str) -> None:
    """Refuse a sum in a noisy table that has no `value`, or one that the law cannot give."""
    if linear.value is None or linear.within:
        message = "a sum with noise is published as 'value': 'at_least', 'at_most' and 'within' are of exact tables"
        raise ReleaseError(message, place=place)
    if (reason := law.malformed(linear.value)) is not None:
        raise ReleaseError(f"the noisy sum {short_number(linear.value, 12)}: {reason}", place=f"{place}.value")
    if law.clamped and any(term.times < 0 or term.of for term in linear.terms):
        message = "where negative results were published as 0, only sums of counts with positive 'times' are read"
        raise ReleaseError(message, place=f"{place}.linear")


def _trees_of(model: AnyModel, place: str) -> list[tuple[Tree, str]]:
    """Return the trees of a forest, or the tree itself, each with its place; none of other kinds."""
    trees = model.members()
    return [(tree, place if tree is model else f"{place}.trees[{t}]") for t, tree in enumerate(trees)]


def _without_counts(model: AnyModel) -> AnyModel:
    """Return the model without noise, every noisy count 0."""
    if model.members():

        def uncounted(tree: Tree) -> Tree:
            return replace(tree, noise=None, nodes=tree.nodes.counting_leaves(map(_cleared, tree.nodes.leaf_counts)))

        return replace(model.with_trees(uncounted), noise=None)
    return replace(model.mapped(lambda condition: condition, _cleared), noise=None)


def _cleared(support: Support) -> Support:
    """Return the support with zeros for its counts."""
    if support.counts is not None:
        return Support(counts=(0,) * len(support.counts))
    return Support(count=None if support.count is None else 0)


def _numbers(support: Support) -> tuple[Published, ...]:
    """Return the published figures of a support in order."""
    return support.counts if support.counts is not None else () if support.count is None else (support.count,)


def published(model: AnyModel, place: str) -> Iterator[tuple[Published, str]]:
    """Yield every noisy figure and where it stands."""
    for tree, at in _trees_of(model, place):
        table = tree.nodes.counts
        owners = table.owner.tolist()
        yield from ((f, f"{at}.nodes[{i}]") for f, i in zip(table.values.tolist(), owners, strict=True))
    if not model.members():
        key = ".count" if model.unit == "figure" else ""
        for part in model.parts():
            yield from ((f, f"{place}.{part.path}{key}") for f in _numbers(part.support or Support()))
        for i, figure in enumerate(model.figures()):
            if figure.linear is not None and figure.linear.value is not None:
                yield figure.linear.value, f"{place}.statements[{i}].value"


def _inner_figures(tree: Tree) -> int:
    """Return how many inner nodes publish figures."""
    return int((tree.nodes.inner & (tree.nodes.counts.width > 0)).sum())


def _inner_statements(tree: Tree, cut: CutDomain, resolved: Resolutions) -> Iterator[tuple[Statement, Published]]:
    """Yield a statement per figure of an inner node: noise of its own makes it more than the sum of its leaves."""
    if not _inner_figures(tree):
        return
    split, labels = splits(tree, cut, resolved), label_texts(cut.domain)
    stack = [(0, Box())]
    while stack:
        i, box = stack.pop()
        node = tree.nodes[i]
        if node.condition is None:
            continue
        source = f"{tree.name}, {node.name or f'node {i}'}"
        for c, figure in enumerate(_numbers(node.support)):
            if node.support.counts is None:
                yield Statement.count(Region(box), 0, UNBOUNDED, source), figure
            else:
                at = box & Box(((len(cut.cuts) - 1, 1 << c),))
                yield Statement.count(Region(at), 0, UNBOUNDED, f"{source}, class {labels[c]}"), figure
        k, (then, otherwise) = int(split.attributes[split.column[i]]), split.sides[i].tolist()
        stack += [(node.otherwise, box & Box(((k, otherwise),))), (node.then, box & Box(((k, then),)))]


def per_row(model: AnyModel) -> int:
    """Return in how many of the model's noisy counts one row can stand at most."""
    if trees := model.members():
        return sum(1 + _inner_figures(tree) for tree in trees)
    return 1 if model.disjoint else sum(part.support is not None for part in model.parts())


def _describe(noise: Noise) -> str:
    """Format the law for people."""
    law = noise.law
    text = f"its counts carry independent {law.name.replace('_', ' ')} noise of scale {short_number(law.scale)}"
    if law.bound is not None:
        text += f", at most {short_number(law.bound)} either way"
    if noise.epsilon is not None and noise.neighbours is not None and noise.sensitivity is not None:
        delta = f", δ = {short_number(noise.delta, 3)}" if noise.delta else ""
        text += f" (ε = {short_number(noise.epsilon)}{delta}, sensitivity {short_number(noise.sensitivity)}, "
        text += f"neighbours by {WORDS[noise.neighbours]}, for these counts)"
    if noise.epsilon is not None and law.name in {"gaussian", "discrete_gaussian"}:
        text += ", taken as the analytic Gaussian mechanism's: give 'scale' where it is another"
        text += "; the discrete law's δ is somewhat larger" if law.discrete else ""
    text += ", rounded to whole numbers" if law.rounded else ""
    text += ", negative results published as 0" if law.clamped else ""
    if noise.ledger is not None:
        spent = f"ε = {noise.ledger.epsilon:.6g}" + (f", δ = {noise.ledger.delta:.3g}" if noise.ledger.delta else "")
        text += f"; the publisher's ledger says {spent} for the whole model, {noise.ledger.standing}"
    return text


def _doubts(model: AnyModel, noise: Noise) -> tuple[str, ...]:
    """Return what a reader should know about the stated budget."""
    out = []
    figures = [f for f, _ in published(model, "")]
    if not (noise.law.discrete or noise.law.rounded) and figures and all(Fraction(f).denominator == 1 for f in figures):
        out.append(f"{model.name}: whole counts under a continuous law are read as they are; if rounded, say 'rounded'")
    if noise.sensitivity is not None and noise.neighbours is not None:
        reach = per_row(model) * (2 if noise.neighbours == "replace" else 1)
        squared = noise.law.name in {"gaussian", "discrete_gaussian"}
        if (noise.sensitivity**2 if squared else noise.sensitivity) < reach:
            out.append(
                f"{model.name}: {WORDS[noise.neighbours]} can change {reach} of its counts, so the stated sensitivity "
                f"{short_number(noise.sensitivity)} makes ε hold per count, not for the model"
            )
    return tuple(out)
