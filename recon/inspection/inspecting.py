"""The inspection of a file: what it stores of the training data, worst first; and a copy without what can go."""

from __future__ import annotations

import hashlib
import os
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, fields, replace
from typing import TYPE_CHECKING, Any

from recon.files.budget import within
from recon.files.locating import companions, located
from recon.inspection.documents.documents import document_findings
from recon.inspection.documents.leftovers import member_leftovers
from recon.inspection.documents.published import completed, draft_findings, rows_of
from recon.inspection.findings.claims import CLAIMS, MIDWAY
from recon.inspection.findings.findings import EXAMPLES, LEVELS, Finding, Level, merged, not_understood, plain
from recon.inspection.findings.leaf_values import boosted
from recon.inspection.findings.refusing import naming
from recon.inspection.findings.rules import Rule, rules_of
from recon.inspection.findings.severity import graded, of_object
from recon.inspection.objects.generic import examples, generic_findings, lone_tree_rows, rows_known
from recon.inspection.objects.seeding import seed_findings
from recon.inspection.objects.traversal import Place, described, entries_of, things_of, traverse
from recon.inspection.objects.unknown import DEEPEST, is_rule_list, unknown_findings
from recon.stored.containers import Stored, open_stored, unpacked
from recon.stored.objects.arrays import resolve
from recon.stored.objects.things import Thing
from recon.stored.pickled import joblib_files
from solvers.display.displayed import LINES, NAME, Displayed, Facts, many
from solvers.foundation.errors import ReconError, ReleaseError, Unsupported
from solvers.foundation.escaping import named, shown_lines
from solvers.foundation.limits import Limits

if TYPE_CHECKING:
    import pandas as pd

    from solvers.display.plots import Axes

_WHAT_NO_READER_THOUGHT_OF = (TypeError, ValueError, ArithmeticError, LookupError, AttributeError, RecursionError)

_HOMONYMS = frozenset({"Node", "Rule", "Winsorizer"})
SURE = ("sklearn", "imodels")  # libraries whose sources say what predictions read
TREES = frozenset(["tree", "histogram-tree"])  # rules of what boosted models are made of
UNKNOWN_CLASS = (
    "of a class that no rule knows to predict without it: take it out before saving if predictions do not need it"
)


@dataclass(frozen=True, repr=False)
class Inspection(Displayed):
    """What a file gives away: its findings, the worst first, and the number of training rows where it says so."""

    file: str
    format: str
    sha256: str
    rows: int | None
    findings: tuple[Finding, ...]

    def to_json(self) -> dict[str, Any]:
        """Return the inspection as one JSON object: file, format, sha256, rows, levels, findings."""
        notes = [one.to_json() for one in self.findings]
        return {
            "file": self.file, "format": self.format, "sha256": self.sha256, "rows": self.rows,
            "levels": dict(LEVELS), "findings": notes,
        }  # fmt: skip

    def _facts(self) -> Facts:
        count = Counter(one.level for one in self.findings)
        found = ", ".join(f"{count[level]:,} {level}" for level in LEVELS if count[level]) or "nothing"
        rows = "rows not found in it" if self.rows is None else many(self.rows, "training row")
        return Facts(
            f"{named(self.file, NAME)}, {self.format}, {rows}; found: {found}", [("SHA-256", self.sha256)],
            ("level", "where", "what", "follows", "remedy"),
            lambda: [(one.level, one.path, one.what, one.follows, one.remove) for one in self.findings[:LINES]],
            len(self.findings),
            more="to_text(), to_frame(), plot()",
        )  # fmt: skip

    def to_frame(self) -> pd.DataFrame:
        """Return one line per finding, the worst first; the columns are the fields of `Finding`."""
        import pandas as pd

        columns = [one.name for one in fields(Finding)]
        return pd.DataFrame([[getattr(one, name) for name in columns] for one in self.findings], columns=columns)

    def plot(self, ax: Axes | None = None) -> Axes:
        """Return axes with the number of findings of every level; `Unsupported` without matplotlib."""
        from solvers.display.plots import lying_bars

        count = Counter(one.level for one in self.findings)
        return lying_bars(list(LEVELS), [count[level] for level in LEVELS], "Found in the file", "findings", ax)

    def to_text(self) -> str:
        """Return the inspection for people."""
        count = Counter(one.level for one in self.findings)
        sizes = ", ".join(f"{count[level]} {level}" for level in LEVELS if count[level])
        rows = "number of training rows not found in it" if self.rows is None else f"{self.rows:,} training rows"
        lines = [f"{self.file}: {self.format}, {rows}; found: {sizes or 'nothing'}"]
        last: Level | None = None
        for one in self.findings:
            if one.level != last:
                lines += ["", f"{one.level.upper()}: {LEVELS[one.level].partition(': ')[2]}"]
            last = one.level
            places = f" at {one.places:,} places" if one.places > 1 else ""
            shown = ", ".join([*(str(plain(v)) for v in one.values), *(["..."] if len(one.values) >= EXAMPLES else [])])
            lines.append(f"  {one.path}{places}: {one.what}{f' ({shown})' if shown else ''}")
            lines.append(f"    follows: {one.follows}")
            lines.append(f"    remedy:  {one.remove}")
        return shown_lines(lines)


def inspect(path: str | os.PathLike[str], memory: int = 1 << 30, limits: Limits | None = None) -> Inspection:
    """Return what the file ("-": standard input) stores outright, without building or running anything in it.

    Reads pickle, joblib and skops files, and whatever text, JSON, PMML and R's formats publish, also behind gzip.
    `memory`: bytes its content may take, `limits`: the same, and time. Raises `ReleaseError` for unreadable files and
    where no path is given, `Unsupported` for unknown ones, `Inconclusive` where the time is up.
    """
    with within(memory if limits is None else min(memory, limits.memory), limits):
        file, data = read_file(path)
        return beside(file, inspect_bytes(data, file, memory))


def beside(file: str, found: Inspection) -> Inspection:
    """Return the inspection with what stands beside a model in its MLflow folder."""
    more = []
    for name, size in companions(file):
        if "input_example" in name:
            follows = "the rows that were given as an example: training rows, unless they were made up"
            more.append(Finding("critical", "input-example", name, f"{size:,} bytes", follows, "delete the file"))
        else:
            more.append(not_understood(name, size, "a file of the folder"))
    return replace(found, findings=tuple(merged([*found.findings, *more]))) if more else found


def inspect_bytes(data: bytes, file: str = "", memory: int = 1 << 30) -> Inspection:
    """Return the inspection of a file's content; `file` is its name in refusals."""
    with naming(file), within(memory):
        stored = open_stored(data, memory)
        if stored is not None:
            return inspect_stored(stored, data, file, memory)
        return _inspect_document(data, file, memory)


def inspect_stored(stored: Stored, data: bytes, file: str, memory: int) -> Inspection:
    """Return the inspection of an opened file, `data` its content as it stands."""
    rows, found = inspect_graph(stored.root, memory)
    found += member_leftovers(data) if stored.format == "skops" else []
    trees = any(one.rule in TREES for one in found)
    names = [thing.class_name for thing in things_of(list(traverse(stored.root)))] if trees else []
    rows, findings = completed(rows, found, data, memory, boosted(names))
    return Inspection(file, stored.format, stored.sha256, rows, tuple(findings))


def _inspect_document(data: bytes, file: str, memory: int) -> Inspection:
    """Return the inspection of a file without objects: by the rules for its kind, else by what its reader reads."""
    content = unpacked(data, memory)
    known = document_findings(content, memory)
    if known is None:
        kind, rows, findings = _as_read(content, memory)
    else:
        kind, rows, findings = known
        rows, findings = completed(rows, findings, content, memory, boosted([kind]))
    kind += "" if len(content) == len(data) else ", gzip"
    return Inspection(file, kind, hashlib.sha256(data).hexdigest(), rows, tuple(findings))


def _as_read(content: bytes, memory: int) -> tuple[str, int | None, list[Finding]]:
    """Return what the reader of a file says that the inspection does not know; `Unsupported` where there is none."""
    from recon.formats.detection import read_draft

    why = ""
    try:
        draft = read_draft(content, memory)
        if draft is not None:
            return draft.origin.format, rows_of(draft), graded(draft_findings(draft))
    except ReleaseError as error:
        why = f" ({error})"
    raise Unsupported(
        f"this is no file that inspect knows{why}: give a pickle, joblib or skops file, PMML, a tree or rules as text "
        "or DOT, a model as JSON, R's .rds, a table of counts or a release file"
    )


def read_file(path: str | os.PathLike[str]) -> tuple[str, bytes]:
    """Return name and bytes of a file ("-": standard input); `ReleaseError` for what is no path, or unreadable.

    Of an MLflow folder it is its model file, of `FILE#2` the whole file.
    """
    from recon.formats.release.reading import read_bytes

    file = os.fspath(path) if isinstance(path, os.PathLike) else path
    if not isinstance(file, str) or "\0" in file:
        raise ReleaseError(
            f"inspect needs the path of a file, not a value of type {type(path).__name__}: save the model and give "
            "the file's path"
        )
    with naming(file):
        return file, read_bytes(located(file)[0])[0]


def inspect_graph(root: Any, memory: int = 1 << 30, depth: int = 0) -> tuple[int | None, list[Finding]]:
    """Return the number of training rows and the findings of a graph of stored objects.

    `memory`: bytes that what is packed inside of it may take; `depth`: how many files it stands inside of.
    """
    places = list(traverse(root))
    things = things_of(places)
    seeds = seed_findings(places)
    known = rows_known(things, places)
    known.update(seeds.rows)
    known.update(lone_tree_rows(things))
    found = [one for _, one in matches(places)]
    found += seeds.findings
    unnamed, inside = _unnamed(places, set(known))
    found += unnamed
    if not is_rule_list(root):
        found += unknown_findings([p for p in places if id(p) not in inside], blob_findings, memory, depth)
    return max(known, default=None), merged(found)


def matches(places: Iterable[Place]) -> list[tuple[list[Place], Finding]]:
    """Return what the rules find: the places of the attributes that belong to a finding, and the finding."""
    groups: dict[tuple[int, str], list[tuple[int, Place, Rule]]] = {}
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


def _rule(place: Place) -> tuple[Rule, int] | None:
    """Return the rule of a place's attribute; a class named `Node` or `Rule` is known of imodels only."""
    owner = place.owner
    if owner is None or (owner.class_name in _HOMONYMS and not owner.kind.startswith("imodels.")):
        return None
    return rules_of(owner.class_name).get(place.attribute)


def _matched(places: list[Place], rule: Rule) -> Finding | None:
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


def _random_splits(place: Place) -> bool:
    """Return whether the place is in a tree whose estimator draws its thresholds at random."""
    estimator = None if place.above is None else place.above.owner
    return estimator is not None and estimator.has("splitter") and estimator.get("splitter") == "random"


def _unnamed(places: list[Place], rows: set[int]) -> tuple[list[Finding], set[int]]:
    """Return what no rule names and does not stand inside of something that a rule names; the places that are told."""
    found: list[Finding] = []
    inside: set[int] = set()
    for place in places:  # in the order of the walk: what is inside of a value follows it
        if place.above is not None and id(place.above) in inside:
            inside.add(id(place))
            continue
        if _rule(place) is not None:
            inside.add(id(place))
            continue
        one = generic_findings(place, rows)
        if one is not None:
            inside.add(id(place))
            found.append(one)
    return found, inside


def blob_findings(data: bytes, path: str, memory: int, depth: int = 0) -> list[Finding]:
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
        return inside(path, stored.format, inspect_graph(stored.root, memory, depth + 1)[1])
    packed = joblib_files.compression(data)
    if packed in {"zlib", "gzip", "bz2", "xz", "lzma"}:
        content = joblib_files.decompress(data, packed, memory)
        return blob_findings(content, f"{path}({packed})", memory, depth + 1)
    known = document_findings(data, memory)
    return None if known is None else inside(path, known[0], known[2])


def inside(path: str, kind: str, findings: Sequence[Finding]) -> list[Finding]:
    """Return the findings of a file inside another, their paths behind its own."""
    if not findings:
        text = "read to its end: its rules find nothing in it"
        return [Finding("info", "read", path, kind, text, "nothing to do")]
    return [replace(one, path=f"{path}({one.path})") for one in findings]
