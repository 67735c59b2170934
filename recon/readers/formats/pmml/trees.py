"""PMML's tree semantics unrolled into binary splits: first true child, unknown predicates, surrogates, defaults.

A predicate on a missing value is unknown; what then happens is the tree's `missingValueStrategy`, and what happens
where no child is true its `noTrueChildStrategy` (PMML 4.4, "Tree Model"). Unrolled, a leaf of the file may stand at
several places: its count is then that of all of them together.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Literal, TypeAlias

from encoders.domain.values import Test, Value, exact
from recon.readers.formats.boosters.shared import BoosterSplit, BoosterTree, both_tests, opposite
from recon.readers.formats.pmml.fields import Atom, CompoundPredicate, Fields, Predicate
from solvers.foundation.errors import TooLarge, Unsupported

ANY = Test()
MAX_PRESENT = 20_000
MAX_PLACES = 5_000  # beyond the nodes of the file


@dataclass
class PmmlNode:
    """A node of the file: predicate, children, published figures (None: not said), default child."""

    place: str
    predicate: Predicate
    children: list[int] = field(default_factory=list)
    default: int | None = None
    rows: float | None = None
    score: str | None = None
    shares: dict[str, tuple[float | None, float | None]] = field(default_factory=dict)  # recordCount, probability


# What is still to be decided is one of four things.


@dataclass(frozen=True, slots=True)
class At:
    """A row enters a node, has its leaf there, or stays there because no child takes it."""

    how: Literal["enter", "leaf", "stay"]
    node: int


@dataclass(frozen=True, slots=True)
class Nowhere:
    """No node takes the row."""


@dataclass(frozen=True, slots=True)
class Try:
    """A row is tried at a node's i-th child."""

    node: int
    child: int


@dataclass(frozen=True, slots=True)
class Eval:
    """A predicate is evaluated: what comes next where it is true, false or unknown."""

    predicate: Predicate
    true: State
    false: State
    unknown: State


State: TypeAlias = At | Nowhere | Try | Eval


@dataclass(frozen=True)
class FieldState:
    """What a path says about one feature: its range, excluded or allowed values, whether it may be missing."""

    range: Test = ANY
    allowed: frozenset[Value] | None = None
    excluded: frozenset[Value] = frozenset()
    missing: bool = True
    known: bool = True  # it may be present

    def after(self, test: Test, passed: bool) -> FieldState:
        """Return the facts where a test (without its missing) was passed or not, for values that are present."""
        if test.values is not None:
            values = frozenset(test.values)
            if passed:
                return replace(self, allowed=values if self.allowed is None else self.allowed & values)
            left = None if self.allowed is None else self.allowed - values
            return replace(self, allowed=left, excluded=self.excluded | values)
        if test.bare:
            return self
        other = test if passed else opposite(test, False)
        if other is None:
            return self
        return replace(self, range=both_tests(self.range, other))

    @property
    def left(self) -> frozenset[Value] | None:
        """Return the values that it may have, None where they are not listed."""
        if self.allowed is None or self.range == ANY:
            return self.allowed
        return frozenset(v for v in self.allowed if _value_in_range(v, self.range))

    def decides(self, test: Test) -> bool | None:
        """Return whether present values pass, None where some do and some may not."""
        if test.bare:
            return not test.missing
        left = self.left
        if test.values is not None:
            values = frozenset(test.values)
            if values <= self.excluded or (left is not None and not (values & left)):
                return False
            return True if left is not None and left <= values else None
        if left is not None:  # numbers: other values are not ordered
            held = {_value_in_range(v, test) for v in left}
            return held.pop() if len(held) == 1 else None
        if _clash(self.range, test):
            return False
        return True if _inside_of(self.range, test) else None


def _value_in_range(value: Value, test: Test) -> bool:
    """Return whether a number lies in a range."""
    return not _clash(Test(low=value, high=value), test)


def _clash(a: Test, b: Test) -> bool:
    """Return whether two ranges have nothing in common."""
    for x, y in ((a, b), (b, a)):
        if x.low is not None and y.high is not None:
            low, high = exact(x.low), exact(y.high)
            if low > high or (low == high and (x.low_open or y.high_open)):
                return True
    return False


def _inside_of(a: Test, b: Test) -> bool:
    """Return whether range a lies in range b."""
    if b.low is not None:
        if a.low is None or exact(a.low) < exact(b.low):
            return False
        if exact(a.low) == exact(b.low) and b.low_open and not a.low_open:
            return False
    if b.high is not None:
        if a.high is None or exact(a.high) > exact(b.high):
            return False
        return not (exact(a.high) == exact(b.high) and b.high_open and not a.high_open)
    return True


@dataclass
class Unrolled:
    """The binary tree, and per leaf which node's rows arrive there (None: no training row does)."""

    grown: BoosterTree
    holds: dict[int, tuple[str, int] | None]

    @property
    def single(self) -> bool:
        """Return whether every leaf of the file stands at one place."""
        held = [h for h in self.holds.values() if h is not None]
        return len(set(held)) == len(held)


@dataclass
class Unroller:
    """Turns the nodes of a file into binary splits, one decision after the other.

    `present`: only rows without missing values in what is tested are followed, which makes fewer cases.
    """

    nodes: list[PmmlNode]
    fields: Fields
    missing: str  # missingValueStrategy
    last: bool  # noTrueChildStrategy is returnLastPrediction
    present: bool = False
    state: State = field(default_factory=Nowhere)  # what the split that was just made decides

    def run(self) -> Unrolled:
        """Return the unrolled tree; `Unsupported` where it grows too large. Cost: linear in its nodes and depth."""
        out, holds = BoosterTree(), {}
        todo: list[tuple[State, dict[str, FieldState], int, int]] = [(At("enter", 0), {}, -1, 0)]
        while todo:
            state, facts, parent, side = todo.pop()
            here = len(out.splits)
            if here > (MAX_PRESENT if self.present else MAX_PLACES) + 4 * len(self.nodes):
                raise TooLarge("the PMML tree's compound predicates make too many cases to be read")
            if parent >= 0:
                a, b = out.children[parent]
                out.children[parent] = (here, b) if side == 0 else (a, here)
            found = self.settle(state, facts)
            out.children.append((-1, -1))
            if isinstance(found, BoosterSplit):
                out.splits.append(found)
                then, otherwise = self.sides(found, facts)
                todo.append((self.state, otherwise, here, 1))
                todo.append((self.state, then, here, 0))
                continue
            out.splits.append(None)
            holds[here] = found
        return Unrolled(out, holds)

    def settle(self, state: State, facts: dict[str, FieldState]) -> BoosterSplit | tuple[str, int] | None:
        """Return the next split (its state is kept in `self.state`), or the leaf that a state ends in."""
        while True:
            if isinstance(state, Nowhere):
                return None
            if isinstance(state, At):
                if state.how != "enter":
                    return state.how, state.node
                state = Try(state.node, 0) if self.nodes[state.node].children else At("leaf", state.node)
            elif isinstance(state, Try):
                state = self.attempt(state.node, state.child)
            elif isinstance(state.predicate, CompoundPredicate):
                state = _unfold(state.predicate, state.true, state.false, state.unknown)
            else:
                decided = self.decide(state.predicate, state.true, state.false, state.unknown, facts)
                if isinstance(decided, BoosterSplit):
                    self.state = state
                    return decided
                state = decided

    def attempt(self, at: int, i: int) -> State:
        """Return the evaluation of a node's i-th child."""
        node = self.nodes[at]
        none = self.empty[at]
        end: State = At("stay", at) if self.last and not none else Nowhere()
        child = node.children[i]
        after: State = Try(at, i + 1) if i + 1 < len(node.children) else end
        if self.missing == "defaultChild" and node.default is not None:
            unknown: State = At("enter", node.default)
        elif self.missing in ("none", "defaultChild"):
            unknown = after
        elif self.missing == "lastPrediction" and not none:
            unknown = At("stay", at)
        else:
            unknown = Nowhere()
        return Eval(self.nodes[child].predicate, At("enter", child), after, unknown)

    def __post_init__(self) -> None:
        self.empty = [self.none_left(node) for node in self.nodes]

    def none_left(self, node: PmmlNode) -> bool:
        """Return whether all rows of a node are in its children, so that none stays at it."""
        below = [self.nodes[c].rows for c in node.children]
        return node.rows is not None and None not in below and abs(sum(b or 0 for b in below) - node.rows) < 1e-6

    def decide(
        self, atom: Atom, true: State, false: State, unknown: State, facts: dict[str, FieldState], ahead: bool = True
    ) -> BoosterSplit | State:
        """Return the split that a test needs, or the state it leads to where the path decides it.

        `ahead`: missing values that end in the same node as some that are present need no split of their own.
        """
        known = facts.get(atom.name) or self.start(atom.name)
        if self.present and atom.test.bare:
            raise Unsupported("the PMML tree's tests for missing values make too many cases to be read")
        if not atom.unknown:
            unknown = true if atom.test.missing else false
        test = replace(atom.test, missing=False) if atom.test.missing else atom.test
        if not known.known:
            return unknown
        passed = False if atom.test == Test(missing=True) else known.decides(test)
        if passed is not None:
            if self.present and atom.name not in facts and self.fields.gaps(atom.name):
                raise Unsupported("the PMML tree's tests that all values pass make too many cases to be read")
            present = true if passed else false
            if not known.missing or unknown in (present, Nowhere()):
                return present
            met = self.meet(atom.name, present, known, unknown, facts) if ahead else None
            if met is not None:
                return met
            return BoosterSplit(atom.name, Test(missing=True), Test())
        meets = ahead and known.missing and unknown not in (true, false, Nowhere())
        if known.missing and (
            unknown == true
            or (meets and self.meet(atom.name, true, known.after(test, True), unknown, facts) is not None)
        ):
            test = replace(test, missing=True)
        allowed = known.allowed
        other = opposite(test, not self.present)
        if other is None and test.values is not None and allowed is not None:
            left = [v for v in self.fields.type_of(atom.name).values if v in allowed and v not in test.values]
            other = Test(values=tuple(left), missing=not test.missing and not self.present)
        return BoosterSplit(atom.name, test, other)

    def meet(
        self, name: str, present: State, known: FieldState, unknown: State, facts: dict[str, FieldState]
    ) -> State | None:
        """Return the node that present and missing values of a feature both end in without another split."""
        found = self.reach(present, {**facts, name: replace(known, missing=False)})
        return found if found == self.reach(unknown, {**facts, name: replace(known, known=False)}) else None

    def reach(self, state: State, facts: dict[str, FieldState]) -> State | None:
        """Return the node that a state enters or stays at, None where that takes a split."""
        while isinstance(state, Try | Eval):
            if isinstance(state, Try):
                state = self.attempt(state.node, state.child)
            elif isinstance(state.predicate, CompoundPredicate):
                state = _unfold(state.predicate, state.true, state.false, state.unknown)
            else:
                found = self.decide(state.predicate, state.true, state.false, state.unknown, facts, ahead=False)
                if isinstance(found, BoosterSplit):
                    return None
                state = found
        return state

    def start(self, name: str) -> FieldState:
        """Return what is known of a feature before any test."""
        return FieldState(allowed=self.fields.allowed(name), missing=self.fields.gaps(name) and not self.present)

    def sides(
        self, split: BoosterSplit, facts: dict[str, FieldState]
    ) -> tuple[dict[str, FieldState], dict[str, FieldState]]:
        """Return the facts on both sides of a split."""
        known = facts.get(split.feature) or self.start(split.feature)
        if split.test == Test(missing=True):
            then, otherwise = replace(known, known=False), replace(known, missing=False)
        else:
            then = replace(known.after(split.test, True), missing=known.missing and split.test.missing)
            otherwise = replace(known.after(split.test, False), missing=known.missing and not split.test.missing)
        return {**facts, split.feature: then}, {**facts, split.feature: otherwise}


def _unfold(predicate: CompoundPredicate, true: State, false: State, unknown: State) -> State:
    """Return the evaluation of a compound predicate's first part, with what follows (Kleene's logic)."""
    parts = predicate.parts
    if predicate.how == "not":
        return Eval(parts[0], false, true, unknown)
    if not parts:
        return {"and": true, "or": false}.get(predicate.how, unknown)
    rest = CompoundPredicate(predicate.how, parts[1:])
    later: State = Eval(rest, true, false, unknown)
    if predicate.how == "and":
        return Eval(parts[0], later, false, Eval(rest, unknown, false, unknown))
    if predicate.how == "or":
        return Eval(parts[0], true, later, Eval(rest, true, unknown, unknown))
    return Eval(parts[0], true, false, later)


def unroll(nodes: list[PmmlNode], fields: Fields, missing: str, last: bool, present: bool = False) -> Unrolled:
    """Return the binary tree of a file's nodes, of the rows without missing values only where `present`.

    Raises `TooLarge` where a leaf of the file stands at too many places.
    """
    return Unroller(nodes, fields, missing, last, present).run()
