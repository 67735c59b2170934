"""A release beside earlier ones of other versions of its data: who left and who came between two of them.

Which data sets the entries of a register are about stands in its index (`dataset`, `from`, `removed`, `added`), or is
said of the new release (`recon audit --removed K --added K`); nothing is guessed.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from encoders.domain.domain import Domain
from encoders.encode.encoder import CONFIDENCE, EncodedRelease
from encoders.models.related import DataSet, RelatedDataSets, number_words
from recon.queries.versions.difference import Difference, RowsOfType, of_release, with_the_other
from recon.readers.loading.loading import load, versions
from recon.release.policies.facts import AbsentFigure, FactTable, Figure, KnownFigure, UnknownFigure
from recon.release.registers.index import RegisterEntry, related_data_sets, unnamed_data_set
from recon.release.registers.register import Register
from solvers.foundation.displayed import many, quote
from solvers.foundation.errors import ContradictionError, Inconclusive, ReleaseError, Unsupported
from solvers.foundation.limits import Limits
from solvers.statements.release import RowCount

TRIED = "What would help, each audited again with the earlier release"
LEFT_FIGURES = ("removed_pinned", "removed_candidates")
TOLD = ("remedy", "kind", "setting", "sentence", *LEFT_FIGURES, "outcome", "note")  # of a remedy
LEAST = 0.05  # bits that a sentence speaks of
KEYS = "'dataset', 'from', 'removed' and 'added' of its entry in register.toml"
OTHER_ROWS = (
    "Perhaps they are not about the same rows: another state of the data, people who joined or left, other cleaning. "
    f"Then say how the data sets are related: {KEYS}, or recon audit NEW --register FOLDER --removed K [--added K]; "
    "the audit then says who left and who came."
)


@dataclass(frozen=True)
class VersionRelation:
    """How the data sets of a register are related, and which one a new release is about."""

    related: RelatedDataSets
    dataset: str
    entries: tuple[tuple[RegisterEntry, str], ...]

    def released(self, dataset: str) -> list[RegisterEntry]:
        """Return the other releases about a data set that are known outside."""
        return [one for one, name in self.entries if name == dataset and one.known]

    @property
    def pairs(self) -> list[DataSet]:
        """Return the data sets whose pair with the one that it is made from the release is in, its own one first."""
        made = [one for one in self.related.datasets if one.origin is not None]
        mine = [one for one in made if one.name == self.dataset and self.released(str(one.origin))]
        return mine + [one for one in made if one.origin == self.dataset and self.released(one.name)]


def version_relation(
    new: EncodedRelease, register: Register, removed: int | None, added: int | None
) -> VersionRelation | None:
    """Return which data set a release is about, and how it is related to those of a register; None: nobody says it.

    `removed`, `added`: rows that left and came since the data set of the last release that is known outside. Raises
    `ReleaseError` where the register has several data sets and nobody says which one it is, and for what cannot hold.
    """
    entries, said = register.entries, removed is not None or added is not None
    own = next((one for one in entries if one.sha256 in new.hashes), None)
    rest = tuple(one for one in entries if one is not own)
    if said and own is not None and own.dataset:
        raise ReleaseError(
            f"is in the register as of the data set '{quote(own.dataset)}': leave out --removed and --added",
            file=new.file,
        )
    known = related_data_sets(rest if said else entries)
    plain = unnamed_data_set(rest if said else entries)
    named = tuple((one, one.dataset or plain) for one in rest)
    if not said:
        if known is None:
            return None
        if own is not None:
            return VersionRelation(known, own.dataset or plain, named)
        if len(known.datasets) == 1:
            return VersionRelation(known, known.datasets[0].name, named)
        names = ", ".join(quote(name) for name in known.number)
        raise ReleaseError(
            f"the register is about several data sets ({names}): say which one this release is about: {KEYS}, or how "
            "many rows left and came since the last one: --removed K [--added K]",
            file=new.file,
        )
    last = next((name for one, name in reversed(named) if one.known), None)
    if last is None:
        raise ReleaseError(
            "--removed and --added are numbers since an earlier release, and the register has none that is known",
            file=register.folder,
        )
    datasets = (DataSet(last),) if known is None else known.datasets
    name = os.path.basename(new.file).partition(".")[0] or "new"
    name = f"{name} (new)" if name in {one.name for one in datasets} else name
    left, came = (None if k is None else RowCount(k, k) for k in (removed, added))
    made = DataSet(name, origin=last, removed=left, added=came)
    return VersionRelation(RelatedDataSets((*datasets, made), stated=True), name, named)


def of_own_data(register: Register, relation: VersionRelation | None) -> Register:
    """Return the register with the entries alone that are about a release's own data set."""
    if relation is None:
        return register
    own = tuple(one for one, name in relation.entries if name == relation.dataset)
    return replace(register, index=replace(register.index, entries=own, rows=None))


@dataclass(frozen=True, eq=False)
class HeldVersions:
    """The releases of every data set that has some, how these are related, and the two that are compared.

    `later`: the name of the later one, where several data sets are made from others ("": there is one).
    """

    releases: dict[str, EncodedRelease]
    relation: RelatedDataSets
    names: tuple[str, str]
    later: str

    @property
    def made(self) -> DataSet:
        """Return the later one of the two."""
        return self.relation.datasets[self.relation.number[self.names[1]]]


@dataclass(frozen=True)
class VersionComparison:
    """What a release and those of another version of its data say together of who left and who came.

    `against`: the releases of that version. `found`: the difference, None where it was not worked out (`why`). `held`:
    what was compared, where the release is the later one; `remedies`: the same under remedies of it
    (`recon.release.remediation.versions`). `further`: the same for every other version that it is compared with.
    """

    against: tuple[RegisterEntry, ...]
    names: tuple[str, str]
    relation: tuple[str, ...]
    found: Difference | None = field(repr=False)
    why: str = ""
    conflict: tuple[str, ...] = ()
    contradicts: bool = False
    held: HeldVersions | None = field(default=None, repr=False)
    remedies: tuple[Mapping[str, Any], ...] = ()
    further: tuple[VersionComparison, ...] = ()

    @property
    def sentences(self) -> list[str]:
        """Return what was found, in words; figures only, no values of single people."""
        return [*self._own_sentences(), *(line for one in self.further for line in one.sentences)]

    def _own_sentences(self) -> list[str]:
        with_whom = " and ".join(f"{quote(one.file)} (released {one.date})" for one in self.against)
        begin = f"Comparing this model with {with_whom}"
        if self.found is None:
            clash = f" What clashes: {'; '.join(map(quote, self.conflict))}." if self.conflict else ""
            return [f"{begin} was not possible: {self.why}.{clash}"]
        groups = (("removed", self.found.removed), ("added", self.found.added))
        out = [f"{begin} {identified_words(word, group)}" for word, group in groups if group.number != RowCount(0, 0)]
        out += [] if out else [f"{begin}: nobody left and nobody came."]
        out += _about_the_others(self.found)
        out += [f"{TRIED}:", *(one["sentence"] for one in self.remedies)] if self.remedies else []
        return [*out, f"This assumes: {'; '.join(self.relation)}."]

    def with_figures(self, facts: FactTable) -> FactTable:
        """Return the facts with what a policy asks of versions."""
        every = [one._figures() for one in (self, *self.further)]
        for key in LEFT_FIGURES:
            facts = facts.with_figure(key, worst_figure(key, [figures[key] for figures in every]))
        return facts

    def _figures(self) -> dict[str, Figure]:
        if self.found is None:
            return dict.fromkeys(LEFT_FIGURES, UnknownFigure(f"the versions were not compared: {self.why}"))
        return left_figures(self.found.removed)

    def to_json(self) -> dict[str, Any]:
        """Return it as JSON: without rows of single people."""
        out: dict[str, Any] = {
            "against": [one.to_json() for one in self.against], "before": self.names[0], "after": self.names[1],
            "relation": list(self.relation), "sentences": self.sentences, "conflict": list(self.conflict),
        }  # fmt: skip
        if self.found is not None:
            for key, group in (("removed", self.found.removed), ("added", self.found.added)):
                out[key] = {
                    "rows": [group.number.low, group.number.high], "identified": group.certain,
                    "profiles_left": group.possible, "fewest_profiles": list(group.fewest), "exact": group.exact,
                }  # fmt: skip
            out["bits"] = self.found.bits
        tried = [{key: one.get(key) for key in TOLD} for one in self.remedies]
        return out | ({"remedies": tried} if tried else {})


def worst_figure(key: str, figures: Sequence[Figure]) -> Figure:
    """Return what a policy asks of those who left between any two of several versions: of each pair it must hold."""
    known = [one for one in figures if isinstance(one, KnownFigure)]
    unknown = [one for one in figures if isinstance(one, UnknownFigure)]
    if not known:
        return (unknown or figures)[0]
    said = (*(one.why for one in known), *(one.why for one in unknown))
    why = "; ".join(dict.fromkeys(filter(None, said)))
    lows, highs = [one.low for one in known], [one.high for one in known if one.high is not None]
    if key == LEFT_FIGURES[0]:
        return KnownFigure(max(lows), None if unknown or len(highs) < len(known) else max(highs), why)
    return KnownFigure(1 if unknown else min(lows), min(highs, default=None), why)


def left_figures(left: RowsOfType) -> dict[str, Figure]:
    """Return what a policy asks of those who left."""
    if left.number == RowCount(0, 0):
        return dict.fromkeys(LEFT_FIGURES, AbsentFigure("nobody left between the two versions"))
    why = "the two versions together were not worked out to the end"
    if left.possible is None:
        said = UnknownFigure("an attribute has no values that could be counted: declare a domain", "domain")
        return dict.fromkeys(LEFT_FIGURES, said)
    high = left.certain if left.exact else left.number.high
    pinned = KnownFigure(left.certain, high, "" if high == left.certain else why)
    low, most = left.fewest
    one = "who left was not looked for in several groups together"
    return {LEFT_FIGURES[0]: pinned, LEFT_FIGURES[1]: KnownFigure(low, most, "" if low == most else one)}


def identified_words(word: str, group: RowsOfType) -> str:
    """Return how many of those who left or came are known, and what is left of the others."""
    one = group.number == RowCount(1, 1)
    least, most = ("", "") if group.exact else ("at least ", "at most ")
    people = number_words(group.number).replace("rows", "people").replace("row", "person")
    of = f"the person {word}" if one else f"the {people} {word}"
    if group.number == RowCount(group.certain, group.certain):
        return f"identifies {of}, with all {'' if one else 'their '}values."
    some = f"identifies {least}{group.certain:,} of {of}, with all their values" if group.certain else ""
    if group.possible is None:
        return f"{some or f'does not identify {of}'}; how many profiles are left has no bound."
    rest = None if not group.number.exact else group.number.low - group.certain
    others = "" if not group.certain else f"of the other{'s' if rest is None else f' {rest:,}'} "
    left = max(
        1, group.possible - len(group.rows[group.rows["verdict"] == "certain"]) if len(group.rows) else group.possible
    )
    bound = "at most " if group.certain else most
    verb = "is" if left == 1 else "are"
    return f"{some or f'does not identify {of}'}; {others}{bound}{many(left, 'profile')} {verb} left."


def _about_the_others(found: Difference) -> list[str]:
    """Return how much more both say than the earlier model alone, of who stayed where that can be distinguished."""
    bits = found.bits
    for first, second, about in (
        ("kept_before", "kept_both", "the people who stayed"),
        ("before", "both", "everybody"),
    ):
        before, after = bits[first], bits[second]
        if before is not None and after is not None:
            more = before - after
            if about != "everybody" and more < LEAST:  # who left being known, what is left of the others may be more
                continue
            return [f"About {about} the two take {more:,.1f} bits more than the earlier model alone."]
    return []


def comparison(
    new: EncodedRelease, register: Register, relation: VersionRelation | None, limits: Limits,
    domain: Domain | str | None = None,
) -> VersionComparison | None:  # fmt: skip
    """Return what a release and the earlier ones of another version of its data say together; None: there are none.

    All releases of the register that are known outside are used, each about its data set. Asked about is the pair of
    the new release's data set and the one that it is made from, then each pair with one that is made from it.
    """
    found = [_compared(new, register, relation, made, limits, domain) for made in relation.pairs] if relation else []
    return replace(found[0], further=tuple(found[1:])) if found else None


def _compared(
    new: EncodedRelease, register: Register, relation: VersionRelation, made: DataSet, limits: Limits,
    domain: Domain | str | None,
) -> VersionComparison:  # fmt: skip
    """Return what is said of a data set and the one that it is made from, of which one is the new release's."""
    names = str(made.origin), made.name
    other = names[0] if relation.dataset == names[1] else names[1]
    against, lines = tuple(relation.released(other)), tuple(relation.related.lines())
    given = domain if domain is not None else register.domain
    try:
        every = {name: _of_data_set(new, register, relation, name, limits, given) for name in relation.related.number}
        some = {name: one for name, one in every.items() if one is not None}
        pair = [some[name] for name in names]
        whole = _with_both_numbers(relation.related, made, pair)
        lines = tuple(whole.lines())
        joined = versions(some, whole, limits)
        later = "" if sum(one.origin is not None for one in relation.related.datasets) == 1 else made.name
        found = of_release(joined, pair, None, limits, later, certificates=False)  # a report names nobody
    except ContradictionError as error:
        return VersionComparison(against, names, lines, None, str(error), error.conflict, contradicts=True)
    except (Inconclusive, Unsupported) as error:
        return VersionComparison(against, names, lines, None, str(error))
    held = HeldVersions(some, whole, names, later) if relation.dataset == names[1] else None
    return VersionComparison(against, names, lines, found, held=held)


def _with_both_numbers(relation: RelatedDataSets, made: DataSet, pair: Sequence[EncodedRelease]) -> RelatedDataSets:
    """Return the relations with how many left and came, where one of both follows from the other."""
    given = [None if one is None else one.low for one in (made.removed, made.added)]
    if given.count(None) != 1 or not all(one is None or one.exact for one in (made.removed, made.added)):
        return relation
    names = str(made.origin), made.name
    found = with_the_other(pair[0].rows, pair[1].rows, names, given[0], given[1])
    left, came = (None if k is None else RowCount(k, k) for k in found)
    whole = replace(made, removed=left, added=came)
    return replace(relation, datasets=tuple(whole if one == made else one for one in relation.datasets))


def _of_data_set(
    new: EncodedRelease, register: Register, relation: VersionRelation, name: str, limits: Limits,
    domain: Domain | str | None,
) -> EncodedRelease | None:  # fmt: skip
    """Return the releases about one data set, the new one among them, as one; None where there is none."""
    known = relation.released(name)
    register.check(tuple(known))
    files = [register.path(one) for one in known]
    if name == relation.dataset:
        if not files and domain is None:
            return new
        if not new.files or "-" in new.files:
            raise Unsupported("a release is compared with earlier ones from its file: save it, and give that")
        files += [file for file in new.files if file not in files]
    if not files:
        return None
    return load(*files, domain=domain, confidence=new.statements.confidence or CONFIDENCE, limits=limits)
