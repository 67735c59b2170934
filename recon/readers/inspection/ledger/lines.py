"""The form of printed models: what the lines of each kind of text look like. Other lines are not understood.

Numbers have no more digits than libraries print of a double, names no more than 64 characters.

How the values of a text are written: spaces and digits that no value shows, and where rows may be hidden.

A library writes spaces in one way: what deviates from its own way is counted. Digits beyond those of a double, and
zeros that change nothing, too. All of it is linear in the text.
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Iterator
from itertools import chain

import numpy as np

from recon.readers.inspection.ledger.entries import IMPURITY, FileLedger, LedgerEntry, impurity

MAX_SPELLING_BYTES, MAX_NUMBER_BYTES = 64, 8  # bytes in all, and of one number, that change no check
DIGITS, WHOLE = 18, 39  # of a double, of a whole number (of 128 bits, as generators of random numbers have)
_SHORT = 20  # characters of numbers that are not looked at
_NUMBERS = re.compile(rb"(?<![\w.])[\d.]{20,}")
_POWERS = re.compile(rb"[eE](?<=[\d.][eE])[+-]?(?:0*\d{4,}|000+\d*)")
_DIGITS = bytes(ord({"e": "e", "E": "e", "+": "-", "-": "-"}.get(chr(c), "0" if chr(c) in "0123456789." else " "))
                for c in range(256))  # fmt: skip
_STRING = re.compile(rb'"(?:[^"\\]++|\\.)*+"')  # possessive: a way back would keep 100 bytes per character
_FIRST = re.compile(rb"(?!\xef|\xbb|\xbf)\S")
_MARKS = re.compile(rb"[\[\]{}]|\s+|(?<=[,:])(?=\S)")
_TAG = re.compile(rb"<(/?)([^<>]*?)(/?)>(\s*)")
_USUAL = re.compile(rb" {0,2}| ?(?:\r?\n){1,3}(?: {0,400}|\t{0,100})")
_INSIDE = re.compile(rb"\s+")
_STRICT = ("LightGBM", "XGBoost", "tree as text")
_ALIGNED = re.compile(rb"(?m)^( {0,19})\[([\d. ]{2,400})\] ((?:    ){0,40})")
_BARS = re.compile(rb"\|([ \t]+)(?=\|)")
_SPACES = re.compile(
    rb"(?<=[^\s|])(?:[ \t]{2,}|\t)(?=\S)|(?<![ \t])[ \t]+(?=\r?\n|\Z)|(?<=\n)(?: +\t|\t+ )[ \t]*(?=\S)"
)


def odd_spelling(data: bytes, kind: str = "") -> int:
    """Return the bytes of spaces and digits in a text that no value needs, 0 up to 64 of them, and of binary files.

    `kind`: a table has as many spaces as its cells, and so has a printed one of coefficients.
    """
    first = _FIRST.search(data)
    if first is None or b"\0" in data[:4_096] or kind.startswith(("table", "regression as text")):
        return 0
    bare = _aligned(data) if first.group() == b"[" else data
    head = first.group() if bare == data else b""
    spaces = _json_spaces if head in {b"{", b"["} else _xml_spaces if head == b"<" else None
    numbers = [size for size in _digits_beyond(data) if size]
    odd = _line_spaces(bare, kind.startswith(_STRICT)) if spaces is None else spaces(data)
    odd += sum(numbers)
    return odd if odd > MAX_SPELLING_BYTES or max(numbers, default=0) > MAX_NUMBER_BYTES else 0


def _aligned(data: bytes) -> bytes:
    """Return the lines of a tree that Orange printed without the numbers and spaces in front, where they are aligned.

    NumPy writes numbers as wide as the widest, Orange all of them at the end of 20 characters.
    """

    def kept(found: re.Match[bytes]) -> bytes:
        numbers = found[2].split()
        width = max(map(len, numbers), default=0)
        form = b"[%s]" % b" ".join(one.rjust(width) for one in numbers)
        return b"-" if found[0] == b"%s " % form.rjust(20) + found[3] else found[0]

    return _ALIGNED.sub(kept, data)


def _digits_beyond(data: bytes) -> Iterator[int]:
    """Yield how many digits long numbers in a text have beyond those that doubles have."""
    shapes = data.translate(_DIGITS)  # in which long numbers and powers are looked for, a hundred times as fast
    long = _NUMBERS.finditer(data) if b"0" * _SHORT in shapes else iter(())
    powers = _POWERS.finditer(data) if b"e000" in shapes or b"e-000" in shapes else iter(())
    for found in chain(long, powers):
        text = found.group()
        if text[:1] in b"eE":
            yield max(0, len(text.lstrip(b"eE+-")) - 3)
            continue
        shown = text.replace(b".", b"").lstrip(b"0")
        zeros = max(0, len(text) - len(text.lstrip(b"0")) - 1)
        yield zeros + max(0, len(shown.rstrip(b"0")) - DIGITS if b"." in text else len(shown) - WHOLE)


def _json_spaces(data: bytes) -> int:
    """Return the bytes of spaces in JSON that deviate from the way in which all of it is written."""
    if len(data.translate(None, b" \t\r\n")) == len(data):
        return 0
    bare = _STRING.sub(b'""', data)
    spaces = len(bare) - len(b"".join(bare.split()))
    rows, pairs = bare.count(b", "), bare.count(b": ")
    usual = rows in {0, bare.count(b",")} and pairs in {0, bare.count(b":")} and rows + pairs == spaces
    return 0 if usual else _deviating(_json_runs(bare))


def _json_runs(bare: bytes) -> Iterator[tuple[tuple[object, ...], bytes]]:
    """Yield where every run of spaces stands (neighbours, dicts and lists around it), and the run."""
    within = [(b"", 0, 0)]
    for found in _MARKS.finditer(bare):
        mark = found.group()
        if mark in {b"[", b"{"}:
            _, dicts, lists = within[-1]
            within.append((mark, dicts + (mark == b"{"), lists + (mark == b"[")))
        elif mark in {b"]", b"}"}:
            if len(within) > 1:
                within.pop()
        else:
            before, after = bare[found.start() - 1 : found.start()], bare[found.end() : found.end() + 1]
            near = (before if before in b"[]{},:" else b"v", after if after in b'[]{},:"' else b"v")
            yield (*near, *within[-1]), mark


def _deviating(runs: Iterator[tuple[tuple[object, ...], bytes]]) -> int:
    """Return the bytes of runs that nobody writes, and one for each that is not the commonest at its kind of place."""
    of = defaultdict[tuple[object, ...], Counter[bytes]](Counter)
    for place, run in runs:
        of[place][run] += 1
    odd = 0
    for kinds in of.values():
        usual = [run for run, _ in kinds.most_common() if _USUAL.fullmatch(run)]
        odd += sum(kinds[run] for run in usual[1:])
        odd += sum(len(run) * times for run, times in kinds.items() if run not in usual)
    return odd


def _xml_spaces(data: bytes) -> int:
    """Return the bytes of spaces between and inside of tags that deviate from the way in which all of it is written."""
    bare = _STRING.sub(b'""', data)

    def runs() -> Iterator[tuple[tuple[object, ...], bytes]]:
        depth = 0
        for found in _TAG.finditer(bare):
            ends, name, closed, behind = found.groups()
            if name[:1] not in b"?!":
                depth += -1 if ends else 0 if closed else 1
            after = bare[found.end() : found.end() + 2]
            if after[:1] in {b"<", b""}:
                yield (depth, after == b"</", bool(ends or closed)), behind
            for one in _INSIDE.finditer(name):
                yield ("inside",), one.group()

    return _deviating(runs())


def _line_spaces(data: bytes, strict: bool = False) -> int:
    """Return the bytes of spaces in lines of text that no line needs: behind lines, several, in empty lines.

    `strict`: a library writes none of these, others one or two behind a line or in it.
    """
    several = any(one in data for one in (b"  ", b"\t", b" \n", b" \r")) or data[-1:] == b" "
    odd = Counter(found.group() for found in _SPACES.finditer(data)) if several else Counter[bytes]()
    few = set() if strict else {b" ", b"  "}
    usual = {run for run in odd if run in few or (run == b"   " and odd[run] > 1)}
    bars = Counter(_BARS.findall(data)).values()  # of levels in front of a node
    empty = sum(len(run) - 3 for run in re.findall(rb"\n(?:[ \t]*\r?\n){3,}", data))
    return (
        sum(len(run) * times for run, times in odd.items() if run not in usual)
        + empty
        + sum(bars)
        - max(bars, default=0)
    )


NUMBER = r"-?(?:\d{1,20}(?:\.\d{0,20})?|\.\d{1,20})(?:e[+-]?\d{1,3})?"
NAME = r"[^\n\t]{1,64}?"
_WORD = r"\S(?:[^\n\t]{0,62}?\S)??"  # a name after any number of spaces
_COUNT = r"\d{1,12}"
_AMONG = r"\{[^{}\n]{0,400}\}"  # values in braces
_LEFT_OUT = rf"\({_COUNT} observations? deleted due to missingness\)"
_LEAF = rf": {NAME} \({NUMBER}(?:/{NUMBER})?\)"  # of J48 and C5.0
_TEST = rf"{NAME} (?:<=|>=|!=|>|<|=|in) (?:{NUMBER}|{NAME}|{_AMONG})"
_C50_HEAD = (
    r"Call:|C5\.0\.\w{1,20}\([^\n]{0,200}\)|C5\.0 \[Release [^\n\]]{1,40}\][^\n]{0,40}|-+",
    rf"Class specified by attribute {NAME}|Read {_COUNT} cases \({_COUNT} attributes\) from {NAME}",
    rf"Evaluation on training data \({_COUNT} cases\):",
)
_PLOTTED = (  # the label of a node, with a test or without, and what is put on edges and for what is cut off
    rf"(?:{NAME} <= {NUMBER}\\n)?(?:[a-z_]{{1,20}} = {NUMBER}\\n)?samples = {NUMBER}%?\\n"
    rf"value = \[(?P<list>[^\[\]]*)\](?:\\nclass = {NAME})?|(?:\\n)? *\(\.\.\.\)(?: *\\n)? *| *(?:True|False) *"
)
_ONE = r"[^\n&]{1,68}"  # a condition of CORELS, "not " before it or nothing
_RULE = rf"{_ONE}(?: && {_ONE}){{0,15}}"
_COEFFICIENT = rf"\S[^\n]{{0,120}}?(?:\s{{1,30}}<?\s?(?:{NUMBER}|nan|-?inf|NA)){{4,7}}(?: [*.]{{1,3}})?\s*"
_TOLD = (  # what stands in the head of a summary of statsmodels, and is used, or says how it was fitted
    r"(?:Dep\. Variable|Dependent Variable|Model|Method|Date|Time|[Cc]onverged|Covariance Type|No\. Observations|Scale"
    r"|Df Residuals|Df Model|Model Family|Link Function|No\. Iterations|Deviance):\s{1,30}"
    r"(?:\S{1,64}|\S{1,14}(?: \S{1,14}){1,4})"
)
# Per kind of text, what a line of it is. A group `list` holds numbers that are as many in every line.
LINES: dict[str, tuple[str, ...]] = {
    "tree as text": (
        rf"(\|\s+)*\|--- {NAME}(<=|>)\s+{NUMBER}\s*",
        rf"(\|\s+)*\|--- (weights: \[(?P<list>[^\[\]]*)\] )?class: {NAME}\s*",
        rf"(\|\s+)*\|--- (value: \[[^\[\]]*\]|truncated branch of depth {_COUNT})\s*",
    ),
    "R rpart as text": (
        rf"n=\s*{_COUNT}( {_LEFT_OUT})?\s*|\s*{_LEFT_OUT}\s*|node\), split, n.{{0,40}}|\s*\* denotes terminal node",
        rf"\s*{_COUNT}\) (?:{NAME}|[^=<>]{{1,64}}=\D{{1,400}}?)\s{_COUNT}(\s+{NUMBER})?\s++"
        rf"(?:{_WORD})??(\s*(?<=\s)\((?P<list>[^()]*)\))?(?:\s*\*)?\s*",
    ),
    "XGBoost dump as text": (
        r"booster\[\d{1,6}\]:?",
        rf"\s*{_COUNT}:\[{NAME}(?:<{NUMBER}|:{_AMONG})?\] yes={_COUNT},no={_COUNT}(?:,missing={_COUNT})?"
        rf"(?:,gain={NUMBER})?(?:,cover={NUMBER})?",
        rf"\s*{_COUNT}:leaf={NUMBER}(?:,cover={NUMBER})?",
    ),
    "rule list as text": (
        rf"RULELIST:|OPTIMAL RULE LIST|(?:else )?if \[{_RULE}\]:|else(?:\s*:)?\s*|else \({_AMONG}\)",
        rf"(?:else )?if \({_AMONG}\) then \({_AMONG}\)",
        rf"(?:(?:else )?if \[{_RULE}\]:|else(?:\s*:)?)?\s*{_WORD}\s*=\s*{_WORD}"
        rf"(?:\s*\[\s*{_COUNT}\s*,\s*{_COUNT}\s*\])?\s*",
    ),
    "STreeD tree as text": (rf"(?:\|   )*(?:{NAME} (?:not )?satisfied|Label: -?\d{{1,18}})",),
    "Weka J48, printed tree": (
        rf"J48 (?:un)?pruned tree|-+|Number of Leaves\s*:\s*{_COUNT}\s*|Size of the tree\s*:\s*{_COUNT}\s*",
        rf"(?:\|   )*{NAME} (?:<=|>|<|>=|=) (?:{NUMBER}|{NAME})(?:{_LEAF})?",
    ),
    "Weka PART, printed rules": (
        rf"PART decision list|-+|Number of Rules\s*:\s*{_COUNT}\s*",
        rf"{_TEST} AND|(?:{_TEST})?{_LEAF}",
    ),
    "C5.0, printed tree": (
        *_C50_HEAD,
        rf"Decision tree:|SubTree \[S{_COUNT}\]",
        rf"(?::   |    |:\.\.\.)*{_TEST}(?:{_LEAF}|: \[S{_COUNT}\]|:)",
    ),
    "C5.0, printed rules": (
        *_C50_HEAD,
        rf"Rules:|Rule {_COUNT}: \({NUMBER}(?:/{NUMBER})?, lift {NUMBER}\)|Default class: {NAME}",
        rf"\s{_TEST}|\s->  class {NAME}  \[{NUMBER}\]",
    ),
    "R partykit, printed tree": (
        r"Model formula:|[\w.]{1,64} ~ [^\n]{0,400}|    [\w.+ -]{1,400}|Fitted party:|\[1\] root",
        rf"Number of (?:inner|terminal) nodes:\s*{_COUNT}",
        rf"(?:\|   )+\[{_COUNT}\] {_TEST}(?:: {NAME} \(n = {_COUNT}, err = {NUMBER}%\))?",
    ),
    "Orange, printed tree": (rf" {{0,19}}\[[\d. ]{{2,400}}\](?:    )* {NAME}(?: [≤>] {NUMBER})?",),
    "regression as text (R)": (  # residuals, and what only says how well it fits, are not understood
        r"Call:|(?:stats::)?g?lm\([^\n]{0,300}|    [^\n]{0,200}\)|Coefficients:(?: \([^\n]{0,80}\))?|---",
        r"\s*Estimate Std\. Error [tz] value Pr\(>\|[tz]\|\)\s*|Signif\. codes: [^\n]{0,80}",
        rf"\(Dispersion parameter for \w{{1,30}} family taken to be {NUMBER}\)|{_COEFFICIENT}",
        rf"\s{{0,8}}(?:Null|Residual) deviance: {NUMBER}\s{{1,3}}on {_COUNT}\s{{1,3}}degrees of freedom",
        rf"Residual standard error: {NUMBER} on {_COUNT} degrees of freedom",
        rf"Number of Fisher Scoring iterations: {_COUNT}",
    ),
    "regression as text (statsmodels)": (  # as of R
        r"\s{0,40}(?:[A-Z][\w -]{1,60} Regression Results|Results: [\w -]{1,60})\s*|[=-]{20,120}",
        rf"{_TOLD}(?:\s{{1,60}}{_TOLD})?\s{{0,60}}",
        rf"\s{{0,80}}(?:coef|Coef\.)\s{{1,20}}(?:std err|Std\.Err\.)\s[^\n]{{0,80}}|{_COEFFICIENT}",
    ),
    "scikit-learn, plot_tree": (rf"\s*\[?Text\({NUMBER}, {NUMBER}, ['\"](?:{_PLOTTED})['\"]\)[\],]",),
    "LightGBM model as text": (
        rf"tree|end of (trees|parameters)|parameters:|feature[_ ]importances:|Tree={_COUNT}|average_output",
        r"\[[\w ]+: .*\]",
        r"(version|num_class|num_tree_per_iteration|label_index|max_feature_idx|objective|average_output|feature_names"
        r"|monotone_constraints|feature_infos|tree_sizes|num_leaves|num_cat|split_feature|split_gain|threshold"
        r"|decision_type|left_child|right_child|leaf_value|leaf_weight|leaf_count|internal_value|internal_weight"
        r"|internal_count|is_linear|shrinkage|cat_boundaries|cat_threshold|leaf_const|num_features|leaf_features"
        r"|leaf_coeff)=.*|pandas_categorical:.*",
    ),
}
DRAWING = "tree as DOT"
_LISTING = frozenset(["XGBoost dump as text", "LightGBM model as text"])  # lines that list numbers outside of groups
# Per kind: what in a line is numbers of rows, and what is which split at which value and gain.
_ROWS = {
    "tree as text": r"weights: \[[^\[\]]*\]|value: \[{1,2}[^\[\]]*\]",
    DRAWING: rf"[Ss]amples\s*=\s*{NUMBER}%?|value\s*=\s*\[{{1,2}}[^\[\]]*\]|value\s*=\s*{NUMBER}|Class \S+ = {_COUNT}",
    "R rpart as text": rf"^n=\s*{_COUNT}|(?<=\s){_COUNT}(?:\s+{NUMBER})?(?=\s+[^\s(]+ (?:\(|\*|$))"
    r"|\([\d.e\s+-]*\)",
    "XGBoost dump as text": rf"cover={NUMBER}",
    "rule list as text": rf"\[\s*{_COUNT}\s*,\s*{_COUNT}\s*\]",
    "Weka J48, printed tree": rf"\({NUMBER}(?:/{NUMBER})?\)",
    "Weka PART, printed rules": rf"\({NUMBER}(?:/{NUMBER})?\)",
    "C5.0, printed tree": rf"\({NUMBER}(?:/{NUMBER})?\)|Read {_COUNT} cases|\({_COUNT} cases\)",
    "C5.0, printed rules": rf"\({NUMBER}(?:/{NUMBER})?, lift|Read {_COUNT} cases|\({_COUNT} cases\)",
    "R partykit, printed tree": rf"n = {_COUNT}|err = {NUMBER}%",
    "Orange, printed tree": r"\[[\d. ]{2,400}\]",
    "regression as text (R)": rf"(?<=\s){NUMBER}(?=\s|$)",
    "regression as text (statsmodels)": rf"(?<=\s){NUMBER}(?=\s|$)",
    "scikit-learn, plot_tree": rf"samples = {NUMBER}%?|value = \[[^\[\]]*\]",
}
_IMPURITY = rf"(?:gini|entropy|log_loss|squared_error|friedman_mse|absolute_error|poisson)\s*=\s*{NUMBER}"
_SPLITS = rf"(?:<=|>=|<|>|==|&le;|&ge;|&lt;|&gt;|&#8804;)\s*{NUMBER}|gain\s*=\s*{NUMBER}"
_DRAWN = re.compile(
    rf"(?P<name>gini|entropy|log_loss) = (?P<given>{NUMBER})(?:\\n|<br ?/?>)samples = {NUMBER}%?(?:\\n|<br ?/?>)"
    r"value = \[(?P<value>[^\[\]]*)\]"
)


def is_printed(kind: str) -> bool:
    """Return whether texts of a kind have lines of known forms, none of which lists numbers but in groups."""
    return kind in LINES and kind not in _LISTING


def text_ledger(kind: str, text: str, odd: int) -> FileLedger:
    """Return the ledger of a printed model: numbers of rows, splits, names and form, and `odd` bytes unknown."""
    size = len(text.encode("utf-8", "replace"))
    rows, rest = _matched_bytes(_ROWS.get(kind), text)
    spreads, rest = _matched_bytes(_IMPURITY if kind == DRAWING else None, rest)
    splits, rest = _matched_bytes(_SPLITS, rest)
    implied = bool(spreads) and _comes_out(text)
    entries = [
        LedgerEntry("lines", "used", "numbers of rows", rows, why="numbers of rows", figures="counts"),
        LedgerEntry("lines", "assumed", "splits", splits,
                    why="which split, at which value and gain: says more to anyone who knows "
              "the rule"),
        LedgerEntry("lines", "implied" if implied else "unused", "impurities", spreads, None,
                    "" if implied else "labels",
              IMPURITY if implied else "the spread of the labels in every node"),
        LedgerEntry("lines", "unknown", "text", min(odd, size)),
        LedgerEntry("lines", "harmless", "names and form", max(0, size - rows - spreads - splits - odd),
                    why="of the form of "
              "such texts, bounded in length"),
    ]  # fmt: skip
    return FileLedger(tuple(one for one in entries if one.bytes))


def _comes_out(text: str) -> bool:
    """Return whether the impurity of every drawn node is that of its rows per class, up to its printed digits."""
    found = list(_DRAWN.finditer(text.replace("\\n\n", "\\n")))
    for one in found:
        value = np.array([float(v) for v in re.findall(NUMBER, one["value"])])
        made = impurity(value / max(value.sum(), 1e-300), one["name"])
        digits = len(one["given"].partition(".")[2])
        if made is None or abs(float(made) - float(one["given"])) > 10.0**-digits:
            return False
    return bool(found) and len(found) == len(re.findall(_IMPURITY, text))


def _matched_bytes(pattern: str | None, text: str) -> tuple[int, str]:
    """Return the bytes of what a pattern is in a text, and the text without it."""
    if pattern is None:
        return 0, text
    size = 0

    def out(found: re.Match[str]) -> str:
        nonlocal size
        size += len(found.group().encode("utf-8", "replace"))
        return ""

    rest = re.sub(pattern, out, text, flags=re.MULTILINE)
    return size, rest
