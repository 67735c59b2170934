"""How many worlds there are, in the convention asked for."""

from __future__ import annotations

import sys
from dataclasses import replace
from typing import TYPE_CHECKING, cast, overload

from encoders.encode.encoder import EncodedRelease
from recon.queries.answers.people import as_subsets
from recon.readers.loading.loading import Released, release_of
from recon.readers.loading.settled import asked_release
from solvers.engines.chain import ask
from solvers.foundation.errors import Unsupported
from solvers.foundation.exact import level_text
from solvers.foundation.limits import Limits
from solvers.statements.questions.answers import CountAnswer
from solvers.statements.questions.query import CONVENTIONS, Convention, Count

if TYPE_CHECKING:
    from recon.queries.tables.answering import TablesAnswer
    from recon.queries.tables.tables import Tables
    from recon.readers.loading.adversary import Knows


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
