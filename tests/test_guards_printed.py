"""Guards of readers of printed trees and lists: one change to a text that is read, and the words that refuse it."""

from __future__ import annotations

from pathlib import Path

import pytest
from test_ledger import WEKA
from test_text_readers import PRINTED, stump

from recon.readers.formats.printed.corels_text import read_corels_text
from recon.readers.formats.printed.export_text import read_export_text
from recon.readers.formats.printed.graphviz_dot import read_dot
from recon.readers.formats.printed.rpart_text import read_rpart
from recon.readers.formats.printed.streed_text import read_streed_dot, read_streed_text
from recon.readers.formats.printed.weka_text import read_weka
from solvers.foundation.errors import ReleaseError, Unsupported

TREE = stump("weights: [2.00, 1.00] class: 0", "weights: [0.00, 3.00] class: 1")
CORELS = "if [a]:\n  y = True\nelse if [b]:\n  y = False\nelse\n  y = True\n"
DOT = """digraph Tree {
node [shape=box] ;
0 [label="x <= 0.5\\nsamples = 6\\nvalue = [2, 4]"] ;
1 [label="samples = 3\\nvalue = [2, 1]"] ;
0 -> 1 ;
2 [label="samples = 3\\nvalue = [0, 3]"] ;
0 -> 2 ;
}
"""
LEAF = '[label="samples = 3\\nvalue = [0, 3]"] ;\n'
PLOTTED = (r"x <= 0.5\nsamples = 6\nvalue = [2, 4]", *(rf"samples = 3\nvalue = [{x}]" for x in ("2, 1", "0, 3")))
PLOT = "[" + ", ".join(f'Text(0.5, 0.5, "{label}")' for label in PLOTTED) + "]"
CIRCLE = "".join(f'{i} [label="z <= 1\\nsamples = 3\\nvalue = [1, 2]"] ;\n{i} -> {7 - i} ;\n' for i in (3, 4))
STREED = Path(__file__).parent / "golden" / "models" / "pystreed-1.4.0"
DRAWN, INDENTED = (STREED / "bits.dot").read_text(), (STREED / "bits.txt").read_text()


@pytest.mark.parametrize(
    ("read", "text", "old", "new", "said"),
    [
        (read_export_text, TREE, TREE, "", "the text holds no tree"),
        (read_export_text, TREE, TREE[TREE.index("\n|--- x >") :], "", "the text ends before its tree does"),
        (read_export_text, TREE, TREE, f"{TREE}\n{TREE}", "is after the end of a tree"),
        (read_export_text, TREE, "[2.00, 1.00]", "[a, b]", "are not weights"),
        (read_export_text, TREE, "[2.00, 1.00]", "[-2.00, 1.00]", "are not weights"),
        (read_export_text, TREE, "x > ", "y > ", "is the other side of no split"),
        (read_export_text, TREE, "|   |--- weights: [2", "|   |   |--- weights: [2", "which does not fit"),
        (read_export_text, TREE, "weights: [2.00, 1.00] class: 0", "nothing", "is neither a split nor a leaf"),
        (read_export_text, TREE, "weights: [2.00, 1.00] class: 0", "value: [1.5]", "a regression tree's text"),
        (read_corels_text, CORELS, CORELS, "nothing", "the text holds no CORELS rule list"),
        (read_corels_text, CORELS, "y = False", "nothing", "predicts nothing"),
        (read_corels_text, CORELS, "else if [b]", "if [b]", "'if' begins the list, 'else if' every other rule"),
        (read_corels_text, CORELS, "else if [b]:", "otherwise", "is not a rule of a list"),
        (read_dot, DOT, "0 -> 1 ;\n", "", "has 1 children, not a test and two of them"),
        (read_dot, DOT.replace("0 -> 1 ;\n", ""), "0 -> 2 ;\n", "", "has a test but no children"),
        (read_dot, DOT, "0 -> 2", "9 -> 2", "has children but is not drawn|has 1 children"),
        (read_dot, DOT, "}", "9 -> 7 ;\n9 -> 8 ;\n}", "node 9: has children but is not drawn"),
        (read_dot, DOT, "0 -> 2", "0 -> 7", "the file draws 2 trees, not one"),
        (read_dot, DOT.replace(f"2 {LEAF}", ""), "0 -> 2", "0 -> 2", "node 2: is not drawn"),
        (read_dot, DOT.replace(f"2 {LEAF}", ""), "0 -> 2", "0 -> 1", "node 1: has two parents"),
        (read_dot, DOT, "}", f"3 {LEAF}}}", "the file draws 2 trees, not one"),
        (read_dot, DOT, "}", f"{CIRCLE}3 -> 5 ;\n4 -> 6 ;\n5 {LEAF}6 {LEAF}}}", "4 nodes hang on no root"),
        (read_dot, DOT, DOT, "digraph Tree {\n}\n", "the file draws no tree"),
        (read_dot, DOT, "\\nvalue = [0, 3]", "", "a node needs 'samples' and 'value'"),
        (read_dot, DOT, "[0, 3]", "[0, 3, 0]", "has 3 counts, another node 2"),
        (read_dot, DOT, 'samples = 3\\nvalue = [0, 3]', 'samples = 50%\\nvalue = [0, 3]', "others percentages"),
        (read_dot, DOT, "[0, 3]", "[-1, 4]", "a 'value' is negative"),
        (read_dot, DOT, "samples = 6", "samples = many", "are no figures of a node"),
        (read_dot, PLOT, ")]", "), Text(0.5, 0.5, 'samples = 3')]", "node 3: hangs on no node"),
        (read_dot, PLOT, PLOT[PLOT.rindex("Text") : -1], "None", "is nothing that plot_tree returns"),
        (read_rpart, PRINTED, PRINTED[PRINTED.index("1) root") :], "", "the text holds no nodes"),
        (read_rpart, PRINTED, "(0.8636364 0.1363636)", "(0.8 0.1 0.1)", "has 3 shares, the root 2"),
        (read_rpart, PRINTED, "(0.8636364 0.1363636)", "(0.8 1.1)", "shares of classes are not numbers from 0 to 1"),
        (read_rpart, PRINTED, " (0.8636364 0.1363636)", "", "has no shares of classes"),
        (read_rpart, PRINTED, "  3) age", "  2) age", "a node stands twice"),
        (read_rpart, PRINTED, "  3) age", "  5) age", "below or above it make no tree"),
        (read_rpart, PRINTED, "(0.1304348 0.8695652) *", "(0.1304348 0.8695652)", "below or above it make no tree"),
        (read_rpart, PRINTED, "age>=52 46", "age>=52 48", "has 90 rows, its children 92"),
        (read_weka, WEKA, WEKA[WEKA.index("a <=") :], "", "the text holds no tree"),
        (read_weka, WEKA, "(48.0/1.0)", "(48.0/49.0)", "has more wrong rows than rows"),
        (read_weka, WEKA, "(48.0/1.0)", "(48.5/1.0)", "has fractions of rows"),
        (read_weka, WEKA, "|   b = x", "|   |   b = x", "is indented deeper than its parent"),
        (read_weka, WEKA, ": yes (48.0/1.0)", "", "has neither a leaf nor branches below"),
        (read_weka, WEKA, "|   b = y: no (2.0)", "|   b y", "is not a branch of a printed tree"),
        (read_streed_dot, DRAWN, "\n2  [", "\n0  [", "node 0: is there twice"),
        (read_streed_dot, DRAWN, "Samples = 120", "Rows = 120", "not like export_dot of pystreed does it"),
        (read_streed_dot, DRAWN, "Samples = 120", "Samples = 121", "has 121 rows, and classes of 120"),
        (read_streed_text, INDENTED, "|   |   Label: 0", "|   |   Nothing", "is nothing that print_tree of pystreed"),
        (read_streed_text, INDENTED, "juvenile satisfied\n|   Label: 1\n", "", "the tree ends before all of its"),
        (read_streed_text, INDENTED, "|   |   Label: 0", "|   Label: 0", "stands at no open place of the tree"),
        (read_streed_text, INDENTED, "priors:>3 satisfied", "other satisfied", "is not the other side of the test"),
    ],
)  # fmt: skip
def test_a_text_with_one_thing_wrong_is_refused_by_name(read, text, old, new, said):
    assert old in text
    with pytest.raises((ReleaseError, Unsupported), match=said):
        read(text.replace(old, new, 1) if old != text else new)


@pytest.mark.parametrize(
    ("read", "text"),
    [
        (read_export_text, TREE), (read_corels_text, CORELS), (read_dot, DOT), (read_dot, PLOT), (read_rpart, PRINTED),
        (read_weka, WEKA), (read_streed_dot, DRAWN), (read_streed_text, INDENTED),
    ],
)  # fmt: skip
def test_as_they_stand_the_texts_are_read(read, text):
    assert read(text).origin.format
