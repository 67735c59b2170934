"""Where positions of the training file are, in the release's own words: claims, and lines held against them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from encoders.domain.domain import AttributeCuts, Domain
from encoders.domain.values import MISSING, Continuous, Grid, Ranges, Test, Value, intersection
from encoders.encode.encoder import EncodedRelease
from recon.readers.formats.release.parts import to_condition
from recon.readers.formats.release.reading import converted
from recon.readers.formats.release.schema import ConditionPart
from recon.readers.formats.release.writing import test_json
from solvers.foundation.errors import CertificateError, ReleaseError
from solvers.kernel.claims import RowLocation
from solvers.kernel.proof_format import entry, keys, number, quoted
from solvers.statements.boxes import Box, spans
from solvers.statements.row_problem import bags_with_most

Json = dict[str, Any]
CHANGED = ("removed_positions", "added_positions")  # keys of a result: who can have left, who come
MAX_LISTED = 20  # values of a grid that a test lists; others become a range


def positions_json(release: EncodedRelease, claim: RowLocation) -> Json:
    """Return a claim as JSON; a test says no more than its box, and less where a range covers a gap in it."""
    cut = release.cut
    tests: dict[tuple[int, int], Any] = {}
    for k, mask in {literal for box in claim.boxes for literal in box.literals}:
        test = _test_of(cut.cuts[k], mask)
        tests[k, mask] = None if test is None else test_json(test)
    listed = []
    for i, box in zip(claim.rows, claim.boxes, strict=True):
        where = {cut.cuts[k].attribute.name: tests[k, mask] for k, mask in box.literals if tests[k, mask] is not None}
        listed += [{"position": i, "where": where}] if where else []
    return {"positions": listed, **_training_file(release)}


def _training_file(release: EncodedRelease) -> Json:
    """Return the name of the model whose training file positions are of, where several models have bags."""
    bags = release.statements.bags
    return {"of": bags_with_most(bags).name} if len(bags) > 1 else {}


def _test_of(cuts: AttributeCuts, mask: int) -> Test | None:
    """Return the test for some parts of an attribute; None where it would allow everything."""
    attribute, runs = cuts.attribute, spans(mask)
    ranges = [(cuts.edges[a], cuts.edges[b]) for a, b in runs]
    missing = attribute.missing and bool(ranges) and ranges[-1][1] > attribute.known[1]
    known = intersection(tuple(ranges), (attribute.known,))
    if not known:
        return Test(missing=True)
    (start, _), (_, end) = known[0], known[-1]
    if not isinstance(attribute, Continuous):
        if not isinstance(attribute, Grid) or sum(b - a for a, b in known) <= MAX_LISTED:
            values = tuple(attribute.value_at(p) for a, b in known for p in range(a, b))
            return Test(values=values, missing=missing)
        return Test(low=attribute.value_at(start), high=attribute.value_at(end - 1), missing=missing)
    if (start, end) == attribute.known:
        return None if missing == attribute.missing else Test()
    low_end: Value | None = None if start == attribute.known[0] else attribute.value_at(start)
    high_end: Value | None = None if end == attribute.known[1] else attribute.value_at(end)
    return Test(
        None, low_end, high_end, low_end is not None and start[1] == 1, high_end is not None and end[1] == 0, missing
    )


def row_location(claim: Any, release: EncodedRelease) -> RowLocation:
    """Return a claim of positions over parts: of each test the parts that it holds entirely."""
    keys(claim, {"positions", *_training_file(release)}, "the claim")
    if claim.get("of") != _training_file(release).get("of"):
        raise CertificateError(f"claim.of is {quoted(claim['of'])}: positions are those of another training file")
    rows, boxes = list[int](), list[Box]()
    for i, ranges in _stated_positions(claim, release.domain):
        rows.append(i)
        boxes.append(Box.of((k, _contained_parts(release.cut.cuts[k], found)) for k, found in ranges.items()))
    return RowLocation(tuple(rows), tuple(boxes))


def _stated_positions(claim: Any, domain: Domain, both: bool = False) -> Iterator[tuple[Any, dict[int, Ranges]]]:
    """Yield the positions of a claim (`both`: before and after), and per attribute what it says of each."""
    if not isinstance(claim["positions"], list):
        raise CertificateError("claim.positions is not a list")
    for j, one in enumerate(claim["positions"]):
        place = f"claim.positions[{j}]"
        where = entry(one, "where", place)
        keys(one, {"position", "where"} | ({"position_after"} if both else set()), place)
        at = [number(one[key], f"{place}.{key}") for key in ("position", "position_after")[: 1 + both]]
        try:
            condition = to_condition(converted(where, ConditionPart), f"{place}.where")
            yield tuple(at) if both else at[0], domain.resolve(condition)
        except ReleaseError as error:
            raise CertificateError(f"{place}.where: {error}") from None


def _contained_parts(cuts: AttributeCuts, ranges: Ranges) -> int:
    """Return the parts of an attribute that lie in some ranges entirely, as bits."""
    mask = 0
    for start, end in ranges:
        first = cuts.part(start) + (cuts.edges[cuts.part(start)] < start)
        behind = len(cuts.inner) + 1 if end >= cuts.edges[-1] else cuts.part(end)
        mask |= (1 << behind) - (1 << first) if first < behind else 0
    return mask


class Positions:
    """What verified claims say of positions, for lines of results to be held against."""

    def __init__(self, claims: Sequence[tuple[Json, float]], release: EncodedRelease) -> None:
        domain = release.domain
        self.domain = domain
        self.known: dict[tuple[Any, int], tuple[Ranges, float]] = {}  # by position, or positions in both files
        self.pairs: set[tuple[int, int]] = set()
        changes = [] if release.related is None else [(d.removed, d.added) for d in release.related.datasets[1:]]
        self.numbers = [-1 if n is None or not n.exact else n.low for n in (changes[0] if changes else (None, None))]
        self.left: set[int] | None = None
        self.came: set[int] | None = None
        for claim, level in claims:
            said = claim.get("aligned")
            if said is not None:
                self.left, self.came = set(said["left"]), set(said["came"])
                self.pairs |= {(one["position"], one["position_after"]) for one in said["positions"]}
            for place, ranges in _stated_positions(claim if said is None else said, domain, said is not None):
                for k, found in ranges.items():
                    self.known[place, k] = found, level

    def of_changes(self, key: str, listed: Any) -> list[str] | None:
        """Return what is wrong with the positions of who left or came; None where nothing excludes the others."""
        said = self.left if key == CHANGED[0] else self.came
        if said is None:
            return None
        if not isinstance(listed, list) or not all(type(x) is int for x in listed):
            return [f"{key} {quoted(listed)} is no list of positions"]
        if said and not said & set(listed):
            return [f"{key} {quoted(listed)}, but by a certificate {quoted(sorted(said))}"]
        return [] if said <= set(listed) else None

    def of_group(self, line: Json) -> list[str] | None:
        """Return what is wrong with whether a row was kept, removed or added; None where nothing proves it."""
        group, p, q = line.get("rows"), line["position"], line["position_after"]
        both = (p, q) in self.pairs and min(p, q) >= 0
        if both or group == "open":
            return [] if group in ("kept", "open") else [f"{quoted(group)}, but by a certificate it is in both files"]
        changes = (("removed", self.left, p, q), ("added", self.came, q, p))
        for (word, said, own, other), many in zip(changes, self.numbers, strict=True):
            if said is None or other != -1 or own == -1:
                continue
            surely = "kept" if own not in said else word if len(said) == many else group
            if group not in ("kept", word) or surely != group:
                return [f"{quoted(group)}, but by a certificate {surely}"]
            return [] if own not in said or len(said) == many else None
        return None

    def of_line(self, line: Json, level: float) -> list[str] | None:
        """Return what is wrong with a line about a position and an attribute; None where nothing proves it."""
        position, name = line["position"], line["attribute"]
        after = line.get("position_after", 0)
        if (
            type(position) is not int
            or type(after) is not int
            or not isinstance(name, str)
            or name not in self.domain.place
        ):
            return [f"{quoted(name)} of {quoted(position)} is not an attribute of a position"]
        place = (position, after) if "position_after" in line else position
        k = self.domain.place[name]
        attribute = self.domain.all[k]
        try:
            stated = attribute.ranges(_line_test(line, attribute.missing))
        except (ReleaseError, TypeError) as error:
            return [f"what it says of {quoted(name)} cannot be read: {error}"]
        if stated == (attribute.span,):
            return []
        found, at = self.known.get((place, k), ((), 0.0))
        if not found or at < level:
            return None
        if not (both := intersection(found, stated)):
            return [f"{quoted(name)} of position {position} is elsewhere by a certificate"]
        return [] if both == found else None


def _line_test(line: Json, missing: bool) -> Test:
    """Return what a line says of an attribute as a test; `ReleaseError` for what is none."""
    values, low, high = line.get("values"), line.get("low"), line.get("high")
    gap = missing and line.get("missing") is not False
    if line.get("exact") is True and not (low == high is not None if values is None else len(values) == 1):
        raise ReleaseError("exact, but no single value")
    if values is None:
        return Test(low=low, high=high, missing=gap)
    if not isinstance(values, list):
        raise ReleaseError("values is not a list")
    gaps = (None, MISSING) if missing else (None,)  # how lines say that a value may be missing
    held = tuple(v for v in values if v not in gaps)
    return Test(values=held, missing=missing and len(held) < len(values))
