"""Guards of readers of printed trees and lists: one change to a text that is read, and the words that refuse it."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
from test_ledger import WEKA
from test_text_readers import PRINTED, stump

from encoders.domain.domain import Domain
from encoders.domain.values import Categorical, Grid, Test, equals
from encoders.models.models import PublishedFigure, Table
from recon.io.files.opening import TableOptions, table_read_as
from recon.readers.formats.drafts.binding import Binder
from recon.readers.formats.printed import corels_text, count_table, orange_text, printed_trees, streed_text, weka_text
from recon.readers.formats.printed.corels_text import read_corels_text
from recon.readers.formats.printed.count_table import read_count_table
from recon.readers.formats.printed.export_text import read_export_text
from recon.readers.formats.printed.graphviz_dot import read_dot
from recon.readers.formats.printed.orange_text import read_orange
from recon.readers.formats.printed.rpart_text import read_rpart, read_rpart_json
from recon.readers.formats.printed.streed_text import read_streed_dot, read_streed_text
from recon.readers.formats.printed.weka_text import read_rules, read_weka
from recon.readers.formats.printed.written_tables import argus_files, table_text
from solvers.foundation.errors import ReconError, ReleaseError, Unsupported
from solvers.statements.release import RowCount

TREE = stump("weights: [2.00, 1.00] class: 0", "weights: [0.00, 3.00] class: 1")
OTHER_SIDE = next(f"{line}\n" for line in TREE.splitlines() if " > " in line)
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
HALVES = DOT.replace("[2, 4]", "[0.3, 0.7]").replace("[2, 1]", "[0.7, 0.3]").replace("[0, 3]", "[0.0, 1.0]")
HALVES = HALVES.replace("samples = 6", "samples = 100.0%").replace("samples = 3", "samples = 50.0%")
FIVE = """n= 1000

node), split, n, loss, yval, (yprob)

1) root 1000 700 a (0.3 0.24 0.2 0.15 0.11)
  2) x< 5.125 600 400 a (0.33 0.2 0.17 0.15 0.15) *
  3) x>=5.125 400 280 b (0.25 0.3 0.25 0.15 0.05) *
"""
CIRCLE = "".join(f'{i} [label="z <= 1\\nsamples = 3\\nvalue = [1, 2]"] ;\n{i} -> {7 - i} ;\n' for i in (3, 4))
MANY_ROWS = "if [a]:\n  y = True [5000000000000000, 5000000000000000]\nelse\n  y = False [1, 1]\n"
CPP = "if ({a:1}) then ({y:Yes})\nelse if ({b:2,c:3}) then ({y:No})\nelse ({y:Yes})\n"
ORANGE = "[  3.   4.] x ≤ 4.9\n[  3.   0.]     c a\n[  0.   4.]     c b\n[  1.   5.] x > 4.9\n"
PARTY = """Fitted party:
[1] root
|   [2] a <= 3: yes (n = 10, err = 10.0%)
|   [3] a > 3: no (n = 20, err = 0.0%)
"""
C50 = "C5.0 [Release 2.07]\n\nDecision tree:\n\na <= 3: yes (10/1)\na > 3: [S1]\n\n"
C50 += "SubTree [S1]\n\nb = x: no (20)\nb = y: yes (7)\n"
BOX = '[label="Label = 1\nSamples = 2\nClass FQ = [1, 1]", color="#163e5b"'
PART = "PART decision list\n---\n\na <= 3 AND\nb = x: no (10.0/1.0)\n\n: yes (20.0)\n"
MEANS = PARTY.replace("yes (n = 10, err = 10.0%)", "1.5 (n = 10, err = 3.2)")
MEANS = MEANS.replace("no (n = 20, err = 0.0%)", "2.5 (n = 20, err = 4.1)")
C50_RULES = """C5.0 [Release 2.07]

Read 30 cases

Rules:

Rule 1: (10/1, lift 2)
\ta <= 3
\t->  class no  [0.8]

Rule 2: (20, lift 2)
\tb = x
\t->  class yes  [0.9]

Default class: yes
"""
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
        (read_export_text, TREE, "[2.00, 1.00]", "[2.00, b]", "are not weights"),
        (read_export_text, TREE, "2.00, 1.00", f"2.00, {'9' * 400}", "are not weights"),
        (read_export_text, TREE, OTHER_SIDE, "", "which does not fit"),
        (read_export_text, TREE, OTHER_SIDE, 2 * OTHER_SIDE, "is the other side of no split"),
        (read_export_text, TREE, "x > ", "y > ", "is the other side of no split"),
        (read_export_text, TREE, TREE[TREE.index("|   |") : TREE.index("|--- x >")], "", "the other side of no split"),
        (read_export_text, TREE, "2.00, 1.00", "9007199254740993.00, 1.00", "the leaves hold more than 2"),
        (read_export_text, TREE, "3.00] class: 1", "3.00] class: 0", "class '0' is the class of several counts"),
        (read_export_text, TREE, "0.00, 3.00", "3.00, 0.00", "class '1' and class '0' are both the class of count 1"),
        (read_export_text, TREE, "|   |--- weights: [2", "|   |   |--- weights: [2", "which does not fit"),
        (read_export_text, TREE, "weights: [2.00, 1.00] class: 0", "nothing", "is neither a split nor a leaf"),
        (read_export_text, TREE, "weights: [2.00, 1.00] class: 0", "value: [1.5]", "a regression tree's text"),
        (read_corels_text, CORELS, CORELS, "nothing", "the text holds no CORELS rule list"),
        (read_corels_text, CORELS, "y = False", "nothing", "predicts nothing"),
        (read_corels_text, CORELS, CORELS, "RULELIST:\n", r"the list has no default rule \(else\)"),
        (read_corels_text, CORELS, "if [a]:", "if a:", "the text holds no CORELS rule list"),
        (read_corels_text, CORELS, "else if [b]", "if [b]", "'if' begins the list, 'else if' every other rule"),
        (read_corels_text, CORELS, "else if [b]:", "otherwise", "is not a rule of a list"),
        (read_corels_text, CORELS, "y = False", "z = False", "line 4: the rule predicts another label"),
        (read_corels_text, CORELS, "y = False", "y = False [3, 4]", "has counts where others have none"),
        (read_corels_text, CORELS, "else\n  y = True\n", "", r"line 4: the list has no default rule \(else\)"),
        (read_corels_text, CORELS, "else\n", "else\n  y = True\nelse\n", "goes on after its default rule"),
        (read_corels_text, CORELS, "[a]", "[a && ]", "a rule has an empty antecedent"),
        (read_corels_text, CORELS, CORELS, MANY_ROWS, "the rules hold more than 2"),
        (read_corels_text, CPP, "else if ({b:2,c:3}) then ({y:No})", "hello", "line 2: 'hello' is not a rule"),
        (read_corels_text, CPP, "else if ({b", "if ({b", "line 2: .* is not a rule of a list"),
        (read_corels_text, CPP, "else ({y:Yes})\n", "", r"line 2: the list has no default rule \(else\)"),
        (read_corels_text, CPP, "{b:2,c:3}", "{b:2,}", "a rule has an empty antecedent"),
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
        (read_dot, DOT, "samples = 3\\nvalue = [0", "value = [0", "a node needs 'samples' and 'value'"),
        (read_dot, DOT, "[0, 3]", "many", "a node needs 'samples' and 'value'"),
        (read_dot, DOT, "[0, 3]", "[0, b]", "are no figures of a node"),
        (read_dot, DOT, "[0, 3]", f"[0, {'9' * 400}]", "are no figures of a node"),
        (read_dot, DOT, "samples = 6", "gini = 0.4\\ngini = 0.4\\nsamples = 6", "'gini = 0.4' is not a figure"),
        (read_dot, DOT, "samples = 6", "gini = low\\nsamples = 6", "'gini = low' is not a figure of a node"),
        (read_dot, DOT, "[0, 3]", "[0, 3, 0]", "has 3 counts, another node 2"),
        (read_dot, DOT, 'samples = 3\\nvalue = [0, 3]', 'samples = 50%\\nvalue = [0, 3]', "others percentages"),
        (read_dot, DOT, "[0, 3]", "[-1, 4]", "a 'value' is negative"),
        (read_dot, DOT, "x <= 0.5", "x <= inf", "a split on missing values"),
        (read_dot, DOT, "samples = 3", "what = 3\\nsamples = 3", "'what = 3' is not a figure of a node"),
        (read_dot, DOT, "[2, 4]", "[[2, 4]]", "a tree with several outputs is not read"),
        (read_dot, DOT, "[2, 4]", "[2, ..., 4]", "counts of so many classes are abridged"),
        (read_dot, DOT, "2 [label", "1 [label", "node 1 stands twice"),
        (read_dot, DOT, "}", '3 [label="(...)"] ;\n3 [label="(...)"] ;\n}', "line 9: node 3 stands twice"),
        (read_dot, DOT, r"x <= 0.5\nsamples", "samples", "node 0: has 2 children, not a test and two of them"),
        (read_dot, DOT, r"samples = 3\nvalue = [2, 1]", "(...)", "node 1 was cut off, but not the other child"),
        (read_dot, DOT, "0 -> 2 ;", "hello", "'hello' is nothing that export_graphviz writes"),
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
        (read_rpart, PRINTED, "age>=52 46", "age>=52 45", "1 rows stop at node 1"),
        (read_rpart, PRINTED, "age< 52 44", "age=a 44", "'age=a' and 'age>=52' are no split"),
        (read_rpart, PRINTED, "age< 52 44", "age<x 44", "'age<x' and 'age>=52' are no split"),
        (read_rpart, PRINTED.replace("age>=52", "age=a,b"), "age< 52", "age=b,c", "the levels of 'age' do not part"),
        (read_rpart, PRINTED.replace("age>=52", "age=a,"), "age< 52", "age=b,c", "the levels of 'age' do not part"),
        (read_rpart, PRINTED, "age< 52 44  6 no", "age< 52 no", "has no numbers of rows and loss before its class"),
        (read_rpart, PRINTED, "  2) age", "  two) age", "is not a node of a printed tree"),
        (read_rpart, PRINTED, "node), split", "nodes: split", "the text has no line 'node"),
        (read_weka, WEKA, WEKA[WEKA.index("a <=") :], "", "the text holds no tree"),
        (read_weka, WEKA, "(48.0/1.0)", "(48.0/49.0)", "has more wrong rows than rows"),
        (read_weka, WEKA, "(48.0/1.0)", "(48.5/1.0)", "has fractions of rows"),
        (read_weka, WEKA, "(48.0/1.0)", "(48.0.1)", r"line 6: 'yes \(48.0.1\)' is not a class with numbers of rows"),
        (read_weka, WEKA, "(48.0/1.0)", "(48.0/.)", "is not a class with numbers of rows"),
        (read_weka, WEKA, "|   b = x", "|   |   b = x", "is indented deeper than its parent"),
        (read_weka, WEKA, ": yes (48.0/1.0)", "", "has neither a leaf nor branches below"),
        (read_weka, WEKA, "|   b = y: no (2.0)", "|   b y", "is not a branch of a printed tree"),
        (read_weka, WEKA, WEKA, "J48 pruned tree\n---\n: yes (50.0/2.0)\n", "a single leaf, without a split"),
        (read_weka, WEKA, "a > 0.6", "c > 0.6", "is beside a test of another attribute"),
        (read_weka, WEKA, "a > 0.6", "a > 0.7", "'a <= 0.6' and 'a > 0.7' do not part the values of 'a'"),
        (read_weka, WEKA, "a > 0.6", "a < 0.6", "do not part the values of 'a'"),
        (read_weka, WEKA, "a > 0.6", "a = x", "'a <= 0.6' and 'a = x' do not part the values of 'a'"),
        (read_weka, WEKA, "b = y", "b = x", "'b = x' and 'b = x' do not part the values of 'b'"),
        (read_weka, WEKA, "|   b = x", "|   b != y: no (1.0)\n|   b = x", "do not part the values of 'b'"),
        (read_weka, WEKA, "|   b = y: no (2.0)\n", "", "line 6: is the only branch: the other side is missing"),
        (read_weka, WEKA, WEKA[WEKA.index("a > 0.6") :], "", "line 4: is the only branch: the other side is missing"),
        (read_weka, WEKA, "b = x: yes (48.0/1.0)", "b = x: yes", "'yes' is not a class with numbers of rows"),
        (read_weka, WEKA, "no (50.0)", "no (9007199254740993.0)", "the leaves hold more than 2"),
        (read_weka, WEKA, "a > 0.6", "a > six", "'six' is not a number"),
        (read_weka, WEKA, "(2.0)\n", "(2.0)\n\nInstances: 99\n", "the text says 99 cases and its leaves have 100"),
        (read_weka, WEKA, "b = y", "b in {y, z", "a list of values has no end"),
        (read_weka, PARTY, PARTY, "Fitted party:\n[1] root: yes (n = 30, err = 10%)\n", "the tree is a single leaf"),
        (read_weka, PARTY, "[3] a > 3", "a > 3", "is not a node of a printed tree"),
        (read_weka, PARTY, "<= 3", "<= low", "stands for some levels of an ordered factor"),
        (read_weka, PARTY, "<= 3", "in [low, mid]", "stands for some levels of an ordered factor"),
        (read_weka, PARTY, "(n = 10", "(w = 10", "counts weights, no rows: fit it without weights"),
        (read_weka, PARTY, "(n = 10", "(n = 10.5", "counts weights, no rows: fit it without weights"),
        (read_weka, PARTY, "10.0%", "1.0.0%", r"'yes \(n = 10, err = 1.0.0%\)' is not a class with numbers of rows"),
        (read_weka, PARTY, "10.0%", "13.0%", "13.0 % of 10 rows is not a number of rows"),
        (read_weka, C50, "[S1]\n\nSub", "[S2]\n\nSub", r"SubTree \[S2\] is missing, or is at two places"),
        (read_weka, C50, "yes (10/1)", "[S1]", r"SubTree \[S1\] is missing, or is at two places"),
        (read_weka, C50, "a <= 3: yes", "a = N/A: yes (0)\na <= 3: yes", "'a = N/A' and 'a <= 3.0' do not part"),
        (read_orange, ORANGE, "     c a", "     c", "'c' and 'c b' test no attribute together"),
        (read_orange, ORANGE, "c b", "c a", "the values of 'c' do not part"),
        (read_orange, ORANGE, "c b", "c ", "the values of 'c' do not part|is no branch"),
        (read_orange, ORANGE, "c b", r"c (unreachable)", "the values of 'c' do not part"),
        (read_orange, ORANGE, "[  0.   4.]     c b\n", "", "line 1: has one branch only"),
        (read_orange, ORANGE, "[  0.   4.]", "[  0.   3.]", r"line 1: 1 row stops here \(missing values\): not read"),
        (read_orange, ORANGE, "[  0.   4.]", "[  0.   2.]", "line 1: 2 rows stop here"),
        (read_orange, ORANGE, "[  0.   4.]", "[  0.   5.]", "has 4 rows of a class, its branches 5"),
        (read_orange, ORANGE, "[  0.   4.]", "[  0.   4.5]", "are no numbers of rows per class: a regression"),
        (read_orange, ORANGE, "[  0.   4.]", "[  0.   4.   0.]", "has another number of classes"),
        (read_orange, ORANGE, "     c b", "         c b", "|".join(["is at no place of the tree", "one branch only"])),
        (read_orange, ORANGE, "     c a", "         c a", "line 2: is at no place of the tree"),
        (read_orange, ORANGE, "x > 4.9", "x ≤ 4.9", "'x ≤ 4.9' and 'x ≤ 4.9' are no split"),
        (read_orange, ORANGE, "x > 4.9", "y > 4.9", "'x ≤ 4.9' and 'y > 4.9' are no split"),
        (read_orange, ORANGE, "x > 4.9", "x > 4.8", "'x ≤ 4.9' and 'x > 4.8' are no split"),
        (read_orange, ORANGE, "[  0.   4.]     c b", "c b", "is no branch of a tree that Orange printed"),
        (read_rules, PART, "\n: yes (20.0)", "", "the list has no last rule without a test"),
        (read_rules, PART, ": yes (20.0)", ": yes (20.0)\na <= 3: no (1.0)", "the list goes on after its last rule"),
        (read_rules, PART, ": no (10.0/1.0)", ": no", "is not a rule with numbers of rows"),
        (read_rules, PART, "(10.0/1.0)", "(10..)", "is not a rule with numbers of rows"),
        (read_rules, C50_RULES, "(10/1, lift", "(1.0.0, lift", r"line 7: 'Rule 1: \(1.0.0, lift 2\)' is not a rule"),
        (read_rules, PART, "a <= 3 AND", "a is small AND", "'a is small' is not a test"),
        (read_rules, PART, "b = x", "b != x", "line 5: 'b != x' does not list the other values"),
        (read_rules, PART, "no (10.0/1.0)", "no (9007199254740993.0)", "the leaves hold more than 2"),
        (read_rules, PART, PART[PART.index("a <=") : PART.index("\n: yes")], "", "the only rule has no test"),
        (read_rules, C50_RULES, "Rule 2:", "Rul 2:", r"line 11: 'Rul 2: \(20, lift 2\)' is not a rule"),
        (read_rules, C50_RULES, "b = x", "b like x", "'b like x' is not a test"),
        (read_streed_dot, DRAWN, "\n2  [", "\n0  [", "node 0: is there twice"),
        (read_streed_dot, DRAWN, "\n0 [", "\n99 [", "digraph Tree: has no node 0"),
        (read_streed_dot, DRAWN, "\n2  [", "\n99  [", "node 2: is missing"),
        (read_streed_dot, DRAWN, "[13, 39]", "[13, 39, 0]", "node 2: has 3 classes, the root 2"),
        (read_streed_dot, DRAWN, "[50, 70]", "[0, 120]", "counts a label that the root has not"),
        (read_streed_dot, DRAWN, "\n2  [", f"\n99  {BOX}\n2  [", "node 99: no other node leads to this one"),
        (read_streed_dot, DRAWN, "Samples = 120", "Samples = many", "holds 'many', which is not a number of rows"),
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
        (read_weka, WEKA), (read_weka, PARTY), (read_weka, C50), (read_streed_dot, DRAWN), (read_streed_text, INDENTED),
        (read_corels_text, CPP), (read_orange, ORANGE), (read_rules, PART), (read_rules, C50_RULES),
    ],
)  # fmt: skip
def test_as_they_stand_the_texts_are_read(read, text):
    assert read(text).origin.format


STORED = {
    "frame": {
        "var": ["g", "<leaf>", "x", "<leaf>", "<leaf>"],
        "n": [9, 2, 7, 3, 4],
        "wt": [9, 2, 7, 3, 4],
        "ncompete": [0] * 5,
        "nsurrogate": [0] * 5,
        "yval2": [[1, a, b, a / (a + b), b / (a + b), 1] for a, b in ((5, 4), (2, 0), (3, 4), (1, 2), (2, 2))],
    },
    "node": [1, 2, 3, 6, 7],
    "splits": [[9, 3, 0.9, 1, 0], [7, -1, 0.9, 2.5, 0]],
    "cuts": ["1", "2.5"],
    "csplit": [[1, 3, 3]],
    "xlevels": {"g": ["low", "mid", "high"]},
    "ylevels": ["no", "yes"],
    "method": "class",
    "label": "y",
}


@pytest.mark.parametrize(
    ("place", "value", "said"),
    [
        ("frame", [], "frame: is not an object"),
        ("frame.n", None, "frame.n: is not a list"),
        ("frame.n", [9, 2, 7, 3], "frame: needs one of var, n, ncompete, nsurrogate for each of the 5 nodes"),
        ("frame.n.1", 2.5, r"frame.n\[1\]: 2.5 is not a whole number"),
        ("frame.n.1", True, r"frame.n\[1\]: True is not a whole number"),
        ("frame.n.1", -2, r"frame.n\[1\]: -2 is not a whole number"),
        ("frame.n.1", "2", r"frame.n\[1\]: 2 is not a whole number"),
        ("frame.yval2", [], r"frame.yval2: has 0 rows for 5 nodes"),
        ("frame.yval2.1", [1, 2, 0], r"frame.yval2\[1\]: has no counts of 2 classes"),
        ("frame.yval2.1", [1, "2", 0, 1, 0, 1], r"frame.yval2\[1\]: has no counts of 2 classes"),
        ("node", [], "frame: needs one of"),
        ("ylevels", ["no", "no"], "ylevels: are no different texts"),
        ("ylevels", ["no", 1], "ylevels: are no different texts"),
        ("xlevels", {}, r"splits\[0\]: is a split on levels, which xlevels does not list"),
        ("xlevels.g", ["low", "low", "high"], "xlevels.g: are no different texts"),
        ("splits", STORED["splits"][:1], r"splits\[1\]: the frame has more splits than are listed"),
        ("splits.1", [7, -1, 0.9], r"splits\[1\]: the frame has more splits than are listed"),
        ("cuts", ["1"], r"splits\[1\]: the frame has more splits than are listed"),
        ("cuts.1", "many", r"splits\[1\]: 'many' is not a number"),
        ("cuts.0", "2", r"splits\[0\]: csplit has no row 2"),
        ("cuts.0", "0", r"splits\[0\]: csplit has no row 0"),
        ("csplit.0", [1, 1, 1], r"splits\[0\]: sends all levels to one side"),
        ("csplit.0", [3, 3, 3], r"splits\[0\]: sends all levels to one side"),
    ],
)
def test_an_rpart_object_with_one_thing_wrong_is_refused_by_name(place, value, said):
    stored = json.loads(json.dumps(STORED))
    *way, last = place.split(".")
    inner = stored
    for step in way:
        inner = inner[int(step) if step.isdigit() else step]
    inner[int(last) if last.isdigit() else last] = value
    with pytest.raises(ReleaseError, match=said):
        read_rpart_json(stored)


def test_as_it_stands_the_rpart_object_is_read():
    found = read_rpart_json(STORED)
    assert [node.support.counts for node in found.models[0].nodes if node.condition is None] == [(2, 0), (1, 2), (2, 2)]


@pytest.mark.parametrize(
    ("module", "limit", "most", "read", "text", "said"),
    [
        (corels_text, "MAX_RULES", 2, read_corels_text, CORELS, "the list has more than 2 rules"),
        (orange_text, "MAX_PARTS", 3, read_orange, ORANGE, "line 4: has more than 3 lines"),
        (streed_text, "MAX_PARTS", 2, read_streed_dot, DRAWN, "digraph Tree: has more than 2 nodes"),
        (weka_text, "MAX_LINES", 5, read_weka, WEKA, "the text has more than 5 lines"),
        (weka_text, "MAX_RULES", 1, read_rules, PART, "more than 1 rules are not read"),
        (printed_trees, "MAX_TESTS", 2, read_export_text, TREE.replace("2.00", "2.50"), "hold more than 2 tests"),
    ],
)
def test_texts_beyond_a_limit_are_refused(module, limit, most, read, text, said, monkeypatch):
    monkeypatch.setattr(module, limit, most)
    with pytest.raises(ReconError, match=said):
        read(text)
    monkeypatch.setattr(module, limit, 99)
    assert read(text)


def leaves(draft):
    """Return what the leaves say by classes (least, most), and how many rows they have."""
    return [(n.facts.size, dict(n.facts.classes)) for n in draft.nodes if n.feature is None]


def weighted(left, right):
    """Return the text of a tree with weights in its leaves."""
    return stump(f"weights: [{left}] class: 0", f"weights: [{right}] class: 1")


def values(*each):
    """Return a drawn tree with other values in its three nodes."""
    text = DOT
    for old, new in zip(("[2, 4]", "[2, 1]", "[0, 3]"), each, strict=True):
        text = text.replace(old, new)
    return text


SOME, UNNAMED = (1, None), (None, None)
TEN = values("[0.4, 0.6]", "[0.6, 0.4]", "[0.2, 0.8]").replace("samples = 6", "samples = 10").replace("= 3", "= 5")
MILLION = values("[500000, 500000]", "[400000, 200000]", "[100000, 300000]").replace("samples = 6", "samples = 1000000")
MILLION = MILLION.replace("samples = 3\\nvalue = [4", "samples = 600000\\nvalue = [4").replace("= 3\\n", "= 400000\\n")
COUNTED = [((3, 3), {0: (2, 2), 1: (1, 1)}), ((3, 3), {0: (0, 0), 1: (3, 3)})]
NAMED = DOT.replace("[2, 1]", "[2, 1]\\nclass = no").replace("[0, 3]", "[0, 3]\\nclass = yes")


@pytest.mark.parametrize(
    ("read", "text", "kind", "names", "said"),
    [
        # Weights of two classes whose sums are whole may be shares that constraints clipped: no class is sure.
        (read_export_text, weighted("2.50, 0.50", "0.50, 2.50"), "label", (0, 1), [(SOME, {}), (SOME, {})]),
        (read_export_text, weighted("2.50, 0.00", "0.60, 2.50"), "label", (0, 1),
         [(SOME, {0: SOME}), (SOME, {0: SOME, 1: SOME})]),
        (read_export_text, TREE.replace("\n", "\n\n"), "exact", (0, 1), COUNTED),
        (read_export_text, TREE.replace("class: 0", "class: age <= 3"), "exact", ("age <= 3", "1"), COUNTED),
        (read_dot, NAMED, "exact", ("no", "yes"), COUNTED),
        (read_dot, NAMED.replace("\n1 [", "\n\n1 ["), "exact", ("no", "yes"), COUNTED),
        (read_dot, NAMED.replace("= no", "= y[0]").replace("= yes", "= y[1]"), "exact", UNNAMED, COUNTED),
        (read_dot, DOT.replace("[0, 3]", "[0,\n3]"), "exact", UNNAMED, COUNTED),
        (read_dot, DOT.replace("samples = 6", "gini = 0.444\\nsamples = 6"), "exact", UNNAMED, COUNTED),
        (read_dot, values("2.5", "1", "4e0"), "size", (), [((3, 3), {}), ((3, 3), {})]),
        (read_dot, values("[2, 4]", "[2, 0.8]", "[0, 3.2]"), "distinct", UNNAMED, None),
        (read_dot, TEN, "exact", UNNAMED, [((5, 5), {0: (3, 3), 1: (2, 2)}), ((5, 5), {0: (1, 1), 1: (4, 4)})]),
        (read_dot, TEN.replace("[0.4, 0.6]", "[0.4, 0.4]"), "distinct", UNNAMED, None),  # 4 and 4 are not 10
        # Counts that are not those of 'samples': rows were drawn or weighted, and so many different ones are there.
        (read_dot, values("[2, 4]", "[2, 1]", "[0, 4]"), "distinct", UNNAMED,
         [((3, None), {0: SOME, 1: SOME}), ((3, None), {1: SOME})]),
        (read_dot, values("[2, 4]", "[1.5, 1.5]", "[0.5, 2.5]"), "distinct", UNNAMED,
         [((3, None), {}), ((3, None), {})]),
        # Shares with one digit say between which numbers the counts lie; such that no counts have are of weights.
        (read_dot, values("[0.3, 0.7]", "[0.7, 0.3]", "[0.0, 1.0]"), "exact", UNNAMED, COUNTED),
        (read_dot, values("[0.3, 0.7]", "[0.5, 0.5]", "[0.0, 1.0]"), "distinct", UNNAMED, None),
        (read_dot, HALVES, "ratio", UNNAMED, [(SOME, {}), (SOME, {})]),
        (read_dot, HALVES.replace("[0.0, 1.0]", "[0.9, 0.1]"), "label", UNNAMED, [(SOME, {}), (SOME, {})]),
        # Of a million rows too, counts are whole: weights are not.
        (read_export_text, weighted("400001.00, 199999.00", "99999.00, 300001.00"), "exact", (0, 1), None),
        (read_export_text, weighted("400000.40, 199999.70", "100000.40, 299999.70"), "label", (0, 1), None),
        (read_dot, MILLION, "exact", UNNAMED, None),
        (read_dot, MILLION.replace("[400000, 200000]", "[400000.4, 199999.6]"), "distinct", UNNAMED, None),
        (read_weka, MEANS, "size", (), [((10, 10), {}), ((20, 20), {})]),
        (read_rpart, PRINTED.replace("90 44 yes (0.4888889 0.5111111)", "90 45 yes (0.5000000 0.5000000)"), "size", (),
         [((44, 44), {}), ((46, 46), {})]),
        (read_rpart, FIVE[: FIVE.index("\n  2)")].replace("700 a", "706 a") + " *", "size", (), [((1000, 1000), {})]),
    ],
)  # fmt: skip
def test_what_a_text_does_not_say_is_left_open(read, text, kind, names, said):
    draft = read(text)
    assert (draft.origin.counts, draft.names) == ((kind,), names)
    assert said in (None, leaves(draft))


def test_a_list_of_corels_may_be_its_default_alone():
    assert read_corels_text("RULELIST:\ny = True\n").predicted == (1,)
    most = 1 << 53
    assert read_corels_text(f"if [a]:\n  y = 1 [{most - 2}, 1]\nelse\n  y = 0 [1, 0]\n").rows == RowCount(most, most)


def test_what_is_not_told_of_classes_is_not_guessed():
    assert read_corels_text("if [a]:\n  y = No [3, 0]\nelse\n  y = No [5, 1]\n").classes is None
    assert read_streed_dot(re.sub(r"\nClass FQ = \[.*?\]", "", DRAWN)).classes is None
    assert read_rules(PART.replace(": yes", ": no")).classes is None
    assert read_rules(C50_RULES.replace("Read 30 cases", "")).rows == RowCount(20, None)
    assert read_rpart_json({k: v for k, v in STORED.items() if k != "cuts"}).slack(2.5) > 0
    assert read_rpart_json(STORED).slack is None


@pytest.mark.parametrize("names", [("1", "01"), ("1.0", "1.00"), ("0", "-0"), ("True", "TRUE"), ("1", "2"), ("a", "1")])
def test_names_that_are_one_number_are_two_classes(names):
    found = read_weka(WEKA.replace(": yes", f": {names[0]}").replace(": no", f": {names[1]}"))
    assert sorted(map(str, found.names)) == sorted(names)
    assert len(set(found.names)) == 2


def test_shares_of_a_tree_of_a_forest_say_which_classes_have_a_row():
    forest = read_export_text(stump("weights: [2.50, 0.00] class: a", "weights: [0.00, 2.50] class: b")).of_forest()
    assert leaves(forest) == [((1, None), {0: SOME}), ((1, None), {1: SOME})]


def test_a_class_at_another_place_than_the_label_has_it_is_refused():
    draft = read_export_text(stump("weights: [2.00, 1.00] class: b", "weights: [3.00, 0.00] class: b"))
    assert draft.names == ("b", None)
    with pytest.raises(ReleaseError, match="the file's class 'b' stands where the label has 'a'"):
        draft.bound(Binder(draft, Domain((Grid.between("x", 0, 1),), Categorical("y", ("a", "b")))))


def test_a_threshold_moves_past_a_value_that_may_lie_on_it_and_past_no_other():
    draft = read_export_text(TREE)
    for value, below in ((0.5, True), (0.508, False)):
        domain = Domain((Categorical("x", (0.0, value, 1.0)),), Categorical("y", (0, 1)))
        (tree,) = draft.bound(Binder(draft, domain))
        ((_, test),) = tree.nodes[0].condition
        assert (value <= test.high < 1, test.high >= 0) == (below, True)


def test_values_that_two_tests_of_a_path_leave_are_those_of_both():
    text = "J48 pruned tree\n---\n\nb in {x,y}\n|   b in {x,z}: no (3.0/1.0)\n|   b in {v,y}: yes (4.0)\n"
    text += "b in {v,z}: yes (5.0)\n"
    *_, table = read_weka(text).models
    found = {figure.condition[0][1].values for figure in table.statements}
    assert found == {("x",), ("y",), ("v", "z")}


def table(text, **options):
    with table_read_as(TableOptions.said(**options)):
        return read_count_table(text)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("age,count\ntotal,5\n", "no line of the table is about an attribute's value"),
        ("age,count\nold,9007199254740992\nyoung,9007199254740992\nmiddle,*\n", "the counts sum to more than 2"),
        ("age,sex,count\nold,total,3\nyoung,total,4\ntotal,f,5\ntotal,m,3\n",
         "the counts by 'age' add up to 7 rows, those by 'sex' to 8: not both hold"),
    ],
)  # fmt: skip
def test_a_table_of_counts_with_one_thing_wrong_is_refused_by_name(text, said):
    with pytest.raises(ReleaseError, match=said):
        table(text)


def test_what_a_table_of_counts_does_not_say_is_left_open(monkeypatch):
    assert table("age,count\nold,*\nyoung,*\n").rows == RowCount(0, None)
    assert table("age,count\nold,1-4\nyoung,7\n").rows == RowCount(8, 11)
    assert table("age,sex,count\nold,f,*\nyoung,m,*\n").rows is None
    free = table("age,sex,count\n0+,f,5\n0+,m,4\n0+,total,9\n")
    assert {name for figure in free.models[0].statements for name, _ in figure.condition} == {"sex"}
    assert any("'age' is free in every line" in note for note in table("age,sex,count\n,f,5\n,m,4\n").reader_notes)
    means = "age,count,mean income\nold,3,1.500\nyoung,4,2.250\n"
    assert table(means).means == ()
    assert any("its signs may part thousands or thousandths" in note for note in table(means).reader_notes)
    assert len(table(means.replace("00", "0").replace("50\n", "5\n")).means) == 2
    parts = "age,sex,count\nold,f,3\nold,m,4\nyoung,f,5\nyoung,m,6\n"
    assert table(parts).rows == RowCount(18, 18)
    margins = "age,sex,count\nold,total,7\nyoung,total,11\ntotal,f,*\ntotal,m,*\n"
    assert table(margins).rows == RowCount(18, 18)
    monkeypatch.setattr(count_table, "MAX_LINES", 2)  # sums of so many groups are not looked for
    assert table(margins).rows is None


def test_a_table_is_written_with_names_that_say_one_thing():
    domain = Domain((Categorical("sex", ("f", "m", "total")), Grid.between("age", 0, 9)), None)

    def written(*conditions, count=3):
        figures = tuple(PublishedFigure(condition, count=count) for condition in conditions)
        return table_text(Table(figures), domain)

    female, young = ("sex", equals("f")), ("age", Test(low=1, high=5))
    assert written((female, young), (female,), ()) == "sex,age,count\nf,1-5,3\nf,total,3\ntotal,total,3\n"
    assert written((("sex", Test(values=(), missing=True)),)) == "sex,count\nunknown,3\n"
    for test, said in (
        (Test(values=("f", "m")), "has no name of its own in CSV: write .json"),
        (equals("total"), "'total' is a value of 'sex' and would stand for all of them: write .json"),
    ):
        with pytest.raises(Unsupported, match=said):
            written((("sex", test),))
    hidden = Table((PublishedFigure((female,), suppressed="primary"),))
    with pytest.raises(Unsupported, match="needs the hidden counts too: give the complete table"):
        argus_files(hidden, hidden, domain, {}, "t")
