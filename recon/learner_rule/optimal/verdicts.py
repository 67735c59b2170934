"""Profiles under the rule that the model is optimal: who becomes impossible or certain only by it, and what says so.

"impossible" and "certain" say something of all data sets: they are proved by inequalities, which hold in every data set
in which the released model is optimal, and whoever re-derives these from the models can check the proof. "possible"
says that some data set with such a row, and some without, has no better model: it rests on the named solver's word.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pandas as pd

from encoders.domain.domain import Condition, Domain
from encoders.domain.values import from_text
from encoders.encode.encoder import EncodedRelease
from encoders.models.learner_facts import Learner
from recon.learner_rule.optimal.classes import ModelClass, class_of
from recon.learner_rule.optimal.competing_models import Alternative, AssumedCount, Solver, under
from recon.learner_rule.optimal.generation import ConstraintGeneration, Generated, assumption_of, impossible_model
from recon.queries.answers.exact import Profiles, as_frame, certify_exact
from recon.queries.questions.questions import refuse_continuous
from recon.readers.frames.out_of_domain import answered
from recon.readers.frames.selections import missing, numbers_of, one_of
from recon.readers.frames.world import World
from recon.readers.loading.loading import Released, single_release_of
from recon.readers.loading.settled import strengthened_release
from solvers.foundation.limits import Limits

DRAWS = 8  # uniform worlds with (without) a profile before inequalities are used
INEQUALITIES = "the inequalities"
COUNTS = "the counts"


def certify_under_optimal(
    release: Released, profiles: Profiles, learner: Learner, limits: Limits | None = None, seed: int = 0, *,
    gap: int = 0, negations: bool = True, solver: Solver = "own",
) -> pd.DataFrame:  # fmt: skip
    """Return one line per profile: its verdict by the counts alone and for whoever knows that the model is optimal.

    Columns: profile (0-based), without_rule, verdict (certain | possible | impossible | unknown | outside), rests_on
    ("the counts"; "the inequalities": proved by them; "the solver ...": on its word that no model is better), rounds
    (worlds on which the learner was asked), inequalities (how many the proof uses), certificate (of the release with
    these inequalities, verified against it before it is given out; None where there is none). `attrs`: assumptions,
    inequalities (the alternatives behind every profile's proof, from which `under` rebuilds what the certificate is
    about). Raises as `optimal_rule`. Cost: worlds and fits of the learner per profile that the counts leave open.
    """
    limits = limits or Limits()
    given = strengthened_release(single_release_of(release, limits), limits)
    refuse_continuous(given)
    models = class_of(given, learner, gap=gap, negations=negations)
    rule = assumption_of(models, learner)
    start = ConstraintGeneration(given, models, limits.stage("first model"), seed, solver, DRAWS)
    first = start.run()
    if first.empty:
        raise impossible_model(first.proof)
    proofs: dict[int, tuple[Alternative, ...]] = {}
    one_by_one = ByProfile(given, models, limits, seed, solver, rule, start.pool, proofs)
    if first.world is not None:
        one_by_one.worlds.append((first.world, first.solver))

    def answer(inside: pd.DataFrame) -> pd.DataFrame:
        inside = _as_values(inside, given.domain)
        alone = certify_exact(given, inside, "ordered", limits, False)
        lines = [
            one_by_one.line(i, inside.iloc[[i]], str(verdict)) for i, verdict in enumerate(alone["verdict"].tolist())
        ]
        out = pd.DataFrame(lines, columns=COLUMNS)
        out.attrs.update(assumptions=[rule, *alone.attrs.get("assumptions", ())], inequalities=proofs)
        return out

    return answered(given, as_frame(profiles), answer)


COLUMNS = ["profile", "without_rule", "verdict", "rests_on", "rounds", "inequalities", "certificate"]


class ByProfile:
    """Searches for worlds with and without one profile after the other; inequalities and worlds serve all of them."""

    def __init__(
        self, release: EncodedRelease, models: ModelClass, limits: Limits, seed: int, solver: Solver, rule: str,
        pool: dict[Alternative, int], proofs: dict[int, tuple[Alternative, ...]],
    ) -> None:  # fmt: skip
        self.release, self.models, self.limits, self.seed, self.solver = release, models, limits, seed, solver
        self.rule, self.pool, self.proofs = rule, pool, proofs
        self.worlds: list[tuple[World, str]] = []

    def line(self, i: int, profile: pd.DataFrame, alone: str) -> list[Any]:
        """Return one profile's line."""
        if alone != "possible":
            return [i, alone, alone, COUNTS, 0, 0, None]
        condition = _condition_of(self.release, profile)
        high = self.release.rows.high or 0
        rounds, said = 0, []
        for wanted, verdict in (
            (AssumedCount(condition, 1, high), "impossible"),
            (AssumedCount(condition, 0, 0), "certain"),
        ):
            found = self.searched(profile, wanted)
            rounds += found.rounds
            if found.empty:
                self.proofs[i] = found.proof
                made = self.certificate(profile, found.proof, verdict)
                return [i, alone, verdict, INEQUALITIES, rounds, len(found.proof), made]
            said.append(found)
        if all(found.world is not None for found in said):
            by = " and ".join(dict.fromkeys(found.solver for found in said))
            return [i, alone, "possible", f"the solver ({by})", rounds, 0, None]
        return [i, alone, "unknown", next(f.open for f in said if f.world is None), rounds, 0, None]

    def searched(self, profile: pd.DataFrame, wanted: AssumedCount) -> Generated:
        """Return what a search for a world with (without) the profile finds; known worlds are looked at first."""
        for world, by in self.worlds:
            if (_rows_like(world, profile) > 0) == (wanted.low > 0):
                return Generated((), 0, 0, 0, 0, (), world, by)
        limits = self.limits.stage("models of a profile")
        search = ConstraintGeneration(
            self.release, self.models, limits, self.seed, self.solver, DRAWS, tuple(self.pool), (wanted,)
        )  # fmt: skip
        found = search.run()
        self.pool.update(search.pool)
        if found.world is not None:
            self.worlds.append((found.world, found.solver))
        return found

    def certificate(self, profile: pd.DataFrame, proof: Sequence[Alternative], verdict: str) -> Any:
        """Return the verified certificate of a verdict over the release with these inequalities, None without one."""
        inside = under(self.release, proof, (), self.rule)
        found = certify_exact(inside, profile, "ordered", self.limits, True)
        return found["certificate"].iloc[0] if found["verdict"].iloc[0] == verdict else None


def _as_values(frame: pd.DataFrame, domain: Domain) -> pd.DataFrame:
    """Return profiles with cells of text as the values of the domain that they stand for."""
    attributes = {attribute.name: attribute for attribute in domain.all}
    out = {}
    for name, cells in numbers_of(frame).items():
        attribute = attributes.get(str(name))
        out[name] = [
            from_text(cell, attribute) if attribute is not None and isinstance(cell, str) and cell else cell
            for cell in (cells if attribute is None else frame[name]).tolist()
        ]
    return pd.DataFrame(out, index=frame.index, dtype=object)


def _condition_of(release: EncodedRelease, profile: pd.DataFrame) -> Condition:
    """Return a profile (one row; empty cells say nothing) as a condition."""
    cells = [(str(name), profile[name].iloc[0]) for name in profile.columns]
    return tuple((name, one_of(release.domain, name, [cell])) for name, cell in cells if not missing(cell))


def _rows_like(world: World, profile: pd.DataFrame) -> int:
    """Return how many rows of a world have a profile's values."""
    plain, views = world.to_frame(), world.to_frame(views=True)
    met = pd.Series(True, index=plain.index)
    for name in profile.columns:
        if not missing(cell := profile[name].iloc[0]):
            met &= (plain if name in plain.columns else views)[name] == cell
    return int(met.sum())
