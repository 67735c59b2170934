"""What it gives away that a model is optimal: alternatives found by asking the learner about worlds, one by one.

A world of the release is given to the named learner. If it finds a model with fewer errors than the released one has,
the true training set is not that world, and no data set is in which that model, labels included, makes fewer errors:
its inequality joins the statements. If it proves that there is none, the world is one in which the learner could have
released what it did (ties are the learner's to break: the rule says "no model makes fewer errors", not "this one").

Source: constraint generation, as in Dantzig, Fulkerson, Johnson, "Solution of a large-scale traveling-salesman
problem", Operations Research 2 (1954); optimal trees: van der Linden et al., NeurIPS 2023 (STreeD); optimal lists:
Angelino et al., JMLR 18 (2018). Proofs of what is used: docs/mathematics.md.

All models of a small class, each function once: with all their inequalities nothing of the rule is left out.

Rigorous upper bounds on the share of a release's worlds in which no known alternative makes fewer errors.

Given every row's leaf and class, rows are independent and uniform over the leaf, and so are the attributes that no leaf
fixes: inequalities over disjoint sets of such attributes hold independently, and the share in which all of them hold is
the product of their shares (docs/mathematics.md). Two columns that the release does not mention are interchangeable: an
inequality over one of them has a copy over the other, which holds as often.
"""

from __future__ import annotations

import math
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import product

from encoders.encode.encoder import EncodedRelease
from encoders.models.learner_facts import Learner
from recon.learner_rule.optimal.classes import ModelClass, class_of
from recon.learner_rule.optimal.competing_models import (
    Alternative,
    AssumedCount,
    Leaf,
    Solver,
    best_on,
    training_table,
    under,
    without,
)
from recon.learner_rule.optimal.swapped_rows import NodeReplacement, replaced_nodes
from recon.learners.rule_lists.greedy_rule_list import conjunctions
from recon.queries.questions.questions import iterate_samples, reconstruct, refuse_continuous
from recon.readers.frames.world import World
from recon.readers.loading.loading import Released, single_release_of
from recon.readers.loading.settled import strengthened_release
from solvers.engines.chain import ask
from solvers.foundation.errors import ContradictionError, Inconclusive, Unsupported
from solvers.foundation.limits import Limits
from solvers.statements.questions.answers import CountAnswer
from solvers.statements.questions.query import Count

FLOATS = 2.0**-40  # relative: far more than sums of logarithms are off
Bits = tuple[float, float]


@dataclass(frozen=True)
class ShareUpperBound:
    """An upper bound `high` on log2 of the share of worlds (at most 0), and the alternatives that prove it.

    `places`: where replacements prove it instead. `exact`: the share in which all of `alternatives` hold is known,
    between `low` and `high`; else `low` is -infinity.
    """

    low: float
    high: float
    alternatives: tuple[Alternative, ...]
    exact: bool = False
    places: tuple[NodeReplacement, ...] = ()


def _ordered_bits(release: EncodedRelease, limits: Limits) -> Bits:
    """Return bounds on log2 of the ordered worlds, rounded outwards; -infinity twice where there is none."""
    found = ask(release.statements, Count("ordered"), CountAnswer, limits)
    if found.status == "unsat":
        return -math.inf, -math.inf
    low, high = found.bounds
    return low - FLOATS * max(1.0, abs(low)), high + FLOATS * max(1.0, abs(high))


def _joint_share(
    release: EncodedRelease, alternatives: Sequence[Alternative], base: Bits, limits: Limits
) -> ShareUpperBound | None:
    """Return the share under all of some inequalities, None where no engine bounds it within the limits."""
    try:
        low, high = _ordered_bits(under(release, alternatives), limits)
    except (Unsupported, Inconclusive):
        return None
    if math.isinf(high) and high > 0:
        return None
    exact = high - low <= 4 * FLOATS * max(1.0, abs(high)) or high == -math.inf
    return ShareUpperBound(low - base[1], min(0.0, high - base[0]), tuple(alternatives), exact)


def _fixed_attributes(release: EncodedRelease, columns: Sequence[str]) -> frozenset[int] | None:
    """Return the attributes that every leaf fixes as far as the columns tell; None where leaves are no products.

    None too where something else couples the attributes: other models, known rows, impossible rows.
    """
    cut = under(release, [Alternative("", tuple((((name, 1),), 0) for name in columns), 0)])
    statements = cut.statements
    if len(release.models) != 1 or release.known is not None or statements.impossible or not release.rows.exact:
        return None
    (block, *_), fixed = statements.blocks, set(range(len(release.domain.all)))
    part = statements.partitions.get(0)
    if part is None or block is not part or part.open_counts:
        return None
    for j in range(len(part.boxes)):
        region = part.region_of(j)
        masks = dict(region.box.literals)
        for box in region.minus:
            if any(masks.get(k, -1) & mask == 0 for k, mask in box.literals):
                continue  # it takes nothing away
            left = [(k, mask) for k, mask in box.literals if masks.get(k, _full(cut, k)) & ~mask]
            if len(left) != 1:
                return None
            k, mask = left[0]
            masks[k] = masks.get(k, _full(cut, k)) & ~mask
        fixed = {k for k in fixed if masks.get(k, _full(cut, k)).bit_count() == 1}
    return frozenset(fixed)


def _full(release: EncodedRelease, k: int) -> int:
    """Return the mask of all parts of an attribute."""
    return release.statements.domain.attributes[k].full


def _fresh_columns(release: EncodedRelease, models: ModelClass) -> list[str]:
    """Return the columns that are attributes of their own and that nothing in the release mentions."""
    mentioned = release.statements.mentioned()
    place = release.domain.place
    viewed = {view.attribute for view in release.domain.columns.values()}
    return [n for n in models.columns if n in place and n not in viewed and place[n] not in mentioned]


def _product_share(
    release: EncodedRelease, models: ModelClass, found: Sequence[Alternative], base: Bits, limits: Limits
) -> ShareUpperBound:
    """Return the best product of shares of single inequalities over disjoint attributes, copies included.

    Each of `found` (the most telling first) is counted alone while there is time; then the one that removes most bits
    per attribute is taken with all its copies, then the next one over what attributes are left. Where leaves are no
    products, the best single one. Cost: a count per alternative.
    """
    single: list[tuple[float, Alternative]] = []
    for one in found:
        if limits.expired():
            break
        alone = _joint_share(release, [one], base, limits)
        if alone is not None and alone.high < 0.0:
            single.append((alone.high, one))
    if not single:
        return ShareUpperBound(-math.inf, 0.0, ())
    columns = tuple(dict.fromkeys(name for _, one in single for name in one.columns))
    fixed = _fixed_attributes(release, columns)
    if fixed is None:
        high, one = min(single, key=lambda pair: pair[0])
        return ShareUpperBound(-math.inf, high, (one,))
    fresh = set(_fresh_columns(release, models))

    def attributes(one: Alternative) -> set[str]:
        return {n for n in one.columns if _attribute_of(release, n) not in fixed}

    single.sort(key=lambda pair: pair[0] / max(1, len(attributes(pair[1]))))
    left, taken, total, chosen = sorted(fresh), set[int](), 0.0, []
    for high, one in single:
        own = attributes(one)
        moved, shared = [n for n in one.columns if n in fresh], own - fresh
        if not own:
            continue  # it says something of the counts alone, which hold
        while len(left) >= len(moved) and not {_attribute_of(release, n) for n in shared} & taken:
            names = dict(zip(moved, left[: len(moved)], strict=True))
            left = left[len(moved) :]
            taken |= {_attribute_of(release, n) for n in shared}
            chosen.append(one.renamed(names))
            total += high
            if not moved:
                break
    return ShareUpperBound(-math.inf, total * (1.0 - FLOATS), tuple(chosen))


def _attribute_of(release: EncodedRelease, name: str) -> int:
    """Return the attribute that a column belongs to."""
    place = release.domain.place
    return place[name] if name in place else release.domain.view_ranges(name)[0]


MOST_COLUMNS = 4
MOST_MODELS = 600  # functions: each is an inequality over the cells of the whole row space
Truth = tuple[int, ...]  # the class of every combination of the columns
Known = dict[Truth, tuple[Leaf, ...]]


def _every_model(models: ModelClass, limits: Limits) -> tuple[Alternative, ...] | None:
    """Return one labelled model per function that the class can express; None where they are too many.

    Raises `Inconclusive` where time is up. Cost: columns x functions².
    """
    if len(models.columns) > MOST_COLUMNS or models.labels ** (1 << len(models.columns)) > MOST_MODELS**4:
        return None
    rows = list(product((0, 1), repeat=len(models.columns)))
    constants: Known = {(label,) * len(rows): (((), label),) for label in range(models.labels)}
    if models.kind == "rule list":
        found = _lists(models, constants, rows, limits)
    elif models.leaves is not None:
        found = _trees_by_leaves(models, constants, rows, limits)
    else:
        found = _trees_by_depth(models, constants, rows, limits)
    if found is None:
        return None
    return tuple(Alternative(models.kind, leaves, models.least) for leaves in found.values())


def _splits(
    models: ModelClass, ones: Known, zeros: Known, rows: list[tuple[int, ...]]
) -> Iterator[tuple[Truth, tuple[Leaf, ...]]]:
    """Yield every tree that tests a column and goes on with one of `ones` where it is 1, one of `zeros` else."""
    for c, name in enumerate(models.columns):
        for (one, its), (zero, others) in product(ones.items(), zeros.items()):
            truth = tuple(one[i] if row[c] else zero[i] for i, row in enumerate(rows))
            yield truth, (*_leaves_below(its, name, 1), *_leaves_below(others, name, 0))


def _leaves_below(leaves: tuple[Leaf, ...], name: str, value: int) -> list[Leaf]:
    """Return the leaves below a test: those that contradict it are left out."""
    return [
        (((name, value), *(pair for pair in path if pair[0] != name)), label)
        for path, label in leaves
        if (name, 1 - value) not in path
    ]


def _trees_by_depth(models: ModelClass, constants: Known, rows: list[tuple[int, ...]], limits: Limits) -> Known | None:
    """Return the trees of at most so many tests on a path."""
    found = dict(constants)
    for _ in range(models.depth):
        before, grown = len(found), dict(found)
        for truth, leaves in limits.paced(_splits(models, found, found, rows), "the models of a class are listed"):
            grown.setdefault(truth, leaves)
            if len(grown) > MOST_MODELS:
                return None
        found = grown
        if len(found) == before:
            break
    return found


def _trees_by_leaves(models: ModelClass, constants: Known, rows: list[tuple[int, ...]], limits: Limits) -> Known | None:
    """Return the trees of at most so many leaves."""
    assert models.leaves is not None
    sized: list[Known] = [{}, dict(constants)]
    found = dict(constants)
    for leaves in range(2, models.leaves + 1):
        sized.append({})
        for left in range(1, leaves):
            pairs = _splits(models, sized[left], sized[leaves - left], rows)
            for truth, tree in limits.paced(pairs, "the models of a class are listed"):
                if truth not in found:
                    found[truth] = sized[leaves][truth] = tree
                    if len(found) > MOST_MODELS:
                        return None
    return found


def _lists(models: ModelClass, constants: Known, rows: list[tuple[int, ...]], limits: Limits) -> Known | None:
    """Return the lists of at most so many rules before the default rule."""
    place = {name: c for c, name in enumerate(models.columns)}
    antecedents = conjunctions(models.columns, models.width, models.negations)
    found = dict(constants)
    for _ in range(models.length):
        before, grown = len(found), dict(found)
        rules = product(antecedents, range(models.labels), found.items())
        for antecedent, label, (truth, tail) in limits.paced(rules, "the models of a class are listed"):
            met = [all(row[place[n]] == v for n, v in antecedent) for row in rows]
            now = tuple(label if hit else old for hit, old in zip(met, truth, strict=True))
            if now not in grown:
                rest = [(piece, other) for path, other in tail for piece in without(path, antecedent)]
                grown[now] = ((antecedent, label), *rest)
                if len(grown) > MOST_MODELS:
                    return None
        found = grown
        if len(found) == before:
            break
    return found


DRAWS = 32  # worlds drawn uniformly before inequalities are used to find others
ROUNDS = 60  # worlds found under inequalities
MAX_INEQUALITIES = 12  # inequalities that a search for a world is given: the latest, they tell most
COUNTED = 24  # alternatives whose share is counted, one by one
TOGETHER = 2  # and together: more than that takes minutes where rows are many


@dataclass(frozen=True, eq=False)
class Generated:
    """What rounds of constraint generation found: alternatives (those that broke most worlds first), and how it ended.

    `world`: one in which nothing better exists, as `solver` proved, None where none was found; `empty`: the
    inequalities `proof` leave no world. `drawn`, `drawn_better`: worlds drawn uniformly and those of them with a better
    model; `rounds`, `better`: all worlds. `open`: why neither was settled ("": it was).
    """

    alternatives: tuple[Alternative, ...]
    rounds: int
    better: int
    drawn: int
    drawn_better: int
    proof: tuple[Alternative, ...] = ()
    world: World | None = None
    solver: str = ""
    empty: bool = False
    open: str = ""


@dataclass(frozen=True, eq=False)
class OptimalRule:
    """What knowing that a model is optimal adds to its release.

    `ordered_bits`: bounds on log2 of the ordered worlds without the rule; `share`: bounds on log2 of the share of them
    in which no model of the class makes fewer errors (at most 0, the same in `assigned`): the upper bound is proved by
    `alternatives`, each an inequality, or by `places` (the inequalities of all models that differ from the released one
    by one last split, or by one more; their bits add up), whichever says more; the lower one is -infinity unless
    `status` is "exact" (all models of the class were written down and counted). `rounds`: worlds on which the learner
    was asked, `better` of them had a better model; `drawn`, `drawn_better`: those among them drawn uniformly from the
    release's worlds, before any inequality. `witness`: whether a world was found in which the named `solver` proved the
    released model optimal. `found`: all alternatives, those that broke most worlds first. `assumption`: the rule in
    words.
    """

    learner: Learner
    models: ModelClass
    status: str
    ordered_bits: Bits
    share: Bits
    alternatives: tuple[Alternative, ...]
    places: tuple[NodeReplacement, ...]
    found: tuple[Alternative, ...]
    rounds: int
    better: int
    drawn: int
    drawn_better: int
    witness: bool
    solver: str
    seconds: float
    assumption: str

    @property
    def extra_bits(self) -> Bits:
        """Return bounds on the bits that the rule removes beside the counts; the first is proved by inequalities."""
        return abs(self.share[1]), -self.share[0]

    @property
    def worlds(self) -> Bits:
        """Return bounds on log2 of the ordered worlds under the rule."""
        return self.ordered_bits[0] + self.share[0], self.ordered_bits[1] + self.share[1]


def assumption_of(models: ModelClass, learner: Learner) -> str:
    """Return the rule in words, as answers that rest on it name it."""
    gap = f", up to a gap of {models.gap}" if models.gap else ""
    source = f" ({learner.source})" if learner.source else ""
    return (
        f"the adversary knows the learner{source}: the model makes the fewest training errors{gap} of all "
        f"{models.describe()}, all of them candidates whatever the data"
    )


def optimal_rule(
    release: Released, learner: Learner, limits: Limits | None = None, seed: int = 0, *, gap: int = 0,
    negations: bool = True, solver: Solver = "own", draws: int = DRAWS,
) -> OptimalRule:  # fmt: skip
    """Return what knowing that the learner found the fewest training errors of its class adds to a release.

    `gap`: errors that the learner's search left open, `negations`: whether its lists may test "column = 0", `solver` of
    trees on worlds: "own" or "streed", `draws`: worlds drawn uniformly. Raises `Unsupported` for classes that depend on
    the data (see `class_of`), `ContradictionError` where no data set is left: the learner cannot have made the model.
    Cost: one fit of the learner per world; a count per alternative for the bound.
    """
    began, limits = time.monotonic(), limits or Limits()
    given = strengthened_release(single_release_of(release, limits), limits)
    refuse_continuous(given)
    models = class_of(given, learner, gap=gap, negations=negations)
    base = _ordered_bits(given, limits)
    if base[1] == -math.inf:
        raise ContradictionError("the statements contradict each other: there is no possible world", ())
    places = _replaced_in_time(given, models, limits)
    found = ConstraintGeneration(given, models, limits.stage("worlds under a rule"), seed, solver, draws).run(
        every_draw=True
    )
    if found.empty:
        raise impossible_model(found.proof)
    bound = _bounded_share(given, models, found.alternatives, places, base, limits)
    return OptimalRule(
        learner, models, "exact" if bound.exact else "bounds", base, (bound.low, bound.high), bound.alternatives,
        bound.places, found.alternatives, found.rounds, found.better, found.drawn, found.drawn_better,
        found.world is not None, found.solver, time.monotonic() - began, assumption_of(models, learner),
    )  # fmt: skip


def impossible_model(proof: tuple[Alternative, ...]) -> ContradictionError:
    """Return the refusal of a model that its learner cannot have released."""
    conflict = tuple(one.source() for one in proof)
    return ContradictionError("no data set is left in which the named learner would have made this model", conflict)


def _replaced_in_time(release: EncodedRelease, models: ModelClass, limits: Limits) -> tuple[NodeReplacement, ...]:
    """Return what replacements say, nothing where the time is up; first of all, as it costs little."""
    try:
        return replaced_nodes(release, models, limits)
    except Inconclusive:
        return ()


def _bounded_share(
    release: EncodedRelease, models: ModelClass, found: Sequence[Alternative], places: tuple[NodeReplacement, ...],
    base: Bits, limits: Limits,
) -> ShareUpperBound:  # fmt: skip
    """Return the best upper bound on the share of worlds under the rule; exact where all models can be written down.

    The product of single shares, that of `places`, or the count under the most telling inequalities at once, whichever
    is smallest.
    Raises `ContradictionError` where all models of the class leave no world.
    """
    try:
        every = _every_model(models, limits)
        whole = None if every is None else _joint_share(release, every, base, limits.stage("every model"))
    except Inconclusive:
        every = whole = None
    if every is not None and whole is not None:
        if whole.high == -math.inf:
            raise impossible_model(every)
        if whole.exact:
            return whole
    best = _product_share(release, models, found[:COUNTED], base, limits.stage("competing models"))
    if len(found) > 1:
        joint = _joint_share(release, found[:TOGETHER], base, limits.stage("competing models"))
        if joint is not None and joint.high < best.high:
            best = replace(joint, low=-math.inf, exact=False)
    if (bits := sum(place.bits for place in places)) > -best.high:
        return ShareUpperBound(-math.inf, -bits * (1.0 - FLOATS), (), places=places)
    return best


class ConstraintGeneration:
    """Rounds of constraint generation over one release: worlds, the learner asked about them, inequalities kept."""

    def __init__(
        self, release: EncodedRelease, models: ModelClass, limits: Limits, seed: int = 0, solver: Solver = "own",
        draws: int = DRAWS, known: Sequence[Alternative] = (), assumed: Sequence[AssumedCount] = (),
    ) -> None:  # fmt: skip
        self.release, self.models, self.limits, self.seed = release, models, limits, seed
        self.solver, self.draws, self.assumed = solver, draws, assumed
        self.pool: dict[Alternative, int] = dict.fromkeys(known, 0)  # how many worlds each of them rules out
        self.rounds = self.better = self.drawn = self.drawn_better = 0
        self.unproved = 0  # worlds on which the learner stopped early without a better model

    def run(self, *, every_draw: bool = False) -> Generated:
        """Return what is found: first on uniform worlds (all of them with `every_draw`), then under inequalities."""
        accepted: tuple[World, str] | None = None
        try:
            for world in iterate_samples(
                under(self.release, (), self.assumed), self.draws, self.seed, None, self.limits
            ):
                self.drawn += 1
                before = self.better
                by = self.accepts(world)
                self.drawn_better += self.better - before
                if by and accepted is None:
                    accepted = world, by
                if accepted and not every_draw:
                    break
        except ContradictionError:
            return self.result(empty=True)
        except (Unsupported, Inconclusive) as error:
            if accepted is None and self.limits.expired():
                return self.result(open=str(error))
        return self.result(accepted) if accepted else self.under_inequalities()

    def under_inequalities(self) -> Generated:
        """Return what worlds under the inequalities so far say, until one is accepted or none is left."""
        active: list[Alternative] = list(self.ordered())[:MAX_INEQUALITIES]
        for i in range(ROUNDS):
            try:
                self.limits.check("worlds under the learner's rule were looked for")
                inside = under(self.release, active, self.assumed)
                world = reconstruct(inside, self.seed + i, self.limits)
            except ContradictionError:
                return self.result(empty=True, proof=tuple(active))
            except (Unsupported, Inconclusive) as error:
                return self.result(open=str(error))
            held = set(active)
            table = training_table(self.release, world, self.models)
            violated = [one for one in self.pool if one not in held and one.errors(*table) < one.least]
            if violated:
                self.rounds, self.better = self.rounds + 1, self.better + 1
            else:
                try:
                    by = self.accepts(world)
                except Inconclusive as error:
                    return self.result(open=str(error))
                if by:
                    return self.result((world, by))
                violated = [one for one in self.pool if one not in held]
            if not violated:
                return self.result(open="the learner stopped before it proved that no model is better")
            active = [*active, violated[-1]][-MAX_INEQUALITIES:]
        return self.result(open=f"{ROUNDS} worlds under inequalities had better models")

    def accepts(self, world: World) -> str:
        """Return who proved the released model optimal on a world, "" where a better model exists or none proved it."""
        x, y = training_table(self.release, world, self.models)
        for one in self.pool:
            self.pool[one] += one.errors(x, y) < one.least
        self.rounds += 1
        found = best_on(x, y, self.models, self.limits, self.solver)
        if found.errors < self.models.least:
            self.better += 1
            self.pool[found.model] = self.pool.get(found.model, 0) or 1
            return ""
        return found.solver if found.proved or self.models.least == 0 else ""

    def ordered(self) -> list[Alternative]:
        """Return the alternatives, those that rule out most worlds first."""
        return sorted(self.pool, key=lambda one: -self.pool[one])

    def result(
        self, accepted: tuple[World, str] | None = None, *, empty: bool = False,
        proof: tuple[Alternative, ...] = (), open: str = "",
    ) -> Generated:  # fmt: skip
        """Return what was found so far."""
        world, by = accepted or (None, "")
        return Generated(
            tuple(self.ordered()),
            self.rounds,
            self.better,
            self.drawn,
            self.drawn_better,
            proof,
            world,
            by,
            empty,
            open,
        )
