"""How many worlds there are, in the convention asked for.

What is known of profiles where no engine answered within the limits: that the rows are 0 to all of them.

Profiles that were read always get their line: an exhausted limit makes a verdict unknown, never the table empty.

Why an answer is only bounded, in one plain sentence: what engines say of themselves stays in the trail (--json). Why
nothing can be said of rows by their position.

What follows about people of a population that an adversary has a list of: which of them are in the data.

Worlds are then subsets of the list, each with the values that the list leaves open: N people who are alike, z of whom
are in, are in C(N, z) ways. With the types in / not in that is the `ordered` count over the people in their order, so
that no engine has to know of it.
"""

from __future__ import annotations

import math
import re
import sys
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, TypeVar, cast, overload

import numpy as np

from encoders.encode.encoder import EncodedRelease
from encoders.encode.typed_rows import column_of
from encoders.kinds.known_rows import KnownRegions
from encoders.models.models import KnownRows
from recon.readers.loading.loading import Released, release_of
from recon.readers.loading.settled import asked_release
from solvers.engines.chain import ask
from solvers.foundation.errors import EXTRAS, EmptyConfidenceSet, Inconclusive, Unsupported
from solvers.foundation.exact import Factor, level_text, log2_product
from solvers.foundation.limits import Limits, ended
from solvers.foundation.parallel.pieces import STARTING, completed_with
from solvers.statements.boxes import Box
from solvers.statements.questions.answers import Answer, CountAnswer, DecideAnswer, LeaveOneOutAnswer, ShareAnswer
from solvers.statements.questions.query import (
    CONVENTIONS,
    Convention,
    Count,
    Decide,
    LeaveOneOut,
    Query,
    Selections,
    ShareQuery,
)
from solvers.statements.release import UNBOUNDED, Release

A = TypeVar("A", bound=Answer)

if TYPE_CHECKING:
    import pandas as pd

    from recon.queries.tables.answering import TablesAnswer
    from recon.queries.tables.tables import Tables
    from recon.readers.loading.adversary import Knows


def with_person_shares(
    release: EncodedRelease, frame: pd.DataFrame, found: pd.DataFrame, convention: Convention, limits: Limits | None
) -> pd.DataFrame:
    """Return verdicts with `person_probability`, where there is a list of people: E[z] / N of who fits a profile.

    It is the share of worlds in which a given one of them is in the data; NaN where nobody fits.
    """
    from recon.readers.frames.selections import select_frame

    knowledge = release.knowledge
    if knowledge is None or knowledge.people is None:
        return found
    column = column_of(release.domain.attributes[-1].name, knowledge.data)
    if column not in frame:
        return found
    inside = found["verdict"] != "outside"
    people = frame.drop(columns=column).iloc[found["profile"][inside].to_numpy()]
    people.attrs.update(frame.attrs)
    number = decide(release, select_frame(release, people), convention, limits).expected
    out = found.assign(person_probability=np.nan)
    out.attrs.update(found.attrs)
    expected = found["expected_count"].to_numpy(dtype=np.float64)[inside.to_numpy()]
    with np.errstate(invalid="ignore", divide="ignore"):
        out.loc[inside, "person_probability"] = np.minimum(expected / number, 1.0)
    return out


def as_subsets(release: EncodedRelease, counted: CountAnswer) -> CountAnswer:
    """Return an `ordered` count of the people of a list as the number of subsets of it (convention `population`).

    Every person counts once, whatever the order, and has the values that the list gives; values that it leaves open are
    counted. The count itself where there is no list, or it is no exact count.
    """
    people = None if release.knowledge is None else release.knowledge.people
    if people is None or counted.convention != "ordered":
        return counted
    regions = KnownRegions.of(people, release.cut)
    known = known_attributes(release, people) - {release.statements.domain.label}
    alike = regions.times.reshape(-1, 1)
    if (labels := regions.labels(people, release.cut)) is not None:
        if int(labels.sum()) < len(people.codes):
            return counted  # of people who are alike some have a known label: no number per person
        alike = labels
    factors: list[Factor] = [(math.factorial(int(regions.times.sum())), -1)]
    factors += [(math.factorial(int(times)), 1) for times in alike.reshape(-1).tolist()]
    values: Counter[int] = Counter()
    for box, times in zip(regions.boxes, regions.times.tolist(), strict=True):
        values[_size(release, box, known)] += times
    factors += [(size, -times) for size, times in values.items() if size > 1]
    shift = log2_product(factors)
    low, high = counted.bounds
    given = counted.per_rows

    def per_rows() -> dict[int, list[Factor]]:
        return {} if given is None else {n: [*some, *factors] for n, some in given().items()}

    logs = {n: x + shift for n, x in counted.log2_per_rows.items()}
    return replace(
        counted, convention="population", bounds=(low + shift, high + shift), log2_per_rows=logs,
        per_rows=None if given is None else per_rows,
    )  # fmt: skip


def known_attributes(release: EncodedRelease, people: KnownRows) -> set[int | None]:
    """Return the attributes that a list of people gives."""
    domain = release.domain
    return {domain.place[n] if n in domain.place else domain.view_ranges(n)[0] for n in people.columns}


def _size(release: EncodedRelease, box: Box, known: set[int | None]) -> int:
    """Return how many values of the attributes that the list gives a box has: people of it have one each."""
    masks = dict(box.literals)
    attributes = release.statements.domain.attributes
    return math.prod(
        attributes[k].weight(masks[k]) if k in masks else attributes[k].total for k in known if k is not None
    )


TIME = "the time was up (--time)"
SOLVERS = "|".join(package for package, extra in EXTRAS.items() if extra == "solvers")
# What engines say, and what it means to somebody who does not know them; the first that is found comes first.
MEANINGS: tuple[tuple[str, str], ...] = (
    (
        r"(?:^|;)([^;]*not all is used of the bags[^;]*|[^;]*is not used where[^;]*|[^;]*is used in part only)",
        "some of what is published is not used ({})",
    ),
    (
        r"more than ([\d,]+) live cells",
        "the models cut the possible rows into more than {} cells, the combinations of their regions (--max-cells)",
    ),
    (
        r"continuous attribute has no 'resolution'",
        "a continuous attribute has no resolution, so worlds are not countable",
    ),
    (r"a data set was found that the statements hold of", "a data set that fits is known (recon reconstruct)"),
    (rf"((?:{SOLVERS}) is not installed: [^;]+)", "{}"),
    (r"too many values to cut at each", "an attribute that is summed has too many values to distinguish them all"),
    (r"(the clock \(--time\) cut short: [^;]+)", "{}"),
    (r"the time was up|time ran out|out of time|found in time|settled in time", TIME),
    (
        r"the time of single profiles was up",
        "the solver did not settle single profiles in the time of each (recon plan)",
    ),
    (
        r"a component of ([\d,]+) cells and ([\d,]+) statements",
        "{} cells are tied together by {} statements, too many to count every combination",
    ),
    (
        r"\d free cells are too many|states of histograms|edges of histograms|component is too large to bound",
        "the counts tie too many cells together to count every combination",
    ),
    (r"no diagram|nodes of a diagram|between bounds", "the regions of the rules are too entangled to be sized exactly"),
    (r"the number of rows", "the number of rows is open"),
    (r"\(--memory\)|memory limit", "more memory would be needed than is allowed (--memory)"),
)
SECONDARY = 2  # the last meanings are given only where no other is found


def plain_reasons(trail: Sequence[str]) -> str:
    """Return why no engine gave an exact answer, in words without engines."""
    text, found = ";".join(line.strip() for line in trail), list[str]()
    for pattern, meaning in MEANINGS[:-SECONDARY]:
        if (match := re.search(pattern, text)) is not None:
            found.append(meaning.format(*match.groups()))
    tied = [i for i, reason in enumerate(found) if "every combination" in reason]
    for i in reversed(tied[1:]):
        del found[i]
    if not found:
        found = [meaning for pattern, meaning in MEANINGS[-SECONDARY:] if re.search(pattern, text)][:1]
    return "; ".join(found) or "no exact method copes with it within the limits"


def no_reconstruction(trail: Sequence[str]) -> str:
    """Return why no training set was given back, from what every engine said."""
    if any("no possible world was found in time" in line for line in trail):
        return "no reconstruction: no training set that agrees with the release was found in time (--time)"
    return f"no reconstruction: {plain_reasons(trail)}"


CHUNK = 500  # distinct selections that are decided in one go where there are processes for others


def _given_up(release: EncodedRelease, limits: Limits | None, after: DecideAnswer | None) -> Inconclusive | None:
    """Return why nothing more is asked: the time is up, and the question before was left open; None where it is.

    Where bags are known, what was proved about every position is remembered and costs no more than a look.
    """
    if after is None or limits is None or not limits.expired() or not after.open.any() or release.statements.bags:
        return None
    return Inconclusive("; ".join(after.trail))


def decide(
    release: EncodedRelease,
    chosen: Selections,
    convention: Convention,
    limits: Limits | None,
    after: DecideAnswer | None = None,
    shares: bool = True,
) -> DecideAnswer:
    """Return bounds on the rows of every selection; 0 to all rows, open, where the limits leave no answer.

    `after` is the answer before: where it was left open for want of time, nothing is asked any more. `shares`: whether
    shares of worlds are asked for (`Decide`). Raises what the
    engines raise but `Inconclusive`: `EmptyConfidenceSet` and `ContradictionError` are answers.
    """
    if why := _given_up(release, limits, after):
        return _open_rows(release, len(chosen), why)
    try:
        return _answered(release, Decide(chosen, convention, shares), limits)
    except EmptyConfidenceSet:
        raise
    except Inconclusive as error:
        return _open_rows(release, len(chosen), error)


def _answered(release: EncodedRelease, query: Decide, limits: Limits | None) -> DecideAnswer:
    """Return the engines' answer, of many selections chunk by chunk where there are processes for them."""
    chosen = query.selections
    if limits is None or len(chosen) < 2 * CHUNK or (limits.workers <= 1 and not limits.cluster):
        return ask(release.statements, query, DecideAnswer, limits)
    distinct, back = chosen.distinct()
    cuts = range(0, len(distinct), CHUNK)
    chunks = [replace(query, selections=Selections(distinct.codes[i : i + CHUNK], distinct.sizes)) for i in cuts]
    parts: list[DecideAnswer | Inconclusive] = [Inconclusive(ended(limits))] * len(chunks)
    done = completed_with(release.statements, of_chunk, chunks, limits, what="chunks of profiles", alone=STARTING)
    for k, found in done:
        parts[k] = found
    if all(isinstance(part, Inconclusive) for part in parts):
        raise next(part for part in parts if isinstance(part, Inconclusive))
    known = [
        _open_rows(release, len(chunk.selections), part) if isinstance(part, Inconclusive) else part
        for chunk, part in zip(chunks, parts, strict=True)
    ]
    return _combined_answer(known).at(back)


def of_chunk(statements: Release, chunk: Decide, limits: Limits) -> DecideAnswer | Inconclusive:
    """Return the engines' answer for some selections, or why there is none within the limits."""
    try:
        return ask(statements, chunk, DecideAnswer, limits)
    except EmptyConfidenceSet:
        raise
    except Inconclusive as error:
        return error


def _combined_answer(parts: Sequence[DecideAnswer]) -> DecideAnswer:
    """Return the answer for the selections of all parts, as good as the worst of them."""
    names = ("low", "high", "probability", "before", "expected", "expected_before", "open")
    arrays: dict[str, Any] = {name: np.concatenate([getattr(part, name) for part in parts]) for name in names}
    worst = next((part for part in parts if part.status != "exact"), parts[0])
    trail = tuple(dict.fromkeys(line for part in parts for line in part.trail))
    multipliers = {side: m for part in parts for side, m in part.multipliers.items()}
    seconds = sum(part.seconds for part in parts)
    return replace(worst, **arrays, trail=trail, multipliers=multipliers, seconds=seconds)


def _open_rows(release: EncodedRelease, number: int, error: Inconclusive) -> DecideAnswer:
    """Return what is known without an answer: 0 rows at least, all rows at most (UNBOUNDED where they are open)."""
    maximum = UNBOUNDED if release.rows.high is None else release.rows.high
    low, high, every = (
        np.zeros(number, dtype=np.int64),
        np.full(number, maximum, dtype=np.int64),
        np.ones(number, dtype=bool),
    )
    nothing = np.full(number, np.nan)
    return DecideAnswer.of(low, high, trail=tuple(str(error).split("; ")), probability=nothing, open=every)


def leave_one_out(
    release: EncodedRelease, query: LeaveOneOut, limits: Limits | None, after: DecideAnswer | None = None
) -> LeaveOneOutAnswer:
    """Return the shares without the person's own row, NaN where the limits leave no answer; `after`: see `decide`."""
    nothing = np.full(len(query.inner), np.nan)
    if unused := release.statements.unstated:  # which datasets are worlds is not known, nor how they share out
        return LeaveOneOutAnswer("bounds", trail=unused, share=nothing)
    found = _answer_or_why(release, query, LeaveOneOutAnswer, limits, after)
    return LeaveOneOutAnswer("bounds", trail=(found,), share=nothing) if isinstance(found, str) else found


def share(
    release: EncodedRelease, query: ShareQuery, limits: Limits | None, after: DecideAnswer | None = None
) -> ShareAnswer:
    """Return the bounds on shares, 0 to 1 where the limits leave no answer; `after`: see `decide`."""
    found = _answer_or_why(release, query, ShareAnswer, limits, after)
    if not isinstance(found, str):
        return found
    nothing = np.zeros(len(query.outer))
    return ShareAnswer("bounds", trail=(found,), lower=nothing, upper=nothing + 1.0)


def _answer_or_why(
    release: EncodedRelease, query: Query, kind: type[A], limits: Limits | None, after: DecideAnswer | None
) -> A | str:
    """Return the answer to a query after another was decided, or why the limits leave none."""
    try:
        if why := _given_up(release, limits, after):
            raise why
        return ask(release.statements, query, kind, limits)
    except EmptyConfidenceSet:
        raise
    except Inconclusive as error:
        return str(error)


def why_open(found: Answer) -> list[str]:
    """Return the note on profiles that were left open, [] where none was."""
    if isinstance(found, DecideAnswer) and found.open.any():
        return [f"not decided: {int(found.open.sum()):,} profiles; {plain_reasons(found.trail)}"]
    return []


_UNKNOWN = "which rows each tree drew is not known:"  # how the reader of forests begins to say it
_INSTEAD = "recon certify, recon bound and recon reconstruct ask about rows in whatever order"


def no_positions_reason(release: EncodedRelease) -> str:
    """Return why nothing can be said by position, and what to ask instead; "" where known bags tell rows apart.

    A row has a position only by what trees drew of it: how often each one did.
    """
    if release.statements.bags:
        return ""
    if any(model.resampled for model in release.models):
        said = [line for line in release.reader_notes if line.startswith(_UNKNOWN)]
        why = f" ({said[0].removeprefix(_UNKNOWN).strip()})" if said else ""
        return (
            f"nothing is proved by position: which rows each tree drew is not known{why}: without the bags "
            f"(multiplicities) rows cannot be distinguished; {_INSTEAD}"
        )
    return (
        "nothing is proved by position: no model was fitted on resamples, each saw all rows alike, so that nothing "
        f"says which row stood where in the training file; {_INSTEAD}"
    )


def convention_of(release: EncodedRelease, convention: str | None) -> Convention:
    """Return the convention asked for; by default `assigned` for one partition, else `ordered`."""
    single = release.statements.single
    one = single is not None and single.open_counts <= 1
    one = one and not release.noisy and not release.statements.unstated
    weighed = release.knowledge is not None and release.knowledge.weighed
    if weighed and convention in ("multiset", "assigned"):
        raise Unsupported(f"with weights data sets are sequences of rows: choose ordered, not '{convention}'")
    if convention is None:
        return "assigned" if one and not weighed else "ordered"
    if convention == "population":
        if release.knowledge is None or release.knowledge.people is None:
            raise Unsupported("the convention 'population' needs a list of people that an adversary knows")
        return "ordered"
    if convention not in CONVENTIONS:
        raise Unsupported(f"there is no convention '{convention}': choose assigned, ordered or multiset")
    if convention == "assigned" and not one:
        raise Unsupported("the convention 'assigned' needs exactly one tree or rule list with exact counts")
    return convention


def both_releases(
    release: object, adversary: Knows, label: str | None, limits: Limits | None
) -> tuple[EncodedRelease, EncodedRelease]:
    """Return a release as it is, and beside what an adversary knows; `Unsupported` of tables of areas."""
    if tables_of(release) is not None:
        raise Unsupported("what an adversary knows is not taken beside tables of areas")
    from recon.readers.loading.adversary import adversary_of  # with pandas

    nobody = release_of(cast("Released", release), limits)
    return nobody, adversary_of(adversary).beside(nobody, label, limits)


def common_convention(nobody: EncodedRelease, adversary: EncodedRelease) -> Convention:
    """Return the default convention that answers for nobody and for an adversary are compared in."""
    first, second = convention_of(nobody, None), convention_of(adversary, None)
    return first if first == second else "ordered"


def tables_of(release: object) -> Tables | None:
    """Return published tables of areas, None for any other release; their module is loaded by whoever made them."""
    module = sys.modules.get("recon.queries.tables.tables")
    return cast("Tables", release) if module is not None and isinstance(release, module.Tables) else None


@overload
def count(
    release: Released, convention: str | None = None, limits: Limits | None = None, adversary: Knows | None = None
) -> CountAnswer: ...
@overload
def count(release: Tables, convention: str | None = None, limits: Limits | None = None) -> TablesAnswer: ...
def count(
    release: Released | Tables,
    convention: str | None = None,
    limits: Limits | None = None,
    adversary: Knows | None = None,
) -> CountAnswer | TablesAnswer:
    """Return how many worlds there are: `.value`, `.factors`, `.log2`, `.bounds` (log2), `.status`.

    `convention`: "assigned" (the default of one tree or rule list), "ordered" (of all others) or "multiset".
    `adversary`: worlds are those left for somebody who knows more (a file or `Adversary`). For tables of areas: what is
    proved about every area, data sets in both conventions (`recon.queries.tables.answering`). Raises `Unsupported` (no
    engine accepts) and `Inconclusive` (the number of rows is unbounded).

    >>> import pandas as pd
    >>> import recon
    >>> rows = pd.DataFrame({"smoker": [0, 0, 1, 1], "old": [0, 1, 0, 1], "ill": [0, 0, 0, 1]})
    >>> model = recon.GreedyRuleListClassifier(max_length=2).fit(rows[["smoker", "old"]], rows["ill"])
    >>> release = recon.encode(model, recon.Domain.from_frame(rows, "ill"))
    >>> recon.count(release).value
    16
    """
    if (tables := tables_of(release)) is not None:
        from recon.queries.tables.answering import count_areas

        return count_areas(tables, limits)
    release = asked_release(cast("Released", release), adversary, limits)
    found = ask(release.statements, Count(convention_of(release, convention)), CountAnswer, limits)
    found = as_subsets(release, found) if convention in (None, "population") else found
    return (
        found
        if release.certain or found.status == "unsat"
        else replace(found, guarantee=f"confidence {level_text(release.confidence)}")
    )
