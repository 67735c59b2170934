"""The form of printed models: what the lines of each kind of text look like. Other lines are not understood.

Numbers have no more digits than libraries print of a double, names no more than 64 characters.
"""

from __future__ import annotations

NUMBER = r"-?(?:\d{1,20}(?:\.\d{0,20})?|\.\d{1,20})(?:e[+-]?\d{1,3})?"
NAME = r"[^\n]{1,64}?"
_COUNT = r"\d{1,12}"
_AMONG = r"\{[^{}\n]{0,400}\}"  # values in braces
_LEFT_OUT = rf"\({_COUNT} observations? deleted due to missingness\)"
_LEAF = rf": {NAME} \({NUMBER}(?:/{NUMBER})?\)"  # of J48 and C5.0
_ONE = r"(?:not )?[^\n&]{1,64}"  # a condition of CORELS
_RULE = rf"{_ONE}(?: && {_ONE}){{0,15}}"
# Per kind of text, what a line of it is. A group `list` holds numbers that are as many in every line.
LINES: dict[str, tuple[str, ...]] = {
    "tree as text": (
        rf"(\|\s+)*\|--- {NAME}(<=|>)\s+{NUMBER}\s*",
        rf"(\|\s+)*\|--- (weights: \[(?P<list>[^\[\]]*)\] )?class: {NAME}\s*",
        rf"(\|\s+)*\|--- (value: \[[^\[\]]*\]|truncated branch of depth {_COUNT})\s*",
    ),
    "R rpart as text": (
        rf"n=\s*{_COUNT}( {_LEFT_OUT})?\s*|\s*{_LEFT_OUT}\s*|node\), split, n.{{0,40}}|\s*\* denotes terminal node",
        rf"\s*{_COUNT}\) (?:{NAME}|[^=<>]{{1,64}}=\D{{1,400}}?)\s{_COUNT}(\s+{NUMBER})?\s+"
        rf"(?:{NAME})?( \((?P<list>[^()]*)\))?\s*\*?\s*",
    ),
    "XGBoost dump as text": (
        r"booster\[\d{1,6}\]:?",
        rf"\s*{_COUNT}:\[{NAME}(?:<{NUMBER}|:{_AMONG})?\] yes={_COUNT},no={_COUNT}(?:,missing={_COUNT})?"
        rf"(?:,gain={NUMBER})?(?:,cover={NUMBER})?",
        rf"\s*{_COUNT}:leaf={NUMBER}(?:,cover={NUMBER})?",
    ),
    "rule list as text": (
        rf"RULELIST:|OPTIMAL RULE LIST|(?:else )?if \[{_RULE}\]:|else\s*:?\s*|else \({_AMONG}\)",
        rf"(?:else )?if \({_AMONG}\) then \({_AMONG}\)",
        rf"(?:(?:else )?if \[{_RULE}\]:|else\s*:?)?\s*{NAME}\s*=\s*{NAME}(?:\s*\[\s*{_COUNT}\s*,\s*{_COUNT}\s*\])?",
    ),
    "STreeD tree as text": (rf"(?:\|   )*(?:{NAME} (?:not )?satisfied|Label: -?\d{{1,18}})",),
    "Weka J48, printed tree": (
        rf"J48 (?:un)?pruned tree|-+|Number of Leaves\s*:\s*{_COUNT}\s*|Size of the tree\s*:\s*{_COUNT}\s*",
        rf"(?:\|   )*{NAME} (?:<=|>|<|>=|=) (?:{NUMBER}|{NAME})(?:{_LEAF})?",
    ),
    "C5.0, printed tree": (
        r"Call:|C5\.0\.\w{1,20}\([^\n]{0,200}\)|C5\.0 \[Release [^\n\]]{1,40}\][^\n]{0,40}|-+|Decision tree:",
        rf"Class specified by attribute {NAME}|Read {_COUNT} cases \({_COUNT} attributes\) from {NAME}",
        rf"Evaluation on training data \({_COUNT} cases\):",
        rf"(?::   |    |:\.\.\.)*{NAME} (?:<=|>|<|>=|=|in) (?:{NUMBER}|{NAME}|{_AMONG})(?:{_LEAF}|:)",
    ),
    "LightGBM model as text": (
        rf"tree|end of (trees|parameters)|parameters:|feature_importances:|Tree={_COUNT}|\[[\w ]+: .*\]|average_output",
        r"(version|num_class|num_tree_per_iteration|label_index|max_feature_idx|objective|average_output|feature_names"
        r"|monotone_constraints|feature_infos|tree_sizes|num_leaves|num_cat|split_feature|split_gain|threshold"
        r"|decision_type|left_child|right_child|leaf_value|leaf_weight|leaf_count|internal_value|internal_weight"
        r"|internal_count|is_linear|shrinkage|cat_boundaries|cat_threshold|leaf_const|num_features|leaf_features"
        r"|leaf_coeff)=.*|pandas_categorical:.*",
    ),
}
PRINTED = frozenset(LINES) - {"XGBoost dump as text", "LightGBM model as text"}  # no line lists numbers but in groups
