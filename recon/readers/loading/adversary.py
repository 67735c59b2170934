"""What an adversary knows, from a file or from Python, and a release beside it: every question can be asked of that.

Source: Ganta, Kasiviswanathan, Smith, "Composition attacks and auxiliary information in data privacy", KDD 2008;
Li, Li, Zhang, "Modeling and integrating background knowledge in data anonymization", ICDE 2009 (a prior over values).
"""

from __future__ import annotations

import hashlib
import json
import math
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from typing import Any

import msgspec
import pandas as pd

from encoders.domain.domain import Domain
from encoders.domain.values import Continuous, Grid, Test, complement, from_text
from encoders.encode.encoder import EncodedRelease
from encoders.encode.known import with_knowledge, with_known_rows
from encoders.models.adversary import AdversaryKnowledge, KnownFigures, PositionWeights, WeighedBox
from encoders.models.models import KnownRows, PublishedFigure, Table
from recon.io.files.opening import read_whole
from recon.readers.formats.drafts.binding import as_test
from recon.readers.formats.release import parts
from recon.readers.formats.release.reading import converted, parse_adversary
from recon.readers.formats.release.schema import AdversaryPart
from recon.readers.frames.describe import named_like
from recon.readers.loading.known_positions import (
    POSITION,
    known_rows,
    known_table,
    with_known_columns,
    with_known_positions,
)
from recon.readers.loading.loading import Released, load, release_of, versions
from solvers.foundation.displayed import Displayed, DisplayFacts, many
from solvers.foundation.errors import ReleaseError, Unsupported
from solvers.foundation.exact import exact_number
from solvers.foundation.limits import Limits

POPULATION, DATA = "population", "data"  # the data sets, where there is a population
IN_MEMORY = "adversary"
MAX_WEIGHT = 1 << 32  # of one value, as a whole number


@dataclass(frozen=True, eq=False, repr=False)
class Adversary(Displayed):
    """What somebody knows beside a release: rows, figures, everybody's columns, a population, how likely values are.

    The arguments are those of the file (docs/adversary.md): `rows`, `absent`, `statements` and `boxes` are lists of
    objects, `weights` an object per attribute, `population` an object, `columns` a table or its path. `file` names the
    whole in messages and certificates, `sha256` is that of its content.

    >>> import pandas as pd
    >>> import recon
    >>> rows = pd.DataFrame({"smoker": [0, 0, 1, 1], "old": [0, 1, 0, 1], "ill": [0, 0, 0, 1]})
    >>> model = recon.GreedyRuleListClassifier(max_length=2).fit(rows[["smoker", "old"]], rows["ill"])
    >>> release = recon.encode(model, recon.Domain.from_frame(rows, "ill"))
    >>> colleague = recon.Adversary(rows=[{"where": {"smoker": 0, "old": 1}}])
    >>> recon.measure(release, "ordered").entropy_bits > recon.measure(colleague.beside(release)).entropy_bits
    True
    """

    rows: Sequence[Mapping[str, Any]] = ()
    absent: Sequence[Mapping[str, Any]] = ()
    columns: pd.DataFrame | str | os.PathLike[str] | None = None
    statements: Sequence[Mapping[str, Any]] = ()
    weights: Mapping[str, Mapping[Any, Any]] = field(default_factory=dict)
    population: Mapping[str, Any] | None = None
    file: str = IN_MEMORY
    sha256: str = ""
    boxes: Sequence[Mapping[str, Any]] = ()
    part: AdversaryPart = field(init=False, repr=False)

    def __post_init__(self) -> None:
        content: dict[str, Any] = {
            "recon_adversary": 1, "rows": [dict(r) for r in self.rows], "absent": [dict(r) for r in self.absent],
            "statements": [dict(s) for s in self.statements],
            "weights": {k: {str(v): _plain_weight(w) for v, w in each.items()} for k, each in self.weights.items()},
            "boxes": [{k: _plain_weight(v) for k, v in one.items()} for one in self.boxes],
        }  # fmt: skip
        if isinstance(self.columns, str | os.PathLike):
            content["columns"] = os.fspath(self.columns)
        population = dict(self.population or {})
        people = population.get("people")
        if isinstance(people, pd.DataFrame):
            population["people"] = ""
        if self.population is not None:
            content["population"] = population
        object.__setattr__(self, "part", converted(content, AdversaryPart, self.file))
        if not self.sha256:
            tables = [t.to_csv(index=False) for t in (self.columns, people) if isinstance(t, pd.DataFrame)]
            text = json.dumps([content, tables], sort_keys=True, default=str)
            object.__setattr__(self, "sha256", hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest())

    def _facts(self) -> DisplayFacts:
        known = {
            "row": self.rows,
            "absent person": self.absent,
            "figure": self.statements,
            "weighted column": self.weights,
        }
        told = [many(len(given), one, "absent people" * (one[0] == "a")) for one, given in known.items() if len(given)]
        told += ["everybody's columns"] * (self.columns is not None) + [POPULATION] * (self.population is not None)
        line = f"knows {', '.join(told) or 'nothing'}"
        return DisplayFacts(line, [("file", self.file), ("SHA-256", self.sha256)], more="beside(release)")

    @classmethod
    def read(cls, path: str | os.PathLike[str]) -> Adversary:
        """Return what a file says (`"recon_adversary": 1`); the tables that it names are in its folder.

        Raises `ReleaseError` naming file and place for what is no such file.
        """
        file = os.fspath(path)
        data = read_whole(file)
        part = parse_adversary(data, file)
        given = msgspec.to_builtins(part)
        folder = os.path.dirname(file)
        population = given.get("population")
        if population:
            population = {k: _path_beside(folder, v) if k in ("people", "tables") else v for k, v in population.items()}
        columns = None if part.columns is None else _path_beside(folder, part.columns)
        return cls(
            given.get("rows", ()), given.get("absent", ()), columns, given.get("statements", ()),
            given.get("weights", {}), population, file, hashlib.sha256(data).hexdigest(), given.get("boxes", ()),
        )  # fmt: skip

    def beside(self, release: Released, label: str | None = None, limits: Limits | None = None) -> EncodedRelease:
        """Return the release beside what is known: every question is answered for somebody who knows it.

        `label`: the tables' name for the domain's label. Raises `ReleaseError` naming file and place for what does not
        fit the domain or the number of rows, `Unsupported` for what is not taken together. Cost: that of encoding.
        """
        return _beside_release(self, release_of(release, limits), label, limits)


Knows = Adversary | str | os.PathLike[str]


def adversary_of(given: Knows) -> Adversary:
    """Return an adversary, read from a file where it is a path; `ReleaseError` for anything else."""
    if isinstance(given, Adversary):
        return given
    if not isinstance(given, str | os.PathLike):
        raise ReleaseError(f"an adversary is recon.Adversary(...) or the path of a file, not a {type(given).__name__}")
    return Adversary.read(given)


def for_adversary(release: Released, adversary: Knows | None, limits: Limits | None = None) -> EncodedRelease:
    """Return a release beside what an adversary knows; itself where there is none."""
    found = release_of(release, limits)
    return found if adversary is None else adversary_of(adversary).beside(found, None, limits)


def _plain_weight(weight: Any) -> Any:
    return str(weight) if isinstance(weight, Fraction) else weight


def _path_beside(folder: str, name: Any) -> Any:
    """Return the path of a table as seen from here: names are as seen from the folder of the adversary's file."""
    if isinstance(name, list):
        return [_path_beside(folder, one) for one in name]
    return os.path.join(folder, name) if isinstance(name, str) and name else name


def _beside_release(
    asked: Adversary, release: EncodedRelease, label: str | None, limits: Limits | None
) -> EncodedRelease:
    """Return the release beside all that is known; see `Adversary.beside`."""
    if release.noisy:
        raise Unsupported("what an adversary knows is not joined with noisy counts, except everybody's columns "
                          "(--known-columns)")  # fmt: skip
    _refuse_known_before(asked, release)
    part, found = asked.part, release
    own = ""
    people = None
    if part.population is not None:
        found, people = _with_population(asked, release, label, limits)
        own = DATA
    elif part.absent:
        raise ReleaseError("absent[0]: a bare profile cannot be known to be absent, somebody else in the data may have "
                           "the same values: give 'population' with a list of 'people'", file=asked.file)  # fmt: skip
    if asked.columns is not None:
        found = _with_columns(found, asked.columns, label, own)
    figures = _figures_of(asked, found, own)
    found, boxes = _with_boxes(asked, found)
    weights = {} if not part.weights else _weights_of(part.weights, found.domain, asked.file)
    if figures or people is not None or weights or boxes or part.population is not None:
        lines = [f"the adversary knows what {asked.file} says (SHA-256 {asked.sha256[:16]}): that is not released"]
        if weights:
            names = ", ".join(found.domain.all[k].name for k in sorted(weights))
            lines.append(f"rows are independent to begin with, and weighed by the adversary's prior ({names})")
        if boxes:
            lines.append(f"rows are independent to begin with, and those of {len(boxes):,} boxes weighed by the prior")
        if people is not None:
            lines.append(f"the data are some of the {len(people.codes):,} people of {people.file or 'the list'}")
        known = AdversaryKnowledge(
            asked.file, asked.sha256, tuple(figures), people, weights, tuple(lines), own, boxes
        )  # fmt: skip
        found = with_knowledge(found, known)
    elif asked.columns is not None or part.weights or part.boxes:  # weights that are all alike change nothing
        found = replace(found, knowledge=AdversaryKnowledge(asked.file, asked.sha256))
    table = _positions_known(asked)
    if table is not None:
        if not release.statements.bags:
            raise ReleaseError(
                "rows of this release have no positions: leave 'position' out", place=_first_position(asked),
                file=asked.file,
            )  # fmt: skip
        try:
            found = with_known_positions(found, table, label)
        except ReleaseError as error:
            raise error.at(file=asked.file) from None
        found = replace(found, knowledge=found.knowledge or AdversaryKnowledge(asked.file, asked.sha256))
    if found.knowledge is None:
        raise ReleaseError("says nothing: there is no row, statement, column, weight or population", file=asked.file)
    return found


def _refuse_known_before(asked: Adversary, release: EncodedRelease) -> None:
    """Refuse a release beside what would be forgotten: another adversary's knowledge, rows by position, columns."""
    if release.knowledge is not None:
        message = f"the release is asked about beside what {release.knowledge.file} says: write one file of both"
        raise Unsupported(f"{asked.file}: {message}")
    if release.beside is not None:
        message = "rows are known by position already: give them as 'rows' with a 'position'"
        raise Unsupported(f"{asked.file}: {message}")
    if asked.columns is not None and release.known is not None:
        message = "everybody's columns are known already (--known-columns): give them once"
        raise ReleaseError(message, place="columns", file=asked.file)


def _with_columns(found: EncodedRelease, table: Any, label: str | None, dataset: str) -> EncodedRelease:
    """Return a release beside everybody's features, those of one of several data sets."""
    if found.related is None:
        return with_known_columns(found, table, label, by_value=True)
    if dataset != DATA:
        raise Unsupported("everybody's features are not taken beside related data sets of a release")
    frame, _ = named_like(known_table(table), found.domain, label)
    return with_known_rows(found, replace(known_rows(found.domain, frame), dataset=dataset, by_value=True))


def _with_population(
    asked: Adversary, release: EncodedRelease, label: str | None, limits: Limits | None
) -> tuple[EncodedRelease, KnownRows | None]:
    """Return a release as the data of some people of a population, and these where there is a list of them."""
    given, part = asked.population or {}, asked.part.population
    assert part is not None
    if release.related is not None:
        raise Unsupported("a population is not taken beside related data sets: declare it in the release file "
                          "(a data set, the others 'within' it)")  # fmt: skip
    frame, rows = None, None if part.rows is None else parts.to_row_count(part.rows, "population.rows")
    if part.people is not None:
        frame = known_table(given["people"])
        frame = _without_absent(frame, asked)
    elif asked.part.absent:
        raise ReleaseError("absent people are told by a list: give 'people' in 'population'", file=asked.file)
    if frame is None and part.tables is None and rows is None:
        raise ReleaseError("give 'people', 'tables' or 'rows'", place="population", file=asked.file)
    population: dict[str, Any] = {"name": POPULATION}
    known = release.declared or release.rows
    if frame is not None:
        population["rows"] = len(frame)
        if len(frame) < known.low:
            message = f"has {len(frame):,} people, fewer than the {known.low:,} rows of the data"
            raise ReleaseError(message, place="population", file=asked.file)
    elif rows is not None:
        if rows.high is not None and rows.high < known.low:
            message = f"a population of {rows.high:,} is smaller than the data ({known.low:,} rows)"
            raise ReleaseError(message, place="population.rows", file=asked.file)
        population["rows"] = rows.low if rows.exact else {"at_least": rows.low} | (
            {} if rows.high is None else {"at_most": rows.high})  # fmt: skip
    tables = {}
    if part.tables is not None:
        names = [part.tables] if isinstance(part.tables, str) else part.tables
        tables = {POPULATION: load(*names, domain=release.domain, limits=limits)}
    relation = {"datasets": [population, {"name": DATA, "within": POPULATION}]}
    found = versions({**tables, DATA: replace(release, known=None)}, relation, limits)
    typed = found.typed
    assert typed is not None
    found = replace(
        found.read_as(release),
        typed=replace(typed, related=replace(typed.related, stated=False)),  # the adversary's file says it
    )
    if frame is None:
        return found, None
    own, _ = named_like(frame.drop(columns=[c for c in (part.id,) if c in frame.columns]), found.domain, label)
    own.attrs.update(frame.attrs)
    return found, replace(
        known_rows(found.domain, own), dataset=POPULATION, name="people of the population", by_value=True
    )


def _without_absent(frame: pd.DataFrame, asked: Adversary) -> pd.DataFrame:
    """Return a list of people without those who are known not to be in the data."""
    part, names = asked.part.population, [one.person for one in asked.part.absent]
    assert part is not None
    if not names:
        return frame
    if part.id not in frame.columns:
        message = f"the list of people has no column '{part.id}' that names them (population.id)"
        raise ReleaseError(message, place="absent[0]", file=asked.file)
    texts = frame[part.id].astype(str)
    for i, name in enumerate(names):
        if not (texts == str(name)).any():
            message = f"'{name}' is none of the people of the population"
            raise ReleaseError(message, place=f"absent[{i}].person", file=asked.file)
    found = frame[~texts.isin([str(name) for name in names])].reset_index(drop=True)
    found.attrs.update(frame.attrs)
    return found


def _figures_of(asked: Adversary, release: EncodedRelease, own: str) -> list[KnownFigures]:
    """Return known rows and statements as figures, those of one data set together."""
    every: dict[str, list[PublishedFigure]] = {}
    lines: list[tuple[str, str, PublishedFigure]] = []
    for i, row in enumerate(asked.part.rows):
        if row.position is not None:
            continue
        place = f"rows[{i}]"
        figure = PublishedFigure(parts.to_condition(row.where, f"{place}.where"), low=row.rows, name=place)
        lines.append((place, row.dataset or "", figure))
    for i, one in enumerate(asked.part.statements):
        place = f"statements[{i}]"
        try:
            figure = replace(parts.to_figure(one, place), name=place)
        except ReleaseError as error:
            raise error.at(file=asked.file) from None
        lines.append((place, one.dataset or "", figure))
    related = release.related
    for place, dataset, figure in lines:
        if related is None and dataset:
            message = f"there is no data set '{dataset}': the models are all of one, and there is no 'population'"
            raise ReleaseError(message, place=f"{place}.dataset", file=asked.file)
        whose = dataset or own
        if related is not None and whose and whose not in related.number:
            known = ", ".join(f"'{n}'" for n in related.number)
            message = f"there is no data set '{whose}': declared are {known}"
            raise ReleaseError(message, place=f"{place}.dataset", file=asked.file)
        every.setdefault(whose, []).append(figure)
    name = f"known to the adversary ({os.path.basename(asked.file)})"
    return [KnownFigures(Table(tuple(figures), name), dataset) for dataset, figures in every.items()]


def _positions_known(asked: Adversary) -> pd.DataFrame | None:
    """Return the table of what is known by position, None where nothing is."""
    lines = []
    for i, row in enumerate(asked.part.rows):
        if row.position is None:
            continue
        plain = {name: test for name, test in row.where.items() if isinstance(test, bool | int | float | str)}
        if len(plain) < len(row.where) or row.rows != 1:
            message = "a row with a position has single values, and is one row"
            raise ReleaseError(message, place=f"rows[{i}]", file=asked.file)
        lines.append({POSITION: row.position, **plain})
    return pd.DataFrame(lines, dtype=object) if lines else None


def _first_position(asked: Adversary) -> str:
    return next(f"rows[{i}].position" for i, row in enumerate(asked.part.rows) if row.position is not None)


def _with_boxes(asked: Adversary, release: EncodedRelease) -> tuple[EncodedRelease, tuple[WeighedBox, ...]]:
    """Return a release with an attribute for every weighed box, that has as many values there as the box weighs.

    A box that weighs 1, or that is everything, changes nothing. Raises `ReleaseError` naming the box for weights that
    are not above 0 and for what the domain does not have, `Unsupported` beside several data sets.
    """
    domain, out = release.domain, list[WeighedBox]()
    if asked.part.boxes and release.typed is not None:
        raise Unsupported(f"{asked.file}: weights of boxes are not taken beside a population or related data sets")
    for i, one in enumerate(asked.part.boxes):
        place = f"boxes[{i}]"
        try:
            condition = parts.to_condition(one.where, f"{place}.where")
            held = release.domain.resolve(condition, f"{place}.where")
            weight = exact_number(str(one.weight))
        except ReleaseError as error:
            raise error.at(file=asked.file) from None
        except ValueError:
            raise ReleaseError(f"{one.weight!r} is not a number", place=f"{place}.weight", file=asked.file) from None
        if weight <= 0:
            message = f'the weight {weight} is not above 0: that nobody is in a box is a statement ("at_most": 0)'
            raise ReleaseError(message, place=f"{place}.weight", file=asked.file)
        if max(weight.numerator, weight.denominator) > MAX_WEIGHT:
            raise ReleaseError("a weight of more than 2^32, as a whole number", place=place, file=asked.file)
        named = release.domain.all
        others = [(named[k], complement(ranges, named[k].span)) for k, ranges in held.items()]
        if not all(held.values()):
            raise ReleaseError("no row meets it", place=f"{place}.where", file=asked.file)
        if weight == 1 or not any(rest for _, rest in others):
            continue
        box = WeighedBox(condition, weight.numerator, weight.denominator)
        name, top = _free_name(domain, f"weight of {place}"), max(box.inside, box.outside)
        cannot = [(*condition, (name, Test(low=box.inside, low_open=True)))] if box.inside < top else []
        for attribute, rest in others if box.outside < top else ():
            every = ((attribute.name, as_test(attribute, (part,))) for part in rest)
            cannot += [(test, (name, Test(low=box.outside, low_open=True))) for test in every]
        own = Grid.between(name, 1, top)
        domain = replace(
            domain, attributes=(*domain.attributes, own), impossible=(*domain.impossible, *cannot)
        )  # fmt: skip
        out.append(box)
    return (replace(release, domain=domain) if out else release), tuple(out)


def _free_name(domain: Domain, name: str) -> str:
    """Return a name that the domain does not have."""
    while name in domain.place or name in domain.columns:
        name += " of the adversary"
    return name


def _weights_of(
    given: Mapping[str, Mapping[str, float | str]], domain: Domain, file: str
) -> dict[int, PositionWeights]:
    """Return whole weights of the values of attributes by their positions; attributes weighed evenly are left out.

    Raises `ReleaseError` for unknown names and values, for weights that are not above 0 and for too fine ones.
    """
    out: dict[int, PositionWeights] = {}
    for name, by_value in given.items():
        place = f"weights.{name}"
        if name not in domain.place:
            raise ReleaseError(f"'{name}' is no attribute of the domain", place="weights", file=file)
        attribute = domain.all[domain.place[name]]
        if isinstance(attribute, Continuous):
            raise ReleaseError(f"'{name}' can be any number: weights are of single values", place=place, file=file)
        exact: dict[int, Fraction] = {}
        for value, weight in by_value.items():
            at = f"{place}.{value}"
            try:
                position = int(attribute.point(from_text(value, attribute))[0])
                found = exact_number(str(weight))
            except (ReleaseError, ValueError) as error:
                message = error.message if isinstance(error, ReleaseError) else f"{weight!r} is not a number"
                raise ReleaseError(message, place=at, file=file) from None
            if found <= 0:
                message = f'the weight {weight} is not above 0: that nobody has a value is a statement ("at_most": 0)'
                raise ReleaseError(message, place=at, file=file)
            if position in exact:
                raise ReleaseError("the value has two weights", place=at, file=file)
            exact[position] = found
        rest = attribute.span[1] - attribute.span[0] - len(exact)
        every = [*exact.values(), *([Fraction(1)] if rest else [])]
        scale = Fraction(math.lcm(*(w.denominator for w in every)))
        whole = [int(w * scale) for w in every]
        common = math.gcd(*whole)
        if max(whole) // common > MAX_WEIGHT:
            raise ReleaseError("its weights differ by more than 2^32, as whole numbers", place=place, file=file)
        if len(set(every)) > 1:
            weights = {p: int(w * scale) // common for p, w in exact.items()}
            out[domain.place[name]] = {**weights, -1: int(scale) // common if rest else 1}
    return out
