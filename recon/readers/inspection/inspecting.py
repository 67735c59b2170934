"""The inspection of a file: what it stores of the training data, worst first; and a copy without what can go."""

from __future__ import annotations

import hashlib
import os
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, fields, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from recon.io.files.archives import companions
from recon.io.files.opening import budget_within, file_and_number, read_bytes
from recon.readers.formats.detection import read_draft
from recon.readers.inspection.claims import CLAIMS
from recon.readers.inspection.documents.documents import LEARNER_RULES, document_findings, draft_findings, rows_of
from recon.readers.inspection.documents.leftovers import member_leftovers, text_leftovers
from recon.readers.inspection.findings.findings import (
    EXAMPLES,
    GRAVE,
    LEVELS,
    MIDWAY,
    ORDER,
    PADDING,
    SAVE_THE_FITTED,
    Finding,
    Level,
    about,
    boosted,
    graded,
    is_counting,
    leaf_value_findings,
    merge_findings,
    naming,
    not_understood,
    of_object,
    plain_value,
    rows_of_tree,
    with_sizes,
)
from recon.readers.inspection.findings.rules import LeakRule
from recon.readers.inspection.ledger.entries import NUMBER, FileLedger, base_of, class_key
from recon.readers.inspection.ledger.lines import is_printed
from recon.readers.inspection.objects.entries import LONGEST_NAME, Said, explained, object_entries
from recon.readers.inspection.objects.generic import (
    examples,
    lone_tree_rows,
    odd_findings,
    rows_known,
    rules_of,
    table_finding,
)
from recon.readers.inspection.objects.traversal import (
    GraphPlace,
    described,
    entries_of,
    seed_findings,
    things_of,
    traverse,
    tree_parts,
)
from recon.readers.stored.objects.arrays import resolve
from recon.readers.stored.pickled import stored_files
from recon.readers.stored.pickled.pickles import Thing
from recon.readers.stored.pickled.stored_files import StoredFile, gunzip, header_bytes, open_stored
from solvers.foundation.displayed import LINES, NAME, Displayed, DisplayFacts, many, quote, shown_lines
from solvers.foundation.errors import Inconclusive, ReconError, ReleaseError, Unsupported
from solvers.foundation.limits import Limits

if TYPE_CHECKING:
    import pandas as pd

    from solvers.foundation.plots import Axes

TABLES = "table of counts"  # how the formats of tables begin
TREES = frozenset(["tree", "histogram-tree"])  # rules of what boosted models are made of


@dataclass(frozen=True, repr=False)
class Inspection(Displayed):
    """What a file reveals: its findings, the worst first, and the number of training rows where it says so.

    >>> import json
    >>> import tempfile
    >>> from pathlib import Path
    >>> import recon
    >>> domain = {"attributes": [{"name": "old", "values": [0, 1]}], "label": {"name": "ill", "values": [0, 1]}}
    >>> nodes = [{"if": {"old": 0}, "then": 1, "else": 2}, {"counts": [2, 0]}, {"counts": [0, 1]}]
    >>> models = [{"kind": "tree", "nodes": nodes}]
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = Path(folder, "tree.json")
    ...     size = path.write_text(json.dumps({"recon": 1, "domain": domain, "models": models}))
    ...     found = recon.inspect(path)
    >>> found.format
    'release file'
    """

    file: str
    format: str
    sha256: str
    rows: int | None
    findings: tuple[Finding, ...]
    ledger: FileLedger = field(default_factory=FileLedger)

    def to_json(self) -> dict[str, Any]:
        """Return the inspection as one JSON object: file, format, sha256, rows, levels, findings."""
        notes = [one.to_json() for one in self.findings]
        return {
            "file": self.file, "format": self.format, "sha256": self.sha256, "rows": self.rows,
            "levels": dict(LEVELS), "findings": notes,
        }  # fmt: skip

    def _facts(self) -> DisplayFacts:
        count = Counter(one.level for one in self.findings)
        found = ", ".join(f"{count[level]:,} {level}" for level in LEVELS if count[level]) or "nothing"
        rows = "rows not found in it" if self.rows is None else many(self.rows, "training row")
        return DisplayFacts(
            f"{quote(self.file, NAME)}, {self.format}, {rows}; found: {found}", [("SHA-256", self.sha256)],
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
        from solvers.foundation.plots import lying_bars

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
            shown = ", ".join(
                [*(str(plain_value(v)) for v in one.values), *(["..."] if len(one.values) >= EXAMPLES else [])]
            )
            lines.append(f"  {one.path}{places}: {one.what}{f' ({shown})' if shown else ''}")
            lines.append(f"    follows: {one.follows}")
            lines.append(f"    remedy:  {one.remove}")
        return shown_lines(lines)


def inspect(path: str | os.PathLike[str], memory: int = 1 << 30, limits: Limits | None = None) -> Inspection:
    """Return what the file ("-": standard input) stores outright, without building or running anything in it.

    Reads pickle, joblib and skops files, and whatever text, JSON, PMML and R's formats publish, also behind gzip.
    `memory`: bytes its content may take, `limits`: the same, and time. Raises `ReleaseError` for unreadable files and
    where no path is given, `Unsupported` for unknown ones, `Inconclusive` where the time is up.

    >>> import json
    >>> import tempfile
    >>> from pathlib import Path
    >>> import recon
    >>> domain = {"attributes": [{"name": "old", "values": [0, 1]}], "label": {"name": "ill", "values": [0, 1]}}
    >>> nodes = [{"if": {"old": 0}, "then": 1, "else": 2}, {"counts": [2, 0]}, {"counts": [0, 1]}]
    >>> models = [{"kind": "tree", "nodes": nodes}]
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = Path(folder, "tree.json")
    ...     size = path.write_text(json.dumps({"recon": 1, "domain": domain, "models": models}))
    ...     found = recon.inspect(path)
    >>> found.rows, [finding.level for finding in found.findings]
    (None, ['high'])
    """
    with budget_within(memory if limits is None else min(memory, limits.memory), limits) as budget, budget.lent():
        file, data = read_file(path)
        return with_mlflow_folder(file, inspect_bytes(data, file, memory))


def with_mlflow_folder(file: str, found: Inspection) -> Inspection:
    """Return the inspection with what stands beside a model in its MLflow folder."""
    more = []
    for name, size in companions(file):
        if "input_example" in name:
            follows = "the rows that were given as an example: training rows, unless they were made up"
            more.append(Finding("critical", "input-example", name, f"{size:,} bytes", follows, "delete the file"))
        else:
            more.append(not_understood(name, size, "a file of the folder"))
    return replace(found, findings=tuple(merge_findings([*found.findings, *more]))) if more else found


def inspect_bytes(data: bytes, file: str = "", memory: int = 1 << 30) -> Inspection:
    """Return the inspection of a file's content; `file` is its name in refusals."""
    with naming(file), budget_within(memory):
        stored = open_stored(data, memory)
        if stored is not None:
            return inspect_stored(stored, data, file, memory)
        return _inspect_document(data, file, memory)


def inspect_stored(stored: StoredFile, data: bytes, file: str, memory: int) -> Inspection:
    """Return the inspection of an opened file, `data` its content as it stands."""
    graph = inspect_graph(stored.root, memory)
    found = graph.findings
    if stored.format == "skops":  # arrays of an archive are files, which copies have as they are
        found = [replace(f, removable=False, remove=SAVE_THE_FITTED) if f.rule == PADDING else f for f in found]
        found += member_leftovers(data)
    found += odd_findings(stored.odd, stored.format)
    trees = any(one.rule in TREES for one in found)
    rows, findings = completed(graph.rows, found, data, memory, trees and boosted(graph.classes))
    return Inspection(file, stored.format, stored.sha256, rows, tuple(findings), graph.ledger)


def _inspect_document(data: bytes, file: str, memory: int) -> Inspection:
    """Return the inspection of a file without objects: by the rules for its kind, else by what its reader reads."""
    content = gunzip(data, memory)
    known = document_findings(content, memory)
    if known is None:
        kind, rows, findings = _as_read(content, memory)
    else:
        kind, rows, findings = known
        rows, findings = completed(rows, findings, content, memory, boosted([kind]))
    findings = [*findings, *odd_findings(header_bytes(data), "gzip")]
    kind += "" if len(content) == len(data) else ", gzip"
    return Inspection(file, kind, hashlib.sha256(data).hexdigest(), rows, tuple(findings))


UNREAD_FIELDS = "fields beside those of the reader"


def _as_read(content: bytes, memory: int) -> tuple[str, int | None, list[Finding]]:
    """Return what the reader of a file says that the inspection does not know; `Unsupported` where there is none."""
    from recon.readers.formats.detection import CARD, read_draft, unread_parts
    from recon.readers.formats.statistics.target_encoders import EVIDENCE

    why = ""
    try:
        draft = read_draft(content, memory)
        if draft is not None:
            odd = [not_understood("", len(content), draft.origin.format)]  # what its reader leaves out is not known
            if draft.origin.format.startswith(TABLES) or draft.origin.format in (CARD, EVIDENCE):
                odd = []  # read whole: what is not used are unused figures
            if (parts := unread_parts(content)) is not None:
                odd = [not_understood(name, size, UNREAD_FIELDS) for name, size in parts.items()]
            if is_printed(draft.origin.format):
                odd = text_leftovers(draft.origin.format, content.decode("utf-8", "replace"))
            return draft.origin.format, rows_of(draft), graded([*draft_findings(draft), *odd])
    except ReleaseError as error:
        why = f" ({error})"
    raise Unsupported(
        f"this is not a file that inspect knows{why}: give a pickle, joblib or skops file, PMML, a tree or rules "
        "as text "
        "or DOT, a model as JSON, R's .rds, a table of counts or a release file"
    )


def read_file(path: str | os.PathLike[str]) -> tuple[str, bytes]:
    """Return name and bytes of a file ("-": standard input); `ReleaseError` for what is no path, or unreadable.

    Of an MLflow folder it is its model file, of `FILE#2` the whole file.
    """
    file = os.fspath(path) if isinstance(path, os.PathLike) else path
    if not isinstance(file, str) or "\0" in file:
        raise ReleaseError(
            f"inspect needs the path of a file, not a value of type {type(path).__name__}: save the model and give "
            "the file's path"
        )
    with naming(file):
        return file, read_bytes(file_and_number(file)[0], once=True)[0]


def completed(
    rows: int | None, findings: list[Finding], data: bytes, memory: int, boosted: bool = False
) -> tuple[int | None, list[Finding]]:
    """Return the number of rows and the findings with what the file's reader says, where the rules left it open.

    The file is read a second time only then, and where it is a boosted model, whose leaf values are rated. What no
    reader reads adds nothing. The level of counts is what all of them together allow.
    """
    known = any(one.rule in LEARNER_RULES for one in findings)
    sized = all(one.smallest is not None for one in findings if is_counting(one.rule))
    if rows is not None and known and sized and not boosted:
        return rows, graded(findings)
    try:
        draft = read_draft(data, memory)
    except Inconclusive:  # the time was up: what was not looked at is not told as nothing
        raise
    except ReconError:
        return rows, graded(findings)
    if draft is None:
        return rows, graded(findings)
    found = with_sizes(findings, draft) + draft_findings(draft, findings)
    rows = rows_of(draft) if rows is None else rows
    return rows, graded([*found, *(leaf_value_findings(draft, rows) if boosted else [])])


DEEPEST = 3  # files inside files


MAX_OPENED = 1_000  # of one file; the others are told with their bytes


MIN_SHARE = 1 << 20  # bytes that one of them may unpack to


# bytes, their path, memory, depth -> findings
LookInside = Callable[[bytes, str, int, int], list[Finding]]


def blob_findings(places: Sequence[GraphPlace], look_inside: LookInside, memory: int, depth: int = 0) -> list[Finding]:
    """Return what the bytes at some places hold; `look_inside` finds what bytes at a path give away.

    All of them together stay within so much memory, and so many files deep.
    """
    found: list[Finding] = []
    blobs = blobs_of(places)
    share = max(MIN_SHARE, memory // max(1, min(len(blobs), MAX_OPENED)))  # all of them together keep the budget
    for number, (path, raw) in enumerate(blobs):
        found += look_inside(raw, path, min(memory, share), depth if number < MAX_OPENED else DEEPEST)
    return found


def blobs_of(places: Sequence[GraphPlace]) -> list[tuple[str, bytes]]:
    """Return the path and content of the bytes at some places that nothing explains, each once."""
    blobs: dict[int, tuple[str, bytes]] = {}
    for place in places:
        for shown, raw in _blobs(place):
            if id(raw) not in blobs and len(raw) > explained(place):
                blobs[id(raw)] = (place.path + shown, bytes(raw))
    return list(blobs.values())


def _blobs(place: GraphPlace) -> Iterator[tuple[str, bytes | bytearray]]:
    """Yield the bytes (and the model texts of LightGBM) that a place holds, each with what follows its path."""
    value = place.value
    inner: list[tuple[str, Any]] = []
    if isinstance(value, str) and value.startswith("tree\n") and "feature_infos=" in value:
        inner = [("", value.encode())]
    elif isinstance(value, (bytes, bytearray)):
        inner = [("", value)]
    elif isinstance(value, dict):
        inner = [(f"[{k!r}]"[:60], v) for k, v in value.items()]
    elif isinstance(value, (list, tuple, set, frozenset)):
        inner = [(f"[{k}]", v) for k, v in enumerate(value)]
    elif isinstance(value, np.ndarray) and value.dtype == object:
        inner = [(f".flat[{k}]", v) for k, v in enumerate(value.reshape(-1).tolist())]
    elif isinstance(value, Thing) and not value.kind.startswith("numpy."):
        inner = [(f".(argument {k})", v) for k, v in enumerate((*value.args, *value.kwargs.values()))]
        inner.append((".(state)", value.state))
    yield from ((shown, v) for shown, v in inner if isinstance(v, (bytes, bytearray)))


_HOMONYMS = frozenset({"Node", "Rule", "Winsorizer"})


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
    outside = _places_outside(places, told_whole)
    bounded = {id(p): NUMBER for p in seeds.told if not isinstance(p.value, Thing)}
    bounded |= {id(p): LONGEST_NAME for held, one in matched if one.rule == "names" for p in held}
    parts, wrong = tree_parts(outside, whole)
    entries, per_row = object_entries(
        outside, told, bounded, set(known), is_rule_list(root), parts if whole else None, columns
    )
    ledger = FileLedger(tuple(entries))
    found = counted + seeds.findings + wrong
    found += [one for _, one in tables] + _not_told(per_row, matched) + ledger.findings()
    found += blob_findings(outside, look_inside, memory, depth)
    return Graph(max(known, default=None), merge_findings(found), ledger, tuple(thing.class_name for thing in things))


def _not_told(per_row: list[Finding], matched: list[tuple[list[GraphPlace], Finding]]) -> list[Finding]:
    """Return what has one entry per training row, without what a rule tells of the same attribute and as gravely."""
    told = {(p.path, one.level) for held, one in matched for p in held}
    return [one for one in per_row if not any((one.path, level) in told for level in GRAVE[: ORDER[one.level] + 1])]


def _is_sure(held: list[GraphPlace], one: Finding) -> bool:
    """Return whether a rule's finding says all of an attribute: rows anyway, else where the class is the library's."""
    owner = held[0].owner
    return one.level in GRAVE or (owner is not None and base_of(class_key(owner)).partition(".")[0] in LIBRARIES)


def _places_outside(places: list[GraphPlace], whole: set[int]) -> list[GraphPlace]:
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
    from recon.readers.inspection.objects.traversal import counted_parts

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
    from recon.readers.inspection.objects.traversal import stated_parts

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
        found = _embedded_findings(data, path, memory, depth) if depth < DEEPEST else None
        if found is not None:
            return found
    except ReconError as error:
        why = str(error)
    except _WHAT_NO_READER_THOUGHT_OF as error:
        why = f"it holds values that no such file has ({type(error).__name__})"
    return [not_understood(path, len(data), "", why[:200])]


def _embedded_findings(data: bytes, path: str, memory: int, depth: int) -> list[Finding] | None:
    """Return what bytes of a known kind give away, None for all others."""
    stored = open_stored(data, memory)
    if stored is not None:
        found = inspect_graph(stored.root, memory, depth + 1).findings
        return inner_findings(path, stored.format, [*found, *odd_findings(stored.odd, stored.format)])
    packed = stored_files.compression(data)
    if packed in {"zlib", "gzip", "bz2", "xz", "lzma"}:
        content = stored_files.decompress(data, packed, memory)
        return look_inside(content, f"{path}({packed})", memory, depth + 1)
    known = document_findings(data, memory)
    return None if known is None else inner_findings(path, known[0], known[2])


def inner_findings(path: str, kind: str, findings: Sequence[Finding]) -> list[Finding]:
    """Return the findings of a file inside another, their paths behind its own."""
    if not findings:
        text = "read to its end: its rules find nothing in it"
        return [Finding("info", "read", path, kind, text, "nothing to do")]
    return [replace(one, path=f"{path}({one.path})") for one in findings]


_WHAT_NO_READER_THOUGHT_OF = (TypeError, ValueError, ArithmeticError, LookupError, AttributeError, RecursionError)


SURE = ("sklearn", "imodels", "interpret")  # libraries whose sources say what predictions read


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


MOST_COLUMNS = 1 << 32  # above what numbers of columns and rows are


def is_rule_list(root: Any) -> bool:
    """Return whether an object is nothing but a rule list that CORELS saved, which its reader reads whole."""
    if not isinstance(root, dict) or not {"f", "r"} <= set(root) <= {"f", "r", "p"} or not isinstance(root["r"], list):
        return False
    known = {"antecedents", "prediction", "train_labels"}
    texts = root["f"] if isinstance(root["f"], list) else []
    held = [one for rule in root["r"] if isinstance(rule, dict) for one in rule.values()]
    numbers = [one for value in held for one in (value if isinstance(value, list) else [value])]
    return (
        all(isinstance(rule, dict) and set(rule) <= known for rule in root["r"])
        and all(isinstance(one, (bool, int)) and abs(one) < MOST_COLUMNS for one in numbers)
        and all(isinstance(t, str) and len(t) <= LONGEST_NAME for t in texts)
    )
