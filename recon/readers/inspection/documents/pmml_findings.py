"""What a PMML file gives away: data rows for checking, ranges of the fields, counts, stored instances.

PMML 4.4 (dmg.org): ModelVerification holds rows with the expected result, TrainingInstances the training rows of
nearest neighbours and Gaussian processes, VectorInstance those of support vector machines. Read by events, so that no
tree is built; entities and DTDs are refused.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Callable, Mapping
from functools import cache
from math import isfinite
from typing import Any, cast
from xml.parsers import expat

from recon.readers.inspection.findings.findings import EXAMPLES, Finding, not_understood
from recon.readers.inspection.ledger.entries import FileLedger, LedgerEntry
from recon.readers.inspection.ledger.forms import HERE, is_listing, is_name
from solvers.foundation.errors import ReleaseError

Found = tuple[str, int | None, list[Finding]]
MOST_NOTES = 64  # characters of comments and processing instructions
TEXTS = frozenset(["Array", "Timestamp", "Annotation", "REAL-Entries", "INT-Entries", "Indices", "Matrix"])
MOST_MAPPED = 4_096  # characters in tables that map values
LONGEST_VALUE = 100  # characters of an attribute
_NAMESPACES = re.compile(r"https?://(?:[a-z\d-]{1,20}\.)?(?:dmg|w3|jpmml)\.org/[\w./#-]{0,40}")
_PARTS = re.compile(r'"(?:[^"\\]++|\\.)*+"|\S+')  # of an array
DEEPEST = 1_000  # elements inside each other
FEW = 8
_WORD = re.compile(r"[A-Za-z_.]{1,24}")
# Elements with a fitted coefficient: of regressions, support vectors, networks, scorecards.
_COEFFICIENTS = frozenset(["NumericPredictor", "CategoricalPredictor", "PCell", "Coefficient", "Con", "Attribute"])
_PRECISION = {("x-mathContext", "float"), ("x-mathContext", "double")}  # how JPMML's evaluator computes
_SPARSE = ("REAL-Entries", "INT-Entries", "Indices")
_SUPPRESS = "round or suppress the counts, or leave them out: predictions do not read recordCount of a node"


def _is_small(attributes: dict[str, str]) -> bool:
    """Return whether an extension names who made the file, or gives one number or short text."""
    name, value = attributes.get("name", ""), attributes.get("value", "")
    short = name == "user" or len(value) <= FEW or _number(value) is not None
    given = set(attributes) <= {"name", "value", "extender"} and all(map(is_name, attributes.values()))
    return short and given and _WORD.fullmatch(name) is not None


@cache
def _elements() -> Mapping[str, list[str]]:
    """Return element -> attributes of PMML 4.4, made from its schema (pmml.xsd of dmg.org)."""
    return cast("Mapping[str, list[str]]", json.loads((HERE / "pmml.json").read_text(encoding="utf-8")))


class _PmmlCounter:
    """Counts the elements that hold data, as expat meets them."""

    def __init__(self) -> None:
        self.above: list[str] = []
        self.count: Counter[str] = Counter()
        self.ranges: list[str] = []
        self.field = ""
        self.values: Counter[str] = Counter()
        self.by = ""
        self.rows: float | None = None
        self.nodes: list[tuple[float | None, bool]] = []  # rows and whether it has children, from the root on
        self.leaves: float | None = 0.0  # rows of the first tree's leaves
        self.root = ""
        self.extra = self.mapped = self.small = self.coefficients = 0
        self.extenders: set[str] = set()
        self.notes = 0
        self.odd: Counter[str] = Counter()  # characters in elements and attributes that PMML has not
        self.array = ""  # the text of the array that is read
        self.entries = 0  # that it should have

    def start(self, tag: str, attributes: dict[str, str]) -> None:
        name = tag.rpartition(":")[2]
        inside = set(self.above)
        self.root = self.root or name
        self.above.append(name)
        if len(self.above) > DEEPEST:
            raise ReleaseError(f"the XML is nested more than {DEEPEST:,} deep")
        if "Extension" in self.above:
            small = "Extension" not in inside and _is_small(attributes)
            self.small += small
            self.extenders.add(attributes.get("extender", ""))
            self.extra += 0 if small else sum(map(len, attributes.values()))
        self._form(name, attributes, inside)
        if name == "Application":
            self.by = attributes.get("name", "")
        elif name == "DataField":
            self.field = attributes.get("name", "")
        elif name == "Interval" and "DataField" in inside:
            self.ranges.append(f"{self.field} from {attributes.get('leftMargin')} to {attributes.get('rightMargin')}")
        elif name == "Value" and "DataField" in inside and attributes.get("property", "valid") == "valid":
            self.values[self.field] += 1
        elif name == "row":
            self._row(inside)
        elif name in {"Node", "SimpleRule", "ScoreDistribution"} and "recordCount" in attributes:
            self.count[name] += 1
        elif name in _COEFFICIENTS:
            self.coefficients += 1
        elif name in {"VectorInstance", "PairCounts", "NumericInfo", "DiscrStats", "ContStats", "Cluster"}:
            self.count[name] += "size" in attributes if name == "Cluster" else 1
        if name == "Node" and self.rows is None:
            self._node(attributes)

    def _form(self, name: str, attributes: dict[str, str], inside: set[str]) -> None:
        """Count what has no place in PMML: elements, attributes, values longer than names."""
        if name in {"Array", *_SPARSE}:
            self.array, self.entries = "", int(_number(attributes.get("n", "")) or 0)
        if inside & {"InlineTable", "Extension"}:
            return
        known = _elements().get(name)
        for key, value in attributes.items():
            mine = known is not None and (key in known or key.partition(":")[0] in {"xmlns", "xsi", "xml"})
            mine = mine or (key, value) in _PRECISION
            if key.partition(":")[0] == "xmlns" and not _NAMESPACES.fullmatch(value):
                mine = False
            if not mine or len(value) > LONGEST_VALUE or is_listing(value):
                self.odd[f"{name}/@{key}"] += len(value)
        if known is None:
            self.odd[name] += 1

    def _node(self, attributes: dict[str, str]) -> None:
        """Enter a node of the first tree: its root says how many rows there are, or its leaves do."""
        if self.nodes:
            self.nodes[-1] = self.nodes[-1][0], True
        self.nodes.append((_number(attributes.get("recordCount", "")), False))
        if len(self.nodes) == 1:
            self.rows = self.nodes[0][0]

    def _left(self) -> None:
        """Leave a node of the first tree."""
        rows, inner = self.nodes.pop()
        if not inner and self.leaves is not None:
            self.leaves = None if rows is None else self.leaves + rows
        if not self.nodes:
            self.rows = self.leaves

    def _row(self, inside: set[str]) -> None:
        for holder in ("ModelVerification", "TrainingInstances"):
            if holder in inside:
                self.count[holder] += 1

    def text(self, data: str) -> None:
        """Count a text from one tag to the next: all of it, spaces too, where it is more than spaces."""
        last = self.above[-1] if self.above else ""
        size = 0 if data.isspace() else len(data)
        if "Extension" in self.above:
            self.extra += size
        elif "InlineTable" in self.above:
            if "row" not in self.above:
                self.notes += size
            elif not {"ModelVerification", "TrainingInstances"} & set(self.above):
                self.mapped += size
        elif last in TEXTS and last in {"Array", *_SPARSE}:
            self.array += data
        elif last and last not in _elements():
            self.odd[last] += len(data)
        else:
            self.notes += size

    def beside(self, *parts: str) -> None:
        self.notes += sum(map(len, parts))

    def end(self, tag: str) -> None:
        last = self.above.pop()
        if last in {"Array", *_SPARSE}:
            parts = _PARTS.findall(self.array)
            long = sum(len(part) for part in parts if len(part) > LONGEST_VALUE)
            if long or (self.entries and len(parts) > self.entries):
                self.odd[last] += max(long, len(self.array))
            self.array = ""
        if last == "Node" and self.nodes and self.rows is None:
            self._left()


def _number(text: str) -> float | None:
    try:
        return float(text)
    except ValueError:
        return None


def _refuse(*_: Any) -> int:
    raise ReleaseError("the XML declares entities, which no PMML file needs: it is refused")


_COUNTS = frozenset(["Node/@recordCount", "SimpleRule/@recordCount", "ScoreDistribution/@recordCount",
                     "SimpleRule/@nbCorrect", "RuleSet/@recordCount", "RuleSet/@nbCorrect"])  # fmt: skip
_SHARES = frozenset(["ScoreDistribution/@confidence", "ScoreDistribution/@probability", "SimpleRule/@confidence",
                     "Node/@score", "ScoreDistribution/@value", "SimpleRule/@score"])  # fmt: skip
_TESTS = frozenset(["SimplePredicate", "SimpleSetPredicate", "CompoundPredicate", "True", "False", "Array",
                    "CompoundRule", "SurrogatePredicate"])  # fmt: skip
_OF_ROWS = frozenset(["ModelVerification", "TrainingInstances", "VectorDictionary"])
_OF_COLUMNS = frozenset(["Interval", "Value", "ModelStats", "BayesInputs", "Cluster", "ClusteringModel",
                         "NumericInfo", "ContStats", "DiscrStats", "UnivariateStats", "InlineTable"])  # fmt: skip


class _Sizes(_PmmlCounter):
    """A reader that also counts how many bytes stand at every element and attribute, by what it is about."""

    def __init__(self) -> None:
        super().__init__()
        self.sizes: Counter[tuple[str, str]] = Counter()
        self.open: list[tuple[dict[str, str], list[float | None], list[tuple[str, float | None, float | None]]]] = []
        self.off = {"Node/@recordCount": False, "Node/@score": False, "ScoreDistribution/@confidence": False}

    def start(self, tag: str, attributes: dict[str, str]) -> None:
        super().start(tag, attributes)
        if self.above[-1] == "Node":
            if self.open:
                self.open[-1][1].append(_number(attributes.get("recordCount", "")))
            self.open.append((attributes, [], []))
        elif self.above[-1] == "ScoreDistribution" and self.open:
            share = _number(attributes.get("confidence", attributes.get("probability", "")))
            self.open[-1][2].append((attributes.get("value", ""), _number(attributes.get("recordCount", "")), share))
        for key, value in attributes.items():
            self.sizes[f"{self.above[-1]}/@{key}", self._within()] += len(value.encode())

    def text(self, data: str) -> None:
        super().text(data)
        self.sizes[self.above[-1] if self.above else "", self._within()] += 0 if data.isspace() else len(data.encode())

    def end(self, tag: str) -> None:
        if self.above[-1] == "Node":
            self._checked(*self.open.pop())
        super().end(tag)

    def _checked(
        self, node: dict[str, str], children: list[float | None], classes: list[tuple[str, float | None, float | None]]
    ) -> None:
        """Note which figures of a node do not follow from those of its children and classes."""
        rows = _number(node.get("recordCount", ""))
        below = [n for n in children if n is not None]
        if children and (rows is None or len(below) < len(children) or abs(sum(below) - rows) > 1e-6 * max(rows, 1.0)):
            self.off["Node/@recordCount"] = True
        counted = [(n, share, name) for name, n, share in classes if n is not None]
        total = sum(n for n, _, _ in counted)
        if len(counted) < len(classes) or not total:
            self.off["Node/@score"] = self.off["ScoreDistribution/@confidence"] = True
        else:
            best = max(n for n, _, _ in counted)
            self.off["Node/@score"] |= node.get("score") not in {name for n, _, name in counted if n == best}
            wrong = any(share is not None and abs(share - n / total) > 1e-6 for n, share, _ in counted)
            self.off["ScoreDistribution/@confidence"] |= wrong

    def _within(self) -> str:
        return next((one for one in self.above if one in _OF_ROWS | _OF_COLUMNS | {"Extension"}), "")


def pmml_ledger(data: bytes) -> FileLedger:
    """Return the ledger of a PMML file: an entry for every element with a text and every attribute of one."""
    reader = _Sizes()
    _parse(data, reader)
    entries = [_pmml_entry(path, within, size, reader) for (path, within), size in reader.sizes.items() if size]
    more = LedgerEntry("(comments)", "unknown", "XML", reader.notes) if reader.notes > MOST_NOTES else None
    return FileLedger((*entries, *([more] if more else [])))


def _pmml_entry(path: str, within: str, size: int, reader: _Sizes) -> LedgerEntry:
    """Return the entry of an attribute or text of an element that stands in another."""
    name = path.partition("/")[0]
    shown = f"{within}/{path}" if within and within != name else path
    if reader.odd[path] or reader.odd[name] or within == "Extension":
        return LedgerEntry(shown, "unknown", "XML", size, small=within == "Extension" and not reader.extra)
    if within in _OF_ROWS:
        return LedgerEntry(shown, "unused", "XML", size, None, "rows", "rows of data")
    if path in _COUNTS or path in _SHARES:
        follows = reader.off.get(path.replace("@probability", "@confidence")) is False
        if follows and path in _SHARES:
            return LedgerEntry(shown, "implied", "XML", size, why="what the rows per class give, which it is")
        why = "numbers of rows" if path in _COUNTS else "shares and commonest classes"
        more = "of inner nodes the sum of its children, which it is" if follows else ""
        return LedgerEntry(
            shown, "used", "XML", size, why=why, figures="counts" if path in _COUNTS else "classes", more=more
        )
    if name in _TESTS or path.startswith("Node/@defaultChild"):
        return LedgerEntry(
            shown, "assumed", "XML", size, why="which split, at which value: says more to anyone who knows the rule"
        )
    if within in _OF_COLUMNS or name in _OF_COLUMNS:
        return LedgerEntry(
            shown, "unused", "XML", size, None, "columns", "values, extremes or statistics of the columns"
        )
    return LedgerEntry(shown, "harmless", "XML", size, why="names and settings of the schema, bounded in length")


def pmml_findings(data: bytes) -> Found | None:
    """Return kind, number of training rows (of the first tree) and findings of a PMML file; None for other XML."""
    reader = _PmmlCounter()
    _parse(data, reader)
    if reader.root != "PMML":
        return None
    rows = reader.rows
    if rows is not None and not isfinite(rows):
        raise ValueError(f"recordCount is {rows}")
    known = int(rows) if rows is not None and float(rows).is_integer() and rows > 1 else None
    return "PMML" + (f" by {reader.by}" if reader.by else ""), known, _findings(reader)


def _parse(data: bytes, reader: _PmmlCounter) -> None:
    """Let a reader meet the parts of a document; `ReleaseError` for broken XML and for entities."""
    parser = expat.ParserCreate()
    run: list[str] = []  # of text since the last tag or comment, which expat gives line by line

    def behind(handle: Callable[..., None]) -> Callable[..., None]:
        def handler(*given: Any) -> None:
            if run:
                reader.text("".join(run))
                run.clear()
            handle(*given)

        return handler

    parser.StartElementHandler, parser.EndElementHandler = behind(reader.start), behind(reader.end)
    parser.CharacterDataHandler = run.append
    parser.CommentHandler = parser.ProcessingInstructionHandler = behind(reader.beside)
    parser.StartDoctypeDeclHandler = lambda *given: reader.beside(*map(str, given))
    parser.EntityDeclHandler = parser.ExternalEntityRefHandler = _refuse
    try:
        parser.Parse(data, True)
    except expat.ExpatError as error:
        raise ReleaseError(f"the XML is broken: {error}") from None


def _findings(reader: _PmmlCounter) -> list[Finding]:
    """Return what the counted elements mean."""
    found = []

    def tell(level: Any, rule: str, path: str, what: str, follows: str, remove: str) -> None:
        entries = reader.count[path.partition("/")[0]] or reader.count[path.rpartition("/")[2]] or None
        found.append(Finding(level, rule, path, what, follows, remove, entries=entries))

    count = reader.count
    if count["ModelVerification"]:
        tell("critical", "verification-rows", "ModelVerification/InlineTable", f"{count['ModelVerification']:,} rows",
             "rows of data with their expected result: training rows, unless they were made up",
             "remove ModelVerification, or write made-up rows into it")  # fmt: skip
    if count["TrainingInstances"]:
        tell("critical", "instances", "TrainingInstances/InlineTable", f"{count['TrainingInstances']:,} rows",
             "these are the training rows", "cannot be taken out, the rows are the model")  # fmt: skip
    if count["VectorInstance"]:
        tell("critical", "support-vectors", "VectorDictionary/VectorInstance", f"{count['VectorInstance']:,} vectors",
             "every support vector is a training row", "cannot be taken out, the rows are the model")  # fmt: skip
    if reader.ranges:
        text = "; ".join(reader.ranges[:EXAMPLES]) + ("; ..." if len(reader.ranges) > EXAMPLES else "")
        tell("medium", "extremes", "DataDictionary/DataField/Interval", f"ranges of {len(reader.ranges):,} fields",
             "the smallest and largest value of every field, of the training data unless they were declared by hand: "
             + text, "widen the intervals to public limits")  # fmt: skip
    if reader.values:
        tell("medium", "categories", "DataDictionary/DataField/Value", f"values of {len(reader.values):,} fields",
             "every value that occurs in the training data, unless they were declared by hand",
             "write public lists of values")  # fmt: skip
    if count["Node"] or count["ScoreDistribution"] or count["SimpleRule"]:
        what = f"{count['Node']:,} nodes, {count['SimpleRule']:,} rules, {count['ScoreDistribution']:,} distributions"
        tell("medium", "counts", "recordCount", what, "the training rows of every node or rule, and of every class in "
             "it (some writers give shares, which times the node's rows are counts again)", _SUPPRESS)  # fmt: skip
    if count["PairCounts"]:
        tell("medium", "contingency", "BayesInputs/BayesInput/PairCounts", f"{count['PairCounts']:,} tables",
             "the table of every column against the class", "round the counts")  # fmt: skip
    statistics = count["NumericInfo"] + count["DiscrStats"] + count["ContStats"]
    if statistics:
        tell("medium", "statistics", "ModelStats", f"{statistics:,} statistics",
             "extremes, means, deviations, quantiles or counts of the columns", "remove ModelStats")  # fmt: skip
    if count["Cluster"]:
        tell("medium", "counts", "ClusteringModel/Cluster/size", f"{count['Cluster']:,} clusters",
             "the training rows of every cluster", "remove the attribute size")  # fmt: skip
    if reader.coefficients:
        what, follows = f"{reader.coefficients:,} coefficients", "fitted to all rows: what they say of one is not known"
        tell("info", "ledger-columns", "(coefficients)", what, follows, "part of the model")
    if reader.extra or reader.small > FEW or len(reader.extenders - {""}) > 1:
        found.append(
            not_understood("Extension", max(1, reader.extra), "extensions, which each program writes for itself,")
        )
    few = len(reader.odd) <= FEW and all(size <= FEW for size in reader.odd.values())  # as everywhere in the ledger
    odd = {} if few else dict(reader.odd)
    odd |= {"InlineTable": reader.mapped} if reader.mapped > MOST_MAPPED else {}
    found += [not_understood(path[:80], size, "XML") for path, size in odd.items()]
    if reader.notes > MOST_NOTES:
        found.append(not_understood("(comments)", reader.notes, "comments and instructions"))
    return found
