"""How long, and how large, an engine may work before it must stop with its best bounds.

Work is counted, not timed: whatever loops or solves says what that took in units of work (`Limits.charge`), each about
a second of one core of the machine on which docs/measured.md was written. Stages end by that count, so that the same
question of the same file comes to the same answer wherever it runs. A time limit is so much work, which stages share
out, and the same time by the clock, which nobody shares out: it ends the whole alone, in whatever stage that is then
(`Limits.cut_short` says which).

Python's cyclic garbage collector, paused where millions of objects are made and none of them is garbage.
"""

from __future__ import annotations

import gc
import math
import time
import weakref
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from threading import Event
from typing import TypeVar

from solvers.foundation.errors import Inconclusive, TooLarge


@contextmanager
def collector_paused() -> Iterator[None]:
    """Pause the cyclic garbage collector: it would walk all new objects again and again (half of the time)."""
    enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if enabled:
            gc.enable()


SECONDS = 60.0  # of work for one question, where no limit is given
GRACE = 2.0  # seconds beyond the whole budget that shares with a length of their own may reach (a conflict, a proof)
TIME_UP = "the time (--time) was up: give it more"  # of whatever is broken off with nothing to show
CUT = "the clock (--time) cut short"  # how a sentence of `Limits.cut_short` begins
STEPS = 256  # of a cheap loop between two looks at the clock
FAR = (
    10.0  # times the work of a native solver, in seconds of the processor: should it not tell its steps, it ends there
)
LOOK = 1e-3  # of work that a look at the limits stands for, where nothing else is counted
T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class BudgetStage:
    """What one stage of an answer may take of what is left when it begins.

    `share` of it, at least `floor` seconds, and at most `cap` seconds, all of them of work. The floor is one of the
    clock as well (within the whole budget, and `GRACE`): where less is left of it, the stage begins nevertheless.
    """

    about: str
    share: float = 1.0
    floor: float = 0.0
    cap: float = math.inf

    @property
    def capped(self) -> bool:
        """Return whether there is a most."""
        return math.isfinite(self.cap)


STAGES = {
    "compiled loops": BudgetStage(
        "compiled loops: so much --time must be given, else plain ones are used where none were compiled before",
        floor=30.0,
    ),
    "bags": BudgetStage("engines that use known bags whole, before those over unordered rows", share=0.5),
    "behind an answer": BudgetStage(
        "each engine behind one that answered: proofs and further questions need the rest", share=0.5
    ),
    "leaf values": BudgetStage("what leaf values prove, before it is asked about", share=0.8),
    "agreeing trees": BudgetStage("one try of which first trees of a boosted model agree", share=0.2),
    "all trees at once": BudgetStage("leaf values: all trees at once, before tree by tree", share=0.7),
    "early lattices": BudgetStage("leaf values: lattices reduced before the last level", share=0.25, cap=10.0),
    "last lattices": BudgetStage("leaf values: lattices reduced at the last level", share=0.25, cap=20.0),
    "lattice of a world": BudgetStage("leaf values: the lattice that one world is looked for in", share=0.4),
    "another world": BudgetStage("leaf values: another world, whether the first is the only one", share=0.3),
    "proofs by leaf values": BudgetStage("certificates: proofs that rest on all that leaf values say", share=0.5),
    "removals": BudgetStage("certificates: propagation that the answers left undone", share=0.5),
    "hard claim": BudgetStage("certificates: one claim, and one clause proof", share=0.125, floor=1.0),
    "claim by columns": BudgetStage("certificates: one claim by column generation", share=0.125),
    "trimming": BudgetStage("certificates: removals left out that a proof does not need", share=0.125, cap=15.0),
    "late certificates": BudgetStage(
        "certificates where the answers left no time: a part of the whole, on top of it", share=0.1
    ),
    "linear program of feasibility": BudgetStage("whether there is a world: the linear program", cap=5.0),
    "search for feasibility": BudgetStage("whether there is a world: CP-SAT", cap=5.0),
    "listed histograms": BudgetStage("CP-SAT lists all histograms", share=0.4, cap=30.0),
    "listed histograms, of many": BudgetStage("the same, where by the statements there are many", share=0.05, cap=0.5),
    "first world: decide": BudgetStage("CP-SAT: a first world for verdicts", share=0.5),
    "first world: most-likely": BudgetStage("CP-SAT: a first world before the heaviest", share=0.75),
    "first world: extreme": BudgetStage("CP-SAT: a first world before an extreme", share=0.75),
    "first world: others": BudgetStage("CP-SAT: a first world, where nothing else is answered without one"),
    "first world by HiGHS": BudgetStage("of it, an integer program per component", share=0.5),
    "different worlds": BudgetStage("CP-SAT: one of some worlds of different kinds", share=0.05, cap=1.0),
    "linear programs of profiles": BudgetStage("verdicts: linear programs, before worlds are looked for", share=0.6),
    "profile": BudgetStage("CP-SAT: one end of one profile", cap=5.0),
    "selection": BudgetStage("CP-SAT: one end of a sum, beyond which the linear program's bound stands", cap=2.0),
    "drawn world": BudgetStage("CP-SAT: one world under random objectives", cap=2.0),
    "most rows": BudgetStage("CP-SAT: the most rows of a world, before the heaviest", share=0.25),
    "heaviest histogram": BudgetStage("CP-SAT: the heaviest histogram", share=0.5),
    "contradiction by SAT": BudgetStage(
        "SAT: a contradiction row by row, where a count is asked for", share=0.25, cap=10.0
    ),
    "world by SAT": BudgetStage("SAT: one world row by row", share=0.4),
    "drawn bags": BudgetStage(
        "draws: rows that most likely were drawn, where other engines look for a world too", share=0.4
    ),
    "positions of a tree": BudgetStage(
        "assignments: rows that a tree distinguishes, where other engines look for a world too", share=0.2
    ),
    "cells of positions": BudgetStage("assignments: whether few cells are left, so that others answer", share=0.1),
    "graphs": BudgetStage("histogram: graphs of the components", share=0.4),
    "graphs for bounds alone": BudgetStage(
        "histogram: graphs, where no share of worlds is asked for", share=0.4, cap=1.0
    ),
    "tightening": BudgetStage("histogram: bounds by linear programs, where graphs are too large", share=0.5),
    "passes": BudgetStage("histogram: passes over the graphs", share=0.75),
    "interval": BudgetStage("interval: bounds on the number of worlds", share=0.97, cap=60.0),
    "set-up of bounds": BudgetStage("interval: the cells set up, however short the time is", floor=1.0),
    "histograms of components": BudgetStage(
        "interval: one histogram of every component, begun where it may end so late", floor=5.0
    ),
    "local search": BudgetStage("local search: one world", share=0.3),
    "local search for a count": BudgetStage("local search: one world as a lower bound", share=0.15),
    "contradiction by columns": BudgetStage(
        "columns: a contradiction, before other engines look for a world", share=0.25
    ),
    "fractional world": BudgetStage("columns: the first fractional world, which all questions start from", share=0.6),
    "one group of attributes": BudgetStage(
        "columns: a group of attributes that no statement ties to others, of those that are left", share=0.5
    ),
    "side of a box": BudgetStage(
        "columns: one side of one profile, at least so long, so that a few are answered", floor=2.0
    ),
    "counter in the chain": BudgetStage(
        "d4, ganak, approxmc: where other engines come after them", share=0.25, cap=10.0
    ),
    "counter": BudgetStage("d4, ganak, approxmc: one of those asked for (--counter)", cap=60.0),
    "concave relaxation": BudgetStage("most likely counts: the linear program over gains", share=0.6, cap=72.0),
    "conflict": BudgetStage("a contradiction: the irreducible set of statements", cap=60.0),
    "explanation": BudgetStage("a contradiction: which statements clash, even where no time is left", floor=10.0),
    "level that fits": BudgetStage("noisy counts that fit no data set: from which confidence on they do", cap=10.0),
    "variable order": BudgetStage("captures: the order of a diagram's variables", share=0.1, cap=3.0),
    "plain bounds": BudgetStage("captures: bounds without diagrams, however short the time is", floor=1.0),
    "exact captures": BudgetStage("captures: exact numbers of rows of the space, before bounds", share=0.8),
    "depth-first search": BudgetStage("assignments: one world by depth-first search", share=0.25, cap=6.0),
    "labels": BudgetStage("assignments: one step of what follows for labels", share=0.5, cap=60.0),
    "values tried": BudgetStage("assignments: values tried one by one", share=0.5),
    "world of positions": BudgetStage("positions: one world, from which verdicts and lower bounds follow", share=0.4),
    "profiles by position": BudgetStage("positions: profiles met with the rows, however short the time is", floor=1.0),
    "noisy rows": BudgetStage("noisy counts: possible rows found", share=0.5),
    "noisy relaxation": BudgetStage("noisy counts: one relaxation over the rows found", share=0.5),
    "moved rows": BudgetStage("most likely counts: rows moved, before HiGHS", share=0.4),
    "branch and bound": BudgetStage("most likely counts: HiGHS", share=0.6),
    "likelier worlds": BudgetStage("local search: towards likelier worlds", share=0.5),
    "first model": BudgetStage("learner's rule: a first world, whatever the profiles", share=0.25),
    "models of a profile": BudgetStage("learner's rule: one search for one profile", share=0.5),
    "worlds under a rule": BudgetStage("learner's rule: worlds, before their share is counted", share=0.6),
    "every model": BudgetStage("learner's rule: the share under every model of a class", share=0.5),
    "competing models": BudgetStage("learner's rule: the share under some models of a class", share=0.5, cap=30.0),
    "bound of a tree": BudgetStage("optimal tree: its own bound, where another solver proved nothing", cap=1.0),
    "better model": BudgetStage("learner's rule: one search of the named learner", cap=60.0),
    "estimated share": BudgetStage("learner's rule: draws, where no exact count is made", share=0.5, cap=20.0),
    "without the rule": BudgetStage("learner's rule: worlds without it", share=0.5),
    "interval cells": BudgetStage("tables: the ends of suppressed and interval cells", cap=30.0),
    "interval cell": BudgetStage("of them, one: the same part for each"),
    "lesser end": BudgetStage("of one, the lesser end", share=0.5),
    "domain alone": BudgetStage("bounds: the same asked of the domain alone", cap=5.0),
    "groups together": BudgetStage("what all counts say together: groups, cells, classes", share=0.3, cap=60.0),
    "pinned together": BudgetStage("what all counts say together: people fully known", share=0.6, cap=60.0),
    "audit before remedies": BudgetStage("audit: the audit itself, where remedies are worked out as well", share=0.6),
    "worlds beside positions": BudgetStage(
        "audit: worlds over attributes of any numbers, where positions are known", cap=5.0
    ),
    "rows by position": BudgetStage("audit: what follows by position", share=0.7, cap=120.0),
    "columns that open labels": BudgetStage(
        "audit: which few columns, known of everybody, open every label by position", share=0.4, cap=30.0
    ),
    "posterior": BudgetStage("audit: the posterior of counts that fit no data set", cap=10.0),
    "profiles placed": BudgetStage("positions: rows that hold a profile", share=0.5),
    "released alone": BudgetStage("register: what a release says alone", share=0.2),
    "earlier releases": BudgetStage("register: what earlier releases say", share=0.35),
    "all releases": BudgetStage("register: what all say together", share=0.9),
    "merges": BudgetStage("remedy: the search for merges, before the result is audited", share=0.5),
    "figures of a merge": BudgetStage("remedy: one joint measure", share=0.2),
    "as published": BudgetStage("remedies: the release as it was published", share=0.3),
    "measured once": BudgetStage(
        "remedies: to measure a forest once; beyond it, only what changes all its trees is tried", cap=2.0
    ),
    "one remedy": BudgetStage("remedies: one of those that are left, a part of it"),
    "counts that are intervals": BudgetStage(
        "remedies: rounded and noisy counts: bounds come at once, exact figures rarely", cap=3.0
    ),
    "one boosted remedy": BudgetStage("remedies: leaf values rounded, or fewer trees", cap=60.0),
    "certified members": BudgetStage("attack membership: verdicts on the rows", share=0.5, cap=60.0),
    "line proofs": BudgetStage("certificates of attributes: all profiles", cap=20.0),
    "one line proof": BudgetStage("certificates of attributes: one hard profile", share=0.125, floor=1.0),
}


class Meter:
    """The work that was counted so far, the stages that the clock cut short, in the order in which it did, its pauses.

    `paused`: the seconds that do not count, `since`: when a pause began that lasts. `held`: the bytes of what was made
    and is still there (`Limits.keep`), of the `memory` of all limits that share the meter.
    """

    __slots__ = ("cut", "held", "memory", "paused", "since", "used")

    def __init__(self, paused: float = 0.0) -> None:
        self.used = self.held = 0.0
        self.memory = math.inf
        self.cut: dict[str, None] = {}
        self.paused = paused
        self.since: float | None = None

    def now(self) -> float:
        """Return the moment by the clock without its pauses."""
        since = self.since
        return (time.monotonic() if since is None else since) - self.paused

    @contextmanager
    def pause(self) -> Iterator[None]:
        """Stop the clock while the block runs, for what is done once and serves all later commands."""
        begun = self.since = time.monotonic()
        try:
            yield
        finally:
            self.paused, self.since = self.paused + time.monotonic() - begun, None

    def give_back(self, size: float) -> None:
        """Count bytes no longer."""
        self.held -= size

    def add(self, used: float, cut: Iterable[str]) -> None:
        """Count what was done elsewhere."""
        self.used += used
        self.cut.update(dict.fromkeys(cut))


@dataclass(frozen=True, slots=True)
class Limits:
    """Time in seconds (wall clock, from construction), memory in bytes, and the number of live cells.

    `seconds=None` means no time limit; else there are as many seconds of work (`work`) and no more than that by the
    clock. Only work ends stages (`stage`), the same everywhere, and the clock all of them at once. Engines ask
    `expired()` between steps; `progress` is called with a short text (and may be ignored). `end`: the moment beyond
    which nothing of these limits lasts, whatever it was given (`beyond`): the whole budget and `GRACE`. `work`: the
    reading of the `meter` at which these limits end. `name`: the stage they are of. `workers`: local processes that
    independent pieces may be spread over, `cluster`: the address of a Dask scheduler that takes them instead
    (`solvers.foundation.parallel`).

    >>> import pandas as pd
    >>> import recon
    >>> rows = pd.DataFrame({"smoker": [0, 0, 1, 1], "old": [0, 1, 0, 1], "ill": [0, 0, 0, 1]})
    >>> model = recon.GreedyRuleListClassifier().fit(rows[["smoker", "old"]], rows["ill"])
    >>> release = recon.encode(model, recon.Domain.from_frame(rows, "ill"))
    >>> recon.count(release, limits=recon.Limits(seconds=5)).value
    4
    """

    seconds: float | None = None
    memory: int = 1 << 30
    cells: int = 200_000
    progress: Callable[[str], None] | None = None
    stop: Event = field(default_factory=Event)
    started: float = field(default_factory=time.monotonic)
    end: float | None = None
    workers: int = 1
    cluster: str | None = None
    work: float = math.inf
    meter: Meter = field(default_factory=Meter, repr=False, compare=False)
    name: str = ""

    def __post_init__(self) -> None:
        if self.end is None and self.seconds is not None:
            object.__setattr__(self, "end", self.started + self.seconds + GRACE)
        if self.seconds is not None and math.isinf(self.work):
            object.__setattr__(self, "work", self.meter.used + self.seconds)
        if math.isinf(self.meter.memory):
            self.meter.memory = self.memory

    def elapsed(self) -> float:
        """Return the seconds since the limits were set, without the pauses of the clock (`Meter.pause`)."""
        return self.meter.now() - self.started

    def expired(self) -> bool:
        """Return whether nothing is left, or somebody asked to stop (`stop`, set by Ctrl-C); counts as a little work.

        To be asked after steps of the same size: a loop that waits for others asks `late`.
        """
        self.meter.used += LOOK
        return self.late()

    def late(self) -> bool:
        """Return what `expired` does, without counting any work."""
        if self.stop.is_set():
            return True
        if self.clocked and self.clock_left() <= 0.0:
            self.meter.cut.setdefault(self.name)
            return True
        return self.work_left() <= 0.0

    @contextmanager
    def noted(self) -> Iterator[None]:
        """Note that the clock cut the block where it did, however that ends: for native code."""
        try:
            yield
        finally:
            self.late()

    def charge(self, work: float) -> None:
        """Count so many seconds of work."""
        self.meter.used += work

    @property
    def clocked(self) -> bool:
        """Return whether there is a time limit."""
        return self.seconds is not None or self.end is not None

    def clock_left(self) -> float:
        """Return the seconds left by the clock, infinity without a time limit."""
        now = self.meter.now()
        own = math.inf if self.seconds is None else self.started + self.seconds - now
        whole = math.inf if self.end is None else self.end - now
        return max(0.0, min(own, whole))

    def work_left(self) -> float:
        """Return the seconds of work left, infinity where it has no end."""
        return max(0.0, self.work - self.meter.used)

    def left(self) -> float:
        """Return the seconds left, of the clock or of work, whichever is less; infinity without a limit."""
        return min(self.clock_left(), self.work_left())

    def affords(self, work: float) -> bool:
        """Return whether so much work is left, and so many seconds of the clock; counts none of it."""
        if self.clocked and self.clock_left() < work <= self.work_left():
            self.meter.cut.setdefault(self.name)
            return False
        return work <= self.work_left()

    def pay(self, work: float) -> bool:
        """Count so much work that is about to be done, where there is as much (`affords`); return whether there is."""
        if not self.affords(work):
            return False
        self.charge(work)
        return True

    @property
    def room(self) -> int:
        """Return how many bytes may be taken beside what is there already (`keep`)."""
        return max(0, min(self.memory, int(self.meter.memory - self.meter.held)))

    def keep(self, made: object, size: float) -> None:
        """Count something of so many bytes as long as it is there; it must be one that has weak references."""
        self.meter.held += size
        weakref.finalize(made, self.meter.give_back, size).atexit = False

    def fits(self, size: float) -> bool:
        """Return whether something of so many bytes may be made."""
        return size <= self.room

    def hold(self, size: float, what: str) -> None:
        """Raise `TooLarge` where something of so many bytes, about to be made, does not fit; `what`: a plural noun."""
        if not self.fits(size):
            raise TooLarge(f"{what} need about {size / 1e6:,.0f} MB of memory (--memory)")

    def remaining(self) -> tuple[float, float]:
        """Return what is left of work and of the clock, for `spent`."""
        return self.work_left(), self.clock_left()

    def spent(self, begun: tuple[float, float]) -> float:
        """Return the work that was not enough, where so much of both was left at the beginning; see `work_left`.

        Where the clock ended it, no more than it would have allowed.
        """
        return begun[0] if self.clock_left() > 0.0 else min(begun)

    def lasting(self, work: float) -> Limits:
        """Return the same limits with so much work from now, whatever was left; the clock ends them where it did."""
        return replace(self, work=self.meter.used + work)

    def beyond(self, seconds: float) -> Limits:
        """Return the same limits with at least so many seconds from now, of work and of the clock.

        Never beyond the `end` of the whole budget.
        """
        found = self.lasting(max(seconds, self.work_left()))
        if not self.clocked or self.clock_left() >= seconds:
            return found
        return replace(found, seconds=seconds, started=self.meter.now())

    def limited(self) -> Limits:
        """Return these limits, with `SECONDS` of work from now where nothing else ends them."""
        return self.lasting(SECONDS) if math.isinf(self.left()) else self

    def at_most(self, work: float) -> Limits:
        """Return the same limits with at most so much work from now."""
        return replace(self, work=min(self.work, self.meter.used + work))

    def share(self, part: float) -> Limits:
        """Return the same limits with a part of the work left."""
        return replace(self, work=self.meter.used + part * self.work_left())

    def stage(self, name: str, spent: float = 0.0, parts: float = 1) -> Limits:
        """Return the limits of a stage of `STAGES`, of whose cap so much was `spent`; `parts`: one of so many.

        Its share of the work that is left, at least its floor, at most its cap; by the clock all that is left, at
        least its floor.
        """
        of, late = STAGES[name], self.clock_left() <= 0.0
        work = min(of.cap - spent, max(of.floor, of.share / parts * self.work_left()))
        found = self.beyond(of.floor) if of.floor else self
        return replace(found.lasting(work), name=self.name if late and not of.floor else name)

    def stages_cut(self) -> tuple[str, ...]:
        """Return the stages that the clock cut short so far; the command as a whole only where it was in none."""
        return tuple(filter(None, self.meter.cut)) or ("the command as a whole",) * len(self.meter.cut)

    def cut_short(self) -> tuple[str, ...]:
        """Return the same, each as a sentence for who reads an answer."""
        return tuple(f"{CUT}: {name}" for name in self.stages_cut())

    def solver_seconds(self) -> float:
        """Return the seconds of the clock that a native solver may take: never 0, which some take for no limit."""
        return max(0.001, self.clock_left())

    def processor_seconds(self) -> float:
        """Return the seconds of the processor at which it is ended: far more than its work, if it tells its steps."""
        return FAR * (1.0 + self.work_left())

    def report(self, text: str) -> None:
        """Show a line of progress where somebody listens."""
        if self.progress is not None:
            self.progress(text)

    def check(self, phase: str) -> None:
        """Raise `Inconclusive` where the time is up; `phase` says what was being done ("cells are listed")."""
        if self.expired():
            raise Inconclusive(f"{ended(self)} while {phase}")

    def paced(self, items: Iterable[T], phase: str, steps: int = STEPS) -> Iterator[T]:
        """Yield the items, looking at the clock before every `steps`-th of them; see `check`."""
        for i, item in enumerate(items):
            if i % steps == 0:
                self.check(phase)
            yield item


@dataclass(slots=True, eq=False)
class Clock:
    """The limits of whoever asks now, for what is kept from one question to the next; they do not travel with it."""

    limits: Limits = field(default_factory=Limits)

    def __reduce__(self) -> tuple[type[Clock], tuple[()]]:
        return Clock, ()

    def check(self, phase: str) -> None:
        """Raise `Inconclusive` where the time is up; see `Limits.check`."""
        self.limits.check(phase)


def ended(limits: Limits) -> str:
    """Return the reason for stopping: the clock, or somebody who asked to stop."""
    return "stopped" if limits.stop.is_set() else "the time was up"
