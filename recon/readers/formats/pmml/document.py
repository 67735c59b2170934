"""PMML files as published models: decision trees, rule sets, forests. Any version; nothing is fetched or expanded.

Which counts a file holds differs by its writer: R and KNIME write rows per class, Nyoka shares of a node's rows,
sklearn2pmml shares alone. A surrogate split, or a default for missing values, makes a leaf stand at several places:
then exact counts are stated where they hold for one box, upper bounds elsewhere.

Source: Data Mining Group, PMML 4.4 (Tree Model, Rule Set Model, Multiple Models).
"""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from encoders.domain.values import AnyAttribute, Value
from encoders.models.models import AnyModel, Provenance, Rule, RuleList, RuleSet
from encoders.models.nodes import Support
from recon.io.files.opening import metered_step, parsed_xml
from recon.readers.formats.boosters.shared import label_name
from recon.readers.formats.drafts.drafts import Draft
from recon.readers.formats.pmml.fields import (
    Atom,
    CompoundPredicate,
    Fields,
    Predicate,
    children_named,
    data_field,
    first,
    number,
    predicate,
    tag,
)
from recon.readers.formats.pmml.models import PmmlAnswer, PmmlReading, forest_answer, tree_answer
from recon.readers.formats.pmml.trees import PmmlNode
from solvers.foundation.errors import ReleaseError, Unsupported
from solvers.statements.release import RowCount

if TYPE_CHECKING:
    from xml.etree.ElementTree import Element

DEEPEST = 2_000  # nested elements
MAX_ELEMENTS = 8_000_000
MAX_NODES = 200_000
FORESTS = {"majorityVote", "weightedMajorityVote", "average", "weightedAverage", "median", "max"}
NO_MODELS = {"Header", "MiningBuildTask", "DataDictionary", "TransformationDictionary", "Extension"}
CHAINS = {"modelChain", "selectFirst", "selectAll"}
_ROWS_INSIDE = "holds training rows as they are, which recon inspect shows, and no counts of them"
HOLDS = {  # what other models say of rows, where it is something
    "NaiveBayesModel": "holds counts of rows per value and class (PairCounts), which are read as tables of counts: "
    "write one CSV per attribute, with columns for its value, the class and the count",
    "AssociationModel": "holds shares of transactions per itemset, which are read as a table of counts: write support "
    "times numberOfTransactions as CSV, with a column per item",
    "NearestNeighborModel": _ROWS_INSIDE,
    "SupportVectorMachineModel": _ROWS_INSIDE,
    "GaussianProcessModel": _ROWS_INSIDE,
    "ClusteringModel": "holds at most how many rows each cluster has, and clusters are no boxes of values",
}
ALONE = "; save a segment's TreeModel as a file of its own if it was fitted on all rows"
REASONS = {
    "sum": "later trees are fitted on residuals" + ALONE,
    "weightedSum": "later trees are fitted on residuals" + ALONE,
    "modelChain": "a later model is fed what an earlier one predicts" + ALONE,
    "selectFirst": "the file does not say whether a segment was fitted on all rows or on those it is for" + ALONE,
    "selectAll": "the file does not say whether a segment was fitted on all rows or on those it is for" + ALONE,
    "": "the file does not say whether each of them was fitted on the rows, or on residuals" + ALONE,
}
OTHERS = "some segment holds a model that is not a tree, which has no counts of rows" + ALONE
SUMMED = "RuleSet@recordCount adds up the rules' counts, which may overlap: it is not a number of rows"
LAST = "RapidMiner's last rule counts fewer rows than it is for: it is left open"
FIRST_HIT = "each rule's count is of the rows that meet it and no rule before it"

_ROOT = re.compile(r"<(?:[\w.-]{1,40}:)?PMML\b")  # its first element, maybe with the prefix of its namespace


def looks_like_pmml(head: bytes | str) -> bool:
    """Return whether a file begins like PMML."""
    return _ROOT.search(head if isinstance(head, str) else head.decode("latin-1"), 0, 4096) is not None


def read_pmml(data: bytes) -> Draft:
    """Return what a PMML file says.

    Raises `ReleaseError` for malformed XML, entities and external references, naming place and value, and
    `Unsupported` for models and transformations that are not read. Cost: linear in the elements.
    """
    root = _parse_xml(data)
    if tag(root) != "PMML":
        raise ReleaseError(f"is not a PMML file: its root element is <{tag(root)[:40]}>")
    header = first(root, "Header")
    made_by = None if header is None else first(header, "Application")
    writer = "" if made_by is None else made_by.get("name", "")
    dictionary = first(root, "DataDictionary")
    if dictionary is None:
        raise ReleaseError("the element is missing", place="DataDictionary")
    found = [data_field(e) for e in children_named(dictionary, "DataField")]
    fields = Fields({f.name: f for f in found}, rounded=writer == "Nyoka")
    model = next((e for e in root if tag(e) not in NO_MODELS), None)
    if model is None:
        raise Unsupported("the PMML file has no model")
    transformations = first(root, "TransformationDictionary")
    return PmmlFile(fields, writer, "").read(model, transformations)


def _parse_xml(data: bytes) -> Element:
    """Return the root element of an XML file; entities, external references and deep nesting are refused."""
    from xml.etree.ElementTree import ParseError, TreeBuilder

    from defusedxml.common import DefusedXmlException
    from defusedxml.ElementTree import DefusedXMLParser

    class Bounded(TreeBuilder):
        """Builds elements, and stops where there are too many or too deep ones."""

        depth = size = 0

        def start(self, tag: Any, attrs: Any, /) -> Element:
            """Begin an element."""
            self.depth, self.size = self.depth + 1, self.size + 1
            if self.depth > DEEPEST or self.size > MAX_ELEMENTS:
                raise ReleaseError(f"has more than {DEEPEST} nested or {MAX_ELEMENTS} elements")
            return metered_step(super().start(tag, attrs))

        def end(self, tag: Any, /) -> Element:
            """End an element."""
            self.depth -= 1
            return super().end(tag)

    parsed_xml(data)
    try:
        parser = DefusedXMLParser(target=Bounded(), forbid_dtd=False, forbid_entities=True, forbid_external=True)
        parser.feed(data)
        root: Element = parser.close()
    except DefusedXmlException:
        raise ReleaseError("defines entities or refers to other files, which is refused") from None
    except ParseError as error:
        raise ReleaseError(f"is not well-formed XML: {error}") from None
    except ReleaseError:
        raise
    except (ValueError, LookupError, AssertionError) as error:
        raise ReleaseError(f"is not XML that can be read ({str(error)[:60]})") from None
    return root


@dataclass
class PmmlFile:
    """What is known of a file while its model is read."""

    fields: Fields
    writer: str
    target: str

    def read(self, model: Element, transformations: Element | None) -> Draft:
        """Return the draft of the file's model."""
        for holder in (transformations, first(model, "LocalTransformations")):
            for element in children_named(holder, "DerivedField") if holder is not None else ():
                self.fields.add(element)
        self.schema(model)
        name = tag(model)
        if name == "TreeModel":
            return self.draft(tree_answer(self.reading(model)))
        if name == "RuleSetModel":
            return self.draft(self.rules(model))
        if name == "MiningModel":
            return self.segments(model)
        holds = HOLDS.get(name, "publishes no counts of rows: trees, rule sets and forests are read")
        raise Unsupported(f"PMML's {name[:40]} {holds}")

    @property
    def label(self) -> str:
        """Return the name of the target, one that no field has where the file names none."""
        return self.target or label_name(list(self.fields.data))

    def schema(self, model: Element) -> None:
        """Read the mining schema: the target, and what is done to values before the model, by one around it first."""
        for element in (m for s in children_named(model, "MiningSchema") for m in children_named(s, "MiningField")):
            name, usage = element.get("name", ""), element.get("usageType", "active")
            if usage in ("target", "predicted") and name in self.fields.data:
                self.target = name
            replacement = element.get("missingValueReplacement")
            if replacement is not None and name in self.fields.data:
                instead = self.fields.data[name].value(replacement, f"MiningField '{name}'")
                self.fields.replaced.setdefault(name, instead)
            if element.get("outliers", "asIs") != "asIs":
                raise Unsupported(f"the PMML file changes outliers of '{name}' before the model")

    def reading(self, model: Element) -> PmmlReading:
        """Return the nodes of a tree model, its strategies and the classes of its target."""
        root = first(model, "Node")
        if root is None:
            raise ReleaseError("the tree has no nodes", place="TreeModel")
        classes = model.get("functionName") == "classification"
        nodes = self.nodes(root)
        return PmmlReading(
            self.fields,
            nodes,
            self.label,
            self.labels(nodes) if classes else (),
            model.get("missingValueStrategy", "none"),
            model.get("noTrueChildStrategy") == "returnLastPrediction",
            self.writer,
        )

    def labels(self, nodes: list[PmmlNode]) -> dict[str, Value]:
        """Return the classes as written -> value, in the order of the data dictionary or of the file.

        A class that is written in several ways ("1" and "1.0") is in all nodes as it was written first.
        """
        data = self.fields.data.get(self.target)
        written = dict.fromkeys(s for n in nodes for s in (*n.shares, *((n.score,) if n.score is not None else ())))
        typed = {text: text if data is None else data.value(text, "ScoreDistribution") for text in written}
        once = {value: text for text, value in reversed(typed.items())}
        for node in nodes:
            node.score = None if node.score is None else once[typed[node.score]]
            found = [once[typed[text]] for text in node.shares]
            if len(set(found)) < len(found):
                raise ReleaseError("a class stands twice, written in two ways", place=node.place)
            node.shares = dict(zip(found, node.shares.values(), strict=True))
        typed = {text: value for value, text in once.items()}
        if data is not None and data.values:
            place = {v: i for i, v in enumerate(data.values)}
            if not set(typed.values()) <= set(place):
                raise ReleaseError(f"a class is not among the values of '{self.target}'", place="ScoreDistribution")
            return {once.get(v, str(v)): v for v in data.values}
        return dict(sorted(typed.items(), key=lambda pair: (isinstance(pair[1], str), pair[1])))

    def nodes(self, root: Element) -> list[PmmlNode]:
        """Return all nodes, children after their parents."""
        out: list[PmmlNode] = []
        ids: dict[str, int] = {}
        defaults: dict[int, str] = {}
        todo: list[tuple[Element, int]] = [(root, -1)]
        while todo:
            element, parent = todo.pop()
            at = len(out)
            if at >= MAX_NODES:
                raise Unsupported(f"PMML trees of more than {MAX_NODES} nodes are not read")
            place = f"Node {element.get('id') or at}"[:60]
            if element.get("id"):
                ids[element.get("id", "")] = at
            out.append(PmmlNode(place, predicate(element, self.fields, place)))
            node = out[at]
            if parent >= 0:
                out[parent].children.append(at)
            if element.get("recordCount") is not None:
                node.rows = _not_negative(element.get("recordCount", ""), f"{place}.recordCount")
            if any(tag(c) == "EmbeddedModel" or tag(c).endswith("Tree") for c in element):
                raise Unsupported(f"{place} holds a model of its own, which is not read")
            node.score = element.get("score")
            if element.get("defaultChild"):
                defaults[at] = element.get("defaultChild", "")
            node.shares = _shares_of(element, place)
            todo += [(child, at) for child in reversed(list(children_named(element, "Node")))]
        for node in reversed(out):  # RapidMiner writes 0 of nodes that have rows below
            below = [out[c].rows for c in node.children]
            if node.rows == 0 and any(below):
                node.rows = None if None in below else sum(b or 0.0 for b in below)
        for at, name in defaults.items():
            if out[at].children:
                out[at].default = ids.get(name)
                if out[at].default not in out[at].children:
                    raise ReleaseError(f"the default child '{name[:40]}' is none of its children", place=out[at].place)
        return out

    def segments(self, model: Element) -> Draft:
        """Return the draft of several models: a forest, or a chain of one tree."""
        holder = first(model, "Segmentation")
        how = "" if holder is None else holder.get("multipleModelMethod", "")
        parts = [] if holder is None else list(children_named(holder, "Segment"))
        trees = [t for s in parts for t in children_named(s, "TreeModel")]
        held = [e for s in parts[:1] for e in s if tag(e).endswith("Model")]
        if (
            how in CHAINS
            and len(parts) == len(held) == 1
            and predicate(parts[0], self.fields, "Segment") == CompoundPredicate("and")
        ):
            return self.read(held[0], None)
        if not parts:
            raise Unsupported("a PMML MiningModel without segments is not read: it has no trees of its own")
        if how not in FORESTS or len(trees) != len(parts):
            why = REASONS.get(how, REASONS[""]) if len(trees) == len(parts) else OTHERS
            raise Unsupported(f"several PMML models joined by {how[:40]!r} are not read: {why}")
        for part in parts:
            if predicate(part, self.fields, "Segment") != CompoundPredicate("and"):
                raise Unsupported(f"PMML segments with conditions are not read: {REASONS['selectFirst']}")
        readings: list[PmmlReading] = []
        outer, replaced = self.fields.replaced, list[dict[str, Value]]()
        for tree in trees:
            holder = first(tree, "LocalTransformations")
            for element in children_named(holder, "DerivedField") if holder is not None else ():
                self.fields.add(element)
            self.fields.replaced = dict(outer)
            self.schema(tree)
            replaced.append(self.fields.replaced)
            readings.append(self.reading(tree))
        if any(one != replaced[0] for one in replaced):
            raise Unsupported("PMML segments that replace missing values in different ways are not read")
        return self.draft(forest_answer(readings))

    def draft(self, answer: PmmlAnswer) -> Draft:
        """Return the draft of some models."""
        used = {name for model in answer.models for name in _names_of(model)} - {self.label}
        tested = {n if n in self.fields.data else self.fields.derived[n].attribute for n in used}
        numeric = {n for n in tested if self.fields.data[n].kind in ("integer", "float", "double")}
        plain = not self.fields.replaced and not any(n in self.fields.derived for n in used)
        single = self.fields.rounded or (bool(numeric) and plain and all(self.fields.is_float(n) for n in numeric))
        if self.fields.uneven and not single:
            raise Unsupported(f"the PMML field '{self.fields.uneven[0]}' has numbers of 32 bits and is to equal others")
        hints: dict[str, AnyAttribute] = {n: h for n, f in self.fields.data.items() if (h := f.hint()) is not None}
        return Draft(
            Provenance(f"PMML{f' by {self.writer[:60]}' if self.writer else ''}", answer.kinds, answer.notes),
            self.fields.features(used, self.target, single),
            answer.models,
            answer.classes,
            self.label,
            answer.rows,
            hints,
            single=single,
            reader_notes=answer.reader_notes,
        )

    # -------------------------------------------------------------- rule sets

    def rules(self, model: Element) -> PmmlAnswer:
        """Return the rules of a rule set model: a list where the first that fires decides, a set otherwise."""
        rule_set = first(model, "RuleSet")
        if rule_set is None:
            raise ReleaseError("the element is missing", place="RuleSetModel.RuleSet")
        method = first(rule_set, "RuleSelectionMethod")
        ordered = method is not None and method.get("criterion") == "firstHit"
        found = list(self.simple_rules(rule_set))
        data = self.fields.data.get(self.target)
        other = PmmlNode("RuleSet", CompoundPredicate("and"), score=rule_set.get("defaultScore"))
        labels = self.labels([*(node for _, node in found), other])
        closed = data is not None and bool(data.values)  # else there may be classes that no rule predicts
        total = rule_set.get("recordCount")
        rows = None if total is None else _whole_number(total, "RuleSet.recordCount")
        rules: list[Rule] = []
        per_class = True
        for condition, node in found:
            support = _rule_support(node, labels, closed)
            if condition is None:
                if support.total:
                    raise ReleaseError("a rule that is never true has rows", place=node.place)
                continue
            per_class &= support.counts is not None
            rules.append(Rule(condition, support, node.place))
        if not per_class:
            rules = [replace(r, support=Support(count=r.support.total)) for r in rules]
        covered = sum(r.support.total or 0 for r in rules)
        kinds: Any = ("exact",) if per_class else ("size",)
        notes: tuple[str, ...] = ()
        if not ordered and rows == covered and [r.condition for r in rules] != [()]:
            rows, notes = None, (SUMMED,)
        most = max((r.support.total or 0 for r in rules), default=0)
        models: tuple[AnyModel, ...] = (RuleSet(tuple(rules)),)
        if ordered and (rows is None or covered <= rows):
            notes = (FIRST_HIT,)
            if self.writer.startswith("RapidMiner") and rules:
                notes, rules = (FIRST_HIT, LAST), rules[:-1]
            elif rows is not None:
                rules.append(Rule((), Support(count=rows - covered), "default rule"))
            models = (RuleList(tuple(rules)),)
        if not rules:
            raise Unsupported("the PMML rule set has no rules with counts")
        known = RowCount(covered if ordered else most, None) if rows is None else RowCount(rows, rows)
        classes = tuple(labels.values()) if per_class else None
        return PmmlAnswer(models, kinds, notes, known, classes)

    def simple_rules(self, holder: Element) -> Any:
        """Yield the condition (None: never true) and the figures of every simple rule, compound ones unfolded."""
        todo: list[tuple[Element, tuple[Predicate, ...]]] = [(holder, ())]
        while todo:
            element, above = todo.pop()
            if tag(element) != "SimpleRule":
                deeper = (*above, predicate(element, self.fields, "CompoundRule"))  # a set of rules has none
                todo += [(c, deeper) for c in reversed(list(children_named(element, "SimpleRule", "CompoundRule")))]
                continue
            place = f"rule {element.get('id') or ''}"[:60].strip()
            node = PmmlNode(place, CompoundPredicate("and"), score=element.get("score"))
            if element.get("recordCount") is not None:
                node.rows = _not_negative(element.get("recordCount", ""), f"{place}.recordCount")
            node.shares = {text: found for text, found in _shares_of(element, place).items() if found[0] is not None}
            if not node.shares and element.get("nbCorrect") is not None and node.score is not None:
                node.shares[node.score] = (_not_negative(element.get("nbCorrect", ""), f"{place}.nbCorrect"), None)
            own = predicate(element, self.fields, place)
            yield _conjunction((*above, own), place), node


def _shares_of(element: Element, place: str) -> dict[str, tuple[float | None, float | None]]:
    """Return rows and shares of the classes of a node or rule, as written; `ReleaseError` where one stands twice."""
    out: dict[str, tuple[float | None, float | None]] = {}
    for share in children_named(element, "ScoreDistribution"):
        text, here = share.get("value", ""), f"{place}.ScoreDistribution"
        told = share.get("recordCount"), share.get("probability") or share.get("confidence")
        if text in out:
            raise ReleaseError(f"the class {text[:40]!r} stands twice", place=here)
        count, chance = (None if one is None else _not_negative(one, here) for one in told)
        out[text] = count, chance
    return out


def _whole_number(text: str, place: str) -> int:
    """Return a number of rows; `ReleaseError` for anything else."""
    found = _not_negative(text, place)
    if found != int(found):
        raise ReleaseError(f"{text[:40]!r} is not a number of rows", place=place)
    return int(found)


def _not_negative(text: str, place: str) -> float:
    """Return a number of rows, or a sum of their weights, or a share; `ReleaseError` for what is less than 0."""
    found = number(text, place)
    if found < 0:
        raise ReleaseError(f"{text[:40]!r} is less than 0", place=place)
    return float(found)


def _conjunction(parts: tuple[Predicate, ...], place: str) -> tuple[tuple[str, Any], ...] | None:
    """Return the tests of a rule, None where it is never true; `Unsupported` for what is no conjunction."""
    out: list[tuple[str, Any]] = []
    todo = list(reversed(parts))
    while todo:
        part = todo.pop()
        if isinstance(part, Atom):
            out.append((part.name, part.test))
        elif part == CompoundPredicate("or"):
            return None
        elif part.how == "and":
            todo += reversed(part.parts)
        else:
            raise Unsupported(f"{place}: a rule joined by {part.how!r} over several fields is not read")
    return tuple(out)


def _rule_support(node: PmmlNode, labels: dict[str, Value], closed: bool) -> Support:
    """Return a rule's rows per class, or its number of rows; `closed`: there are no other classes than the labels."""
    counts = {text: pair[0] for text, pair in node.shares.items()}
    rows = node.rows
    if rows is None and counts and set(counts) == set(labels):
        rows = sum(c or 0.0 for c in counts.values())
    if rows is None:
        raise Unsupported(f"{node.place} has no recordCount: it says nothing about rows")
    if len(counts) == 1 and len(labels) == 2 and closed:
        count, other = next(iter(counts.values())), next((t for t in labels if t not in counts), "")
        counts[other] = rows - (count or 0.0)
    size = _whole_number(repr(rows), node.place)
    every = [counts.get(text) or 0.0 for text in labels]  # where they make up all rows, the other classes have none
    if any(c != int(c) or c < 0 for c in every):
        return Support(count=size)
    found = tuple(int(c) for c in every)
    return Support(found) if sum(found) == size else Support(count=size)


def _names_of(model: AnyModel) -> set[str]:
    """Return the features that a model's conditions name."""
    return {name for condition in model.conditions() for name, _ in condition}
