"""What it gives away that a model is optimal: alternatives found by asking the learner about worlds, one by one.

A world of the release is given to the named learner. If it finds a model with fewer errors than the released one has,
the true training set is not that world, and no data set is in which that model, labels included, makes fewer errors:
its inequality joins the statements. If it proves that there is none, the world is one in which the learner could have
released what it did (ties are the learner's to break: the rule says "no model makes fewer errors", not "this one").

Source: constraint generation, as in Dantzig, Fulkerson, Johnson, "Solution of a large-scale traveling-salesman
problem", Operations Research 2 (1954); optimal trees: van der Linden et al., NeurIPS 2023 (STreeD); optimal lists:
Angelino et al., JMLR 18 (2018). Proofs of what is used: docs/mathematics.md.
"""

from __future__ import annotations

import math
import time
from collections.abc import Sequence
from dataclasses import dataclass, replace

from encoders.encode.encoder import EncodedRelease
from encoders.models.learner import Learner
from recon.learner_rule.optimal.alternatives import Alternative, AssumedCount, under
from recon.learner_rule.optimal.classes import ModelClass, class_of
from recon.learner_rule.optimal.every_model import every_model
from recon.learner_rule.optimal.replaced import Replaced, replaced
from recon.learner_rule.optimal.searching import Solver, best_on, training_table
from recon.learner_rule.optimal.shares import FLOATS, Bits, ShareUpperBound, joint_share, ordered_bits, product_share
from recon.queries.questions.questions import drawn, reconstruct, refuse_continuous
from recon.readers.frames.world import World
from recon.readers.loading.asking import Released, release_of
from recon.readers.loading.settled import settled_release
from solvers.foundation.errors import ContradictionError, Inconclusive, Unsupported
from solvers.foundation.limits import Limits

DRAWS = 32  # worlds drawn uniformly before inequalities are used to find others
ROUNDS = 60  # worlds found under inequalities
MOST = 12  # inequalities that a search for a world is given: the latest, they tell most
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
    places: tuple[Replaced, ...]
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
    given = settled_release(release_of(release, limits), limits)
    refuse_continuous(given)
    models = class_of(given, learner, gap=gap, negations=negations)
    base = ordered_bits(given, limits)
    if base[1] == -math.inf:
        raise ContradictionError("the statements contradict each other: there is no possible world", ())
    places = replaced_in_time(given, models, limits)
    found = ConstraintGeneration(given, models, limits.stage("worlds under a rule"), seed, solver, draws).run(
        every_draw=True
    )
    if found.empty:
        raise impossible_model(found.proof)
    bound = bounded_share(given, models, found.alternatives, places, base, limits)
    return OptimalRule(
        learner, models, "exact" if bound.exact else "bounds", base, (bound.low, bound.high), bound.alternatives,
        bound.places, found.alternatives, found.rounds, found.better, found.drawn, found.drawn_better,
        found.world is not None, found.solver, time.monotonic() - began, assumption_of(models, learner),
    )  # fmt: skip


def impossible_model(proof: tuple[Alternative, ...]) -> ContradictionError:
    """Return the refusal of a model that its learner cannot have released."""
    conflict = tuple(one.source() for one in proof)
    return ContradictionError("no data set is left in which the named learner would have made this model", conflict)


def replaced_in_time(release: EncodedRelease, models: ModelClass, limits: Limits) -> tuple[Replaced, ...]:
    """Return what replacements say, nothing where the time is up; first of all, as it costs little."""
    try:
        return replaced(release, models, limits)
    except Inconclusive:
        return ()


def bounded_share(
    release: EncodedRelease, models: ModelClass, found: Sequence[Alternative], places: tuple[Replaced, ...],
    base: Bits, limits: Limits,
) -> ShareUpperBound:  # fmt: skip
    """Return the best upper bound on the share of worlds under the rule; exact where all models can be written down.

    The product of single shares, that of `places`, or the count under the most telling inequalities at once, whichever
    is smallest.
    Raises `ContradictionError` where all models of the class leave no world.
    """
    try:
        every = every_model(models, limits)
        whole = None if every is None else joint_share(release, every, base, limits.stage("every model"))
    except Inconclusive:
        every = whole = None
    if every is not None and whole is not None:
        if whole.high == -math.inf:
            raise impossible_model(every)
        if whole.exact:
            return whole
    best = product_share(release, models, found[:COUNTED], base, limits.stage("competing models"))
    if len(found) > 1:
        joint = joint_share(release, found[:TOGETHER], base, limits.stage("competing models"))
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
            for world in drawn(under(self.release, (), self.assumed), self.draws, self.seed, None, self.limits):
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
        active: list[Alternative] = list(self.ordered())[:MOST]
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
            active = [*active, violated[-1]][-MOST:]
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
