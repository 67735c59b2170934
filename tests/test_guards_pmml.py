"""The guards of the PMML reader: files with one thing changed are refused by name, or say exactly what is left."""

from __future__ import annotations

from dataclasses import replace

import pytest
from changed_objects import sentence_of
from test_pmml import FOREST, GOOD, HITS, LEAF, ONE, OPERATORS, RULES

from encoders.domain.domain import Domain
from encoders.domain.values import Categorical, Grid, Test
from encoders.models.models import Tree
from recon.readers.formats.drafts.binding import Binder, passes
from recon.readers.formats.drafts.drafts import guess_domain
from recon.readers.formats.pmml.document import read_pmml
from solvers.foundation.errors import ReleaseError, TooLarge, Unsupported
from solvers.statements.release import RowCount

SECOND = '<SimplePredicate field="x" operator="greaterThan" value="1"/>'
TREE = '<TreeModel functionName="classification"'
FIELDS = "</TransformationDictionary>"
MINUS = '<Apply function="-"><FieldRef field="x"/><Constant>10</Constant></Apply>'
SCALED = f'<DerivedField name="z" optype="continuous" dataType="double">{MINUS}</DerivedField>'
EITHER = (
    '<CompoundPredicate booleanOperator="or"><SimplePredicate field="x" operator="{0}" value="{1}"/>'
    '<SimplePredicate field="w" operator="{0}" value="{1}"/></CompoundPredicate>'
)
W = '<DataField name="w" optype="continuous" dataType="double"/></DataDictionary>'


def changed(text, *pairs):
    """Return a file with the first of every old text replaced; each must be there."""
    for old, new in pairs:
        assert old in text, old
        text = text.replace(old, new, 1)
    return text


def derived(inner, kind="double"):
    return FIELDS, f'<DerivedField name="z" optype="continuous" dataType="{kind}">{inner}</DerivedField>{FIELDS}'


def said(draft):
    """Return what a draft's models say: (tests, count or bounds), in order."""
    (model,) = draft.models
    if isinstance(model, Tree):
        out, todo = [], [(0, ())]
        while todo:
            at, path = todo.pop()
            node = model.nodes[at]
            if node.condition is None:
                out.append((*path, node.support.counts or node.support.count))
                continue
            text = " & ".join(f"{name} {test}" for name, test in node.condition)
            todo += [(node.otherwise, (*path, f"not {text}")), (node.then, (*path, text))]
        return out
    rules = getattr(model, "rules", None)
    if rules is not None:
        return [(" & ".join(f"{n} {t}" for n, t in r.condition), r.support.counts or r.support.count) for r in rules]
    return [
        (
            " & ".join(f"{n} {t}" for n, t in f.condition),
            f.count if f.count is not None else (f.low, f.high) if f.statistic is None else f.statistic.value,
        )
        for f in model.statements
    ]


FILLED = ONE.replace("<MiningSchema>", '<MiningSchema><MiningField name="x" missingValueReplacement="3"/>')
FILLED_X = ("<MiningSchema>", '<MiningSchema><MiningField name="x" missingValueReplacement="3"/>')
NYOKA = ("<DataDictionary>", '<Header><Application name="Nyoka"/></Header><DataDictionary>')
TAKEN = ('field="x" op', 'field="z" op')
ALONE = FOREST.replace(f"<Segment><True/>{ONE}</Segment></Segm", "</Segm")  # a forest of one tree
CHAIN = ALONE.replace("majorityVote", "modelChain")
MIXED = (  # a class is written in two ways
    ('"string"><Value value="n"/><Value value="p"/>', '"integer"><Value value="1"/><Value value="2"/>'),
    ('"n" recordCount="3"', '"1" recordCount="3"'), ('"p" recordCount="4"', '"2.0" recordCount="4"'),
    ('"n" recordCount="5"', '"1.0" recordCount="5"'), ('"p" recordCount="6"', '"2" recordCount="6"'),
)  # fmt: skip


@pytest.mark.parametrize(
    ("text", "pairs", "why"),
    [
        (GOOD, [(FIELDS, f'<DerivedField name="z"/>{FIELDS}'), TAKEN], "'z' is derived by unknown"),
        (GOOD, [(FIELDS, f'{SCALED}<DerivedField name="v"><FieldRef field="z"/></DerivedField>{FIELDS}'),
                ('field="x" op', 'field="v" op')], "'v' is derived by chain of transformations"),
        (GOOD, [derived('<Apply function="*"><FieldRef field="x"/><Constant>-2</Constant></Apply>'), TAKEN],
         "'z' is derived by Apply"),
        (GOOD, [derived('<Apply function="/"><FieldRef field="x"/><Constant>0</Constant></Apply>'), TAKEN],
         "'z' is derived by Apply"),
        (GOOD, [derived('<Apply function="-"><Constant>1</Constant><FieldRef field="x"/></Apply>'), TAKEN],
         "'z' is derived by Apply"),
        (GOOD, [derived('<FieldRef field="q"/>'), TAKEN], "'z' is derived by FieldRef"),
        (GOOD, [derived('<NormDiscrete field="y" value="n"/>'), TAKEN, ("lessOrEqual", "about")],
         "'about' is not an operator"),
        (GOOD, [(FIELDS, f"{SCALED}{SCALED.replace('10', '11')}{FIELDS}")], "several fields 'z', which is not read"),
        (GOOD, [(FIELDS, SCALED.replace('"z"', '"x"') + FIELDS)], "several fields 'x', which is not read"),
        (GOOD, [('dataType="double"/>', 'dataType="double"><Value value="-9" property="missing"/></DataField>')],
         "'x' has values that stand for missing ones, which is not read"),
        (GOOD, [('dataType="double"/>', 'dataType="double"><Value value="-9" property="missing"/></DataField>'),
                (FIELDS, SCALED + FIELDS), TAKEN], "'x' has values that stand for missing ones, which is not read"),
        (GOOD, [('value="n"/>', 'value="n"/><Value value="?" property="missing"/>'),
                derived('<NormDiscrete field="y" value="n"/>'), TAKEN], "'y' has values that stand for missing ones"),
        (GOOD, [('dataType="double"', 'dataType="float"'), ("lessOrEqual", "equal"), ('value="1"', 'value="0.1"'),
                ("</DataDictionary>", W), (SECOND, SECOND.replace('"x"', '"w"'))],
         "'x' has numbers of 32 bits and is to equal others"),
        (FOREST, [(f"</Segment><Segment><True/>{ONE}", f"</Segment><Segment><True/>{FILLED}")],
         "PMML segments that replace missing values in different ways are not read"),
        (RULES, [(' recordCount="4"', ""), ('<ScoreDistribution value="p" recordCount="1"/>', "")],
            "rule a has no recordCount"),
        (GOOD, [(GOOD[GOOD.index("<Node ", GOOD.index("<Node ") + 1) : GOOD.index("</TreeModel>")],
                 '<ScoreDistribution value="n" recordCount="8"/>'
                 '<ScoreDistribution value="p" recordCount="10"/></Node>')],
         "the PMML tree has no split"),
        (GOOD, [(TREE, f'{TREE} noTrueChildStrategy="returnLastPrediction"'), (SECOND, SECOND.replace("1", "2")),
                ('recordCount="18"', 'recordCount="17"'),
                ("<True/>", '<True/><ScoreDistribution value="n" recordCount="8"/>'
                 '<ScoreDistribution value="p" recordCount="9"/>')],
         "Node 0: its children have more rows than itself"),
        (GOOD, [("</DataDictionary>", W), (LEAF, EITHER.format("lessOrEqual", 1)), (' recordCount="18"', ""),
                (TREE, f'{TREE} noTrueChildStrategy="returnLastPrediction"')],
         "does not say how many rows its root has, and leaves are at several places"),
        (GOOD, [(' recordCount="18"', ""), (' recordCount="7"', ""), (' recordCount="11"', ""),
                (GOOD[GOOD.index('<ScoreDistribution value="n" recordCount="5"') : GOOD.index("</Node></Node></T")],
                    "")],
         "some leaves of the PMML tree have no recordCounts, or such as do not sum to their rows"),
        # what stands for a missing value is not what the transformation makes of none
        (GOOD, [derived('<FieldRef field="x" mapMissingTo="0"/>'), TAKEN], "'z' is derived by mapMissingTo, which is"),
        (GOOD, [derived(MINUS.replace("<Apply", '<Apply defaultValue="0"')), TAKEN], "'z' is derived by defaultValue"),
        (GOOD, [derived('<NormDiscrete field="y" value="n" mapMissingTo="0"/>'), TAKEN], "'z' is derived by mapMiss"),
        (GOOD, [derived('<FieldRef field="x"/>'), ('name="z"', ""), ('field="x" op', "op")], "'' is not declared"),
        (GOOD, [derived('<NormDiscrete field="q" value="n"/>'), TAKEN], "'z' is derived by NormDiscrete, which is not"),
        (GOOD, [derived(MINUS.replace("Apply", "Aggregate")), TAKEN], "'z' is derived by Aggregate, which is not"),
        (GOOD, [derived(MINUS.replace('"-"', '"max"')), TAKEN], "'z' is derived by Apply, which is not"),
        (GOOD, [derived('<NormDiscrete field="y" value="n"/>'),
                (LEAF, '<SimpleSetPredicate field="z" booleanOperator="isIn"><Array>1</Array></SimpleSetPredicate>')],
         "'z' is 0 or 1, and a set of values of it is not read"),
        (GOOD, [('"double"', '"float"'), derived(MINUS), TAKEN], "'z' is derived by numbers of 32 bits, which is not"),
        (FOREST, [(ONE, FILLED)],
         "PMML segments that replace missing values in different ways are not read"),
        (GOOD, [('value="p" recordCount="4"', 'value="n" recordCount="4"')], "the class 'n' stands twice"),
        (GOOD, [('dataType="string"><Value value="n"/><Value value="p"/>', 'dataType="double">'),
                ('"n" recordCount="3"', '"1" recordCount="3"'), ('"p" recordCount="4"', '"1.0" recordCount="4"'),
                ('"n" recordCount="5"', '"1" recordCount="5"'), ('"p" recordCount="6"', '"2" recordCount="6"')],
         "Node 1: a class stands twice, written in two ways"),
        (FOREST, [(FOREST[FOREST.index("<Segment>") : FOREST.index("</Segmentation>")], "")], "without segments is"),
        (CHAIN, [("<Segment><True/>", f"<Segment>{LEAF}")], "joined by 'modelChain' are not read"),
        (FOREST, [("majorityVote", "sum")], "joined by 'sum' are not read: later trees are fitted on residuals"),
        (FOREST, [(ONE, "<Scorecard/>")], "some segment holds a model that is not a tree"),
        (GOOD, [('n" recordCount="3"', 'n" recordCount="3.5"'), ('p" recordCount="4"', 'p" recordCount="4"'),
                (' recordCount="7"', "")], "recordCounts are not whole numbers: its rows were weighted"),
        (GOOD, [('n" recordCount="3"', 'n" recordCount="-3"'), ('p" recordCount="4"', 'p" recordCount="10"'),
                (' recordCount="7"', "")], "Node 1.ScoreDistribution: '-3' is less than 0"),
        (GOOD, [('n" recordCount="3"', 'n" probability="0.5"'), ('p" recordCount="4"', 'p" probability="0.5"'),
                (' recordCount="7"', "")], "have no recordCounts, or such as do not sum to their rows"),
        (GOOD, [("<True/>", "<True/><DecisionTree/>")], "Node 0 holds a model of its own, which is not read"),
    ],
)  # fmt: skip
def test_what_is_not_understood_is_refused(text, pairs, why):
    with pytest.raises((ReleaseError, Unsupported), match=why):
        read_pmml(changed(text, *pairs).encode())


DEFAULT = f'{TREE} missingValueStrategy="defaultChild"'
LAST = f'{TREE} noTrueChildStrategy="returnLastPrediction"'
C = (
    'name="x" optype="continuous" dataType="double"/>',
    'name="x" optype="categorical" dataType="string">'
    + "".join(f'<Value value="{v}"/>' for v in "abd")
    + "</DataField>",
)
NUMBERED = (
    C[0],
    C[1].replace("string", "integer").replace('"a"', '"1"').replace('"b"', '"2"').replace('"d"', '"3"'),
)
ALL = (SECOND, "<True/>")
NO_ROOT = (' recordCount="18"', "")


def of(*values, how="isIn"):
    array = f"<Array>{' '.join(map(str, values))}</Array>"
    return f'<SimpleSetPredicate field="x" booleanOperator="{how}">{array}</SimpleSetPredicate>'


def both(how, *parts):
    return f'<CompoundPredicate booleanOperator="{how}">{"".join(parts)}</CompoundPredicate>'


def ordered(how, value, field="x"):
    return f'<SimplePredicate field="{field}" operator="{how}" value="{value}"/>'


def leaf(test, n, p, rows=True):
    count = f' recordCount="{n + p}"' if rows else ""
    shares = f'<ScoreDistribution value="n" recordCount="{n}"/><ScoreDistribution value="p" recordCount="{p}"/>'
    return f"<Node{count}>{test}{shares}</Node>"


def chances(test, *shares, values="np", rows=None):
    count = "" if rows is None else f' recordCount="{rows}"'
    inner = "".join(
        f'<ScoreDistribution value="{v}" probability="{s!r}"/>' for v, s in zip(values, shares, strict=True)
    )
    return f"<Node{count}>{test}{inner}</Node>"


def with_nodes(*nodes, rows=18, head=TREE, more=(), text=GOOD):
    """Return GOOD with other nodes under its root."""
    count = "" if rows is None else f' recordCount="{rows}"'
    old = text[text.index("<Node ") : text.index("</TreeModel>")]
    return changed(text, (old, f"<Node{count}><True/>{''.join(nodes)}</Node>"), (TREE, head), *more)


LOW, HIGH = ordered("lessOrEqual", 1), ordered("greaterThan", 1)
SMALL, LARGE = (
    both("or", LOW, ordered("lessOrEqual", 1, "w")),
    both("or", ordered("greaterThan", 5), ordered("greaterThan", 5, "w")),
)
SCORED = '<Node score="n">'
CLASSES = [f"{SCORED}{LOW}</Node>", f'<Node score="p">{ordered("greaterThan", 2)}</Node>']
GONE, THERE = (
    '<SimplePredicate field="x" operator="isMissing"/>',
    '<SimplePredicate field="x" operator="isNotMissing"/>',
)
SHARED = '<ScoreDistribution value="n" recordCount="8"/><ScoreDistribution value="p" recordCount="10"/>'
HEADS = [("y = n", 8), ("y = p", 10)]
ROOT = ("<True/>", "<True/>" + SHARED)
HAS_W = ("</DataDictionary>", W)
UNLISTED = (C[0], C[0].replace("continuous", "categorical").replace("double", "string"))
SPLIT_BY_TWO = [
    *HEADS, ("x <= 1 & w <= 1 & y = n", 3), ("x <= 1 & w <= 1 & y = p", 4),
    ("x <= 1 & w > 1 (or missing) & y = n", (None, 5)), ("x <= 1 & w > 1 (or missing) & y = p", (None, 6)),
    ("x > 1 (or missing) & x is not missing & y = n", (None, 5)),
    ("x > 1 (or missing) & x is not missing & y = p", (None, 6)),
]  # fmt: skip
TWO = [("x <= 1", (3, 4)), ("not x <= 1", (5, 6))]
BAG = [("x <= 1 & y = n", (1, None)), ("x <= 1 & y = p", (1, None)),
       ("x > 1 (or missing) & y = n", (1, None)), ("x > 1 (or missing) & y = p", (1, None))]  # fmt: skip
MOST = [("x <= 1 & y = n", (None, 3)), ("x <= 1 & y = p", (None, 4)),
        ("x > 1 & y = n", (None, 5)), ("x > 1 & y = p", (None, 6))]  # fmt: skip
BOOLEAN = (C[0], C[0].replace("double", "boolean"))
ONE_SHARE = (
    ('<ScoreDistribution value="n" recordCount="3"/>', ""), ('<ScoreDistribution value="p" recordCount="1"/>', "")
)  # fmt: skip
SIZES = [("x <= 1", 4), ("", 5), ("", 0)]
HALVES = [(f'"{n}" recordCount="{k}"', f'"{n}" probability="0.5"') for n, k in ("n3", "p4", "n5", "p6")]
LARGER = "x > 1 (or missing)"
NUMBERS = ('<TreeModel functionName="classification"', '<TreeModel functionName="regression"')
FIRED = [("x <= 1", (3, 1)), ("", (0, 5))]
FIVE = ('<Value value="n"/><Value value="p"/>', "".join(f'<Value value="{v}"/>' for v in "abcde"))


@pytest.mark.parametrize(
    ("text", "kind", "expected"),
    [
        # two tests on one field are one, so that the leaf stands at one place
        (with_nodes(leaf(both("or", of("a"), of("b")), 3, 4), leaf(of("d"), 5, 6), more=[C]), "exact",
         [("x in ['a', 'b']", (3, 4)), ("not x in ['a', 'b']", (5, 6))]),
        (with_nodes(leaf(both("and", of("a", "b"), of("b", "d")), 3, 4), leaf("<True/>", 5, 6), more=[C]), "exact",
         [("x = b", (3, 4)), ("not x = b", (5, 6))]),
        (with_nodes(leaf(both("and", of("a"), of("b")), 0, 0), leaf(of("a"), 3, 4), leaf("<True/>", 5, 6), more=[C]),
            "exact",
         [("x = a", (3, 4)), ("not x = a", (5, 6))]),
        (with_nodes(leaf(both("and", HIGH, ordered("lessOrEqual", 3)), 3, 4), leaf(LOW, 5, 6),
            leaf(ordered("greaterThan", 3), 1, 2), rows=21), "exact",
         [("x > 1", "x <= 3", (3, 4)), ("x > 1", "not x <= 3", (1, 2)),
          ("not x > 1", "x is missing", (0, 0)), ("not x > 1", "not x is missing", (5, 6))]),
        # a derived field that is a listed one has its values
        (with_nodes(leaf(ordered("notEqual", "a", "z"), 3, 4), leaf("<True/>", 5, 6),
                    more=[C, derived('<FieldRef field="x"/>', "string")]), "exact",
         [("z in ['b', 'd']", (3, 4)), ("not z in ['b', 'd']", (5, 6))]),
        (with_nodes(leaf(ordered("equal", -9, "z"), 3, 4), leaf("<True/>", 5, 6), more=[NUMBERED, derived(MINUS)]),
            "exact",
         [("z = -9", (3, 4)), ("not z = -9", (5, 6))]),
        (with_nodes(leaf(both("or", both("or", GONE, of("a")), both("or", GONE, of("b"))), 3, 4),
            leaf("<True/>", 5, 6), more=[C]), "exact",
         [("x in ['a', 'b'] (or missing)", (3, 4)), ("not x in ['a', 'b'] (or missing)", (5, 6))]),
        (with_nodes(leaf(both("and", both("or", GONE, of("a", "b")), both("or", GONE, of("b", "d"))), 3, 4),
            leaf("<True/>", 5, 6), more=[C]), "exact",
         [("x = b (or missing)", (3, 4)), ("not x = b (or missing)", (5, 6))]),
        (with_nodes(leaf(both("and", both("or", GONE, of("a", "b")), both("and", THERE, of("b", "d"))), 3, 4),
            leaf("<True/>", 5, 6), more=[C]), "exact", [("x = b", (3, 4)), ("not x = b", (5, 6))]),
        (with_nodes(leaf(both("or", both("or", GONE, of("a")), both("and", THERE, of("b"))), 3, 4),
            leaf("<True/>", 5, 6), more=[C]), "exact",
         [("x in ['a', 'b'] (or missing)", (3, 4)), ("not x in ['a', 'b'] (or missing)", (5, 6))]),
        # of missing values one part is false, the other unknown: they go the default way
        (with_nodes(leaf(both("or", both("and", THERE, of("a")), of("b")), 3, 4).replace("<Node", '<Node id="a"'),
            leaf("<True/>", 5, 6), head=DEFAULT, more=[C, ("<Node record", '<Node defaultChild="a" record'), ROOT]),
            "exact",
         [*HEADS, ("x = a & y = n", (None, 3)), ("x = a & y = p", (None, 4)),
          ("x in ['b', 'd'] (or missing) & x = b (or missing) & y = n", (None, 3)),
          ("x in ['b', 'd'] (or missing) & x = b (or missing) & y = p", (None, 4)),
          ("x in ['b', 'd'] (or missing) & x = d & y = n", 5), ("x in ['b', 'd'] (or missing) & x = d & y = p", 6)]),
        *((with_nodes(leaf(ordered("equal", word), 3, 4), leaf("<True/>", 5, 6), more=[BOOLEAN]), "exact",
           [(f"x = {word.lower() in ('true', '1')}", (3, 4)), (f"not x = {word.lower() in ('true', '1')}", (5, 6))])
          for word in ("true", "FALSE", "1", "0")),
        # which figures they are
        (with_nodes(leaf(LOW, 3, 4), leaf(HIGH, 5, 0).replace('<ScoreDistribution value="p" recordCount="0"/>', ""),
            rows=12), "exact", [("x <= 1", (3, 4)), ("not x <= 1", (5, 0))]),
        (with_nodes(chances(LOW, 0.5, 0.5, rows=0), chances(HIGH, 0.5, 0.5, rows=8), rows=8), "exact",
         [("x <= 1", (0, 0)), ("not x <= 1", (4, 4))]),
        (with_nodes(chances(LOW, 0.36, 0.14, 0.5, 0.0, 0.0, values="abcde", rows=10),
                    chances(HIGH, 1.0, 0.0, 0.0, 0.0, 0.0, values="abcde", rows=5), rows=15, more=[FIVE]), "size",
         [("x <= 1", 10), ("not x <= 1", 5)]),
        *((with_nodes(chances(LOW, 99_999 / n, (n - 99_999) / n, rows=n), chances(HIGH, 0.0, 1.0, rows=5), rows=n + 5),
           kind, [("x <= 1", said), ("not x <= 1", five)])
          for n, kind, said, five in ((249_998, "exact", (99_999, 149_999), (0, 5)), (249_999, "size", 249_999, 5))),
        (with_nodes(leaf(LOW, 3, 4), leaf("<True/>", 5, 6), rows=None, head=LAST), "exact", TWO),
        (with_nodes(leaf(LOW, 3, 4), leaf(ordered("greaterThan", 2), 5, 6), head=LAST), "exact",  # nobody stays
         [("x <= 1", (3, 4)), ("not x <= 1", "x > 2", (5, 6)), ("not x <= 1", "not x > 2", (0, 0))]),
        (with_nodes(leaf(both("and", LOW, ordered("lessOrEqual", 1, "w")), 3, 4), leaf("<True/>", 5, 6), rows=None,
                    more=[HAS_W]), "exact", SPLIT_BY_TWO),
        (with_nodes(chances(of("a"), 0.25, 0.75), chances("<True/>", 0.5, 0.5), rows=None, more=[UNLISTED]), "ratio",
         [("x = a", 0.25)]),
        (with_nodes(leaf(LOW, 1, 0), leaf(HIGH, 0, 1), rows=2), "exact", [("x <= 1", (1, 0)), ("not x <= 1", (0, 1))]),
        (with_nodes(chances(LOW, 3 / 7, 4 / 7, rows=7), chances(HIGH, 5 / 11, 6 / 11, rows=11)), "exact",
         [("x <= 1", (3, 4)), ("not x <= 1", (5, 6))]),
        (with_nodes(leaf(LOW, 3, 4).replace("7", "8"), leaf(HIGH, 5, 6), rows=19), "size",
         [("x <= 1", 8), ("not x <= 1", 11)]),
        (with_nodes(chances(LOW, *[40_000.8 / 200_004] * 5, values="abcde", rows=200_004),
                    chances(HIGH, 1.0, 0.0, 0.0, 0.0, 0.0, values="abcde", rows=5), rows=200_009, more=[FIVE]), "size",
         [("x <= 1", 200_004), ("not x <= 1", 5)]),
        (with_nodes('<Node recordCount="7">' + LOW + "</Node>", '<Node recordCount="11">' + HIGH + "</Node>",
            rows=None),
         "size", [("x <= 1", 7), ("not x <= 1", 11)]),
        # shares of the leaves at one place, and of no row that no leaf takes
        (with_nodes(chances(LOW, 0.25, 0.75), chances(ordered("greaterThan", 2), 0.5, 0.5), rows=None), "ratio",
         [("x <= 1", 0.25), ("x > 2", 0.5)]),
        (with_nodes(chances(SMALL, 0.25, 0.75), chances(both("and", HIGH, ordered("greaterThan", 1, "w")), 0.5, 0.5),
                    rows=None, more=[HAS_W]), "ratio",
         [("x > 1 (or missing) & w > 1 (or missing) & x is not missing & w is not missing", 0.5)]),
        (with_nodes(chances(of("a"), 0.25, 0.75), chances(of("b", "d"), 0.5, 0.5), rows=None, more=[C]), "ratio",
         [("x = a", 0.25), ("x in ['b', 'd'] (or missing)", 0.5)]),
        (with_nodes(chances(LOW, 0.25, 0.75), chances(ordered("greaterThan", 2), 0.5, 0.5), rows=None, head=LAST),
            "ratio", [("x <= 1", 0.25), ("x > 2", 0.5)]),
        # a class alone: the commonest of two has half of the rows at least, up to all of them
        (with_nodes(*CLASSES, rows=None), "label", [("x <= 1", 0.75), ("x > 2", 0.75)]),
        (with_nodes(*CLASSES, rows=None, head=LAST, more=[("<True/>", '<True/><Extension/>'), ("<Node>", SCORED)]),
            "label", [("x <= 1", 0.75), ("x > 2", 0.75)]),
        (with_nodes(*(f'<Node score="{score}">{test}</Node>' for score, test in (
            ("1", LOW), ("2", ordered("greaterThan", 2)), ("1.0", HIGH))), rows=None, more=[MIXED[0]]),
            "label", [("x <= 1", 0.75), ("x > 2", 0.75), ("x > 1 and <= 2 (or missing)", 0.75)]),
        # two rows of the root are in no leaf
        (with_nodes(leaf(LOW, 3, 4), leaf(ordered("greaterThan", 2), 5, 6), rows=20,
            more=[("<True/>", "<True/>" + SHARED.replace("8", "9").replace("10", "11"))]), "exact",
         [("y = n", 9), ("y = p", 11), ("x <= 1 & y = n", 3), ("x <= 1 & y = p", 4),
          ("x > 2 & y = n", 5), ("x > 2 & y = p", 6)]),
        # listed numbers are told apart by ranges
        (with_nodes(leaf(both("and", of(1, 2), ordered("lessOrEqual", 2)), 3, 4), leaf("<True/>", 5, 6),
            more=[NUMBERED]),
         "exact", [("x in [1, 2]", (3, 4)), ("not x in [1, 2]", (5, 6))]),
        (with_nodes(leaf(both("and", of(1, 3), ordered("lessOrEqual", 2)), 3, 4), leaf(of(3), 5, 6), leaf(of(2), 1, 2),
                    rows=21, more=[NUMBERED]),
         "exact", [("x in [1, 3]", "x <= 2", (3, 4)), ("x in [1, 3]", "not x <= 2", (5, 6)),
          ("not x in [1, 3]", "x is missing", (0, 0)), ("not x in [1, 3]", "not x is missing", (1, 2))]),
        # a test for either takes every row
        (with_nodes(leaf(LOW, 3, 4), leaf(both("or", GONE, THERE), 5, 6)), "exact",
         [("x <= 1", (3, 4)), ("not x <= 1", (5, 6))]),
        (with_nodes(leaf(both("or", both("or", GONE, of("a")), of("b")), 3, 4), leaf(of("d"), 5, 6), more=[C, ROOT]),
            "exact",
         [*HEADS, ("x = a (or missing) & y = n", (None, 3)), ("x = a (or missing) & y = p", (None, 4)),
          ("x in ['b', 'd'] & x = b & y = n", (None, 3)), ("x in ['b', 'd'] & x = b & y = p", (None, 4)),
          ("x in ['b', 'd'] & x = d (or missing) & y = n", 5), ("x in ['b', 'd'] & x = d (or missing) & y = p", 6)]),
        # missing values of x go where its present ones do only if w does not decide
        (with_nodes(leaf(both("and", LOW, ordered("lessOrEqual", 1, "w")), 3, 4), leaf("<True/>", 5, 6),
                    more=[HAS_W, ROOT]), "exact", SPLIT_BY_TWO),
        # what stays at an inner node is not known where a child does not say its rows
        (with_nodes("<Node>" + LOW + leaf(ordered("lessOrEqual", 1, "w"), 1, 1) + leaf(ordered("greaterThan", 1, "w"),
            2, 3)
                    + "</Node>", leaf(ordered("greaterThan", 2), 4, 5), head=LAST,
                    more=[HAS_W, ROOT]), "exact",
         [*HEADS, ("x <= 1 & w <= 1 & y = n", 1), ("x <= 1 & w <= 1 & y = p", 1),
          ("x <= 1 & w > 1 (or missing) & w is not missing & y = n", 2),
          ("x <= 1 & w > 1 (or missing) & w is not missing & y = p", 3), ("x > 2 & y = n", 4), ("x > 2 & y = p", 5)]),
        # a class that is written in two ways is one; of RapidMiner a node of 0 rows has those below it, if all say them
        (changed(GOOD, *MIXED), "exact", TWO),
        (changed(GOOD, *MIXED, ('<Value value="1"/><Value value="2"/>', "")), "exact", TWO),
        (changed(GOOD, ("18", "0"), (' recordCount="11"', "")), "exact", TWO),
        (changed(GOOD, (LEAF, '<CompoundPredicate booleanOperator="and">' * 21 + LEAF + "</CompoundPredicate>" * 21)),
         "exact", TWO),
        # one tree of a chain is a tree, a forest of one has drawn rows
        (CHAIN, "exact", TWO),
        (ALONE, "bag", BAG),
        (FOREST.replace(ONE, FILLED), "bag", [*BAG, *BAG]),
        # numbers of 32 bits that are to equal one
        (changed(GOOD, ('"double"', '"float"'), ("lessOrEqual", "equal"), ('value="1"', 'value="0.1"')), "exact",
         [("x = 0.1", (3, 4)), ("not x = 0.1", "x > 1.0", (5, 6)), ("not x = 0.1", "not x > 1.0", (0, 0))]),
        # rules: who fires first; counts of a set may overlap, of one rule they may be all rows only where it is true
        (RULES, "exact", [*FIRED, ("", 0)]),
        (RULES.replace(HITS, f"<CompoundRule>{SECOND}{HITS}</CompoundRule>"), "exact",
         [("x > 1 & x <= 1", (3, 1)), ("x > 1", (0, 5)), ("", 0)]),
        (changed(RULES, ('<ScoreDistribution value="p" recordCount="1"/>', "")), "exact", [*FIRED, ("", 0)]),
        (changed(RULES, ('<ScoreDistribution value="p" recordCount="1"/>', ""),
                 ('<Value value="n"/><Value value="p"/>', "")), "size", SIZES),
        (changed(RULES, (' recordCount="9"', "")), "exact", FIRED),
        (changed(RULES, *ONE_SHARE, ('score="n"', 'score="n" nbCorrect="3"')), "exact", [*FIRED, ("", 0)]),
        (changed(RULES, *ONE_SHARE, ('score="n"', 'nbCorrect="3"')), "size", SIZES),
        (changed(RULES, *ONE_SHARE), "size", SIZES),
        (changed(RULES, ('"3"', '"5"'), ONE_SHARE[1]), "size", SIZES),  # more of a class than rows
        (changed(RULES, ONE_SHARE[1], ('<Value value="n"/>', '<Value value="n"/><Value value="m"/>')), "size", SIZES),
        (changed(RULES, ('"9"', '"8"')), "exact", FIRED),
    ],
)  # fmt: skip
def test_what_a_file_says_is_read_to_the_figure(text, kind, expected):
    draft = read_pmml(text.encode())
    assert draft.origin.counts == (kind,)
    assert said(draft) == expected
    assert (draft.classes is None) == (kind == "size")


@pytest.mark.parametrize(
    ("nodes", "more", "why"),
    [
        ([leaf(GONE, 3, 4), leaf(THERE, 5, 6)], [], "tests for missing values make too many cases"),
        ([leaf(of("a", "b", "d"), 3, 4), leaf("<True/>", 5, 6)], [C], "tests that all values pass make too many cases"),
        ([chances(LOW, 0.25, 0.75), chances(HIGH, 0.5, 0.5)], [], "compound predicates make too many cases"),
    ],
)
def test_of_too_many_cases_those_without_gaps_are_followed_where_that_loses_nothing(nodes, more, why, monkeypatch):
    rooted = changed(GOOD, ROOT).encode()
    monkeypatch.setattr("recon.readers.formats.pmml.trees.MAX_PLACES", -10)  # the three nodes of the file as they are
    assert said(read_pmml(rooted)) == TWO
    monkeypatch.setattr("recon.readers.formats.pmml.trees.MAX_PLACES", -11)
    assert said(read_pmml(rooted)) == [*HEADS, *MOST]
    monkeypatch.setattr("recon.readers.formats.pmml.trees.MAX_PLACES", -1_000)
    full = both("and", of("a", "b", "d"), ordered("lessOrEqual", 1, "w"))  # a value stands for missing ones: all pass
    filled = "<MiningSchema>", '<MiningSchema><MiningField name="x" missingValueReplacement="a"/>'
    text = with_nodes(leaf(full, 3, 4), leaf("<True/>", 5, 6), more=[C, HAS_W, ROOT, filled])
    assert said(read_pmml(text.encode()))[:2] == HEADS
    with pytest.raises(Unsupported, match=why):
        read_pmml(with_nodes(*nodes, rows=None, more=more).encode())
    monkeypatch.setattr("recon.readers.formats.pmml.trees.MAX_PRESENT", -1_000)
    with pytest.raises(TooLarge, match="compound predicates make too many cases"):
        read_pmml(GOOD.encode())
    monkeypatch.setattr("recon.readers.formats.pmml.document.MAX_NODES", 2)
    with pytest.raises(Unsupported, match="PMML trees of more than 2 nodes are not read"):
        read_pmml(GOOD.encode())


def forest(*trees):
    """Return a forest of trees of two nodes each."""
    segments = "".join(f"<Segment><True/>{part_of(t)}</Segment>" for t in trees)
    return changed(FOREST, (FOREST[FOREST.index("<Segment>") : FOREST.index("</Segmentation>")], segments), HAS_W)


def part_of(nodes):
    text = with_nodes(*nodes, rows=None)
    return text[text.index("<TreeModel") : text.index("</PMML>")]


PLAIN = [chances(LOW, 0.25, 0.75), chances(ordered("greaterThan", 2), 0.0, 1.0)]
SPREAD = [chances(SMALL, 0.25, 0.75), chances(LARGE, 0.5, 0.5)]


def test_of_a_forest_the_leaves_at_one_place_are_read():
    draft = read_pmml(forest(PLAIN, SPREAD, PLAIN).encode())
    told = [("x <= 1 & y = n", (1, None)), ("x <= 1 & y = p", (1, None)), ("x > 2 & y = p", (1, None))]
    assert said(draft) == [*told, *told]
    with pytest.raises(Unsupported, match="the PMML forest has no counts or shares in leaves that hold for one box"):
        read_pmml(forest(SPREAD, SPREAD).encode())
    with pytest.raises(Unsupported, match="no leaf of the PMML tree has a share of classes that holds for one box"):
        read_pmml(with_nodes(*SPREAD, rows=None, more=[HAS_W]).encode())


AGES = Grid.between("x", 0, 20)
GAPS = replace(AGES, missing=True)
LIST = Categorical("x", (0, 1, 2))
TENTHS = Grid.between("x", 2, 3, 0.1)
SHORT = derived('<FieldRef field="x"/>', "float")


@pytest.mark.parametrize(
    ("test", "more", "attribute", "expected"),
    [
        # z = x - 10 is -9 where x is 1, and missing where x is
        (ordered("equal", -9, "z"), [derived(MINUS)], AGES, [1]),
        (ordered("equal", -9, "z"), [derived(MINUS)], GAPS, [1]),
        (ordered("equal", -9, "z"), [derived(MINUS)], LIST, [1]),
        (ordered("equal", -30, "z"), [derived(MINUS)], GAPS, []),
        (ordered("isMissing", 0, "z"), [derived(MINUS)], GAPS, [None]),
        (ordered("isNotMissing", 0, "z"), [derived(MINUS)], GAPS, [*range(21)]),
        (ordered("isMissing", 0, "z"), [derived(MINUS)], replace(LIST, missing=True), [None]),
        (ordered("lessOrEqual", -9, "z"), [derived(MINUS)], GAPS, [0, 1]),
        # 3 stands for a missing x, and -7 for a missing z
        (LOW, [FILLED_X], GAPS, [0, 1]),
        (HIGH, [FILLED_X], GAPS, [*range(2, 21), None]),
        (ordered("lessOrEqual", -8, "z"), [derived(MINUS), FILLED_X], GAPS, [0, 1, 2]),
        (ordered("greaterThan", -8, "z"), [derived(MINUS), FILLED_X], GAPS, [*range(3, 21), None]),
        (ordered("equal", -7, "z"), [derived(MINUS), FILLED_X], GAPS, [3, None]),
        (ordered("greaterThan", -8, "z"), [derived('<FieldRef field="x"/>'), FILLED_X], GAPS, [*range(21), None]),
        (HIGH, [FILLED_X, NYOKA], GAPS, [*range(2, 21), None]),
        (HIGH, [FILLED_X, ('"double"', '"float"')], GAPS, [*range(2, 21), None]),
        (ordered("equal", -9, "z"), [derived(MINUS.replace('"-"', '"+"').replace("10", "-10"))], AGES, [1]),
        # a derived field of 32 bits has thresholds of 32 bits
        (ordered("lessOrEqual", 2.4, "z"), [SHORT], TENTHS, [2, 2.1, 2.2, 2.3, 2.4]),
        (ordered("lessThan", 2.4, "z"), [SHORT], TENTHS, [2, 2.1, 2.2, 2.3]),
        (ordered("greaterOrEqual", 2.6, "z"), [SHORT], TENTHS, [2.6, 2.7, 2.8, 2.9, 3]),
        (ordered("greaterThan", 2.6, "z"), [SHORT], TENTHS, [2.7, 2.8, 2.9, 3]),
    ],
)
def test_derived_fields_and_filled_gaps_are_what_the_model_sees(test, more, attribute, expected):
    draft = read_pmml(with_nodes(leaf(test, 3, 4), leaf("<True/>", 5, 6), more=more).encode())
    domain = Domain((attribute,), Categorical("y", ("n", "p")))
    (tree,) = draft.bound(Binder(draft, domain))
    ((name, bound),) = tree.nodes[0].condition
    assert name == "x"
    ranges = attribute.ranges(bound)
    every = [attribute.value_at(i) for i in range(attribute.known[1])] + [None] * attribute.missing
    first = tree.nodes[tree.nodes[0].then].support.counts == (3, 4)
    assert [v for i, v in enumerate(every) if any(a <= i < b for a, b in ranges) == first] == expected


@pytest.mark.parametrize(
    ("test", "how", "values", "bound"),
    [
        (ordered("equal", -8, "z"), "-", (2, 3), Test(values=(2,))),
        (ordered("lessOrEqual", -9, "z"), "-", None, Test(high=1)),
        (ordered("lessOrEqual", 11, "z"), "+", None, Test(high=1)),
        (ordered("greaterThan", 20, "z"), "*", None, Test(low=2, low_open=True)),
        (ordered("greaterOrEqual", 2, "z"), "/", None, Test(low=20)),
    ],
)
def test_tests_on_derived_fields_are_turned_back_for_a_guessed_domain(test, how, values, bound):
    made = derived(MINUS.replace('"-"', f'"{how}"'))
    draft = read_pmml(with_nodes(leaf(test, 3, 4), leaf("<True/>", 5, 6), more=[made]).encode())
    domain = guess_domain(draft)
    assert getattr(domain.attributes[0], "values", None) == values
    (tree,) = draft.bound(Binder(draft, domain))
    assert tree.nodes[0].condition == (("x", bound),)


@pytest.mark.parametrize(("how", "sign"), OPERATORS.items())
def test_comparisons_of_a_field_that_is_0_or_1(how, sign):
    domain = Domain((Categorical("x", tuple("abd")),), Categorical("y", ("n", "p")))
    made = derived('<NormDiscrete field="x" value="a"/>')
    for at in (-1, 0, 0.5, 1, 2):
        text = with_nodes(leaf(ordered(how, at, "z"), 3, 4), leaf("<True/>", 5, 6), more=[C, made])
        expected = [one for one in "abd" if eval(f"{int(one == 'a')} {sign} {at}")]
        if expected in ([], [*"abd"]):
            assert "has no split" in sentence_of(read_pmml, text.encode())
            continue
        draft = read_pmml(text.encode())
        (((_, test),),) = (tree.nodes[0].condition for tree in draft.bound(Binder(draft, domain)))
        assert [one for one in "abd" if passes(test, one)] == expected


@pytest.mark.parametrize(
    ("kind", "inside", "hint"),
    [
        ("continuous", '<Interval leftMargin="0" rightMargin="3"/><Value value="1"/>', Grid.between("x", 0, 3)),
        ("categorical", '<Interval leftMargin="0" rightMargin="3"/><Value value="2"/><Value value="1"/>',
         Categorical("x", (1, 2))),
        ("ordinal", '<Interval leftMargin="0" rightMargin="3"/><Value value="2"/><Value value="1"/>',
         Categorical("x", (1, 2))),
        ("continuous", '<Value value="2"/><Value value="1"/>', Categorical("x", (1, 2))),
    ],
)  # fmt: skip
def test_values_that_a_field_lists_and_its_range(kind, inside, hint):
    field = f'<DataField name="x" optype="{kind}" dataType="integer">{inside}</DataField>'
    draft = read_pmml(changed(GOOD, ('<DataField name="x" optype="continuous" dataType="double"/>', field)).encode())
    assert draft.hints["x"] == hint


@pytest.mark.parametrize(
    ("intervals", "span"),
    [(['leftMargin="0" rightMargin="3"'], (0, 3)), (['rightMargin="3"'], None), (['leftMargin="0"'], None),
     (['leftMargin="0" rightMargin="3"', 'leftMargin="5" rightMargin="9"'], (0, 9)),
     (['leftMargin="0" rightMargin="3"', 'leftMargin="5"'], None),
     (['leftMargin="0.5" rightMargin="2.5"'], (1, 2)), (['leftMargin="1.5" rightMargin="2.5"'], None),
     (['leftMargin="5" rightMargin="3"'], None)],
)  # fmt: skip
def test_intervals_with_an_open_end_bound_no_field(intervals, span):
    inner = "".join(f'<Interval closure="closedClosed" {one}/>' for one in intervals)
    field = f'<DataField name="x" optype="continuous" dataType="integer">{inner}</DataField>'
    draft = read_pmml(changed(GOOD, ('<DataField name="x" optype="continuous" dataType="double"/>', field)).encode())
    assert draft.hints.get("x") == (None if span is None else Grid.between("x", *span))


@pytest.mark.parametrize(
    ("nodes", "rows", "why"),
    [
        ([chances(LOW, 0.5, 0.5, rows=-8), chances(HIGH, 0.5, 0.5, rows=8)], None, "'-8' is less than 0"),
        ([chances(LOW, -0.5, 1.5, rows=8), chances(HIGH, 0.5, 0.5, rows=8)], 16, "'-0.5' is less than 0"),
        ([one.replace('"p"', '"n"') for one in CLASSES], None, "neither recordCounts nor shares"),
        ([part.replace("<Score", "<X-") for part in (leaf(LOW, 3, 4), leaf(HIGH, 5, 6))], 18.5,
         "its leaves have 18 rows, it has 18.5"),
    ],
)  # fmt: skip
def test_rows_that_are_none_are_refused(nodes, rows, why):
    with pytest.raises((ReleaseError, Unsupported), match=why):
        read_pmml(changed(with_nodes(*nodes, rows=rows), ('<Value value="n"/><Value value="p"/>', "")).encode())


@pytest.mark.parametrize(
    ("pairs", "counts", "rows", "expected"),
    [
        ([NYOKA], ("distinct", "bag"), 18, [("x <= 1", (7, None)), *BAG[:2], (LARGER, (11, None)), *BAG[2:]]),
        ([NYOKA, ('"7"', '"7.5"'), *HALVES], ("distinct", "bag"), 18, [*BAG[:2], (LARGER, (11, None)), *BAG[2:]]),
        ([NYOKA, ('"7"', '"0"'), *((f'"{n}" recordCount="{k}"', f'"{n}" recordCount="0"') for n, k in ("n3", "p4"))],
            ("distinct", "bag"), 18, [(LARGER, (11, None)), *BAG[2:]]),
        ([NYOKA, (' recordCount="18"', "")], ("distinct", "bag"), 1, [("x <= 1", (7, None)), *BAG[:2],
            (LARGER, (11, None)), *BAG[2:]]),
        ([], ("bag",), 1, BAG),
        ([('"3"', '"0"')], ("bag",), 1, BAG[1:]),
        # who stays at the root is in no leaf; the other side of a value among any texts is no test
        ([(TREE, LAST), (SECOND, SECOND.replace("1", "2")), ('"18"><True/>', f'"20"><True/>{SHARED}')], ("bag",), 1,
            [*BAG[:2], ("x > 2 & y = n", (1, None)), ("x > 2 & y = p", (1, None))]),
        ([UNLISTED, (LEAF, of("a")), (SECOND, "<True/>")], ("bag",), 1,
            [("x = a & y = n", (1, None)), ("x = a & y = p", (1, None))]),
        ([NUMBERS], ("bag",), 1, [("x <= 1", (1, None)), (LARGER, (1, None))]),
        ([NUMBERS, ('"7"', '"0"')], ("bag",), 1, [(LARGER, (1, None))]),
    ],
)  # fmt: skip
def test_least_numbers_of_a_forest(pairs, counts, rows, expected):
    draft = read_pmml(changed(ALONE, *pairs).encode())
    if NYOKA in pairs:  # numbers of 32 bits
        expected = [(text.replace("1", "1.0"), figure) for text, figure in expected]
    assert (draft.origin.counts, draft.rows, said(draft)) == (counts, RowCount(rows, None), expected)


def test_only_shares_that_make_no_whole_numbers_are_said_to_be_of_weighted_rows():
    assert read_pmml(GOOD.encode()).reader_notes == ()
    draft = read_pmml(with_nodes(chances(LOW, 0.3, 0.7, rows=7), chances(HIGH, 0.5, 0.5, rows=11)).encode())
    assert "the rows were weighted" in draft.reader_notes[0]


WEIGHED = ("firstHit", "weightedSum")
FIRST = RULES[RULES.index('<SimpleRule id="b"') : RULES.index("</RuleSet>")], ""


@pytest.mark.parametrize(
    ("pairs", "rows"),
    [
        ([], (9, 9)),
        ([('"9"', '"10"')], (10, 10)),
        ([(' recordCount="9"', "")], (9, None)),
        ([WEIGHED], (5, None)),  # the sum of the rules' rows
        ([WEIGHED, ('"9"', '"10"')], (10, 10)),
        ([WEIGHED, FIRST, ('"9"', '"4"')], (4, None)),  # of one rule as well
        ([WEIGHED, FIRST, ('"9"', '"4"'), (LEAF, "<True/>")], (4, 4)),  # unless it is for all rows
        ([('"9"', '"4"'), ('score="p" recordCount="5"', 'score="p" recordCount="0"'), ('"p" recordCount="5"',
            '"p" recordCount="0"')], (4, 4)),
    ],
)  # fmt: skip
def test_how_many_rows_a_rule_set_is_about(pairs, rows):
    assert read_pmml(changed(RULES, *pairs).encode()).rows == RowCount(*rows)


@pytest.mark.parametrize(("most", "number"), [("DEEPEST", 3), ("MAX_ELEMENTS", 5)])
def test_as_many_elements_as_may_be_are_read_and_one_more_is_refused(most, number, monkeypatch):
    text = "<PMML><DataDictionary/><Header/><Extension><a/></Extension></PMML>"
    monkeypatch.setattr(f"recon.readers.formats.pmml.document.{most}", number)
    with pytest.raises(Unsupported, match="the PMML file has no model"):
        read_pmml(text.encode())
    monkeypatch.setattr(f"recon.readers.formats.pmml.document.{most}", number - 1)
    with pytest.raises(ReleaseError, match="has more than"):
        read_pmml(text.encode())
