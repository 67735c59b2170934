"""The questions of the contract: each builds a query, asks the engines, and returns what users read."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace
from itertools import islice
from typing import TYPE_CHECKING, cast

import numpy as np
import pandas as pd

from encoders.domain.domain import GUESSED, narrow
from encoders.domain.values import MISSING, Categorical, Continuous, Value, intersection
from encoders.encode.encoder import EncodedRelease
from recon.io.files.opening import current
from recon.queries.answers.compared import SHARES, VERDICTS, compared_frame
from recon.queries.answers.counting import (
    both_releases,
    common_convention,
    convention_of,
    decide,
    leave_one_out,
    no_positions_reason,
    share,
    tables_of,
    why_open,
    with_person_shares,
)
from recon.queries.answers.exact import Profiles, as_frame, certify_exact, maximum_rows, select_with, settled_only
from recon.readers.frames.describe import column_like, named_like
from recon.readers.frames.out_of_domain import answered
from recon.readers.frames.selections import columns_by_attribute, profile_ranges, select_frame, with_rows_of
from recon.readers.frames.world import World, wrap
from recon.readers.loading.adversary import Knows, for_adversary
from recon.readers.loading.loading import Released, release_of
from recon.readers.loading.settled import asked_release, refuse_weighed_boxes, strengthened_release
from solvers.engines.chain import ask
from solvers.foundation.errors import Inconclusive, ReleaseError, Unsupported
from solvers.foundation.exact import level_text
from solvers.foundation.limits import Limits, ended
from solvers.statements.boxes import Box
from solvers.statements.questions.answers import DecideAnswer, ShareAnswer, WorldsAnswer
from solvers.statements.questions.query import Convention, Enumerate, LeaveOneOut, MostLikely, Sample, ShareQuery
from solvers.statements.release import RowWorld as SolverWorld

if TYPE_CHECKING:
    from recon.queries.tables.tables import Tables


VERDICT = 400  # bytes of a profile with its verdict
VALUE_BYTES = 56  # of a world: an index, the value, and copies on the way into the table and its text, measured
PROGRESS_STEP = 64  # worlds between two lines of progress
NAMES_SHOWN = 3
BY_POSITION = "recon positions says what is proved of every row of the training file"
ONE_OF_MANY = "one of many: the middle of what is proved of every row (recon positions) is as good a guess"
MAX_VALUES = 1_000  # a sensitive attribute is answered value by value


def worlds(
    release: Released, limit: int | None = 10, convention: str | None = None, limits: Limits | None = None,
    adversary: Knows | None = None,
) -> Iterator[World]:  # fmt: skip
    """Yield at most `limit` (None: all) worlds, each data set once whatever the order of its rows; none is built ahead.

    `World.weight` says how many worlds of the convention (by default that of `recon.count`) each represents; their sum
    is the number that `count` returns. `adversary`: see `count`. Raises `Inconclusive` between two worlds when time is
    up.

    >>> import pandas as pd
    >>> import recon
    >>> rows = pd.DataFrame({"smoker": [0, 0, 1, 1], "old": [0, 1, 0, 1], "ill": [0, 0, 0, 1]})
    >>> model = recon.GreedyRuleListClassifier(max_length=2).fit(rows[["smoker", "old"]], rows["ill"])
    >>> release = recon.encode(model, recon.Domain.from_frame(rows, "ill"))
    >>> sum(1 for _ in recon.worlds(release, limit=None))
    12
    """
    from solvers.proofs.export.world_rows import weight_in

    release = asked_release(release, adversary, limits)
    chosen = convention_of(release, convention)
    refuse_continuous(release)
    if release.knowledge is not None and release.knowledge.weighed:
        raise Unsupported(
            "data sets are not listed beside weights, they are not equally likely: recon sample draws them"
        )
    if limit is not None and limit < 0:
        raise ReleaseError(f"cannot list {limit} worlds")
    check_world_memory(release, limits)
    found = ask(release.statements, Enumerate(), WorldsAnswer, limits).worlds
    weigh = weight_in(release.statements, chosen)
    for world in _iterate_worlds(release, found, limit, limits):
        yield replace(world, convention=chosen, weigh=weigh)


def _iterate_worlds(
    release: EncodedRelease, found: Iterator[SolverWorld], maximum: int | None, limits: Limits | None
) -> Iterator[World]:
    """Yield worlds (at most so many) while there is time; raises `Inconclusive` between two of them when it is up."""
    text = "worlds" if maximum is None else f"of {maximum:,} worlds"
    try:
        for i, world in enumerate(islice(found, maximum)):
            if limits is not None and i % PROGRESS_STEP == 0:
                limits.report(f"{i:,} {text}")
            if limits is not None and limits.expired():
                raise Inconclusive(f"{ended(limits)} after {i:,} {text}")
            yield wrap(release, world)
    finally:
        if callable(close := getattr(found, "close", None)):
            close()  # a search in a thread of its own ends here, not with the program


def check_world_memory(release: EncodedRelease, limits: Limits | None) -> None:
    """Raise `Inconclusive` where the rows of one world do not fit into the memory."""
    rows, width = release.rows.high or 0, len(release.domain.all)
    if limits is not None and rows * width * VALUE_BYTES > limits.room:
        needed = rows * width * VALUE_BYTES
        text = f"one world of {rows:,} rows x {width} columns needs about {needed / 1e6:,.0f} MB (--memory)"
        raise Inconclusive(text)


def sample(
    release: Released, k: int = 100, seed: int = 0, convention: str | None = None, limits: Limits | None = None,
    adversary: Knows | None = None,
) -> list[World]:  # fmt: skip
    """Return k worlds drawn independently and uniformly from all worlds of the convention.

    With the number of rows in an interval, that number is drawn uniformly first. With noisy counts, worlds are those
    inside the joint intervals, as their note says; `recon.sampled` weighs worlds by the noise. Raises `Inconclusive`
    when time is up; `drawn` yields worlds one by one and keeps none. `adversary`: see `count`.

    >>> import pandas as pd
    >>> import recon
    >>> rows = pd.DataFrame({"smoker": [0, 0, 1, 1], "old": [0, 1, 0, 1], "ill": [0, 0, 0, 1]})
    >>> model = recon.GreedyRuleListClassifier(max_length=2).fit(rows[["smoker", "old"]], rows["ill"])
    >>> release = recon.encode(model, recon.Domain.from_frame(rows, "ill"))
    >>> len(recon.sample(release, k=3, seed=1))
    3
    """
    return list(iterate_samples(for_adversary(release, adversary, limits), k, seed, convention, limits))


def iterate_samples(
    release: Released, k: int = 100, seed: int = 0, convention: str | None = None, limits: Limits | None = None
) -> Iterator[World]:
    """Yield k worlds as `sample` returns them, one by one; raises `Inconclusive` between two when time is up."""
    release = strengthened_release(release_of(release, limits), limits)
    refuse_weighed_boxes(release)
    if k < 0:
        raise ReleaseError(f"cannot draw {k} worlds")
    refuse_continuous(release)
    check_world_memory(release, limits)
    query = Sample(k, seed, convention_of(release, convention))
    found = ask(release.statements, query, WorldsAnswer, limits).worlds
    if not release.certain:
        level = level_text(release.confidence)
        level = f"from the worlds inside the joint intervals at confidence {level}, not weighted by the noise"
        found = (replace(w, note="; ".join(filter(None, (w.note, level)))) for w in found)
    yield from _iterate_worlds(release, found, k, limits)


def refuse_continuous(release: EncodedRelease, why: str = "") -> None:
    """Refuse to give back rows where an attribute has no single values; `Unsupported` says first what to do.

    `why`: what else stands against it.
    """
    if not (names := release.domain.continuous):
        return
    shown = ", ".join(f"'{name}'" for name in names[:NAMES_SHOWN]) + (", ..." if len(names) > NAMES_SHOWN else "")
    guessed = release.domain.source == GUESSED
    remedy = "give --domain (the model file does not say which values there are)" if guessed else "give a 'resolution'"
    text = f"{remedy}: single rows cannot be reconstructed while {shown} can be any number of a range"
    raise Unsupported("; ".join(filter(None, (text, why))))


def reconstruct(
    release: Released, seed: int = 0, limits: Limits | None = None, adversary: Knows | None = None
) -> World:
    """Return a world of maximum likelihood, among equals the heaviest histogram; `.unique`: it is the only world.

    Exact counts leave all worlds equally likely; noisy ones favour worlds that need little noise, whatever the
    confidence. Inside a cell rows are spread evenly and drawn with `seed`. A number of a continuous attribute is the
    middle of the gap between the thresholds around it, exact in single precision: every other number in the gap fits as
    well, as the note says. `adversary`: see `count`. Raises `ContradictionError` where no world is left, `Inconclusive`
    where none was found within the limits.

    >>> import pandas as pd
    >>> import recon
    >>> rows = pd.DataFrame({"smoker": [0, 0, 1, 1], "old": [0, 1, 0, 1], "ill": [0, 0, 0, 1]})
    >>> model = recon.GreedyRuleListClassifier().fit(rows[["smoker", "old"]], rows["ill"])
    >>> release = recon.encode(model, recon.Domain.from_frame(rows, "ill"))
    >>> world = recon.reconstruct(release)
    >>> world.unique
    False
    >>> world.to_frame()
       smoker  old  ill
    0       0    0    0
    1       0    1    0
    2       1    1    1
    3       1    0    0
    """
    release = asked_release(release, adversary, limits)
    refuse_weighed_boxes(release)
    if not no_positions_reason(release):
        return _reconstruct_in_order(release, seed, limits)
    if release.domain.continuous:
        return _reconstruct_continuous(release, seed, limits)
    check_world_memory(release, limits)
    statements = release.statements
    if release.noisy:
        from recon.queries.noisy.denoising import certain_release

        statements = certain_release(release, limits or Limits())
    return wrap(release, next(ask(statements, MostLikely(seed), WorldsAnswer, limits).worlds))


def _reconstruct_in_order(release: EncodedRelease, seed: int, limits: Limits | None) -> World:
    """Return one world whose rows stand as in the training file, where trees on known bags tell them apart.

    Raises `Unsupported` where no engine finds one, `Inconclusive` where limits end the search: what is proved of every
    row is asked otherwise (`recon.positions`).
    """
    try:
        if release.domain.continuous:
            world = _reconstruct_continuous(release, seed, limits)
        else:
            check_world_memory(release, limits)
            world = wrap(release, next(ask(release.statements, MostLikely(seed), WorldsAnswer, limits).worlds))
    except Unsupported as error:
        said = re.search(r"assignments: ([^;]+)", str(error))
        raise Unsupported(f"no data set was found ({said[1] if said else error}); {BY_POSITION}") from None
    except Inconclusive as error:  # others than the engine for rows distinguished only say that they cannot
        if (said := re.search(r"assignments: ([^;]+)", str(error))) is None:
            raise
        raise Inconclusive(f"no data set was found ({said[1]}); {BY_POSITION}") from None
    if world.unique:
        return world
    note = "; ".join(filter(None, (world.inner.note, ONE_OF_MANY)))
    return replace(world, inner=replace(world.inner, note=note))


def _reconstruct_continuous(release: EncodedRelease, seed: int, limits: Limits | None) -> World:
    """Return one world of a release with continuous attributes: rows in gaps between thresholds, numbers inside these.

    Gaps too narrow for a number of single precision stay empty. Raises `Unsupported` where no engine searches for rows
    by their gaps; it says first how single values can be declared.
    """
    if release.noisy:
        refuse_continuous(release)
    check_world_memory(release, limits)
    statements = release.statements
    tight = {k: narrow(cuts) for k, cuts in enumerate(release.cut.cuts) if isinstance(cuts.attribute, Continuous)}
    if barred := tuple(Box(((k, mask),)) for k, mask in tight.items() if mask):
        statements = replace(statements, impossible=(*statements.impossible, *barred))
    try:
        world = next(ask(statements, MostLikely(seed), WorldsAnswer, limits).worlds)
    except Unsupported as error:
        refuse_continuous(release, str(error))
        raise
    if any(isinstance(a, Continuous) and not a.missing for a in release.domain.attributes) and world.times.sum():
        world = replace(world, unique=False)  # any number has others next to it
    others = "numbers of continuous attributes are the middles of gaps between thresholds, and may be any of the gap"
    return wrap(release, replace(world, note="; ".join(filter(None, (world.note, others)))))


def certify(
    release: Released | Tables,
    profiles: Profiles,
    convention: str | None = None,
    limits: Limits | None = None,
    certificates: bool | None = None,
    label: str | None = None,
    of: str | None = None,
    adversary: Knows | None = None,
) -> pd.DataFrame:
    """Return one line per profile: verdict certain | possible | impossible | unknown | outside, and how sure.

    Columns: profile (0-based), verdict, min_count, max_count (rows over all worlds), probability (share of worlds
    of the convention with at least one such row), probability_before (the same before the release),
    expected_count, confidence (1: it holds for certain; below, noisy counts: it holds at that confidence, jointly for
    all profiles, and the verdict is never "certain"), certificate (of the verdicts certain and impossible: an
    object that `recon.verify` accepts, verified before it is given out; None where there is none). Certificates are
    made for at most 1,000 profiles unless asked for. For one noisy tree or rule list the probabilities are those of
    `recon.posterior` (`attrs["prior"]`), for other noisy releases NaN. `attrs` has the assumptions and the convention.
    A profile that no row of the domain can be is "outside": its figures are empty, and the column `reason` (None for
    all others) says why. With attributes of any numbers, or of more than 10^6 values, where nothing is certain of a
    single row, also `box` (the narrowest box around the profile proved to hold a row, in words; None: none is) and
    `box_rows` (how many rows are proved to be in it at least). What the limits leave open is "unknown", between 0 rows
    and all; `Inconclusive` is not raised, but for `EmptyConfidenceSet`. `label`: the profiles' name for the domain's
    label; names that differ in signs only are matched. `of`: of related data sets, of which rows the profiles are asked
    ("removed", "added", "kept" or the name of a data set). `adversary`: the same for somebody who knows more is in
    further columns, whose names end in `_adversary` and `_difference` (docs/adversary.md).
    Cost: linear in distinct profiles times attributes; certificates about 1 ms per profile of a deep forest.
    For tables of areas: verdict, min_count and max_count (`recon.queries.tables.answering.certified`), no certificates.

    >>> import pandas as pd
    >>> import recon
    >>> rows = pd.DataFrame({"smoker": [0, 0, 1, 1], "old": [0, 1, 0, 1], "ill": [0, 0, 0, 1]})
    >>> model = recon.GreedyRuleListClassifier(max_length=2).fit(rows[["smoker", "old"]], rows["ill"])
    >>> release = recon.encode(model, recon.Domain.from_frame(rows, "ill"))
    >>> recon.certify(release, [{"smoker": 0, "ill": 0}, {"smoker": 0, "ill": 1}])["verdict"].tolist()
    ['certain', 'impossible']
    """
    from recon.queries.located.boxes import with_boxes

    if adversary is not None:
        nobody, theirs = both_releases(release, adversary, label, limits)
        chosen = convention if convention is not None else common_convention(nobody, theirs)
        ours, more = (certify(one, profiles, chosen, limits, certificates, label, of) for one in (nobody, theirs))
        return compared_frame(ours, more, VERDICTS)
    if (tables := tables_of(release)) is not None:
        from recon.queries.tables.answering import certified

        return certified(tables, as_frame(profiles), limits)
    release = strengthened_release(release_of(cast("Released", release), limits), limits)
    frame, notes = named_like(as_frame(profiles), release.domain, label)
    frame = with_rows_of(release, frame, of)
    chosen = convention_of(release, convention)

    with current().lent():  # verdicts stand beside the profiles while all are worked out
        current().bytes(VERDICT * len(frame), f"asking about {len(frame):,} profiles at once")

    def answer(inside: pd.DataFrame) -> pd.DataFrame:
        if release.noisy:
            from recon.queries.noisy.verdicts import certify_noisy

            return certify_noisy(release, inside, chosen, limits, certificates)
        found = certify_exact(release, inside, chosen, limits, certificates)
        return with_boxes(release, inside, found, chosen, limits) if release.domain.fine else found

    out = answered(release, frame, answer)
    out.attrs["notes"] = [*notes, *out.attrs.get("notes", ())]
    return with_person_shares(release, frame, out, chosen, limits)


def attribute(
    release: Released,
    profiles: Profiles,
    sensitive: str,
    convention: str | None = None,
    limits: Limits | None = None,
    label: str | None = None,
    of: str | None = None,
    adversary: Knows | None = None,
) -> pd.DataFrame:
    """Return what follows about a sensitive column of people who are known to be in the data, with partial profiles q.

    One line per profile and value v: probability E[#(q,v)]/E[#q] over worlds; lower and upper bounds on the share
    #(q,v)/#q over the worlds that have a q; certain (no world has q with another value, and some has q with v);
    min_count, max_count of (q,v); probability_before (the row space alone); leave_one_out (what the release
    without one row that is (q,v) would say: what the person's own presence does not add; NaN where nothing else
    remains). Undefined shares are NaN. A profile that no row of the domain can be has one line, without a value or
    figures, and `reason` says why. `label`: the profiles' name for the domain's label. `convention`, `of`,
    `adversary`: see `certify`. Raises what `certify` raises, and `ReleaseError` for an unknown sensitive column.

    >>> import pandas as pd
    >>> import recon
    >>> rows = pd.DataFrame({"smoker": [0, 0, 1, 1], "old": [0, 1, 0, 1], "ill": [0, 0, 0, 1]})
    >>> model = recon.GreedyRuleListClassifier(max_length=2).fit(rows[["smoker", "old"]], rows["ill"])
    >>> release = recon.encode(model, recon.Domain.from_frame(rows, "ill"))
    >>> recon.attribute(release, [{"smoker": 0}], "ill")[["value", "probability", "certain"]]
       value  probability  certain
    0      0          1.0     True
    1      1          0.0    False
    """
    if adversary is not None:
        nobody, theirs = both_releases(release, adversary, label, limits)
        chosen = convention if convention is not None else common_convention(nobody, theirs)
        ours, more = (attribute(one, profiles, sensitive, chosen, limits, label, of) for one in (nobody, theirs))
        return compared_frame(ours, more, SHARES)
    release = strengthened_release(release_of(release, limits), limits)
    domain = release.domain
    frame, notes = named_like(as_frame(profiles), domain, label)
    frame = with_rows_of(release, frame, of)
    sensitive = column_like(sensitive, domain, label)
    k = domain.place.get(sensitive)
    if k is None and sensitive not in domain.columns:
        raise ReleaseError(f"the sensitive column '{sensitive}' is neither an attribute nor a column of the domain")
    source = domain.all[k] if k is not None else Categorical(sensitive, (0, 1))
    if isinstance(source, Continuous) or source.span[1] > MAX_VALUES:
        limit = f"the sensitive attribute '{sensitive}' must have at most {MAX_VALUES:,} values"
        raise ReleaseError(f"{limit} ({source.describe()})")
    values = tuple(MISSING if v is None else v for v in map(source.value, range(source.span[1])))
    chosen = convention_of(release, convention)

    def answer(inside: pd.DataFrame) -> pd.DataFrame:
        _refuse_known(release, inside, sensitive)
        if release.noisy:
            from recon.queries.noisy.verdicts import attribute_noisy

            return attribute_noisy(release, inside, (sensitive, values), chosen, limits)
        return _attribute_exact(release, inside, (sensitive, values), chosen, limits)

    out = answered(release, frame, answer)
    out.attrs["notes"] = [*notes, *out.attrs.get("notes", ())]
    return out


def _attribute_exact(
    release: EncodedRelease,
    frame: pd.DataFrame,
    target: tuple[str, tuple[Value, ...]],
    chosen: Convention,
    limits: Limits | None,
) -> pd.DataFrame:
    """Return what exact statements say about a sensitive column; see `attribute`."""
    sensitive, values = target
    known = decide(release, select_frame(release, frame), chosen, limits)
    lines = [
        _attribute_value(release, frame, (sensitive, values, i), known, (chosen, limits)) for i in range(len(values))
    ]
    out = pd.concat(lines).sort_values(["profile", "order"], kind="stable").drop(columns="order")
    status = "bounds" if any(line.attrs["status"] != "exact" for line in lines) else known.status
    out = out.reset_index(drop=True)
    out = settled_only(out) if release.cut.unsized else out
    out.attrs.update(assumptions=list(release.assumptions), convention=chosen, status=status, notes=why_open(known))
    return out


def _refuse_known(release: EncodedRelease, frame: pd.DataFrame, sensitive: str) -> None:
    """Refuse profiles that say the sensitive column: by its name, or by other columns that leave one value of it.

    Columns that only narrow it down stay: they are part of what is known of a person.
    """
    domain = release.domain
    if sensitive in frame.columns:
        raise ReleaseError(f"the profiles already say '{sensitive}', the sensitive column")
    k = domain.place[sensitive] if sensitive in domain.place else domain.view_ranges(sensitive)[0]
    if k not in (ranges := profile_ranges(release, frame)):
        return
    back, every = ranges[k]
    for code, left in enumerate(every):
        if sensitive in domain.columns:
            settled = intersection(left, domain.view_ranges(sensitive)[1]) in ((), left)
        else:
            settled = sum(end - start for start, end in left) == 1
        if settled and left != (domain.all[k].span,):
            names = ", ".join(f"'{frame.columns[i]}'" for i in columns_by_attribute(frame, domain)[k])
            message = f"the profiles already say '{sensitive}', the sensitive column: leave out {names}"
            place = f"row {int(np.argmax(back == code)) + 1}"
            raise ReleaseError(message, place=place, file=frame.attrs.get("file", ""))


def _share_of_fixed(known: DecideAnswer, with_value: DecideAnswer) -> ShareAnswer | None:
    """Return the bounds on shares where every profile has one number of rows in all worlds; None where some has not.

    So it is where everybody's other columns are known: shares are then least and greatest where the counts are.
    """
    if known.status != "exact" or with_value.status != "exact" or (known.low != known.high).any():
        return None
    number = np.where(known.low > 0, known.low.astype(np.float64), np.nan)
    return ShareAnswer("exact", lower=with_value.low / number, upper=with_value.high / number, engine=with_value.engine)


def _attribute_value(
    release: EncodedRelease,
    frame: pd.DataFrame,
    target: tuple[str, tuple[Value, ...], int],
    known: DecideAnswer,
    how: tuple[Convention, Limits | None],
) -> pd.DataFrame:
    """Return the lines of one sensitive value; see `attribute`."""
    sensitive, values, at = target
    value = values[at]
    chosen, limits = how
    selected = select_with(release, frame, sensitive, [value])
    with_value = decide(release, selected, chosen, limits, known)
    rest = [v for i, v in enumerate(values) if i != at]
    others = select_with(release, frame, sensitive, rest)
    without = decide(release, others, chosen, limits, known)
    outer = select_frame(release, frame)
    loo = leave_one_out(release, LeaveOneOut(selected, outer, chosen), limits, known).share
    between = _share_of_fixed(known, with_value)
    if between is None:
        between = share(release, ShareQuery(selected, others, outer), limits, known)
    with np.errstate(invalid="ignore", divide="ignore"):
        probability = with_value.expected / known.expected
        before = with_value.expected_before / known.expected_before
    out = pd.DataFrame(
        {
            "profile": np.arange(len(frame)),
            "value": [value] * len(frame),
            "probability": probability,
            "lower": between.lower,
            "upper": between.upper,
            "certain": (with_value.high > 0) & (without.high == 0),
            "min_count": with_value.low,
            "max_count": maximum_rows(release, with_value),
            "probability_before": before,
            "leave_one_out": loo,
            "order": at,
        }
    )
    exact = all(a.status == "exact" for a in (with_value, without, between))
    out.attrs["status"] = "exact" if exact else "bounds"
    return out
