"""Several releases of the same rows put together: one domain, one number of rows, all statements.

Source: Ganta, Kasiviswanathan, Smith, "Composition attacks and auxiliary information in data privacy", KDD 2008
(independent releases of one data set reveal more together).
"""

from __future__ import annotations

import hashlib
import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction

from encoders.domain.domain import DECLARED, GUESSED, Domain
from encoders.domain.values import AnyAttribute, Categorical, Continuous, Grid, View, plain_number
from encoders.encode.encoder import CONFIDENCE, EncodedRelease, Origin, assemble, check, encoder_of, total_rows
from encoders.encode.typed_rows import typed_domain
from encoders.models.models import AnyModel
from encoders.models.related import DataSet, RelatedDataSets
from solvers.foundation.errors import ContradictionError, ReleaseError
from solvers.statements.release import RowCount


@dataclass(frozen=True)
class PublishedFile:
    """What one file publishes: a domain, models, and the number of rows where it is declared."""

    file: str
    sha256: str
    domain: Domain
    models: tuple[AnyModel, ...]
    rows: RowCount | None
    related: RelatedDataSets | None = None

    @property
    def origins(self) -> list[Origin]:
        """Return where each of its models stands."""
        return [Origin(self.file, f"models[{i}]") for i in range(len(self.models))]


def join(
    parts: Sequence[PublishedFile],
    domain: Domain | None = None,
    confidence: Fraction = CONFIDENCE,
    related: RelatedDataSets | None = None,
) -> EncodedRelease:
    """Return the release of all models over the united domain (or the given one).

    `related`: the data sets that the models are of, where no file says them; domains are then united where they differ
    in values. `confidence` is that of the joint intervals around noisy counts.
    Raises `ReleaseError` naming the files where domains do not agree or a model is malformed, and
    `ContradictionError` where no number of rows fits all files.
    """
    related = related if related is not None else _file_relations(parts)
    united = domain if domain is not None else _unite(_with_united_values(parts, guessed=related is None))
    models = [model for part in parts for model in part.models]
    origins = [origin for part in parts for origin in part.origins]
    if not models:
        raise ReleaseError("there is no model in the files", place="models", file=_name_of(parts))
    check(united, models, origins)
    if related is not None:
        of = ((part, {model.dataset for model in part.models}) for part in parts if part.rows is not None)
        related = related.with_rows({names.pop(): part.rows for part, names in of if len(names) == 1 and part.rows})
        rows, united = RowCount(), typed_domain(united, related)
    else:
        rows = joint_rows(parts)
    found = assemble(united, models, rows, origins, _name_of(parts), confidence, related=related)
    hashes = tuple(part.sha256 for part in parts)
    digest = hashlib.sha256("".join(hashes).encode()).hexdigest()
    return replace(found, sha256=digest, files=tuple(part.file for part in parts), hashes=hashes)


def _file_relations(parts: Sequence[PublishedFile]) -> RelatedDataSets | None:
    """Return the data sets that the files declare, None where none does; `ReleaseError` where two files disagree."""
    found = [(part.related, part.file) for part in parts if part.related is not None]
    if not found:
        return None
    datasets: dict[str, tuple[DataSet, str]] = {}
    for related, file in found:
        for one in related.datasets:
            known, there = datasets.setdefault(one.name, (one, file))
            if known != one and known == DataSet(one.name):
                datasets[one.name] = one, file
            elif one not in (known, DataSet(one.name)):
                message = f"the data set '{one.name}' is declared otherwise in {there}"
                raise ReleaseError(message, place="datasets", file=file)
    disjoint = tuple(dict.fromkeys(group for related, _ in found for group in related.disjoint))
    pieces = tuple(dict.fromkeys(group for related, _ in found for group in related.parts))
    return RelatedDataSets(tuple(one for one, _ in datasets.values()), disjoint, pieces)


def _with_united_values(parts: Sequence[PublishedFile], guessed: bool = False) -> list[PublishedFile]:
    """Return files with the values of each other: domains of versions of the data may differ in values.

    `guessed`: of one data set, only of attributes that no file declares, and of which each file says what it publishes:
    numbers, one a range of them, or texts that are all listed in one file.
    """
    out = list(parts)
    names = dict.fromkeys(a.name for part in parts for a in part.domain.attributes)
    for name in names:
        held = [(i, a) for i, part in enumerate(out) for a in part.domain.attributes if a.name == name]
        if guessed and not _undeclared([(parts[i].domain, a) for i, a in held]):
            continue
        wide = held[0][1]
        for _, one in held[1:]:
            wide = _united_attribute(wide, one)
        for i, one in held:
            if not _same_values(one, wide):
                domain = out[i].domain
                some = tuple(wide if a.name == name else a for a in domain.attributes)
                here, every = one.describe(), wide.describe()
                who = "the other files" if guessed else "the other versions"
                note = f"'{name}' has {here} in {out[i].file}, with those of {who} {every}"
                out[i] = replace(out[i], domain=replace(domain, attributes=some, notes=(*domain.notes, note)))
    return out


def _undeclared(held: Sequence[tuple[Domain, AnyAttribute]]) -> bool:
    """Return whether nobody declared an attribute, and all are numbers, some a range, or lists within one of them."""
    if any(d.source != GUESSED for d, _ in held):
        return False
    every = [a for _, a in held if isinstance(a, Categorical)]
    if len(every) == len(held):
        longest = max(every, key=lambda a: len(a.values))
        return not any(a.numeric for a in every) and all(longest.index.keys() >= a.index.keys() for a in every)
    numbers = all(isinstance(a, Grid) or (isinstance(a, Categorical) and a.numeric) for _, a in held)
    return numbers and any(isinstance(a, Grid) for _, a in held)


def _united_attribute(a: AnyAttribute, b: AnyAttribute) -> AnyAttribute:
    """Return an attribute with the values of both; the first where they are of different kinds (refused later)."""
    missing = a.missing or b.missing
    if isinstance(a, Categorical) and isinstance(b, Categorical):
        values = (*a.values, *(v for v in b.values if v not in a.values))
        numeric = a.numeric and b.numeric
        return Categorical(a.name, tuple(sorted(values)) if numeric else values, missing=missing)
    if isinstance(a, Grid | Categorical) and isinstance(b, Grid | Categorical) and (_steps(a) and _steps(b)):
        places = [*_steps(a), *_steps(b)]
        low, high = min(places), max(places)
        spans = [p - low for p in places] + [one.step for one in (a, b) if isinstance(one, Grid)]
        whole = math.lcm(*(x.denominator for x in spans))
        step = Fraction(math.gcd(*(int(x * whole) for x in spans)), whole)
        return Grid.between(a.name, plain_number(low), plain_number(high), plain_number(step), missing)
    if isinstance(a, Continuous) and isinstance(b, Continuous):
        least = None if a.minimum is None or b.minimum is None else min(a.minimum, b.minimum)
        most = None if a.maximum is None or b.maximum is None else max(a.maximum, b.maximum)
        return Continuous(a.name, least, most, missing=missing)
    return a


def _steps(a: Grid | Categorical) -> list[Fraction]:
    """Return the ends of a grid, or the numbers that are listed; none of an attribute that has other values."""
    if isinstance(a, Grid):
        return [a.minimum, a.maximum]
    return a.numbers if a.numeric else []


def _name_of(parts: Sequence[PublishedFile]) -> str:
    """Return the files' names as one."""
    return " + ".join(part.file for part in parts)


def joint_rows(parts: Sequence[PublishedFile]) -> RowCount:
    """Return the numbers of rows that all files allow; `ContradictionError` naming two files where none is left."""
    known = [total_rows(part.models, part.rows, part.origins) for part in parts]
    minimum = [max((encoder_of(m).least(m) for m in part.models), default=0) for part in parts]
    lows = [max(rows.low, smallest) for rows, smallest in zip(known, minimum, strict=True)]
    tops = [(rows.high, i) for i, rows in enumerate(known) if rows.high is not None]
    largest = max(range(len(parts)), key=lambda i: lows[i])
    if tops and min(tops)[0] < lows[largest]:
        (high, smallest), low = min(tops), lows[largest]
        notes = (
            f"{parts[largest].file}: {'' if known[largest].high == low else 'at least '}{low} rows",
            f"{parts[smallest].file}: {'' if known[smallest].low == high else 'at most '}{high} rows",
        )
        raise ContradictionError("the files are of different numbers of rows", notes)
    return RowCount(max(rows.low for rows in known), min(tops)[0] if tops else None)


def _unite(parts: Sequence[PublishedFile]) -> Domain:
    """Return the domain of all files: attributes and columns by name, label, impossible boxes, notes.

    The order is that of the first file, then what is new. A file without a label may list the others' label among
    its attributes. Raises `ReleaseError` naming both files where one name has two meanings.
    """
    label = _unite_labels(parts)
    attributes: dict[str, tuple[AnyAttribute, str]] = {}
    columns: dict[str, tuple[View, PublishedFile]] = {}
    for part in parts:
        for attribute in part.domain.attributes:
            first = attributes.setdefault(attribute.name, (attribute, part.file))
            _agree(first, (attribute, part.file))
            if label is not None and label[0].name == attribute.name:
                _agree(label, (attribute, part.file))
        for name, view in part.domain.columns.items():
            _agree_views(name, columns.setdefault(name, (view, part)), (view, part))
    for name, (_, part) in columns.items():
        known = attributes.get(name, label if label is not None and label[0].name == name else None)
        if known is not None:
            raise ReleaseError(f"'{name}' is a column there, but an attribute in {known[1]}", file=part.file)
    every = [part.domain for part in parts]
    return Domain(
        tuple(a for a, _ in attributes.values() if label is None or a.name != label[0].name),
        None if label is None else label[0],
        {name: view for name, (view, _) in columns.items()},
        tuple(dict.fromkeys(c for d in every for c in d.impossible)),
        next((d.source for d in every if d.source != DECLARED), DECLARED),
        tuple(dict.fromkeys(n for d in every for n in d.notes)),
    )


def _unite_labels(parts: Sequence[PublishedFile]) -> tuple[AnyAttribute, str] | None:
    """Return the label and the file it is first declared in, None where no file has one."""
    found: tuple[AnyAttribute, str] | None = None
    for part in parts:
        label = part.domain.label
        if label is None:
            continue
        if found is None:
            found = label, part.file
        elif found[0].name != label.name:
            message = f"the label is '{label.name}', but '{found[0].name}' in {found[1]}"
            raise ReleaseError(message, place="domain.label", file=part.file)
        else:
            _agree(found, (label, part.file))
    return found


def _agree(first: tuple[AnyAttribute, str], second: tuple[AnyAttribute, str]) -> None:
    """Refuse two attributes of one name with different values, naming both files."""
    if not _same_values(first[0], second[0]):
        message = f"the attribute '{first[0].name}' has {second[0].describe()}, but {first[0].describe()} in {first[1]}"
        raise ReleaseError(message, place="domain", file=second[1])


def _same_values(a: AnyAttribute, b: AnyAttribute) -> bool:
    """Return whether two attributes have the same values in the same order; a list may spell out a grid."""
    if isinstance(a, Categorical) and isinstance(b, Grid):
        a, b = b, a
    if isinstance(a, Grid) and isinstance(b, Categorical):
        return (
            a.missing == b.missing
            and b.numeric
            and b.numbers == [a.minimum + a.step * i for i in range(min(a.count, len(b.values) + 1))]
        )
    return a == b


def _agree_views(name: str, first: tuple[View, PublishedFile], second: tuple[View, PublishedFile]) -> None:
    """Refuse two columns of one name that are 1 for different values, naming both files."""
    (one, there), (two, here) = first, second
    same = one.attribute == two.attribute and there.domain.view_ranges(name)[1] == here.domain.view_ranges(name)[1]
    if not same:
        message = f"the column '{name}' is {two.attribute} {two.test}, but {one.attribute} {one.test} in {there.file}"
        raise ReleaseError(message, place="domain.columns", file=here.file)
