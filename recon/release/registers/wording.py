"""What a new release adds, in plain words: each sentence says whether its figure is exact or a bound."""

from __future__ import annotations

from collections.abc import Sequence

from encoders.encode.encoder import EncodedRelease
from recon.queries.measures.revealed.known import Counts, Interval
from recon.release.registers.differences import SMALL, Differences
from recon.release.registers.figures import RemainingUncertainty
from recon.release.registers.index import RegisterEntry
from solvers.foundation.escaping import named

LISTED = 3  # earlier releases that a sentence names one by one
SAME = 1e-9  # of the bits: figures nearer than this are equal
OTHER_ROWS = (
    "Perhaps they are not about the same rows: another state of the data, people who joined or left, other cleaning. "
    "Then nothing here says what they give away together, and they belong in two registers; but whoever knows who "
    "joined or left can subtract one release from the other, so compare their counts by hand before you release."
)


def sentences(
    known: Sequence[RegisterEntry], left_out: Sequence[RegisterEntry], alone: RemainingUncertainty,
    before: RemainingUncertainty, after: RemainingUncertainty, found: Differences,
    conflict: Sequence[str], joined: EncodedRelease | None,
) -> tuple[str, ...]:  # fmt: skip
    """Return what a new release adds to earlier ones, in sentences; what is not known is said."""
    said: list[str] = []
    if not known:
        said.append("Nothing else was released about these rows, as far as the register says.")
    elif after.status == "unsat":
        said += contradiction(known, before, alone, conflict)
    else:
        said += [
            *pinned(known, alone, before, after),
            *bits(alone, before, after),
            *gained(before, after, joined is not None and joined.noisy),
        ]
        said += [*differing(found)]
    said += [
        f"{what} could not be worked out: {one.note}."
        for what, one in (("What the new release leaves alone", alone), ("What the earlier releases leave", before),
                          ("What all leave together", after))
        if known and one.note and one.status in ("unknown", "empty")
    ]  # fmt: skip
    if left_out:
        files = ", ".join(f"{named(one.file)} ({one.decision}, {one.date})" for one in left_out)
        said.append(f"Not joined, because not released: {files}.")
    if any(one.decision == "withdrawn" for one in known):
        said.append("What was withdrawn is joined: whoever copied it while it was out still has it.")
    if joined is not None and joined.confidence < 1.0 and known:
        said.append(f"Counts carry noise: these figures hold at confidence {joined.confidence:g}, not for certain.")
    return tuple(said)


def contradiction(
    known: Sequence[RegisterEntry], before: RemainingUncertainty, alone: RemainingUncertainty, conflict: Sequence[str]
) -> list[str]:
    """Return that no dataset fits, which releases clash where that is known, which statements, and why."""
    clash = f" What clashes: {'; '.join(map(named, conflict))}." if conflict else ""
    if alone.status == "unsat":
        return [f"The new release contradicts itself: no data set fits it.{clash}"]
    if before.status == "unsat":
        return [f"The earlier releases contradict each other already, without the new one.{clash}", OTHER_ROWS]
    who = f"The new release and {earlier(known)} contradict each other: no data set fits all of them."
    return [f"{who}{clash}", OTHER_ROWS]


def earlier(known: Sequence[RegisterEntry]) -> str:
    """Return the earlier releases by name and day; many by their number, the first and the last."""
    if len(known) <= LISTED:
        return joined_words([dated(one) for one in known])
    return f"the {len(known)} earlier releases ({dated(known[0])} to {dated(known[-1])})"


def dated(one: RegisterEntry) -> str:
    """Return an earlier release by its file, and what was decided when."""
    done = {"release": "released", "release with changes": "released with changes"}.get(one.decision, one.decision)
    return f"{named(one.file)} ({done} {one.date})"


def joined_words(words: Sequence[str]) -> str:
    """Return words as a list in a sentence."""
    return words[0] if len(words) == 1 else f"{', '.join(words[:-1])} and {words[-1]}"


def pinned(
    known: Sequence[RegisterEntry],
    alone: RemainingUncertainty,
    before: RemainingUncertainty,
    after: RemainingUncertainty,
) -> list[str]:
    """Return how many people are pinned down together, alone and before."""
    if after.pinned is None:
        return []
    text = f"Together with {earlier(known)} the new release pins down {people(after.pinned)}"
    if alone.pinned is not None:
        text += f"; alone it pins down {people(alone.pinned)}"
    if before.pinned is not None:
        text += f", and the earlier {release_word(known)} without it {people(before.pinned)}"
    return [f"{text}."]


def release_word(known: Sequence[RegisterEntry]) -> str:
    """Return the word for one or several releases."""
    return "release" if len(known) == 1 else "releases"


def people(count: Counts) -> str:
    """Return a number of people in words: exact, at least, at most, or between."""
    low, high = count
    if high == low:
        return "nobody" if low == 0 else persons(low)
    if high is None:
        return f"at least {persons(low)}"
    return f"at most {persons(high)}" if low == 0 else f"at least {low:,} and at most {persons(high)}"


def persons(n: int) -> str:
    """Return a number of persons."""
    return "1 person" if n == 1 else f"{n:,} people"


def bits(alone: RemainingUncertainty, before: RemainingUncertainty, after: RemainingUncertainty) -> list[str]:
    """Return the bits left per person on average and about the most exposed, together, alone and before."""
    out = []
    each = after.bits_left_per_person
    if each is not None:
        text = f"Together they leave {amount(each)} per person on average"
        text += "".join(
            f"{start} {amount(one.bits_left_per_person)}"
            for start, one in (("; the new release alone leaves", alone), (", the earlier ones left", before))
            if one.bits_left_per_person is not None
        )
        out.append(f"{text}.")
    least = after.least_bits_left
    if least is not None and least[1] is not None:
        text = f"About the most exposed person they leave {amount(least)} together"
        given = (("; the new release alone leaves", alone), (", the earlier ones left", before))
        text += "".join(
            f"{start} {amount(one.least_bits_left)}"
            for start, one in given
            if one.least_bits_left is not None and one.least_bits_left[1] is not None
        )
        out.append(f"{text}.")
    return out


def amount(ends: Interval) -> str:
    """Return a number of bits in words, rounded to two digits behind the point: what is not 0 is never shown as 0."""
    low, high = ends
    if high is None:
        return f"at least {number(low)} bits"
    if abs(high - low) <= SAME * max(1.0, abs(high)):
        return f"{number(low)} bits"
    if number(low) == number(high):
        return f"about {number(low)} bits"
    return f"between {number(low)} and {number(high)} bits"


def number(value: float) -> str:
    """Return a number with two digits behind the point."""
    return "less than 0.01" if 0 < value < 0.005 else f"{value:,.2f}"


def gained(before: RemainingUncertainty, after: RemainingUncertainty, noisy: bool) -> list[str]:
    """Return what the new release takes away from what the earlier ones left."""
    if before.log2_datasets is None or after.log2_datasets is None:
        return []
    if not noisy and after.as_many_as(before):  # what fits all fits the earlier ones, so that as many are the same
        return ["The new release adds nothing to the earlier ones: the same data sets fit with and without it."]
    low, maximum = before.log2_datasets[0], after.log2_datasets[1]
    least = None if maximum is None else max(0.0, low - maximum)
    if before.status == after.status == "exact" and least is not None:
        gain = number(least) if least else "less than 0.01"
        return [f"The new release takes away {gain} of the {number(low)} bits that the earlier ones left in all."]
    if least:
        return [f"The new release takes away at least {number(least)} bits of what the earlier ones left in all."]
    return ["Whether, and how much, the new release adds to the earlier ones is not decided: these are bounds."]


def differing(found: Differences) -> list[str]:
    """Return the small groups that only the releases together single out."""
    if found.in_all is None:
        return [f"{found.note[:1].upper()}{found.note[1:]}."] if found.note else []
    if not found.groups:
        return [f"Together they single out no further group of fewer than {SMALL} people for certain."]
    first = found.groups[0]
    groups = "1 group" if found.in_all == 1 else f"{found.in_all:,} groups"
    verb = "is" if found.in_all == 1 else "are"
    size = people(first.rows)
    return [
        f"{groups} of fewer than {SMALL} people {verb} singled out only by the releases together; "
        f"the smallest has {size}: {named(first.where, 400)}."
    ]
