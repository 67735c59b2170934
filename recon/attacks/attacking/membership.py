"""Who was trained on: what statistical attacks guess and what certificates prove, about the very same rows.

A guess has error rates, which only somebody with the training rows at hand can measure. A certificate has none, as long
as what it assumes holds; it says nothing about the rows that it leaves open.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Literal, cast

import numpy as np
import pandas as pd

from encoders.domain.domain import GUESSED
from encoders.encode.encoder import EncodedRelease
from recon.attacks.attacking.records import Population, RecordSplit, population, public_ranges, splits
from recon.attacks.evaluation import (
    Duplicates,
    Evaluation,
    FoldMean,
    always_in,
    averaged,
    balanced,
    clopper_pearson,
    duplicates,
    evaluated,
    unique_rows,
)
from recon.attacks.membership.attacks import attack, attacked
from recon.attacks.membership.shadow_data import Kind, Knowledge, MembershipGuess, knowledge
from recon.queries.inputs import Bits, Ints, predicted
from recon.queries.questions.questions import certify
from recon.readers.frames.world import violations
from recon.readers.loading.loading import Released, single_release_of
from solvers.foundation.displayed import Displayed
from solvers.foundation.errors import Inconclusive, ReleaseError, Unsupported
from solvers.foundation.limits import Limits, ended

NAMES = ("mia", "label-only", "aloa")
KINDS: tuple[Kind, ...] = ("random", "statistical", "noise")
SHADOW_ROWS = 5_000  # that shadow models are trained on at most
ASKED = 2_000  # rows of each side that are asked about, unless told otherwise
Rows = Literal["all", "balanced", "once"]
ALWAYS = "always in"


@dataclass(frozen=True)
class Judged:
    """What one attack's guesses are worth on some of the rows asked about, in one fold.

    `rows`: all, as many members as others, or those that occur once among all rows given, whose membership is well
    defined. `note`: a reservation.
    """

    attack: str
    shadow: str
    rows: Rows
    evaluation: Evaluation
    fold: int = 0
    note: str = ""


@dataclass(frozen=True)
class NotRun:
    """An attack that was not run: it does not apply (`refused`), or a limit ended the work before."""

    attack: str
    shadow: str
    why: str
    refused: bool


@dataclass(frozen=True)
class Certified:
    """What the release proves of the same rows; numbers of rows, duplicates counted as often as they occur.

    `members_in`: training rows proved to be among them; `others_out`: rows that are not, proved. `errors`: rows of
    which the opposite of the truth was proved, by their values (a row that is both in and out is in). `open_rows`: no
    verdict settles them, of `unknown` ones because limits ended the work; `outside` the domain. `confidence`
    below 1: counts carry noise, verdicts hold at it. `broken`: statements of the release that the whole of the training
    rows given contradicts, None where that could not be looked at. `certificates`: verdicts on distinct rows that come
    with a certificate, verified before it was counted.
    """

    members: int
    others: int
    distinct: int
    members_in: int
    others_out: int
    open_rows: int
    unknown: int
    outside: int
    both: int
    errors: int
    certificates: int
    confidence: float
    tpr_low: float
    tpr_high: float
    broken: tuple[str, ...] | None
    assumptions: tuple[str, ...]
    notes: tuple[str, ...] = ()

    @property
    def coverage(self) -> float:
        """Return the share of the rows asked about that a verdict settles."""
        return 1 - (self.open_rows + self.outside) / (self.members + self.others)

    @property
    def tpr(self) -> float:
        """Return the share of members proved in: the true positive rate at a false positive rate of 0."""
        return self.members_in / self.members


@dataclass(frozen=True, eq=False, repr=False)
class MembershipAttack(Displayed):
    """What attacks guess and the release proves about who was trained on, about the same rows."""

    release: EncodedRelease
    model: str
    form: str
    members: int
    others: int
    shadow_rows: int
    asked: tuple[int, int]
    accuracy: tuple[float, float]
    folds: int
    seed: int
    confidence: float
    statistical: tuple[Judged, ...]
    averaged: tuple[tuple[str, str, Rows, dict[str, FoldMean]], ...]
    not_run: tuple[NotRun, ...]
    duplicates: Duplicates
    certified: Certified | None
    uncertified: str
    notes: tuple[str, ...]
    assumptions: tuple[str, ...]

    @property
    def status(self) -> str:
        """Return "exact" where everything asked for was done, "bounds" where limits left something open."""
        late = any(not one.refused for one in self.not_run)
        unsettled = self.certified is None or self.certified.unknown > 0
        return "bounds" if late or unsettled else "exact"


def attack_membership(
    release: Released,
    data: pd.DataFrame | None,
    others: pd.DataFrame | None = None,
    *,
    member: str | None = None,
    label: str | None = None,
    attacks: Sequence[str] = NAMES,
    shadow: Sequence[str] = KINDS,
    folds: int = 1,
    limit: int = ASKED,
    seed: int = 0,
    confidence: float = 0.95,
    limits: Limits | None = None,
) -> MembershipAttack:
    """Return what membership attacks guess about rows, and what the release proves about the same rows.

    `data`: the training rows; `others`: rows of the same population that were not trained on (or both in `data`,
    distinguished by the 0/1 column `member`). The black box is the released model as it was read; no file
    is run.
    Half of the others, by `seed`, are the attacker's shadow rows, the other half and the members are asked about, at
    most `limit` of each side; `folds` > 1: each fold of both sides is asked about once, and figures are means over
    folds. `attacks`: of "mia", "label-only", "aloa"; `shadow`: of "random", "statistical", "noise". `confidence`: of
    all intervals around rates.

    An attack that does not apply is refused by name and not run. Limits end the work with what is there (`not_run`).
    Raises `ReleaseError` for rows that do not fit, `Unsupported` for a release without predictions, or where none of
    the attacks applies.

    >>> import pandas as pd
    >>> import recon
    >>> rows = pd.DataFrame({"smoker": [0, 0, 1, 1], "old": [0, 1, 0, 1], "ill": [0, 0, 0, 1]})
    >>> model = recon.GreedyRuleListClassifier().fit(rows[["smoker", "old"]], rows["ill"])
    >>> release = recon.encode(model, recon.Domain.from_frame(rows, "ill"))
    >>> others = pd.DataFrame({"smoker": [0, 1] * 4, "old": [0, 0, 1, 1] * 2, "ill": [1, 1, 0, 0] * 2})
    >>> found = recon.attack_membership(release, rows, others, attacks=["label-only"], shadow=["random"])
    >>> found.members, found.others
    (4, 8)
    """
    release = single_release_of(release, limits)
    limits = limits or Limits()
    _refuse_settings(attacks, shadow, confidence, seed)
    limits.report("rows are read")
    found = population(release, data, others, member, label)
    rng = np.random.default_rng(seed)
    every = splits(found, folds, limit, rng)
    asked = np.unique(np.concatenate([one.asked for one in every]))
    proved, why = _proof(found, asked, limits, confidence)
    judged: list[Judged] = []
    not_run: list[NotRun] = []
    for fold, split in enumerate(every):
        for one in guesses(found, split, attacks, shadow, seed + fold, limits, fold, confidence):
            if isinstance(one, Judged):
                judged.append(one)
            else:
                not_run.append(one)
    if not any(one.attack != ALWAYS for one in judged) and all(one.refused for one in not_run):
        reasons = dict.fromkeys(f"{one.attack}: {one.why}" for one in not_run)
        raise Unsupported(f"no attack applies: {'; '.join(reasons)}")
    member_asked = found.member[asked]
    model = found.box.model
    form = "" if model.origin is None else model.origin.format
    return MembershipAttack(
        release, f"{model.kind.replace('_', ' ')} '{model.name}'", form, len(found.members),
        len(found.others), min(SHADOW_ROWS, *(len(one.shadow) for one in every)),
        (int(member_asked.sum()), int((~member_asked).sum())), _accuracy(found, asked), folds, seed, confidence,
        tuple(judged), _means(judged, folds, confidence), _unique(not_run), duplicates(found.number[asked],
                                                                                       member_asked),
        proved, why, found.notes, (*_assumed(found), *release.assumptions),
    )  # fmt: skip


def _refuse_settings(attacks: Sequence[str], shadow: Sequence[str], confidence: float, seed: int) -> None:
    """Raise `ReleaseError` for an attack or shadow data that there are not, and for numbers out of range."""
    for names, known, what in ((attacks, NAMES, "attack"), (shadow, KINDS, "shadow data")):
        for name in names:
            if name not in known:
                raise ReleaseError(f"there is no {what} '{name}': choose {', '.join(known)} or all")
    if not 0 < confidence < 1:
        raise ReleaseError(f"the confidence of an interval lies between 0 and 1, not {confidence:g}")
    if seed < 0:
        raise ReleaseError("the seed has to be a whole number, 0 or more")


def _assumed(found: Population) -> list[str]:
    """Return what the comparison itself assumes."""
    out = ["rows that are called others were not trained on, and are of the training rows' population"]
    if found.release.domain.source == GUESSED:
        out.append("nobody declared a domain: certificates hold over the guessed one (give --domain)")
    if any("weighted" in note or "clip the stored values" in note for note in found.release.reader_notes):
        out.append(
            "the black box answers with shares of rows, where the file's own predictions are weighted or clipped"
        )
    return out


def _accuracy(found: Population, asked: Ints) -> tuple[float, float]:
    """Return the black box's accuracy on the members and the others among the rows asked about."""
    right = predicted(found.box, found.rows.x[asked], len(found.rows.classes)) == found.rows.y[asked]
    inside = found.member[asked]
    return float(right[inside].mean()), float(right[~inside].mean())


def _unique(not_run: Sequence[NotRun]) -> tuple[NotRun, ...]:
    """Return what was not run, once for all folds."""
    return tuple(dict.fromkeys(not_run))


def guesses(
    found: Population, split: RecordSplit, attacks: Sequence[str], shadow: Sequence[str], seed: int, limits: Limits,
    fold: int, confidence: float,
) -> Iterator[Judged | NotRun]:  # fmt: skip
    """Yield what every attack is worth under every shadow data, or why it was not run."""
    member = found.member[split.asked]
    yield Judged(ALWAYS, "none", "all", always_in(member), fold)
    size = min(SHADOW_ROWS, len(split.shadow))
    for kind in shadow:
        # Every kind and fold has a stream of its own: leaving one out changes no other.
        rng = np.random.default_rng([seed, KINDS.index(cast(Kind, kind))])
        ranges = public_ranges(found) if kind == "random" else None
        known = knowledge(cast(Kind, kind), found.rows.columns, len(found.rows.classes), size, rng,
                          found.rows.x[split.shadow], ranges=ranges)  # fmt: skip
        for name in attacks:
            where = f"{name}, shadow data {kind}" + (f", fold {fold + 1}" if fold else "")
            limits.report(where)
            try:
                limits.check(where)
                guess = guessed(found, split, name, known, seed, limits)
            except Inconclusive:
                yield NotRun(name, kind, ended(limits), refused=False)
            except Unsupported as error:
                why = str(error)
                if "scikit-learn" in why:  # nothing can be trained at all
                    raise
                yield NotRun(name, kind, why.partition(" does not apply: ")[2] or why, refused=True)
            else:
                yield from judged(
                    guess, name, kind, member, unique_rows(found.number)[split.asked], seed, fold, confidence
                )


def guessed(
    found: Population, split: RecordSplit, name: str, known: Knowledge, seed: int, limits: Limits
) -> MembershipGuess:
    """Return what one attack says of the rows asked about."""
    x, y = found.rows.x[split.asked], found.rows.y[split.asked]
    return attacked(attack(name), found.box, known, x, y, seed, limits)


def judged(
    guess: MembershipGuess, name: str, kind: str, member: Bits, single: Bits, seed: int, fold: int, confidence: float
) -> Iterator[Judged]:
    """Yield what a guess is worth on all rows, as many of both sides, and those that occur once (`single`)."""

    def on(index: Ints | Bits, rows: Rows) -> Judged:
        evaluation = evaluated(guess.scores[index], guess.members[index], member[index], confidence)
        return Judged(name, kind, rows, evaluation, fold, guess.note)

    yield on(np.arange(len(member)), "all")
    yield on(balanced(member, np.random.default_rng(seed)), "balanced")
    if not single.all() and member[single].any() and not member[single].all():
        yield on(single, "once")


def _means(
    judged: Sequence[Judged], folds: int, confidence: float
) -> tuple[tuple[str, str, Rows, dict[str, FoldMean]], ...]:
    """Return the mean and the interval over folds of every figure, where there are folds."""
    if folds == 1:
        return ()
    by: dict[tuple[str, str, Rows], list[Evaluation]] = {}
    for one in judged:
        by.setdefault((one.attack, one.shadow, one.rows), []).append(one.evaluation)
    return tuple((*key, averaged(found, confidence)) for key, found in by.items())


def _proof(found: Population, asked: Ints, limits: Limits, confidence: float) -> tuple[Certified | None, str]:
    """Return what the release proves of the rows asked about, or why nothing was asked of it."""
    limits.report("rows are certified")
    try:
        limits.check("rows were certified")
        return _certified(found, asked, limits.stage("certified members"), confidence), ""
    except (Inconclusive, Unsupported) as error:
        return None, str(error)


def _certified(found: Population, asked: Ints, limits: Limits, confidence: float) -> Certified:
    """Return the verdicts on the distinct rows asked about, counted over all of them; see `Certified`."""
    number = found.number
    inside_at_all = np.bincount(number[found.member], minlength=int(number.max()) + 1) > 0
    distinct, first, back = np.unique(number[asked], return_index=True, return_inverse=True)
    verdicts = certify(found.release, found.table(asked[first]), limits=limits)
    word = verdicts["verdict"].to_numpy(dtype=object)
    least = pd.to_numeric(verdicts["min_count"]).fillna(0).to_numpy(dtype=float)
    surely_in = ((word == "certain") | ((word == "possible") & (least > 0)))[back]
    surely_out, outside = (word == "impossible")[back], (word == "outside")[back]
    member, truly_in = found.member[asked], inside_at_all[number[asked]]
    wrong = (surely_in & ~truly_in) | (surely_out & truly_in)
    k, n = int((surely_in & member).sum()), int(member.sum())
    low, high = clopper_pearson(k, n, confidence)
    broken = _broken_by(found)
    return Certified(
        n, int((~member).sum()), len(distinct), k, int((surely_out & ~member).sum()),
        int((~surely_in & ~surely_out & ~outside).sum()), int((word == "unknown")[back].sum()), int(outside.sum()),
        int((~member & truly_in).sum()),
        int(wrong.sum()), int(verdicts["certificate"].notna().sum()), found.release.confidence, low, high, broken,
        tuple(verdicts.attrs.get("assumptions", ())), tuple(verdicts.attrs.get("notes", ())),
    )  # fmt: skip


def _broken_by(found: Population) -> tuple[str, ...] | None:
    """Return the statements of the release that the training rows contradict, None where they leave something open."""
    if not found.whole:
        return None
    try:
        return tuple(violations(found.release, found.table(found.members)))
    except ReleaseError as error:
        return (str(error),)


__all__ = ["KINDS", "NAMES", "Certified", "Judged", "MembershipAttack", "NotRun", "attack_membership"]
