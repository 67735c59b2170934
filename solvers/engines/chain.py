"""The chain: the cheapest engine that does not refuse answers; the others' reasons stay with the answer.

Engines are imported one at a time, when it is their turn (`solvers.engines.ENGINES`).

Releases of boosted models with what their leaf values prove as further blocks: what every engine can use.
"""

from __future__ import annotations

import importlib
import time
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, TypeVar

import numpy as np

from solvers.engines import ENGINES
from solvers.foundation.errors import (
    ContradictionError,
    EngineError,
    Inconclusive,
    TooLarge,
    Unsupported,
    not_installed,
)
from solvers.foundation.limits import Limits
from solvers.kernel.leaf_values.blocks import cells_blocks
from solvers.statements.boxes import Box, Boxes
from solvers.statements.questions.answers import (
    Answer,
    CountAnswer,
    DecideAnswer,
    Engine,
    StrengthenedAnswer,
    combine_answers,
    combined,
    left_open,
    left_to_others,
    relaxed_answer,
    unnamed,
)
from solvers.statements.questions.query import Decide, LeafLabelCounts, Query
from solvers.statements.release import ANY_LABEL, UNBOUNDED, AddedBlocks, Block, Partition, Release

if TYPE_CHECKING:
    pass

NOTHING = "no answer within the limits"
A = TypeVar("A", bound=Answer)


@dataclass(frozen=True, slots=True)
class ChainStep:
    """One engine of the chain and why it refuses a question before any work (None: it would be asked)."""

    engine: str
    refusal: str | None


def engines() -> Iterator[Engine]:
    """Yield one of every engine in the order of the chain; each is imported when it is yielded."""
    for _, entry in ENGINES:
        yield load_engine(entry)


def engines_for(release: Release, query: Query) -> Iterator[Engine]:
    """Yield the engines that answer this kind of question, in the order in which they are asked of a release.

    That of the chain; where bags are known, the engines that use them whole come first.
    """
    for whole in (True, False) if release.bags else (None,):
        yield from (e for e in engines() if isinstance(query, e.answers) and whole in {None, e.uses_bags})


def refusal(engine: Engine, release: Release, query: Query) -> str | None:
    """Return why an engine is not asked, None where it is."""
    if release.bags and not engine.uses_bags and query.of_worlds:
        return f"it does not use the bags: {unnamed(release)}"
    if release.boosted and not engine.uses_leaf_values and query.of_worlds:
        return f"it does not use the leaf values: {unnamed(release)}"
    return engine.missing() or engine.refuses(release, query)


def _plan(release: Release, query: Query) -> tuple[ChainStep, ...]:
    """Return the engines that answer this kind of question, in the order of the chain, with every refusal.

    Nothing is solved: an engine without a refusal may still find out that cells or clauses are too many.
    """
    return tuple(ChainStep(e.name, refusal(e, release, query)) for e in engines_for(release, query))


def answer(release: Release, query: Query, limits: Limits | None = None) -> Answer:
    """Return the answer of the cheapest engine that accepts the question, and what others add to it.

    What an engine leaves open (`left_open`) the next ones are asked: where there is no answer yet in any case, for
    better bounds while time is left, of which each gets a part ("behind an answer" of `STAGES`). Whoever is asked
    first may use up the time, so that no answer is worse for those behind it; only the search for a first world leaves
    them a part (`solvers.programs.bounded_answers`). The best bounds of all are the answer, under the name of the
    engine that gave the first; refusals, engines that gave up within the limits and those that added something, or
    failed behind an answer, stay in `Answer.trail`. Raises `Unsupported` with every reason when all refuse,
    `Inconclusive` when some of them met a limit, `EngineError` where one fails before there is an answer. Of a loosened
    release the answer is what that of the engines proves (`solvers.statements.questions.answers`). Where bags are
    known, engines that use them whole get a part of the time ("bags"); what they do not settle the others are asked as
    ever, and what these prove is joined.
    """
    limits = limits or Limits()
    begun = time.perf_counter()
    if not release.bags:
        asked = _in_turn(release, query, limits, engines_for(release, query))
        found = _relaxed_answer(release, query, asked.answer(), _unused_parts(release, query))
        return _finished(release, asked, query, found, begun, limits)
    whole = (e for e in engines_for(release, query) if e.uses_bags)
    asked = _in_turn(release, query, limits.stage("bags"), whole)
    found = _relaxed_answer(release, query, asked.answer(), release.loosened)
    rest = query if found is None else left_to_others(query, found)
    if rest is not None:
        others = (e for e in engines_for(release, rest) if not e.uses_bags)
        more = _in_turn(release, rest, limits, others)
        outer = _relaxed_answer(release, rest, more.answer(), release.unstated)
        asked = ChainResult(found, [*asked.before, *more.before], [], asked.limited or more.limited)
        if found is not None and outer is None:
            found = replace(found, trail=(*found.trail, *more.before))
        elif outer is not None:
            found = outer if found is None else combine_answers(query, found, outer)
    return _finished(release, asked, query, found, begun, limits)


def _unused_parts(release: Release, query: Query) -> tuple[str, ...]:
    """Return what engines leave out that know no bags; those that name worlds use the leaf values (`refusal`)."""
    lines = release.unstated if release.boosted and not query.of_worlds else release.loosened
    return () if query.uses_figures else lines


@dataclass(slots=True)
class ChainResult:
    """What engines said that were asked in turn: the best answer, why those before it gave none, and those behind it.

    `limited`: one of them met a limit.
    """

    best: Answer | None
    before: list[str]
    behind: list[str]
    limited: bool

    def answer(self) -> Answer | None:
        """Return the best answer with what the others said."""
        if self.best is None:
            return None
        behind = self.behind if self.best.status != "unsat" else []
        trail = [*self.before, *(() if self.best.status == "unknown" else self.best.trail), *behind]
        return replace(self.best, trail=tuple(trail))


def _in_turn(release: Release, query: Query, limits: Limits, engines: Iterable[Engine]) -> ChainResult:
    """Return what engines say that are asked one after the other until nothing is left open; see `answer`."""
    best: Answer | None = None
    rest = query
    before: list[str] = []
    behind: list[str] = []
    limited = False
    for engine in engines:
        if best is not None and best.status != "unknown" and limits.expired():
            break
        trail = before if best is None or best.status == "unknown" else behind
        reason = refusal(engine, release, rest)
        if reason is not None:
            trail.append(f"{engine.name}: {reason}")
            continue
        try:
            some = limits if best is None or best.status == "unknown" else limits.stage("behind an answer")
            found = replace(engine.answer(release, rest, some), engine=engine.name)
        except (Unsupported, Inconclusive) as error:
            limited = limited or isinstance(error, Inconclusive | TooLarge)
            trail.append(f"{engine.name}: {error}")
            continue
        except EngineError as error:  # what others said stands
            if best is None:
                raise
            trail.append(f"{engine.name}: {error}")
            continue
        except ModuleNotFoundError as error:
            if (missing := not_installed(error)) is None:
                raise
            trail.append(f"{engine.name}: {missing}")
            continue
        found = _no_worse(release, rest, found)
        if found.status == "unknown":
            trail += [f"{engine.name}: {line}" for line in found.trail or (NOTHING,)]
            best = best or found
        else:
            if best is not None and best.status != "unknown":
                trail += [f"{engine.name}: was asked for what was left open", *found.trail]
            best = found if best is None else combined(best, found)
        left = left_open(query, best)
        if left is None:  # the next engine is not even imported
            break
        rest = left
    return ChainResult(best, before, behind, limited)


def _no_worse(release: Release, query: Query, found: Answer) -> Answer:
    """Return an answer whose bounds on selections are no worse than any published count around or inside them."""
    if not (isinstance(query, Decide) and isinstance(found, DecideAnswer)):
        return found
    from solvers.engines.figures.system import sharpened

    return sharpened(release, query.selections, found)


def _relaxed_answer(release: Release, query: Query, found: Answer | None, unstated: tuple[str, ...]) -> Answer | None:
    """Return an answer for what it proves where something is not used; None stays None."""
    return relaxed_answer(release, query, found, unstated) if found is not None and unstated else found


def _finished(
    release: Release, asked: ChainResult, query: Query, found: Answer | None, begun: float, limits: Limits
) -> Answer:
    """Return an answer with its seconds, what the clock cut, and where there is no world the statements that clash.

    Raises `Unsupported` or `Inconclusive` where there is no answer; see `answer`.
    """
    if found is None and asked.limited:
        raise Inconclusive("; ".join(asked.before))
    if found is None:
        raise Unsupported(f"no engine answers {type(query).__name__} for this release", tuple(asked.before))
    if found.status == "unsat" and not found.conflict:
        from solvers.noisy.likelihood.most_likely import known_conflict

        found = replace(found, conflict=known_conflict(release, limits))
    cut = () if found.status in {"exact", "unsat"} else limits.cut_short()
    return replace(found, seconds=time.perf_counter() - begun, trail=(*found.trail, *cut))


def ask(release: Release, query: Query, kind: type[A], limits: Limits | None = None) -> A:
    """Return `answer(...)`, checked to be of the kind that the question calls for.

    Equal selections are decided once. Raises `ContradictionError` when the release has no world, `Inconclusive` when
    limits leave no answer.
    """
    if release.rows.high is None:
        raise Inconclusive("the number of rows is unbounded, so there are infinitely many worlds: give 'rows' (--rows)")
    back = None
    if isinstance(query, Decide):
        distinct, back = query.selections.distinct()
        query = replace(query, selections=distinct)
    try:
        found = answer(release, query, limits)
    except Unsupported as error:
        if release.rows.exact:
            raise
        raise Inconclusive(str(error)) from None
    if found.status == "unsat":
        from solvers.noisy.likelihood.most_likely import clash_of

        found = replace(found, conflict=clash_of(release, found.conflict, limits or Limits()))
        if not issubclass(kind, CountAnswer):
            message = "the statements contradict each other: there is no possible world"
            raise ContradictionError(message, found.conflict)
    if found.status == "unknown":
        raise Inconclusive("; ".join(found.trail) or f"{found.engine} found no answer within its limits")
    if not isinstance(found, kind):
        raise TypeError(f"{found.engine} answered {type(query).__name__} with a {type(found).__name__}")
    return found if back is None else found.at(back)


def iter_statuses() -> Iterator[tuple[str, str, str]]:
    """Yield (name, what it is for, status) of every engine."""
    for engine in engines():
        yield engine.name, engine.about, engine.missing() or "available"


NOT_USED = "its leaf values are not used"  # and why, behind the name of a model


@dataclass(slots=True)
class StrengthenedRelease:
    """A release with what its leaf values prove, and the seconds that this was given."""

    release: Release | None = None
    seconds: float = 0.0


def strengthened(release: Release, limits: Limits | None = None, lattices: bool = True) -> Release:
    """Return the release with what its leaf values prove as further blocks; itself where there are none.

    One partition per boosted model: the rows of its cells by label (`AddedBlocks` says what proves it). Where all of
    them are known the model is taken out of `boosted`, else it stays, for what is not used. A model whose figures
    contradict what they assume becomes a line of `loosened`, its trees sizes of leaves: classes may be read off leaf
    values too. Remembered; asked anew only with more time. `lattices`: see `Settle`; what is found without is not
    remembered. Cost: see `solvers.leaf_values.settling`.
    """
    if not release.boosted or release.settled is not None:
        return release
    limits = limits or Limits()
    known = release.derived.part(StrengthenedRelease)
    if known.release is None and not lattices:
        return _settle_all(release, limits.stage("leaf values"), lattices=False)
    if known.release is None or (known.release.boosted and limits.work_left() > 2 * known.seconds):
        begun = limits.remaining()
        known.release = _settle_all(release, limits.stage("leaf values"))
        known.seconds = limits.spent(begun)
    return known.release


def _settle_all(release: Release, limits: Limits, lattices: bool = True) -> Release:
    """Return the release with what every boosted model proves, one after the other."""
    found, left = release, []
    for number, model in enumerate(release.boosted):
        try:
            proved = answer(found, LeafLabelCounts(number, lattices), limits)
        except (Unsupported, Inconclusive):
            left.append(model)
            continue
        if not isinstance(proved, StrengthenedAnswer):
            raise TypeError(f"{proved.engine} answered Settle with a {type(proved).__name__}")
        if proved.failed:
            line = f"{model.name}: {NOT_USED}: {proved.failed}"
            kept = _agreeing(found, number, limits, lattices)
            if kept < len(model.blocks):
                line += f"; from tree {kept} on trees may be about other rows: what they count is left out"
            found = _with_first_trees(found, number, kept)
            blocks = tuple(_only_sizes(b) if i in model.blocks else b for i, b in enumerate(found.blocks))
            found = replace(found, blocks=blocks, loosened=(*found.loosened, line))
            continue
        if proved.boxes is not None:
            found = _with_block(found, number, proved)
        left += [] if proved.status == "exact" else [model]
    return replace(found, boosted=tuple(left))


def _agreeing(release: Release, number: int, limits: Limits, lattices: bool = True) -> int:
    """Return how many trees of a model, from the first one on, agree with each other: at least 1.

    One training set explains them; what the next one says contradicts that, so that it may be about other rows. Cost:
    every prefix that is tried is settled by itself, about log2 of the trees many.
    """
    low, high = 1, len(release.boosted[number].trees)
    while high - low > 1:
        middle = (low + high) // 2
        part = _with_first_trees(release, number, middle)
        model = part.boosted[number]
        one = replace(part, boosted=(replace(model, trees=model.trees[:middle]),))
        try:
            found = answer(one, LeafLabelCounts(0, lattices), limits.stage("agreeing trees"))
        except (Unsupported, Inconclusive):
            break
        agrees = isinstance(found, StrengthenedAnswer) and not found.failed and found.boxes is not None
        low, high = (middle, high) if agrees else (low, middle)
    return low


def _with_first_trees(release: Release, number: int, kept: int) -> Release:
    """Return the release without what trees of a model count from number `kept` on."""
    gone = set(release.boosted[number].blocks[kept:])
    most = UNBOUNDED if release.rows.high is None else release.rows.high
    return replace(
        release, blocks=tuple(_unconstrained_block(b, most) if i in gone else b for i, b in enumerate(release.blocks))
    )


def _unconstrained_block(block: Block, most: int) -> Block:
    """Return a partition that says nothing of its regions, which have up to `most` rows; other blocks as they are."""
    if not isinstance(block, Partition):
        return block
    return replace(block, low=np.zeros_like(block.low), high=np.full_like(block.high, most))


def _only_sizes(block: Block) -> Block:
    """Return a partition with the rows of its regions whatever their label; other blocks as they are."""
    if not isinstance(block, Partition) or bool((block.label == ANY_LABEL).all()):
        return block
    k = len(block.boxes)
    low, high = np.zeros(k, dtype=np.int64), np.zeros(k, dtype=np.int64)
    np.add.at(low, block.region, block.low)
    np.add.at(high, block.region, np.minimum(block.high, UNBOUNDED // (1 + len(block.labels))))
    open_ones = np.unique(block.region[block.high == UNBOUNDED])
    high[open_ones] = UNBOUNDED
    any_label = np.full(k, ANY_LABEL, dtype=np.int32)
    return replace(block, region=np.arange(k, dtype=np.int32), label=any_label, low=low, high=high)


def _with_block(release: Release, model: int, proved: StrengthenedAnswer) -> Release:
    """Return a release with the proved rows of a model's cells as further blocks: by label, then whatever their label.

    The second one only where it says more than the first.
    """
    assert proved.boxes is not None
    boxes = Boxes.of([*proved.boxes, Box()])
    blocks = cells_blocks(release, boxes, proved.low, proved.high, (proved.total_low, proved.total_high))
    settled = AddedBlocks(release, model, proved.steps, proved.surplus, proved.worst, "; ".join(proved.trail))
    return replace(release, blocks=(*release.blocks, *blocks), settled=settled)


def load_engine(entry: str) -> Engine:
    """Return an engine of the list by its module and class, the module imported on the way."""
    module, _, name = entry.partition(".")
    engine: Engine = getattr(importlib.import_module(f"solvers.engines.{module}"), name)()
    return engine


MAX_ROW_COUNTS = 10_000


def no_closed_form(release: Release) -> str | None:
    """Return why worlds of a release do not multiply cell by cell, None where they do: one partition, exact counts.

    At most one count may be open (by an open number of rows).
    """
    if (block := release.single) is None:
        return f"{len(release.blocks)} blocks of statements instead of one partition"
    if release.observed:
        return "noisy counts need not sum to the number of rows"
    loose = np.flatnonzero(block.low != block.high)
    if len(loose) > 1:
        return f"{len(loose)} counts are not exact"
    if len(loose) and int(block.high[loose[0]]) == UNBOUNDED:
        return "the number of rows is unbounded"
    if len(loose) and int(block.high[loose[0]] - block.low[loose[0]]) >= MAX_ROW_COUNTS:
        return f"the number of rows can take more than {MAX_ROW_COUNTS} values"
    return None
