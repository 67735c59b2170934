"""The inspection of a graph of stored objects: what rules find, what bytes in it hold, and its ledger."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any

from recon.readers.inspection.documents.documents import document_findings
from recon.readers.inspection.documents.leftovers import odd_findings
from recon.readers.inspection.findings.claims import CLAIMS, MIDWAY
from recon.readers.inspection.findings.findings import Finding, merged, not_understood
from recon.readers.inspection.findings.rules import LeakRule, rules_of
from recon.readers.inspection.findings.severity import GRAVE, about, is_counting, of_object, rows_of_tree
from recon.readers.inspection.ledger.entries import FileLedger
from recon.readers.inspection.ledger.sizes import NUMBER
from recon.readers.inspection.objects.blobs import DEEPEST, blob_findings, is_rule_list
from recon.readers.inspection.objects.entries import LONGEST_NAME, Said, object_entries
from recon.readers.inspection.objects.generic import examples, lone_tree_rows, rows_known, table_finding
from recon.readers.inspection.objects.seeding import seed_findings
from recon.readers.inspection.objects.traversal import GraphPlace, described, entries_of, things_of, traverse
from recon.readers.inspection.objects.tree_fields import tree_parts
from recon.readers.stored.containers import open_stored
from recon.readers.stored.objects.arrays import resolve
from recon.readers.stored.objects.things import Thing
from recon.readers.stored.pickled import joblib_files
from solvers.foundation.errors import ReconError

_WHAT_NO_READER_THOUGHT_OF = (TypeError, ValueError, ArithmeticError, LookupError, AttributeError, RecursionError)
_HOMONYMS = frozenset({"Node", "Rule", "Winsorizer"})
SURE = ("sklearn", "imodels")  # libraries whose sources say what predictions read
LIBRARIES = (
    *SURE,
    "lightgbm",
    "xgboost",
    "catboost",
    "scipy",
    "umap",
    "hdbscan",
    "statsmodels",
)  # that rules are about
UNKNOWN_CLASS = (
    "of a class that no rule knows to predict without it: take it out before saving if predictions do not need it"
)


@dataclass(frozen=True)
class Graph:
    """What a graph of stored objects gives away: its number of training rows, findings, ledger, and its classes."""

    rows: int | None
    findings: list[Finding]
    ledger: FileLedger
    classes: tuple[str, ...]


def inspect_graph(root: Any, memory: int = 1 << 30, depth: int = 0, whole: bool = False) -> Graph:
    """Return what a graph of stored objects gives away.

    `memory`: bytes that what is packed inside of it may take; `depth`: how many files it stands inside of; `whole`:
    the ledger says of fields of trees what is implied by others.
    """
    places = list(traverse(root))
    things = things_of(places)
    seeds = seed_findings(places)
    known = rows_known(things, places)
    known.update(seeds.rows)
    known.update(lone_tree_rows(things))
    matched = matches(places)
    told: dict[int, Said] = {
        id(p): ("unused", about(one), one.follows) for held, one in matched if _is_sure(held, one) for p in held
    }
    counted = beside_counted(root, matched, depth)
    told |= {
        id(p): ("used", "", "counts that the file's reader states")
        for (held, _), one in zip(matched, counted, strict=True)
        if is_counting(one.rule) and not one.beside and one.level not in GRAVE and _is_sure(held, one)
        for p in held
    }
    columns = stated_places(root, places, depth)
    counted = [
        replace(one, stated=columns.issuperset(map(id, held))) for (held, _), one in zip(matched, counted, strict=True)
    ]
    tables = [(p, one) for p in places if (one := table_finding(p)) is not None]
    told |= {id(p): ("unused", about(one), one.follows) for p, one in tables}
    told |= {id(p): ("unused", "", "a seed") for p in seeds.told}
    told_whole = {id(p) for held, one in matched if one.level in GRAVE for p in held} | {id(p) for p, _ in tables}
    outside = _outside(places, told_whole)
    bounded = {id(p): NUMBER for p in seeds.told if not isinstance(p.value, Thing)}
    bounded |= {id(p): LONGEST_NAME for held, one in matched if one.rule == "names" for p in held}
    parts, wrong = tree_parts(outside, whole)
    entries, per_row = object_entries(
        outside, told, bounded, set(known), is_rule_list(root), parts if whole else None, columns
    )
    ledger = FileLedger(tuple(entries))
    found = counted + seeds.findings + wrong
    found += [one for _, one in tables] + per_row + ledger.findings()
    found += blob_findings(outside, look_inside, memory, depth)
    return Graph(max(known, default=None), merged(found), ledger, tuple(thing.class_name for thing in things))


def _is_sure(held: list[GraphPlace], one: Finding) -> bool:
    """Return whether a rule's finding says all of an attribute: rows anyway, else where the class is the library's."""
    owner = held[0].owner
    return one.level in GRAVE or (owner is not None and owner.kind.partition(".")[0] in LIBRARIES)


def _outside(places: list[GraphPlace], whole: set[int]) -> list[GraphPlace]:
    """Return the places that do not stand inside of something that a finding tells wholly."""
    inside: set[int] = set()
    found = []
    for place in places:  # in the order of the walk: what is inside of a value follows it
        if place.above is not None and (id(place.above) in inside or id(place.above) in whole):
            inside.add(id(place))
        else:
            found.append(place)
    return found


def beside_counted(root: Any, found: list[tuple[list[GraphPlace], Finding]], depth: int) -> list[Finding]:
    """Return findings, and of counts whether they are of another model than the one that is read of the file.

    `depth`: how many files the graph stands inside of; nothing is read of those inside another.
    """
    from recon.readers.formats.sklearn.pipelines.pipeline import counted_parts

    try:
        used = {(id(thing), name) for thing, name in counted_parts(root)}
    except ReconError:  # nothing is read of the file
        used = set()
    out = []
    for places, one in found:
        way = {(id(p.owner), name) for p in places[0].way for name in (p.attribute, "")}
        if is_counting(one.rule) and (depth or (used and not way & used)):
            fewest = rows_of_tree(places[0].value) if one.rule == "tree" else None
            out.append(replace(one, beside=True, fewest=fewest))
        else:
            out.append(one)
    return out


def stated_places(root: Any, places: Sequence[GraphPlace], depth: int) -> set[int]:
    """Return the ids of places whose figures of single columns the file's reader states, with what is inside of them.

    Nothing is stated of a file inside another (`depth`).
    """
    from recon.readers.formats.sklearn.pipelines.pipeline import stated_parts

    try:
        parts = set() if depth else {(id(thing), name) for thing, name in stated_parts(root)}
    except ReconError:  # nothing is read of the file
        return set()
    found: set[int] = set()
    for place in places if parts else ():  # in the order of the walk: what is inside of a value follows it
        if (id(place.owner), place.attribute) in parts or (place.above is not None and id(place.above) in found):
            found.add(id(place))
    return found


def matches(places: Iterable[GraphPlace]) -> list[tuple[list[GraphPlace], Finding]]:
    """Return what the rules find: the places of the attributes that belong to a finding, and the finding."""
    groups: dict[tuple[int, str], list[tuple[int, GraphPlace, LeakRule]]] = {}
    for place in places:
        rule = _rule(place)
        if rule is not None and not place.nested:
            groups.setdefault((id(place.owner), rule[0].name), []).append((rule[1], place, rule[0]))
    found = []
    for group in groups.values():
        ordered = [(place, rule) for _, place, rule in sorted(group, key=lambda one: one[0])]
        held = [(place, rule) for place, rule in ordered if place.value is not None]
        if held:
            finding = _matched([place for place, _ in held], held[0][1])
            if finding is not None:
                found.append(([place for place, _ in held], finding))
    return found


def _rule(place: GraphPlace) -> tuple[LeakRule, int] | None:
    """Return the rule of a place's attribute; a class named `Node` or `LeakRule` is known of imodels only."""
    owner = place.owner
    if owner is None or (owner.class_name in _HOMONYMS and not owner.kind.startswith("imodels.")):
        return None
    return rules_of(owner.class_name).get(place.attribute)


def _matched(places: list[GraphPlace], rule: LeakRule) -> Finding | None:
    """Return the finding of a rule at the attributes of one object, None where nothing follows."""
    first = places[0]
    owner = first.owner
    if owner is None:
        return None
    value = first.value if isinstance(first.value, Thing) else resolve(first.value)
    level, follows = rule.level, rule.follows
    claim = CLAIMS[rule.claim](owner, value) if rule.claim else ""
    if claim is None:
        return None
    if isinstance(claim, tuple):
        level, follows = claim
    elif claim:
        follows = claim.removesuffix(MIDWAY) if _random_splits(first) else claim
    others = ", ".join(p.attribute for p in places[1:])
    what = described(value) + (f", with {others}" if others else "")
    removable = rule.removable and owner.kind.partition(".")[0] in SURE
    remove = rule.remove if removable or not rule.removable else UNKNOWN_CLASS
    smallest, models = of_object(rule.name, first.path, owner, value)
    return Finding(level, rule.name, first.path, what, follows, remove, removable, examples(value), 1, smallest, models,
                   entries_of(value))  # fmt: skip


def _random_splits(place: GraphPlace) -> bool:
    """Return whether the place is in a tree whose estimator draws its thresholds at random."""
    estimator = None if place.above is None else place.above.owner
    return estimator is not None and estimator.has("splitter") and estimator.get("splitter") == "random"


def look_inside(data: bytes, path: str, memory: int, depth: int = 0) -> list[Finding]:
    """Return what bytes give away that stand at a path inside a file; that they are not understood where none can.

    `memory`: bytes that they may unpack to; files inside files are followed three deep.
    """
    if not data:
        return []
    why = ""
    try:
        found = _opened(data, path, memory, depth) if depth < DEEPEST else None
        if found is not None:
            return found
    except ReconError as error:
        why = str(error)
    except _WHAT_NO_READER_THOUGHT_OF as error:
        why = f"it holds values that no such file has ({type(error).__name__})"
    return [not_understood(path, len(data), "", why[:200])]


def _opened(data: bytes, path: str, memory: int, depth: int) -> list[Finding] | None:
    """Return what bytes of a known kind give away, None for all others."""
    stored = open_stored(data, memory)
    if stored is not None:
        found = inspect_graph(stored.root, memory, depth + 1).findings
        return inside(path, stored.format, [*found, *odd_findings(stored.odd, stored.format)])
    packed = joblib_files.compression(data)
    if packed in {"zlib", "gzip", "bz2", "xz", "lzma"}:
        content = joblib_files.decompress(data, packed, memory)
        return look_inside(content, f"{path}({packed})", memory, depth + 1)
    known = document_findings(data, memory)
    return None if known is None else inside(path, known[0], known[2])


def inside(path: str, kind: str, findings: Sequence[Finding]) -> list[Finding]:
    """Return the findings of a file inside another, their paths behind its own."""
    if not findings:
        text = "read to its end: its rules find nothing in it"
        return [Finding("info", "read", path, kind, text, "nothing to do")]
    return [replace(one, path=f"{path}({one.path})") for one in findings]
