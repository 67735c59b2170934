"""Releases whose statements tie no attribute of one group to one of another: each group is asked by itself.

Rows in order are chosen group by group, so that the numbers of worlds multiply. Of n rows with so many inside a box
over each group, as many as the fewest of these can be inside all, and as few as their sum leaves beyond n for every
further group: rows of the groups meet in any order.

Source: Fréchet, "Généralisation du théorème des probabilités totales", Fundamenta Mathematicae 25, 1935 (bounds on a
conjunction, which are attained).
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from solvers.engines.chain import answer
from solvers.foundation.errors import EngineError, Inconclusive, Unsupported
from solvers.foundation.exact import MAX_BITS
from solvers.foundation.limits import Limits
from solvers.statements.questions.answers import CountAnswer, DecideAnswer
from solvers.statements.questions.query import Convention, Count, Decide, Selections
from solvers.statements.release import Block, Loose, Release, Statement

SLACK = 1e-12  # of the sum of the logarithms that were added up


@dataclass(frozen=True)
class IndependentGroup:
    """Attributes that no statement ties to others, and the release of the statements about them alone."""

    attributes: tuple[int, ...]
    release: Release


@dataclass(slots=True)
class _KnownGroups:
    """The groups of a release, once they were worked out."""

    groups: tuple[IndependentGroup, ...] | None = None


def independent_groups(release: Release) -> tuple[IndependentGroup, ...]:
    """Return the groups of attributes that statements tie together, where there are several; else nothing.

    Nothing either where the number of rows is open or counts carry noise: groups then share what is not known.
    """
    known = release.derived.part(_KnownGroups)
    if known.groups is None:
        known.groups = tuple(_groups(release)) if _may_split(release) else ()
    return known.groups


def _may_split(release: Release) -> bool:
    return release.rows.exact and all(seen is None for seen in release.observed)


def _groups(release: Release) -> Iterator[IndependentGroup]:
    """Yield the groups; statements of no attribute (numbers of rows) are in each of them."""
    from networkx import Graph, connected_components

    named: list[tuple[frozenset[int], Statement | Block]] = []
    for block in release.blocks:
        if isinstance(block, Loose):
            named += [(frozenset(one.mentioned), one) for one in block.members]
        else:
            named.append((frozenset(block.mentioned(release.domain)), block))
    impossible = [(frozenset(k for k, _ in box.literals), box) for box in release.impossible]
    graph: Graph[int] = Graph()
    for tied, _ in (*named, *impossible):
        graph.add_nodes_from(tied)
        graph.add_edges_from((min(tied), k) for k in tied)
    found = sorted(map(sorted, connected_components(graph)))
    for group in map(frozenset, found if len(found) > 1 else ()):
        own = [one for tied, one in named if tied <= group]
        loose = tuple(one for one in own if isinstance(one, Statement))
        blocks = [one for one in own if not isinstance(one, Statement)]
        part = replace(
            release,
            blocks=(*blocks, *([Loose(loose)] if loose else [])),
            impossible=tuple(box for tied, box in impossible if tied <= group),
            observed=(), loosened=(), bags=(), boosted=(), settled=None,
        )  # fmt: skip
        yield IndependentGroup(tuple(sorted(group)), part)


def _says_all(release: Release) -> bool:
    """Return whether worlds of the groups make worlds of the release: everything that it says is in statements."""
    return not (release.unstated or release.coarse or release.settled)


def decide_by_groups(release: Release, query: Decide, known: DecideAnswer, limits: Limits) -> DecideAnswer | None:
    """Return the bounds on selections made tighter by what each group says by itself, None where no world exists.

    Open is what some group left open, and whether rows must be there where that hangs on how the groups meet.
    """
    groups, n, chosen = independent_groups(release), release.rows.low, query.selections
    if not groups or not len(chosen):
        return known
    high, beyond = np.full(len(chosen), n), np.zeros(len(chosen), dtype=np.int64)
    some = np.ones(len(chosen), dtype=bool)  # a row may be there: in each group some world has one
    none = np.zeros(len(chosen), dtype=bool)  # no row need be there: in one group some world has none
    rest, exact = set(range(chosen.codes.shape[1])), True
    for number, group in enumerate(groups):
        rest -= {*group.attributes}
        found, back = _in_group(group, chosen, limits.stage("one group of attributes", parts=len(groups) - number))
        if found is None:
            return None
        exact &= found.status == "exact"
        least, most, settled = (one[back] for one in (found.low, found.high, ~found.open))
        high, beyond = np.minimum(high, most), beyond + n - least
        some &= (settled & (most > 0)) | (least > 0)
        none |= settled & (least <= 0)
    for k in rest:
        met, whole = _of_free(chosen, k)
        high, beyond = np.where(met, high, 0), np.where(whole, beyond, n * (len(groups) + len(rest)))
        none |= ~whole
    low = np.maximum(known.low, n - beyond)
    high = np.minimum(known.high, high)
    if (low > high).any():
        return None
    settled = (low > 0) | (high <= 0) | (((some & none) | exact) & _says_all(release))
    return DecideAnswer.of(
        low, high, (known.before, known.expected_before), open=known.open & ~settled, trail=known.trail
    )


def _in_group(
    group: IndependentGroup, chosen: Selections, limits: Limits
) -> tuple[DecideAnswer | None, NDArray[np.intp]]:
    """Return what a group says of the distinct selections over it (None: no world), and the number of each of them."""
    codes = np.zeros_like(chosen.codes)
    codes[:, group.attributes] = chosen.codes[:, group.attributes]
    distinct, back = Selections(codes, chosen.sizes).distinct()
    n = group.release.rows.low
    try:
        found = answer(group.release, Decide(distinct, "ordered", shares=False), limits)
    except (Inconclusive, Unsupported):
        found = None
    if found is not None and found.status == "unsat":
        return None, back
    if not isinstance(found, DecideAnswer):
        nothing = np.zeros(len(distinct), dtype=np.int64)
        return DecideAnswer.of(nothing, nothing + n), back
    return found, back


def _of_free(chosen: Selections, k: int) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
    """Return which selections hold some value of an attribute, and which hold all of them."""
    every = np.array([sum(one) for one in chosen.sizes[k]])[chosen.codes[:, k]]
    return every > 0, every == sum(chosen.sizes[k][0])


def count_by_groups(release: Release, convention: Convention, limits: Limits) -> CountAnswer | None:
    """Return the number of worlds, or bounds on its log2: those of the groups multiply; None where nothing is known.

    Without the order of rows between that number over n! and that number. What no statement holds (`Release.unstated`)
    leaves the upper bound alone.
    """
    groups, n = independent_groups(release), release.rows.low
    if not groups or release.domain.relative:
        return None
    around = n * sum(math.log2(one.total) for one in release.domain.attributes)  # free attributes are in each count
    low = high = -around * (len(groups) - 1)
    added, values, unknown = -low, list[int](), 0
    for number, group in enumerate(groups):
        try:
            some = limits.stage("one group of attributes", parts=len(groups) - number)
            found = answer(group.release, Count("ordered"), some)
        except (Inconclusive, Unsupported):
            low, high, added, unknown = -math.inf, high + around, added + around, unknown + 1
            continue
        if not isinstance(found, CountAnswer):
            raise EngineError(f"a count was answered by {type(found).__name__}")
        if found.status == "unsat":
            return CountAnswer("unsat", convention=convention, conflict=found.conflict)
        low, high, added = low + found.bounds[0], high + min(around, found.bounds[1]), added + around
        if added <= MAX_BITS and found.value is not None:
            values.append(found.value)
    if convention == "ordered" and len(values) == len(groups) and _says_all(release):
        free = math.prod(one.total for one in release.domain.attributes) ** (n * (len(groups) - 1))
        return CountAnswer.of_rows(convention, n, [(math.prod(values) // free, 1)])
    if unknown == len(groups):
        return None
    low, high = max(low - added * SLACK, 0.0) if low > -math.inf else low, high + added * SLACK
    if convention == "multiset" and low > -math.inf:
        low = max(0.0, low - math.lgamma(n + 1) / math.log(2) * (1 + SLACK))
    return CountAnswer("bounds", convention=convention, bounds=(low if _says_all(release) else -math.inf, high))
