"""What follows about people of a population that an adversary has a list of: which of them are in the data.

Worlds are then subsets of the list, each with the values that the list leaves open: N people who are alike, z of whom
are in, are in C(N, z) ways. With the types in / not in that is the `ordered` count over the people in their order, so
that no engine has to know of it.
"""

from __future__ import annotations

import math
from collections import Counter
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from encoders.encode.encoder import EncodedRelease
from encoders.encode.typed_rows import column_of
from encoders.kinds.known_rows import KnownRegions
from encoders.models.models import KnownRows
from solvers.foundation.exact import Factor, log2_product
from solvers.foundation.limits import Limits
from solvers.statements.boxes import Box
from solvers.statements.questions.answers import CountAnswer
from solvers.statements.questions.query import Convention

if TYPE_CHECKING:
    import pandas as pd


def with_person_shares(
    release: EncodedRelease, frame: pd.DataFrame, found: pd.DataFrame, convention: Convention, limits: Limits | None
) -> pd.DataFrame:
    """Return verdicts with `person_probability`, where there is a list of people: E[z] / N of who fits a profile.

    It is the share of worlds in which a given one of them is in the data; NaN where nobody fits.
    """
    from recon.queries.answers.undecided import decide  # with pandas
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
