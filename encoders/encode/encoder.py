"""From published models to one release: cut the attributes, then let each kind's encoder write its block.

An encoder is one file named after the kind (`tree`, `rule_list`, ...) with a class named after it (`RuleListEncoder`);
it is found by that name, so adding a kind touches nothing here.

Statements over one cut of a domain, over a finer one; and with labels that no row has.

What every answer about a release assumes, in words.
"""

from __future__ import annotations

import importlib
import importlib.util
import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from typing import TYPE_CHECKING, Any, cast

import numpy as np
from numpy.typing import NDArray

from encoders.domain.domain import DECLARED, GUESSED, Domain
from encoders.domain.values import Categorical, Grid, Position
from encoders.encode.displayed import groups_plot, models_frame, release_facts
from encoders.encode.typed_rows import TypedRows, refuse_unnamed, typed_domain
from encoders.models.adversary import AdversaryKnowledge
from encoders.models.learner_facts import LearnerFacts
from encoders.models.models import (
    AnyModel,
    ColumnFigures,
    KnownPositions,
    KnownRows,
    PublishedModel,
    published_of,
)
from encoders.models.related import RelatedDataSets
from encoders.parts.base import MAX_ROWS, CutDomain, Encoder, Resolutions, count_text, weighed_cuts
from solvers.foundation.displayed import Displayed, DisplayFacts
from solvers.foundation.errors import ContradictionError, ReleaseError, Unsupported
from solvers.foundation.exact import exact_number, level_text
from solvers.foundation.limits import collector_paused
from solvers.foundation.structures import Derived
from solvers.statements.boxes import Boxes
from solvers.statements.gradients.boosted import Boosted
from solvers.statements.release import ANY_LABEL, Block, Observed, Partition, Release, RowCount, TreeBags

if TYPE_CHECKING:
    import pandas as pd

    from solvers.foundation.plots import Axes

INTERVALS = "noisy counts are intervals"  # how the assumption begins that a posterior does not make
ON_THE_ROWS = "the tree "  # how a reader's assumption begins on which rows a tree counts: it comes first
NO_LEARNER = "the adversary does not use how the learner chose the model"  # what the learner's midpoints replace


def assumptions(
    domain: Domain,
    unsized: Sequence[str],
    rows: RowCount,
    models: int,
    said_by_models: Sequence[str] = (),
    noisy: bool = False,
    resampled: bool = False,
    facts: LearnerFacts | None = None,
    relations: Sequence[str] = (),
) -> tuple[str, ...]:
    """Return what every verdict about the release assumes (docs/what-is-computed.md, "What every verdict assumes").

    `relations`: how the data sets that the models are of are related, none where there is one.
    `unsized`: the attributes without an end that the models cut. `facts` of a known learner say what that assumes
    themselves (`said_by_models`).
    """
    if domain.source == DECLARED:
        where = "the domain is as declared: no row lies outside it"
    elif domain.source == GUESSED:
        where = "nobody declared a domain: it is what the model file says, and for the rest guessed"
    else:
        where = f"the domain was read off the {domain.source}: an adversary may not know it"
    n = f"exactly {rows.low} rows" if rows.exact else f"at least {rows.low} rows"
    n = "any number of rows" if noisy and rows == RowCount() else n
    if not rows.exact and rows.high is not None:
        n = f"between {rows.low} and {rows.high} rows"
    n = f"{n} in all data sets, each counted once" if relations else n
    notes = [
        *dict.fromkeys(line for line in said_by_models if line.startswith(ON_THE_ROWS)),
        where,
        n,
        _raw_rows_line(domain, noisy, resampled),
        *((NO_LEARNER,) if facts is None else ()),
        *domain.about_missing,
        *domain.notes,
    ]
    if relations:
        notes += relations
    elif models > 1:
        notes.append("all models were trained on the same rows")
    notes += (line for line in dict.fromkeys(said_by_models) if line not in notes)
    if found := [name for name in domain.continuous if name not in unsized]:
        notes.append(f"continuous without a resolution, only relative figures: {', '.join(found)}")
    if unsized:
        why = "no region has a share of what could be, so that bits removed and probabilities are not defined"
        notes.append(f"numbers without an end ({', '.join(unsized)}): {why}")
    return tuple(notes)


def _raw_rows_line(domain: Domain, noisy: bool, resampled: bool = False) -> str:
    """Return what is assumed of the rows behind counts; where values may be missing, that is said elsewhere."""
    without = ([] if noisy else ["noise"]) + ([] if domain.about_missing else ["missing values"])
    line = f"counts are of raw training rows: unweighted{'' if resampled else ', not resampled'}"
    return f"{line}, without {' or '.join(without)}" if without else line


def level_lines(models: Sequence[AnyModel], confidence: Fraction) -> list[str]:
    """Return what unbounded noise makes of every figure."""
    if all(m.noise is None or m.noise.law.bounded for m in published_of(models)):
        return []
    if confidence == 1:
        return ["counts with unbounded noise are left out: at confidence 1 they say nothing"]
    level = f"jointly at confidence {level_text(confidence)} over the noise"
    return [f"{INTERVALS}, {level}: figures hold at it, not for certain"]


def privacy_lines(models: Sequence[AnyModel], known: RowCount) -> list[str]:
    """Return what the number of rows gives away beside private counts."""
    relations = {m.noise.neighbours for m in published_of(models) if m.noise is not None}
    if known.exact and "add_remove" in relations:
        return [
            "the exact number of rows is released beside counts that are private for adding or removing a row: "
            "an exact release, which that privacy does not cover"
        ]
    return []


def untested(domain: Domain, cut: CutDomain) -> frozenset[int]:
    """Return the attributes of a guessed domain that no test uses: nobody said which values they have."""
    guessed = domain.attributes if domain.source == GUESSED else ()
    binary = (k for k, a in enumerate(guessed) if isinstance(a, Categorical) and a.values == (0, 1))
    return frozenset(k for k in binary if len(cut.cuts[k].sizes) == 1)


def recut(block: Partition, before: CutDomain, after: CutDomain) -> Partition:
    """Return a partition over the parts of a cut that has all cuts of the one before, and maybe others."""
    known: dict[tuple[int, int], int] = {}
    masks = []
    for k, mask in zip(block.boxes.attribute.tolist(), block.boxes.mask.tolist(), strict=True):
        if (k, mask) not in known:
            known[k, mask] = _finer(int(mask), k, before, after)
        masks.append(known[k, mask])
    wide = any(mask >> 64 for mask in masks)
    moved = np.empty(len(masks), dtype=object if wide else np.uint64)
    moved[:] = masks
    return replace(block, boxes=Boxes(block.boxes.start, block.boxes.attribute, moved))


def _finer(mask: int, k: int, before: CutDomain, after: CutDomain) -> int:
    """Return the parts of attribute k after a further cut that some parts before have become, as bits."""
    old, new = before.cuts[k], after.cuts[k]
    return new.mask(tuple(old.bounds(p) for p in range(len(old.edges) - 1) if mask >> p & 1))


def _label_excluded(domain: Domain, models: Iterable[AnyModel]) -> NDArray[np.bool_] | None:
    """Return which values of the label no row has, as figures of the label say; None where they say nothing."""
    label = domain.label
    origins = [m.origin for m in published_of(models) if m.origin is not None]
    figures = [f for origin in origins for f in origin.columns if label is not None and f.column == label.name]
    among = [f.values if f.values is not None else f.among for f in figures if f.make is None]
    if not isinstance(label, Categorical | Grid) or not any(values is not None for values in among):
        return None
    out = np.zeros(label.span[1], dtype=bool)
    for values in among:
        if values is not None:
            out[: label.known[1]] |= [label.value_at(i) not in values for i in range(label.known[1])]
    return out if out.any() else None


def _without_labels(block: Block, excluded: NDArray[np.bool_]) -> Block:
    """Return a block of counts whose upper ends say, too, that no row has one of the excluded labels."""
    if not isinstance(block, Partition):
        return block
    none = (block.label != ANY_LABEL) & excluded[block.label]
    return replace(block, high=np.where(none, block.low, block.high))


CONFIDENCE = Fraction(95, 100)  # joint, of the intervals around noisy counts


@dataclass(frozen=True, repr=False)
class EncodedRelease(Displayed):
    """A release as users hold it: the declared domain, the published models and the statements.

    `known`, `facts` of a known learner, `knowledge` and `beside` (by position): what the adversary knows beside the
    models, which is in the statements alone. `typed`: in which data sets rows are, where models are of several; the
    domain then has one more attribute (`encoders.encode.typed_rows`), and rows are those of all data sets. `hashes` are
    the SHA-256 of `files`, one each; `sha256` is that of the one file, or of all hashes.

    >>> import pandas as pd
    >>> import recon
    >>> rows = pd.DataFrame({"smoker": [0, 0, 1, 1], "old": [0, 1, 0, 1], "ill": [0, 0, 0, 1]})
    >>> model = recon.GreedyRuleListClassifier(max_length=2).fit(rows[["smoker", "old"]], rows["ill"])
    >>> release = recon.encode(model, recon.Domain.from_frame(rows, "ill"))
    >>> release
    <EncodedRelease: rule list of 2 rules, 4 rows, 2 attributes, label 'ill'>
    >>> release.rows, release.certain
    (RowCount(low=4, high=4), True)
    """

    domain: Domain
    models: tuple[AnyModel, ...]
    cut: CutDomain
    statements: Release
    file: str = ""
    sha256: str = ""
    files: tuple[str, ...] = ()
    hashes: tuple[str, ...] = ()
    declared: RowCount | None = None
    reader_notes: tuple[str, ...] = ()
    known: KnownRows | None = None
    facts: LearnerFacts | None = None
    beside: KnownPositions | None = None
    typed: TypedRows | None = None
    knowledge: AdversaryKnowledge | None = None
    derived: Derived = field(init=False, default_factory=Derived, repr=False, compare=False)

    @property
    def related(self) -> RelatedDataSets | None:
        """Return the data sets that the models are of, where these are several; None where they are of one."""
        return None if self.typed is None else self.typed.related

    @property
    def confidence(self) -> float:
        """Return the confidence at which the statements hold: 1 unless counts carry unbounded noise.

        As a float; one that is below 1 stays below 1.
        """
        found = self.statements.confidence
        return 1.0 if found is None or self.certain or found == 1 else min(float(found), math.nextafter(1.0, 0.0))

    @property
    def noisy(self) -> bool:
        """Return whether counts carry noise."""
        return bool(self.statements.observed)

    @property
    def certain(self) -> bool:
        """Return whether the statements hold whatever the noise: nothing is noisy, or all noise is bounded."""
        return all(seen is None or seen.law.bounded for seen in self.statements.observed)

    @property
    def rows(self) -> RowCount:
        """Return the number of training rows."""
        return self.statements.rows

    @property
    def assumptions(self) -> tuple[str, ...]:
        """Return what every answer about this release assumes."""
        return self.statements.assumptions

    def _facts(self) -> DisplayFacts:
        files = self.files or (self.file or "in memory",)
        return release_facts(self.domain, self.models, self.statements, self.confidence, files, self.sha256)

    def to_frame(self) -> pd.DataFrame:
        """Return one line per model: name, kind, trees, parts (nodes, rules or figures), noise, format, counts."""
        return models_frame(self.models)

    def plot(self, ax: Axes | None = None) -> Axes:
        """Return axes with how many published groups (leaves, rules, figures) have 0, 1, ... or 10 and more rows.

        Intervals and noisy counts are taken at their least number. Raises `Unsupported` without matplotlib.
        """
        return groups_plot(self.statements, ax)

    def read_as(self, other: EncodedRelease) -> EncodedRelease:
        """Return the release as one that was read from the same files as another."""
        return replace(
            self, sha256=other.sha256, files=other.files, hashes=other.hashes, reader_notes=other.reader_notes
        )

    def at_confidence(self, confidence: Fraction | float) -> EncodedRelease:
        """Return the release read at another joint confidence in (0, 1]; itself where nothing is noisy.

        At 1, counts with unbounded noise say nothing, and what is left is certain. Cost: that of encoding, once per
        confidence. Raises `ReleaseError` for a number that is none.
        """
        level = confidence_level(confidence)
        if not self.noisy or level == self.statements.confidence:
            return self
        known = self.derived.part(AtLevels).by_level
        if level not in known:
            known[level] = reassembled(self, confidence=level)
        return known[level]


@dataclass(slots=True)
class AtLevels:
    """A release read at other confidences than its own."""

    by_level: dict[Fraction, EncodedRelease] = field(default_factory=dict)


def encoder_for(kind: str) -> Encoder[AnyModel]:
    """Return the encoder of a kind; `Unsupported` when this version has none."""
    if importlib.util.find_spec(f"encoders.kinds.{kind}") is None:
        raise Unsupported(f"models of kind '{kind}' cannot be encoded by this version of recon")
    name = "".join(word.capitalize() for word in kind.split("_")) + "Encoder"
    found: Encoder[AnyModel] = getattr(importlib.import_module(f"encoders.kinds.{kind}"), name)()
    return found


def encoder_of(model: AnyModel, alpha: Fraction = Fraction(0)) -> Encoder[AnyModel]:
    """Return the encoder of a model; `alpha` is what the interval around a noisy count leaves out."""
    found = encoder_for(model.kind)
    if model.noise is None:
        return found
    from encoders.kinds.noisy_counts import NoisyEncoder

    return NoisyEncoder(found, alpha)


def confidence_level(confidence: Fraction | float | str) -> Fraction:
    """Return a confidence (a text: as it is written) as an exact number; `ReleaseError` outside (0, 1]."""
    try:
        named = str(confidence) if isinstance(confidence, float) else confidence
        level = exact_number(named) if isinstance(named, str) else Fraction(named)
    except (ValueError, TypeError, OverflowError):
        raise ReleaseError(f"the confidence {confidence!r} is not a number in (0, 1]") from None
    if not 0 < level <= 1:
        raise ReleaseError(f"the confidence {confidence} is not in (0, 1]")
    return level


@dataclass(frozen=True, slots=True)
class Origin:
    """Where a published model stands: its file (empty where the caller fills it in) and its place in there."""

    file: str
    place: str

    def __str__(self) -> str:
        return f"{self.file}: {self.place}" if self.file else self.place


@collector_paused()
def encode(
    domain: Domain,
    models: Sequence[AnyModel],
    rows: RowCount | None = None,
    file: str = "",
    confidence: Fraction | float = CONFIDENCE,
    related: RelatedDataSets | None = None,
) -> EncodedRelease:
    """Return the release that the published models make over the domain.

    `rows` None means: as many as the models count. `related`: the data sets that the models are of, where these are
    several; they say how many rows there are. `confidence` is that of the joint intervals around noisy counts.
    Raises `ReleaseError` for malformed models and `ContradictionError` when two models count different numbers of
    rows. Cost: linear in nodes and literals; a condition that occurs often is resolved once.
    """
    if not models:
        raise ReleaseError("there is no model in the release", place="models", file=file)
    origins = [Origin("", f"models[{i}]") for i in range(len(models))]
    check(domain, models, origins)
    level = confidence_level(confidence)
    if related is not None:
        typed = typed_domain(domain, related, rows)
        return assemble(typed, models, RowCount(), origins, file, level, related=related)
    return assemble(domain, models, total_rows(models, rows, origins), origins, file, level)


@collector_paused()
def reassembled(
    release: EncodedRelease,
    questions: Sequence[AnyModel] = (),
    place: str = "the question",
    confidence: Fraction | None = None,
    **changes: Any,
) -> EncodedRelease:
    """Return a release as it is encoded anew after changes of its fields, with checked questions behind its models.

    `changes`: other `models` and another `domain`, which are checked here; `declared` rows; what an adversary has in
    `known`, `facts` and `knowledge`, which is checked by then. What leaf values prove and what is known by position is
    no part of it. `confidence` None: the release's own. Raises as `encode`. Cost: that of encoding.
    """
    given = replace(release, **changes)
    rows, level = given.declared or given.rows, confidence or given.statements.confidence or CONFIDENCE
    origins = [Origin("", f"models[{i}]") for i in range(len(given.models))]
    if not changes.keys().isdisjoint({"domain", "models"}):
        check(given.domain, given.models, origins)
        rows = rows if given.typed is not None else total_rows(given.models, rows, origins)
    models, places = [*given.models, *questions], [*origins, *[Origin("", place)] * len(questions)]
    beside = given.known, given.facts, given.related, given.knowledge
    return assemble(given.domain, models, rows, places, given.file, level, *beside).read_as(release)


def check(domain: Domain, models: Sequence[AnyModel], origins: Sequence[Origin]) -> None:
    """Refuse malformed models with `ReleaseError`, naming file and place."""
    for model, origin in zip(models, origins, strict=True):
        try:
            encoder_of(model).check(model, domain, origin.place)
        except ReleaseError as error:
            raise error.at(file=origin.file) from None


def _of_single_numbers(model: AnyModel) -> bool:
    """Return whether a model compares 32-bit numbers; what stands beside models (questions, known rows) never does."""
    return isinstance(model, PublishedModel) and model.origin is not None and model.origin.single


def assemble(
    domain: Domain,
    models: Sequence[AnyModel],
    known: RowCount,
    origins: Sequence[Origin],
    file: str = "",
    confidence: Fraction = CONFIDENCE,
    beside: KnownRows | None = None,
    facts: LearnerFacts | None = None,
    related: RelatedDataSets | None = None,
    knowledge: AdversaryKnowledge | None = None,
) -> EncodedRelease:
    """Return the release of checked models over `known` rows: the domain cut, then one block after the other.

    `beside`, `facts` and `knowledge`: what the adversary knows, checked as well. `related`: the data sets that the
    models are of; the domain has their types, and rows follow from them. Raises `ReleaseError` naming file and place
    for conditions that do not fit the domain.
    """
    alpha, published, places = _share_left_out(models, confidence), models, origins
    if related is not None or any(model.dataset for model in published_of(models)):
        more = facts is not None or (beside is not None and not beside.dataset)
        refuse_unnamed(published_of(models), origins, related, more)
    typed = None if related is None else TypedRows.among(domain, related, published_of(models), origins, total_rows)
    known = known if typed is None else typed.rows
    models, origins = _with_further(models, origins, beside, facts, knowledge)
    encoders = [encoder_of(m, alpha) if isinstance(m, PublishedModel) else encoder_for(m.kind) for m in models]
    impossible = [domain.resolve(c, f"domain.impossible[{i}]") for i, c in enumerate(domain.impossible)]
    resolved, positions = _resolutions(zip(models, encoders, origins, strict=True), domain)
    for one in impossible:
        domain.cut_points(one, positions)
    if domain.label is not None:
        positions.setdefault(len(domain.all) - 1, set()).update(range(domain.label.span[1]))
    if typed is not None:
        positions.setdefault(typed.attribute, set()).update(range(len(typed.numbers)))
    cuts = weighed_cuts(domain, resolved, positions, {} if knowledge is None else knowledge.weights)
    cut = CutDomain(domain, cuts, not impossible and all(map(_of_single_numbers, models)))
    blocks, bags, boosted, leftover = _statement_blocks(
        zip(models, encoders, origins, strict=True),
        (cut, resolved),
        known,
        typed,
        _label_excluded(domain, published) if typed is None else None,  # figures are of one data set's rows
    )
    notes = [line for model, encoder in zip(models, encoders, strict=True) for line in encoder.assumes(model)]
    notes += [note for m in published_of(models) if m.origin is not None for note in m.origin.notes]
    notes += () if knowledge is None else knowledge.lines
    boxes = tuple(cut.box(r) for r in impossible)
    observed = tuple(seen for _, seen in blocks)
    noisy = any(seen is not None for seen in observed)
    notes += [*level_lines(models, confidence), *privacy_lines(models, known)] if noisy else []
    found = tuple(block for block, _ in blocks)
    loosened = *(line for m, e in zip(models, encoders, strict=True) for line in e.loosens(m)), *leftover
    resampled = any(model.resampled for model in published_of(models))
    rows, certain = known, None
    if noisy or (known.high is None and typed is None):
        from solvers.statements.observations import certain_rows, rows_between

        rows = rows_between(found, known)
        certain = certain_rows(found, observed, known) if noisy else None
        if not noisy and rows.high is not None and rows.high <= MAX_ROWS:  # figures are stated for so many rows
            return assemble(domain, published, rows, places, file, confidence, beside, facts, None, knowledge)
        rows = rows if noisy else known
    lines, said = () if typed is None else typed.lines(), [*notes, *loosened]
    assumed = assumptions(domain, cut.unsized, known, len(published), said, noisy, resampled, facts, lines)
    release = Release(
        cut.solver, rows, found, boxes, assumed, observed if noisy else (), confidence if noisy else None, loosened,
        certain, tuple(bags), tuple(boosted), relations=() if related is None else tuple(related.lines()),
    )  # fmt: skip
    return EncodedRelease(domain, tuple(published), cut, release, file, declared=known, known=beside, facts=facts,
                          typed=typed, knowledge=knowledge)  # fmt: skip


def _resolutions(
    parts: Iterable[tuple[AnyModel, Encoder[AnyModel], Origin]], domain: Domain
) -> tuple[Resolutions, dict[int, set[Position]]]:
    """Return the positions of all conditions, and where attributes are cut beyond them."""
    resolved = Resolutions()
    positions: dict[int, set[Position]] = {}
    for model, encoder, origin in parts:
        try:
            encoder.resolve(model, domain, origin.place, resolved)
        except ReleaseError as error:
            raise error.at(file=origin.file) from None
        for k, cuts in encoder.further_cuts(model, domain).items():
            positions.setdefault(k, set()).update(cuts)
    return resolved, positions


def _statement_blocks(
    parts: Iterable[tuple[AnyModel, Encoder[AnyModel], Origin]],
    over: tuple[CutDomain, Resolutions],
    known: RowCount,
    typed: TypedRows | None,
    excluded: NDArray[np.bool_] | None,
) -> tuple[list[tuple[Block, Observed | None]], list[TreeBags], list[Boosted], list[str]]:
    """Return the blocks of all models, what their bags and leaf values say beside, and what of them is left out.

    `excluded`: the labels that no row has.
    """
    blocks: list[tuple[Block, Observed | None]] = []
    bags: list[TreeBags] = []
    boosted: list[Boosted] = []
    leftover: list[str] = []
    cut, resolved = over
    for model, encoder, origin in parts:
        try:
            rows = known if typed is None else typed.of_dataset(getattr(model, "dataset", ""))
            own = encoder.observed(model, cut, resolved, rows, origin.place)
            if excluded is not None:
                own = [(_without_labels(block, excluded) if seen is None else block, seen) for block, seen in own]
            values = encoder.boosted(model, [block for block, _ in own], len(blocks))
            placed = encoder.bags(model, [block for block, _ in own], len(blocks), cut)
            if typed is not None:
                own, values, left = typed.of_model(model, own, values, placed, cut.solver.labels)
                placed = ()
                leftover += left
            bags += placed
            boosted += values
            blocks += own
        except ReleaseError as error:
            raise error.at(place=origin.place, file=origin.file) from None
    if typed is not None:
        blocks += [(numbers, None) for numbers in typed.relations([block for block, _ in blocks])]
    return blocks, bags, boosted, leftover


def _with_further(
    models: Sequence[AnyModel],
    origins: Sequence[Origin],
    beside: KnownRows | None,
    facts: LearnerFacts | None,
    knowledge: AdversaryKnowledge | None,
) -> tuple[list[AnyModel], list[Origin]]:
    """Return models and origins with what the adversary knows behind the models; a question stands last."""
    at = len(published_of(models))
    rows = [] if beside is None else [(cast(AnyModel, beside), Origin(beside.file, ""))]
    further = [*rows, *([] if facts is None else [(cast(AnyModel, facts), Origin("", ""))])]
    if knowledge is not None:
        further += [(cast(AnyModel, one), Origin(getattr(one, "file", knowledge.file), "")) for one in knowledge.models]
    return (
        [*models[:at], *(model for model, _ in further), *models[at:]],
        [*origins[:at], *(origin for _, origin in further), *origins[at:]],
    )


def _share_left_out(models: Sequence[AnyModel], confidence: Fraction) -> Fraction:
    """Return α per noisy statement so that all intervals hold together with the confidence (independent noise)."""
    noisy = [m for m in published_of(models) if m.noise is not None and not m.noise.law.bounded]
    if not noisy or confidence == 1:
        return Fraction(0)
    from encoders.kinds.noisy_counts import published
    from solvers.statements.noise.laws import per_statement

    return per_statement(1 - confidence, max(1, sum(1 for m in noisy for _ in published(m, ""))))


def total_rows(models: Sequence[AnyModel], rows: RowCount | None, origins: Sequence[Origin]) -> RowCount:
    """Return the number of rows that the models and `rows` agree on.

    Raises `ReleaseError` when one model's counts do not sum to `rows`, `ContradictionError` when two models do
    not agree.
    """
    if rows is not None and max(rows.low, rows.high or 0) > MAX_ROWS:
        raise ReleaseError(f"rows is {count_text(max(rows.low, rows.high or 0))}, more than 2^53")
    encoders = [encoder_of(m) for m in models]
    totals = [encoder.total(model) for model, encoder in zip(models, encoders, strict=True)]
    lower = [encoder.least(model) for model, encoder in zip(models, encoders, strict=True)]
    said_by = [e.evidence(model, minimum) for model, e, minimum in zip(models, encoders, lower, strict=True)]
    for total, minimum, why, origin in zip(totals, lower, said_by, origins, strict=True):
        if minimum > MAX_ROWS:
            message = f"{why}, more than 2^53 rows"
            raise ReleaseError(message, place=origin.place, file=origin.file)
        if rows is None:
            continue
        if (rows.high is not None and minimum > rows.high) or (total is not None and total < rows.low):
            text = str(rows.low) if rows.exact else f"{rows.low} to {'any' if rows.high is None else rows.high}"
            message = f"rows is {text}, but {why}"
            raise ReleaseError(message, place=origin.place, file=origin.file)
    found = [t for t in totals if t is not None]
    if len(set(found)) > 1 or (found and max(lower) > found[0]):
        exact = [total is not None for total in totals]
        named = tuple(
            f"{o} {'counts' if sure else 'needs'} {minimum} rows"
            for o, minimum, sure in zip(origins, lower, exact, strict=True)
            if minimum
        )
        raise ContradictionError("the models count different numbers of rows", named)
    if found:
        return RowCount(found[0], found[0])
    return rows if rows is not None else RowCount()


def figures_of(release: EncodedRelease) -> tuple[ColumnFigures, ...]:
    """Return what the models' files publish of single columns, without what the counts of some model say, too.

    A model that counts every class says that no row has a class that others do not name (`without_labels`). Where data
    sets are related, only figures of all rows are returned.
    """
    whole = ("",) if release.related is None else (release.related.whole,)
    of_all = (m for m in release.models if getattr(m, "dataset", "") in whole)
    found = [one for m in of_all if m.origin is not None for one in m.origin.columns]
    blocks = release.statements.partitions.values()
    said = any(bool((block.label != ANY_LABEL).all()) for block in blocks)
    return tuple(one for one in found if not (said and one.among is not None and one.values is None))
