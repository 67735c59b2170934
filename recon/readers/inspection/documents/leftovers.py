"""What stands in a file beside the model that its reader reads: lines of a text, members of an archive, parts of PMML.

Somebody may have written anything there, training rows too: it is told with its number of bytes.

What the binary forms of boosters give away: CatBoost's .cbm (and its JSON), XGBoost's UBJSON.

Bytes inside of objects: files inside of files.

They are opened where their kind is known (models of CatBoost, XGBoost and LightGBM, pickles, archives, compressed
ones); all others are told with their number. An inspection never says "nothing" of what it could not read.
"""

from __future__ import annotations

import io
import json
import re
import zipfile
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from functools import lru_cache
from typing import Any

from recon.readers.formats.boosters.catboost_file import cbm_booster
from recon.readers.formats.detection import CATBOOST, CBM, UBJSON, binary_kind
from recon.readers.inspection.documents.json_models import Found, catboost_findings, catboost_values, json_findings
from recon.readers.inspection.findings.findings import Finding, not_understood
from recon.readers.inspection.ledger.forms import (
    LISTED,
    document_ledger,
    is_listing,
    is_name,
    more_than_settings,
    sentences,
    size_of_json,
)
from recon.readers.inspection.ledger.lines import LINES, NAME, NUMBER, is_printed, odd_spelling
from recon.readers.stored.binary.ubjson import read_ubjson

_VALUE = r'(?:"(?:[^"\\]++|\\.)*+"|<(?:[^<>]|<br ?/?>|</?[biu]>)*>|[\w.#+-]{1,40})'
_SET = rf"[a-z]{{4,20}}\s*=\s*{_VALUE}"
_ID = r'(?:\w{1,64}|"[^"\n]{1,64}")'
_DRAWN = re.compile(
    rf"\s*(?:(?:strict )?digraph\b[ \w]{{0,64}}\{{|{_ID}(?:\s*->\s*{_ID})?\s*\["
    rf"\s*{_SET}(?:(?:\s*,\s*|\s+)?{_SET})*\s*\]\s*;?"
    rf"|{_ID}\s*->\s*{_ID}\s*;?|{_SET}\s*;?|\{{\s*rank\s*=\s*\w+\s*;(?:\s*\w+\s*;)*\s*\}}\s*;?|\}}|;|\s+)"
)
_LABEL = re.compile(rf"\b(?!style|font|color|fill|shape)[a-z]{{4,20}}\s*=\s*({_VALUE})")
_SETTING = re.compile(rf"\b(?:style|font|color|fill|shape)[a-z]{{0,20}}\s*=\s*({_VALUE})")
_BREAK = re.compile(r"\\n|\n|<br ?/?>")
_VALUES = re.compile(r"[\w ]{1,20} = \[[^a-zA-DF-Z]*\]|\[[^a-zA-DF-Z]*\][,\]]?")
_TEST = re.compile(rf"{NAME} (?:<=|>=|<|>|==|=|&le;|&ge;|&lt;|&gt;|&#\d+;) (?:{NUMBER}%?|[^\n]{{1,64}})")
MOST_SAID = 600  # characters of a sentence of recon
LONGEST = 100  # characters of the name of a feature, class, node or rule
_MANY = 4  # numbers from which on a name is a list of them
_OF_NODES = frozenset(
    [
        "__class__",
        "__id__",
        "__loader__",
        "__module__",
        "__reduce__",
        "_skops_version",
        "args",
        "attrs",
        "content",
        "default_factory",
        "file",
        "func",
        "is_json",
        "key_types",
        "kwds",
        "main",
        "namespace",
        "obj",
        "protocol",
        "reduce",
        "shape",
        "start",
        "step",
        "stop",
        "type",
    ]
)  # keys of nodes in a schema of skops
_PARAMETER = re.compile(r"\[([\w ]+): (.*)\]")  # of LightGBM
_LISTS = {
    "monotone_constraints",
    "interaction_constraints",
    "feature_contri",
    "label_gain",
    "max_bin_by_feature",
    "eval_at",
    "metric",
    "categorical_feature",
    "ignore_column",
}
_IMPORTANCE = re.compile(r"\S+=\d+(\.\d+)?")  # what follows "feature_importances:"

# Notes of recon itself in the domain of a release file (`encoders.domain.infer`); names stand as N.
_NAMES = r"'N'(?:, 'N')*(?:, \.\.\. \(\d+\))?"
_NUMBER = r"\d[\d,]{0,14}"
_ONE = rf"exactly one of them is 1 in every one of the {_NUMBER} rows|at most one of them is 1 \(else the value 'N'\)"
_NOTE = re.compile(
    rf"columns {_NAMES} (?:"
    rf"are one attribute 'N': (?:{_ONE})(?: \(independent columns would meet {_NUMBER} times\))?"
    rf"(?:; with {_NUMBER} rows this may be chance: use `strict` if it is)?"
    rf"|are tests on one ordered attribute 'N' with {_NUMBER} values: all {_NUMBER} rows agree with such an order"
    rf"(?:; no row has {_NAMES}, which the names allow)?"
    rf"(?:; the data contradict the names {_NAMES}, which are read the other way round)?"
    r"|are nested steps of one attribute 'N': each is 1 only where the one before is"
    r"|are named like tests on one attribute 'N', but names and data do not agree: they are not grouped by their order"
    r"|are never 1 together, but too few rows show it: they stay bits"
    r"|are the same in every row; both 0 and 1 are taken as possible"
    r"|have empty cells: missing is one more value of each)"
)

# What readers say of one file: a name, a number, or one of two reasons stands in it.
_READ = re.compile(
    r"assumed for want of a declared domain \(--domain\): 'N' (?:is never used: taken as 0 or 1|is 0 or 1|is any number"
    r"|has only the values that the model names, and another)"
    rf"|no value was taken for missing \(a sparse matrix, missing=\): all {_NUMBER} splits send missing values as "
    r"training without any does"
    r"|(?:splits send missing values to either side, as in training with some: )?the file does not tell which values "
    r"were taken for missing \(sparse matrices, missing=\): any value may have been, and counts are bounds that hold "
    r"in any case"
    r"|rows were weighted(?: \((?:sample_weight|class_weight with weights of rows, or no split between classes)\))? in "
    r"a way that hides the classes: only the number of (?:different )?rows per leaf is known"
)


def _free_texts(content: Any, most: int = LONGEST) -> list[str]:
    """Return the texts in parsed JSON, keys too, that are longer than names are, or lists of numbers. Iterative."""
    found, stack = [], [content]
    while stack:
        one = stack.pop()
        if isinstance(one, str):
            if len(one) > most or is_listing(one):
                found.append(one)
        elif isinstance(one, dict):
            stack += [*one, *one.values()]
        elif isinstance(one, (list, tuple)):
            stack += one
    return found


def name_findings(names: Any, path: str, own: Sequence[str] = ()) -> list[Finding]:
    """Return that names of nodes, rules, features or classes are longer than names are, or hold lists of numbers.

    `own`: sentences of recon among them.
    """
    texts = [one for one in _free_texts(names) if one not in own]
    size = sum(len(one.encode("utf-8", "replace")) for one in texts)
    return [not_understood(path, size, "a text" if len(texts) == 1 else f"{len(texts):,} texts")] if texts else []


def text_leftovers(kind: str, text: str) -> list[Finding]:
    """Return that lines are not understood which a text of this kind does not have; linear in the lines."""
    if kind == "tree as DOT":
        return _drawing_leftovers(text)
    if kind not in LINES:
        return []
    known = re.compile("|".join(f"(?:{form})" for form in (*LINES[kind], r"\s*")))
    from recon.readers.formats.detection import uncommented

    lines = uncommented(text.lstrip("\ufeff").replace("), Text(", "),\nText(")).splitlines()  # plot_tree: one a line
    features = {w for line in lines if line.startswith("feature_names=") for w in line[14:].split()}
    fits = [known.fullmatch(line) for line in lines]
    lists = {i: len(one["list"].split()) for i, one in enumerate(fits) if one and one.groupdict().get("list")}
    odd = [i for i, one in enumerate(fits) if one is None or lists.get(i, 0) > _most_common(lists.values())]
    odd += [i for i, one in enumerate(fits) if one is not None and is_printed(kind)
            and len(LISTED.findall(_line_without(one, lines[i]))) >= _MANY]  # fmt: skip
    odd = sorted(set(odd))
    if kind.startswith("LightGBM"):
        odd = [i for i in odd if not (_IMPORTANCE.fullmatch(lines[i]) and lines[i].rpartition("=")[0] in features)]
    found = _lightgbm_texts(lines) if kind.startswith("LightGBM") else []
    if not odd:
        return found
    size = sum(len(lines[i].encode("utf-8", "replace")) for i in odd)
    lines_of = "1 line" if len(odd) == 1 else f"{len(odd):,} lines"
    return [not_understood(f"line {odd[0] + 1}", size, f"{lines_of} of text"), *found]


def _line_without(found: re.Match[str], line: str) -> str:
    """Return a line without the list that belongs into it."""
    begin, end = found.span("list") if found.groupdict().get("list") else (0, 0)
    return line[:begin] + line[end:]


def _most_common(sizes: Iterable[int]) -> int:
    """Return the length that most lists have: what is longer has more in it than numbers of classes."""
    counted = Counter(sizes).most_common(1)
    return counted[0][0] if counted else 0


def _drawing_leftovers(text: str) -> list[Finding]:
    """Return what in a drawing is not a node, edge or setting, or more than a label of a node has; linear in it."""
    at, odd, labels, begun, skipped = 0, 0, [], 0, 0
    while at < len(text):
        found = _DRAWN.match(text, at)
        if found is None or found.end() == at:
            end = text.find("\n", at)
            end = len(text) if end < 0 else end + 1
            odd += len(text[at:end].strip())
            skipped += bool(text[at:end].strip())
            at = end
            continue
        statement = found.group()
        begun += "digraph" in statement and statement.lstrip().startswith(("digraph", "strict"))
        odd += len(statement) if begun > 1 else 0
        odd += sum(len(one) for one in _SETTING.findall(statement) if not is_name(one))
        labels += [one.group(1) for one in _LABEL.finditer(statement) if one.group(1)[0] in '"<']
        at = found.end()
    lines = [line.strip() for label in labels for line in _BREAK.split(label[1:-1]) if line.strip()]
    values = {line: len(re.findall(NUMBER, line)) for line in set(lines) if _VALUES.fullmatch(line)}
    usual = _most_common(values[line] for line in lines if line in values)
    odd += sum(len(line) for line in lines if line in values and values[line] > usual)
    odd += sum(len(line) for line in lines if line not in values and not _is_label(line))
    what = f"{skipped:,} lines of text" if skipped > 1 else "text"
    return [not_understood("(drawing)", odd, what)] if odd else []


def _is_label(line: str) -> bool:
    """Return whether a line of a node's label is a test, a figure or a name."""
    return _TEST.fullmatch(line) is not None or is_name(line)


def _lightgbm_texts(lines: list[str]) -> list[Finding]:
    """Return what stands in the names of LightGBM's features and in parameters that hold texts."""
    found = []
    for line in lines:
        if line.startswith("feature_names="):
            found += name_findings(line[14:].split(), "feature_names")
        said = _PARAMETER.fullmatch(line)
        if said is not None and said.group(1) not in _LISTS:
            found += name_findings(said.group(2), f"parameters.{said.group(1)}")
    return found


def member_leftovers(data: bytes) -> list[Finding]:
    """Return that members of a skops archive are not understood which its schema does not name."""
    try:
        with zipfile.ZipFile(io.BytesIO(data)) as archive:
            schema = archive.read("schema.json").decode("utf-8", "replace")
            sizes = {info.filename: info.file_size for info in archive.infolist()}
            comment = len(archive.comment)
    except (zipfile.BadZipFile, KeyError, NotImplementedError, RuntimeError, OSError, ValueError):
        return []
    named = set(re.findall(r'"([^"\\]*)"', schema))
    odd = {name: size for name, size in sizes.items() if name != "schema.json" and name not in named}
    odd |= {"(comment)": comment} if comment else {}
    more = _schema_leftovers(json.loads(schema)) + odd_spelling(schema.encode("utf-8", "replace"))
    odd |= {"schema.json": more} if more else {}
    return [not_understood(f"(member {name[:80]})", size, "an archive's member") for name, size in odd.items()]


_OF_STATES = frozenset(
    ["bit_generator", "state", "key", "pos", "has_gauss", "gauss", "inc", "has_uint32", "uinteger", "entropy"]
)
_IDS = re.compile(r'"__id__": -?\d+,?|"\d+\.npy"')
_STATES = ("RandomStateNode", "RandomGeneratorNode")  # nodes whose content is read as the state of an object


def _schema_leftovers(schema: Any) -> int:
    """Return the bytes of a schema of skops that no reader reads: keys that nodes have not, nodes under a known id."""
    total, met = 0, dict[Any, Any]()
    stack = [(schema, False)]
    while stack:
        one, state = stack.pop()
        if isinstance(one, list):
            stack += [(value, state) for value in one]
        elif isinstance(one, dict):
            node = "__loader__" in one
            state = state or one.get("__loader__") in _STATES
            for key, value in one.items():
                if (
                    key in _OF_NODES
                    or (state and not node and key in _OF_STATES)
                    or (isinstance(value, dict) and not node)
                ):
                    stack.append((value, state))
                else:
                    total += len(str(key)) + size_of_json(value)
            known = met.setdefault(one.get("__id__"), one) if node and one.get("__loader__") != "CachedNode" else one
            again = known is not one and one.get("__id__") is not None
            if again and _IDS.sub("", json.dumps(known)) != _IDS.sub("", json.dumps(one)):
                total += size_of_json(one)
    return total


def own_texts(content: Any) -> list[str]:
    """Return the texts of a release file that are recon's own sentences, about names that its domain has.

    They are notes of the domain (`encoders.domain.infer`), and what readers say of models. None where they are more
    than the names and models: their numbers could hold anything.
    """
    domain, models = content["domain"], content.get("models", [])
    names = set(_names_of(domain))
    bases = {re.split("[:<=>]", name)[0] for name in names}
    words = sorted({*names, *bases}, key=len, reverse=True)
    quoted = re.compile("|".join(f"'{re.escape(name)}'" for name in words)) if names else None
    said = [*domain.get("notes", []), *(text for model in models for text in _said_of(model))]
    found = [one for one in dict.fromkeys(said) if isinstance(one, str) and _is_own(one, quoted)]
    return found if len(found) <= len(names) + 8 * len(models) else []


def _said_of(model: Any) -> Iterator[str]:
    """Yield what readers said of a model: notes, and why figures were not used."""
    yield from (model.get("read_from") or {}).get("notes", [])
    yield from (one["why"] for one in model.get("unused") or ())
    ledger = (model.get("noise") or {}).get("ledger") or {}
    yield from ledger.get("assumes", [])
    yield from (one["why"] for one in ledger.get("entries", []))


def _is_own(text: str, quoted: re.Pattern[str] | None) -> bool:
    """Return whether a text is a sentence of recon; `quoted`: the names that may stand in it."""
    named = text if quoted is None else quoted.sub("'N'", text)
    if _NOTE.fullmatch(named) is not None or _READ.fullmatch(named) is not None or text in _sentences():
        return True
    return len(named) <= MOST_SAID and _of_learners().fullmatch(named) is not None


@lru_cache(maxsize=1)
def _of_learners() -> re.Pattern[str]:
    """Return what the ledgers of recon's private learners say: parts of their sentences, a word or number put in."""
    each = (r"[\w.,^+-]{1,12}".join(re.escape(one) for one in part.split("\0")) for part in sentences())
    return re.compile(rf"(?:(?:{'|'.join(each)})[;,: ]{{0,2}}){{1,4}}")


@lru_cache(maxsize=1)
def _sentences() -> frozenset[str]:
    """Return what readers say without any name or number of the file."""
    from recon.readers.formats.boosters import catboost_model as catboost
    from recon.readers.formats.boosters.lightgbm import model as lightgbm
    from recon.readers.formats.boosters.shared import OTHER_TRAININGS
    from recon.readers.formats.boosters.xgboost import model as xgboost
    from recon.readers.formats.drafts.drafts import EACH, FIRST, ONLY, OTHERS
    from recon.readers.formats.printed import orange_text, printed_trees
    from recon.readers.formats.printed.corels_text import MAJORITY
    from recon.readers.formats.printed.rpart_text import LEVELS, SIZES
    from recon.readers.formats.rules.corels_saved import CAPTURES
    from recon.readers.formats.sklearn.boosting import boosting
    from recon.readers.formats.sklearn.pipelines.pipeline import BESIDE
    from recon.readers.formats.sklearn.trees.trees import ANY_WEIGHT, ASSUMES, NO_MEMBER, REPEATED, ZEROS_STORED

    trees = (
        *(printed_trees.PLAIN_ROWS, printed_trees.ONE_TREE, printed_trees.ONE_MEMBER, printed_trees.MIDPOINTS),
        *(printed_trees.NO_MISSING, EACH, ONLY, ANY_WEIGHT, ASSUMES, ZEROS_STORED, NO_MEMBER, REPEATED),
    )
    boosted = (
        *(
            lightgbm.BUNDLED,
            lightgbm.NOT_CUT,
            lightgbm.NOT_STATED,
            lightgbm.ANY_WEIGHT,
            catboost.NOT_WEIGHTED,
            catboost.NONE_BESIDE_CATEGORIES,
        ),
        *(xgboost.NOT_WEIGHTED, xgboost.NOT_STATED, xgboost.NOT_TOLD, xgboost.HALF, xgboost.LATER),
        *(catboost.HELD_OUT, catboost.HELD_OUT_ROWS, boosting.HELD_OUT_ROWS, boosting.CONTINUED, boosting.NO_ZEROS),
        *(lightgbm.NOT_THE_LAST, lightgbm.SAME_ROWS, xgboost.SAME_ROWS, catboost.SAME_ROWS),
        *(f"{begin}{why}" for begin in ("", FIRST, f"{OTHERS}: ") for why in OTHER_TRAININGS),
    )
    orange = (orange_text.ORDER, orange_text.DIGITS, orange_text.LEVELS)
    return frozenset([*trees, *boosted, *orange, LEVELS, SIZES, MAJORITY, CAPTURES, BESIDE])


def _names_of(domain: Any) -> Iterator[str]:
    """Yield the names of attributes, values and columns of a domain."""
    yield from domain.get("columns", {})
    for one in [*domain.get("attributes", []), *([domain["label"]] if domain.get("label") else [])]:
        yield one["name"]
        yield from (value for value in one.get("values", []) if isinstance(value, str))


def binary_findings(data: bytes, memory: int) -> Found | None:
    """Return kind, number of rows (left to the reader) and findings of a booster's bytes; None for other bytes.

    Raises `ReleaseError` where they are broken.
    """
    kind = binary_kind(data)
    if kind == CBM:
        booster = cbm_booster(data, memory)
        said = catboost_values({"model_info": booster.stated})
        odd = document_ledger(CATBOOST, said).findings()
        return "CatBoost model", None, [*catboost_findings(booster), *odd, *name_findings(booster.names, "features")]
    if kind == UBJSON:
        found = read_ubjson(data, memory)
        whole = found.get("Model", found) if isinstance(found, dict) else None
        known = json_findings(whole)
        if known is None:
            return "UBJSON", None, [not_understood("", len(data), "UBJSON")]
        more = [k for k in found if whole is not found and k not in {"Model", "Config"}]
        unread = [not_understood(k, len(str(found[k])), "a part of the booster") for k in more]
        if more_than_settings(found.get("Config") if whole is not found else None):
            unread.append(not_understood("Config", size_of_json(found["Config"]), "what should be settings,"))
        return f"{known[0]} (UBJSON)", known[1], [*known[2], *unread]
    return None
