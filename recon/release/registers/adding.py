"""What a new release adds to what the earlier ones about the same rows give away.

All of them are read as one joined release: what fits every file is a possible dataset, and no other.
Source: Ganta, Kasiviswanathan, Smith, "Composition attacks and auxiliary information in data privacy", KDD 2008.

A joined release whose sentences name files: which file each model stands in, as part of the model's name.

What a new release adds, in plain words: each sentence says whether its figure is exact or a bound.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from encoders.domain.domain import Domain
from encoders.encode.encoder import CONFIDENCE, EncodedRelease, reassembled
from encoders.encode.known import with_known_rows
from recon.queries.measures.attribute_bits import Counts, Interval
from recon.queries.measures.figures import Measures
from recon.queries.versions.difference import difference
from recon.readers.loading.loading import load, read_file
from recon.readers.loading.settled import strengthened_release
from recon.release.registers.differences import SMALL, Differences, differences
from recon.release.registers.figures import RemainingUncertainty, left_by, mutual_bounds
from recon.release.registers.index import INDEX, RegisterEntry
from recon.release.registers.register import Register
from recon.release.registers.versions import OTHER_ROWS
from solvers.foundation.displayed import quote, short_condition
from solvers.foundation.errors import ContradictionError, Inconclusive, ReleaseError, Unsupported
from solvers.foundation.limits import Limits
from solvers.statements.release import RowCount

LISTED = 3  # earlier releases that a sentence names one by one
SAME = 1e-9  # of the bits: figures nearer than this are equal


def _sentences(
    known: Sequence[RegisterEntry], left_out: Sequence[RegisterEntry], alone: RemainingUncertainty,
    before: RemainingUncertainty, after: RemainingUncertainty, found: Differences,
    conflict: Sequence[str], joined: EncodedRelease | None,
) -> tuple[str, ...]:  # fmt: skip
    """Return what a new release adds to earlier ones, in sentences; what is not known is said."""
    said: list[str] = []
    if not known:
        said.append("Nothing else was released about these rows, as far as the register says.")
    elif after.status == "unsat":
        said += _contradiction(known, before, alone, conflict)
    else:
        said += [
            *_pinned(known, alone, before, after),
            *_bits(alone, before, after),
            *_gained(before, after, joined is not None and joined.noisy),
        ]
        said += [*_differing(found)]
    said += [
        f"{what} could not be worked out: {one.note}."
        for what, one in (("What the new release leaves alone", alone), ("What the earlier releases leave", before),
                          ("What all leave together", after))
        if known and one.note and one.status in ("unknown", "empty")
    ]  # fmt: skip
    if totals := [one for one in left_out if one.known]:
        files = ", ".join(f"{quote(one.file)} ({one.date})" for one in totals)
        said.append(f"Tables of totals were not joined, recon magnitudes --register looks at them: {files}.")
    if left_out := [one for one in left_out if not one.known]:
        files = ", ".join(f"{quote(one.file)} ({one.decision}, {one.date})" for one in left_out)
        said.append(f"Not joined, because not released: {files}.")
    if any(one.decision == "withdrawn" for one in known):
        said.append("What was withdrawn is joined as well: people who copied it still have it.")
    if joined is not None and joined.confidence < 1.0 and known:
        said.append(f"Counts carry noise: these figures hold at confidence {joined.confidence:g}, not for certain.")
    return tuple(said)


def _contradiction(
    known: Sequence[RegisterEntry], before: RemainingUncertainty, alone: RemainingUncertainty, conflict: Sequence[str]
) -> list[str]:
    """Return that no dataset fits, which releases clash where that is known, which statements, and why."""
    clash = f" What clashes: {'; '.join(map(quote, conflict))}." if conflict else ""
    if alone.status == "unsat":
        return [f"The new release contradicts itself: no data set fits it.{clash}"]
    if before.status == "unsat":
        return [f"The earlier releases contradict each other already, without the new one.{clash}", OTHER_ROWS]
    who = f"The new release and {_earlier(known)} contradict each other: no data set fits all of them."
    return [f"{who}{clash}", OTHER_ROWS]


def _earlier(known: Sequence[RegisterEntry]) -> str:
    """Return the earlier releases by name and day; many by their number, the first and the last."""
    if len(known) <= LISTED:
        return _joined_words([_dated(one) for one in known])
    return f"the {len(known)} earlier releases ({_dated(known[0])} to {_dated(known[-1])})"


def _dated(one: RegisterEntry) -> str:
    """Return an earlier release by its file, and what was decided when."""
    done = {"release": "released", "release with changes": "released with changes"}.get(one.decision, one.decision)
    return f"{quote(one.file)} ({done} {one.date})"


def _joined_words(words: Sequence[str]) -> str:
    """Return words as a list in a sentence."""
    return words[0] if len(words) == 1 else f"{', '.join(words[:-1])} and {words[-1]}"


def _pinned(
    known: Sequence[RegisterEntry],
    alone: RemainingUncertainty,
    before: RemainingUncertainty,
    after: RemainingUncertainty,
) -> list[str]:
    """Return how many people are pinned down together, alone and before."""
    if after.pinned is None:
        return []
    text = f"Together with {_earlier(known)} the new release fully reveals {_people(after.pinned)}"
    if alone.pinned is not None:
        text += f"; alone it fully reveals {_people(alone.pinned)}"
    if before.pinned is not None:
        text += f", and the earlier {_release_word(known)} without it {_people(before.pinned)}"
    return [f"{text}."]


def _release_word(known: Sequence[RegisterEntry]) -> str:
    """Return the word for one or several releases."""
    return "release" if len(known) == 1 else "releases"


def _people(count: Counts) -> str:
    """Return a number of people in words: exact, at least, at most, or between."""
    low, high = count
    if high == low:
        return "nobody" if low == 0 else _persons(low)
    if high is None:
        return f"at least {_persons(low)}"
    return f"at most {_persons(high)}" if low == 0 else f"at least {low:,} and at most {_persons(high)}"


def _persons(n: int) -> str:
    """Return a number of persons."""
    return "1 person" if n == 1 else f"{n:,} people"


def _bits(alone: RemainingUncertainty, before: RemainingUncertainty, after: RemainingUncertainty) -> list[str]:
    """Return the bits left per person on average and about the most exposed, together, alone and before."""
    out = []
    each = after.bits_left_per_person
    if each is not None:
        text = f"Together they leave {_amount(each)} per person on average"
        text += "".join(
            f"{start} {_amount(one.bits_left_per_person)}"
            for start, one in (("; the new release alone leaves", alone), (", the earlier ones left", before))
            if one.bits_left_per_person is not None
        )
        out.append(f"{text}.")
    least = after.least_bits_left
    if least is not None and least[1] is not None:
        text = f"About the most exposed person they leave {_amount(least)} together"
        given = (("; the new release alone leaves", alone), (", the earlier ones left", before))
        text += "".join(
            f"{start} {_amount(one.least_bits_left)}"
            for start, one in given
            if one.least_bits_left is not None and one.least_bits_left[1] is not None
        )
        out.append(f"{text}.")
    return out


def _amount(ends: Interval) -> str:
    """Return a number of bits in words, rounded to two digits behind the point: what is not 0 is never shown as 0."""
    low, high = ends
    if high is None:
        return f"at least {_number(low)} bits"
    if abs(high - low) <= SAME * max(1.0, abs(high)):
        return f"{_number(low)} bits"
    if _number(low) == _number(high):
        return f"about {_number(low)} bits"
    return f"between {_number(low)} and {_number(high)} bits"


def _number(value: float) -> str:
    """Return a number with two digits behind the point."""
    return "less than 0.01" if 0 < value < 0.005 else f"{value:,.2f}"


def _gained(before: RemainingUncertainty, after: RemainingUncertainty, noisy: bool) -> list[str]:
    """Return what the new release takes away from what the earlier ones left."""
    if before.log2_datasets is None or after.log2_datasets is None:
        return []
    if not noisy and after.as_many_as(before):  # what fits all fits the earlier ones, so that as many are the same
        return ["The new release adds nothing to the earlier ones: the same data sets fit with and without it."]
    low, maximum = before.log2_datasets[0], after.log2_datasets[1]
    least = None if maximum is None else max(0.0, low - maximum)
    if before.status == after.status == "exact" and least is not None:
        gain = _number(least) if least else "less than 0.01"
        return [f"The new release removes {gain} of the {_number(low)} bits that the earlier ones left in all."]
    if least:
        return [f"The new release removes at least {_number(least)} bits of what the earlier ones left in all."]
    return ["Whether, and how much, the new release adds to the earlier ones is not decided: these are bounds."]


def _differing(found: Differences) -> list[str]:
    """Return the small groups that only the releases together single out."""
    if found.in_all is None:
        return [f"{found.note[:1].upper()}{found.note[1:]}."] if found.note else []
    if not found.groups:
        return [f"Together they single out no further group of fewer than {SMALL} people for certain."]
    first = found.groups[0]
    groups = "1 group" if found.in_all == 1 else f"{found.in_all:,} groups"
    verb = "is" if found.in_all == 1 else "are"
    size = _people(first.rows)
    return [
        f"{groups} of fewer than {SMALL} people {verb} singled out only by the releases together; "
        f"the smallest has {size}: {short_condition(first.where, 400)}."
    ]


def _labels_of(register: Register, known: Sequence[RegisterEntry], new: EncodedRelease, models: int) -> list[str]:
    """Return, for each model of the joined release in its order, what its file is called in sentences.

    Nothing ([]) where it cannot be said which models a file has. `models`: how many there are in all.
    """
    taken = {one.file for one in known}
    last = [f"{base} (new)" if (base := os.path.basename(file)) in taken else base for file in new.files]
    earlier = models - len(new.models)
    own = [len(new.models)] if len(last) == 1 else [read_file(file).models for file in new.files]
    before = [earlier] if len(known) == 1 else [read_file(register.path(one)).models for one in known]
    if (sum(before), sum(own)) != (earlier, len(new.models)):
        return []
    files = zip([*(one.file for one in known), *last], [*before, *own], strict=True)
    return [file for file, count in files for _ in range(count)]


def _named_by_file(whole: EncodedRelease, labels: Sequence[str]) -> EncodedRelease:
    """Return the same statements under names that begin with the file; the release itself without labels.

    Certificates name statements as they were published: they belong to the release that is given, not to this one.
    """
    if not labels:
        return whole
    models = (replace(m, name=f"{label}: {m.name}") for m, label in zip(whole.models, labels, strict=True))
    return reassembled(whole, models=tuple(models))


@dataclass(frozen=True)
class AddedDisclosure:
    """What a new release leaves alone, what the earlier ones leave (before), and what all leave together (after).

    `earlier` were joined, `left_out` not, for they were not released. `release` is the joined release (None: no number
    of rows fits all files), `conflict` the statements that clash where no dataset fits, with their files.
    """

    register: str
    earlier: tuple[RegisterEntry, ...]
    left_out: tuple[RegisterEntry, ...]
    alone: RemainingUncertainty
    before: RemainingUncertainty
    after: RemainingUncertainty
    differences: Differences
    sentences: tuple[str, ...]
    conflict: tuple[str, ...] = ()
    release: EncodedRelease | None = field(default=None, repr=False, compare=False)

    @property
    def status(self) -> str:
        """Return the status of all together: exact, bounds, unsat, empty or unknown."""
        return self.after.status

    @property
    def contradicts(self) -> bool:
        """Return whether no dataset fits the new release and the earlier ones together."""
        return self.after.status == "unsat"

    def to_json(self) -> dict[str, Any]:
        """Return all of it as JSON."""
        return {
            "register": self.register,
            "earlier": [one.to_json() for one in self.earlier],
            "left_out": [one.to_json() for one in self.left_out],
            "before": self.before.to_json(),
            "after": self.after.to_json(),
            "alone": self.alone.to_json(),
            "sentences": list(self.sentences),
            "differences": [one.to_json() for one in self.differences.groups],
            "differences_in_all": self.differences.in_all,
            "conflict": list(self.conflict),
        }


def adds(
    new: EncodedRelease, register: Register, limits: Limits, *, domain: Domain | str | None = None, seed: int = 0,
    independent: bool = False, after: Measures | None = None, together: EncodedRelease | None = None,
) -> AddedDisclosure:  # fmt: skip
    """Return what a new release adds to the released entries of a register.

    All are read over one domain: `domain` (or a file with one), else the register's, else that of the files united.
    `independent`: with every binary column as a bit of its own. `together`: the joined release, where `joined` was
    asked already, and `after` its measures. The time of `limits` is shared: bounds are kept where it ends. Nothing is
    drawn, so that `seed` changes nothing.

    Raises `ReleaseError` where a released file is missing or is not the registered one, and where domains disagree.
    That releases contradict each other is an answer (`contradicts`), no error. Cost: three times that of `measure`.
    """
    known, left_out = _besides(register, new), _left_out_of(register, new)
    if not known:
        return _alone_in_it(new, register, left_out, limits, after)
    try:
        whole = together or joined_release(new, register, limits, domain=domain, independent=independent)
    except ContradictionError as error:
        return _of_other_rows(new, register, left_out, error, limits, domain)
    plain = strengthened_release(whole, limits)
    released = _named_by_file(whole, _labels_of(register, known, new, len(whole.models)))
    earlier = len(whole.models) - len(new.models)
    parts = _part_of(released, slice(None, earlier)), _part_of(released, slice(earlier, None))
    limits.report("the new release is measured alone")
    alone = left_by(parts[1], limits.stage("released alone"))
    limits.report("the earlier releases are measured together")
    before = left_by(parts[0], limits.stage("earlier releases"))
    limits.report("all releases are measured together")
    given = after if after is not None and after.status != "unsat" else None
    measured = strengthened_release(released, limits) if given is None else plain
    found = left_by(measured, limits.stage("all releases"), given)
    if not whole.noisy:  # joint intervals of noise are wider than those of a part: then nothing follows
        alone, before, found = mutual_bounds(alone, before, found)
    # Where as many data sets fit as one side leaves, that side says it all.
    nothing_new = not whole.noisy and (found.as_many_as(before) or found.as_many_as(alone))
    single = Differences() if nothing_new else Differences(in_all=None)
    if found.measures is not None and found.status != "unsat" and not nothing_new:
        apart = [one.measures for one in (alone, before) if one.measures is not None]
        blocks = len(released.statements.blocks) - len(parts[1].statements.blocks)  # what is known stands in both
        single = differences(measured, found.measures, apart, released.statements, blocks, limits)
    said = (*_itself(register, new), *_sentences(known, left_out, alone, before, found, single, found.conflict, whole))
    return AddedDisclosure(register.folder, known, left_out, alone, before, found, single, said, found.conflict, plain)


def joined_release(
    new: EncodedRelease, register: Register, limits: Limits, *, domain: Domain | str | None = None,
    independent: bool = False,
) -> EncodedRelease:  # fmt: skip
    """Return the earlier releases and the new one as one release, in the order of the register, the new one last.

    It is what the files make together on the command line, so that its certificates name them and are re-checked with
    them. What is known of everybody's rows, and their number, are the new one's. Raises as `adds` does, and
    `ContradictionError` where no number of rows fits all files.
    """
    known = _besides(register, new)
    if not known:
        return new
    if not new.files or "-" in new.files:
        raise ReleaseError("a release is joined with earlier ones from its file: save it, and give that")
    register.check(known)
    files = [*(register.path(one) for one in known), *new.files]
    confidence = new.statements.confidence or CONFIDENCE
    given = domain if domain is not None else register.domain
    try:
        found = load(*files, domain=given, confidence=confidence, memory=limits.memory, limits=limits)
    except ReleaseError as error:
        raise _with_advice(error, given is None) from None
    if found.hashes != (*(one.sha256 for one in known), *new.hashes):
        raise ReleaseError("files changed while they were read: run it again", file=register.folder)
    rows = _joint_rows(found, new, register.index.rows)
    if independent or rows != found.declared:
        over = found.domain.as_columns() if independent else found.domain
        found = reassembled(found, domain=over, declared=rows)
    return found if new.known is None else with_known_rows(found, new.known)


def _besides(register: Register, new: EncodedRelease) -> tuple[RegisterEntry, ...]:
    """Return the entries that an adversary knows besides the new release, which may be registered already."""
    return tuple(one for one in register.released if one.sha256 not in new.hashes)


def _left_out_of(register: Register, new: EncodedRelease) -> tuple[RegisterEntry, ...]:
    """Return the entries that were not released, and tables of totals, the new one left out."""
    return tuple(one for one in register.entries if (not one.known or one.totals) and one.sha256 not in new.hashes)


def _itself(register: Register, new: EncodedRelease) -> list[str]:
    return [
        f"The release is in the register itself, as {_dated(one)}: it is compared with the others."
        for one in register.entries
        if one.sha256 in new.hashes
    ]


def _with_advice(error: ReleaseError, without: bool) -> ReleaseError:
    """Return a refusal of files whose domains disagree, with what to do about it; any other as it is."""
    if not without or not error.place.startswith("domain"):
        return error
    advice = (
        "releases about the same rows have one domain: give it with --domain FILE, here or with recon register --add"
    )
    return ReleaseError(f"{error.message}; {advice}", place=error.place, file=error.file)


def _joint_rows(found: EncodedRelease, new: EncodedRelease, rows: int | None) -> RowCount:
    """Return the number of rows that the files, the new release as it was opened, and the register allow."""
    given = {
        "all files": found.declared or RowCount(),
        "the new release": new.declared or RowCount(),
        INDEX: RowCount() if rows is None else RowCount(rows, rows),
    }
    low = max(one.low for one in given.values())
    high = min((one.high for one in given.values() if one.high is not None), default=None)
    if high is not None and low > high:
        said = [f"{name}: {_rows_text(one)} rows" for name, one in given.items() if one != RowCount()]
        raise ContradictionError("the releases are of different numbers of rows", tuple(said))
    return RowCount(low, high)


def _rows_text(rows: RowCount) -> str:
    """Return a number of rows in words."""
    if rows.exact:
        return f"{rows.low:,}"
    return f"at least {rows.low:,}" if rows.high is None else f"{rows.low:,} to {rows.high:,}"


def _part_of(whole: EncodedRelease, part: slice) -> EncodedRelease:
    """Return some models of the joined release by themselves, over the same domain and number of rows."""
    return reassembled(whole, models=whole.models[part])


def _alone_in_it(
    new: EncodedRelease, register: Register, left_out: tuple[RegisterEntry, ...], limits: Limits, after: Measures | None
) -> AddedDisclosure:
    """Return that nothing was released before: the new release alone is all there is."""
    release = strengthened_release(new, limits)
    found = left_by(release, limits, after)
    before = _nothing_before(found)
    said = (
        *_itself(register, new),
        *_sentences((), left_out, found, before, found, Differences(), found.conflict, release),
    )
    return AddedDisclosure(
        register.folder, (), left_out, found, before, found, Differences(), said, found.conflict, release
    )


def _nothing_before(found: RemainingUncertainty) -> RemainingUncertainty:
    """Return what is left before any release: everything."""
    bits = None if found.measures is None else found.measures.unordered_before
    rows = None if found.measures is None else found.measures.rows
    if bits is None or not rows:
        return RemainingUncertainty("unknown", pinned=(0, 0), note="nothing was released before")
    return RemainingUncertainty(
        "exact", (bits, bits), (bits / rows, bits / rows), (0, 0), note="nothing was released before"
    )


def _of_other_rows(
    new: EncodedRelease, register: Register, left_out: tuple[RegisterEntry, ...], error: ContradictionError,
    limits: Limits,
    domain: Domain | str | None,
) -> AddedDisclosure:  # fmt: skip
    """Return that the files are not about the same rows: no number of rows fits all of them."""
    known, level = _besides(register, new), new.statements.confidence or CONFIDENCE
    alone = left_by(strengthened_release(new, limits), limits.stage("released alone"))
    try:
        paths = [register.path(one) for one in known]
        given = domain if domain is not None else register.domain
        earlier = load(*paths, domain=given, confidence=level, memory=limits.memory, limits=limits)
        before = left_by(strengthened_release(earlier, limits), limits.stage("all releases"))
    except ContradictionError as other:
        before = RemainingUncertainty(
            "unsat", note="the earlier releases are of different numbers of rows", conflict=other.conflict
        )
    names = {register.path(one): one.file for one in known} | {file: os.path.basename(file) for file in new.files}
    conflict = tuple(_in_short(line, names) for line in error.conflict)
    after, found = RemainingUncertainty("unsat", note=str(error), conflict=conflict), Differences(in_all=None)
    said = _sentences(known, left_out, alone, before, after, found, conflict, None)
    limits.report(f"the new release is compared with {quote(known[-1].file)} as another version of the data")
    said = (*said, *_as_versions(known[-1], register.path(known[-1]), new, limits, domain or register.domain))
    return AddedDisclosure(register.folder, known, left_out, alone, before, after, found, said, conflict)


def _as_versions(
    entry: RegisterEntry, path: str, new: EncodedRelease, limits: Limits, domain: Domain | str | None
) -> list[str]:
    """Return what the last earlier release and the new one say of who left and came, as two versions of the data.

    Nobody said how they are related: the fewest changes that the numbers of rows allow, which the sentences say.
    """
    if len(new.files) != 1 or "-" in new.files:
        return []
    try:
        found = difference(path, new.files[0], domain=domain, limits=limits.stage("all releases"))
    except (ContradictionError, Inconclusive, ReleaseError, Unsupported) as error:
        return [f"As two versions of the data {_dated(entry)} and the new release were not compared: {error}."]
    relation = "; ".join(() if found.release.related is None else found.release.related.lines())
    return [f"Compared with {_dated(entry)} as two versions of the data ({relation}): {' '.join(found.sentences())}"]


def _in_short(line: str, names: Mapping[str, str]) -> str:
    """Return a line that begins with the path of a file, with the file's name in place of it."""
    path = next((path for path in names if line.startswith(f"{path}:")), "")
    return f"{names[path]}{line[len(path) :]}" if path else line
