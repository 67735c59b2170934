"""Printed trees, rule lists and tables: counts and regions against the real libraries, the truth is never excluded."""

from __future__ import annotations

import json
import random
import time
from dataclasses import replace
from fractions import Fraction
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from extras import extra

from encoders.domain.domain import Domain
from encoders.domain.values import Categorical, Grid, Test, View
from encoders.encode.encoder import encode
from recon.readers.formats.drafts.binding import Binder, passes
from recon.readers.formats.drafts.drafts import guess_domain
from recon.readers.formats.printed.corels_text import looks_like_corels_text, read_corels_text
from recon.readers.formats.printed.count_table import looks_like_count_table, read_count_table
from recon.readers.formats.printed.export_text import looks_like_export_text, read_export_text
from recon.readers.formats.printed.graphviz_dot import looks_like_dot, read_dot
from recon.readers.formats.printed.orange_text import looks_like_orange, read_orange
from recon.readers.formats.printed.rpart_text import looks_like_rpart, read_rpart, read_rpart_json
from recon.readers.formats.release.reading import strict_json
from recon.readers.frames.world import violations
from recon.readers.inspection.ledger.lines import odd_spelling
from solvers.foundation.errors import ReleaseError, Unsupported
from solvers.statements.release import RowCount

GOLDEN = Path(__file__).parent / "golden" / "models"
INDEX = json.loads((GOLDEN / "index.json").read_text(encoding="utf-8"))

TABLE = "sex,age,count\nF,10,3\nF,20,<10\nM,10,*\nM,total,12\n,,40\n"
ORANGE = (GOLDEN.parents[1] / "corpus" / "orange_titanic.txt").read_text(encoding="utf-8")
CPP = "OPTIMAL RULE LIST\nif ({a,b}) then ({y:Yes})\nelse if ({c}) then ({y:No})\nelse ({y:Yes})\n"


def read(text, file):
    """Return the draft of a golden file, by the reader of its kind."""
    folder = file.partition("-")[0]
    if file.endswith(".json"):
        return read_rpart_json(strict_json(text))
    if folder == "rpart":
        return read_rpart(text)
    if folder == "corels":
        return read_corels_text(text)
    if folder == "orange":
        return read_orange(text)
    return read_dot(text) if file.endswith(".dot") else read_export_text(text)


def ours(entry):
    file = entry["file"]
    known = {"sklearn": (".txt", ".dot"), "rpart": (".txt", ".json"), "corels": (".txt",)}
    return file.endswith(known.get(file.partition("-")[0], ("nothing",)))


FILES = [e for e in INDEX if ours(e)]


def bound(draft, domain):
    """Return the draft's models and the release over a domain, with a column per class where means need one."""
    models = draft.bound(Binder(draft, domain))
    if domain.label is not None:
        views = {f"{draft.label}={v}": View(domain.label.name, Test(values=(v,))) for v in domain.label.values}
        domain = replace(domain, columns={**domain.columns, **views})
    return models, encode(domain, models, draft.rows)


def supports(models):
    """Return counts or sizes of every leaf or rule, in file order."""
    found = []
    for model in models:
        if model.kind == "tree":
            found += [n.support for n in model.nodes if n.condition is None]
        elif model.kind == "rule_list":
            found += [r.support for r in model.rules]
    return [list(s.counts) if s.counts is not None else s.count for s in found]


def in_text_order(found, truth):
    """Tell whether counts are the truth's; a file lists leaves in the order of its lines, the truth by number."""
    return sorted(found) == sorted(truth)


def test_there_are_golden_files_of_every_kind():
    kinds = {(e["file"].partition("-")[0], e["file"].rpartition(".")[2]) for e in FILES}
    assert kinds == {("sklearn", "txt"), ("sklearn", "dot"), ("rpart", "txt"), ("rpart", "json"), ("corels", "txt")}
    assert len(FILES) > 80


@pytest.mark.sampled(18)
@pytest.mark.parametrize("entry", FILES, ids=lambda e: e["file"])
def test_golden(entry):
    text = (GOLDEN / entry["file"]).read_text(encoding="utf-8")
    frame = pd.read_csv(GOLDEN / entry["data"])
    draft = read(text, entry["file"])
    domain = Domain.from_frame(frame, label=frame.columns[-1])
    models, release = bound(draft, domain)
    assert violations(release, frame) == []
    truth = entry["truth"].get("trees", [entry["truth"]])[0]["counts"]
    found = supports(models)
    kind = draft.origin.counts[0]
    gaps = bool(frame.isna().any().any())
    if kind == "exact" and not gaps:
        assert in_text_order(found, truth)
        wrong = frame.copy()
        other = next(v for v in domain.label.values if v != wrong.iloc[0, -1])
        wrong.iloc[0, -1] = other
        assert violations(release, wrong) != []
    elif kind == "size" and not gaps:
        assert in_text_order(found, [sum(c) for c in truth])
    else:
        assert found == []
        assert models[0].statements
    if kind in {"exact", "size"}:
        assert draft.rows == RowCount(len(frame), len(frame))
    guessed = guess_domain(draft)
    encode(guessed, draft.bound(Binder(draft, guessed)), draft.rows)


def leaf_of(model, domain, row):
    """Return the leaf that a row comes to, by the tests on the domain's own values."""
    i = 0
    while model.nodes[i].condition is not None:
        node = model.nodes[i]
        ((name, test),) = node.condition
        k, ranges = domain.ranges(name, test)
        start = domain.all[k].point(row[domain.all[k].name])[0]
        i = node.then if any(a <= start < b for a, b in ranges) else node.otherwise
    return i


@pytest.mark.sampled(1)
@pytest.mark.parametrize(("name", "label"), [("compas14.csv.gz", -1), ("adult19.csv.gz", -1)])
def test_real_data_against_apply(data, name, label):
    tree = extra("sklearn.tree")
    frame = pd.read_csv(data(name)).iloc[:3_000]
    x, y = frame.iloc[:, :label], frame.iloc[:, label]
    model = tree.DecisionTreeClassifier(max_depth=7, random_state=1).fit(x, y)
    leaf = model.apply(x)
    truth = [[int(((leaf == k) & (y == c)).sum()) for c in model.classes_] for k in sorted(set(leaf))]
    attributes = tuple(Categorical(str(c), (0, 1)) for c in x.columns)
    domain = Domain(attributes, Categorical(str(y.name), (0, 1)))
    names = list(x.columns)
    classes = [str(c) for c in model.classes_]
    forms = [
        (read_export_text, tree.export_text(model, feature_names=names, show_weights=True)),
        (read_export_text, tree.export_text(model, feature_names=names, show_weights=True, decimals=5, spacing=1)),
        (read_dot, tree.export_graphviz(model, feature_names=names, class_names=classes)),
        (read_dot, tree.export_graphviz(model, feature_names=names, class_names=classes, special_characters=True)),
        (read_dot, tree.export_graphviz(model, label="none", impurity=False, rotate=True, leaves_parallel=True)),
        (read_dot, tree.export_graphviz(model, label="root", node_ids=True, filled=True, rounded=True)),
    ]
    for reader, text in forms:
        draft = reader(text)
        models, release = bound(draft, domain)
        assert supports(models) == truth  # preorder is the order of scikit-learn's depth-first node numbers
        assert violations(release, frame) == []
    others = pd.DataFrame(np.random.default_rng(0).integers(0, 2, (200, x.shape[1])), columns=x.columns)
    order = {k: i for i, k in enumerate(sorted(set(leaf)))}
    ids = [i for i, n in enumerate(models[0].nodes) if n.condition is None]
    theirs = [order[k] for k in model.apply(others)]
    assert [ids.index(leaf_of(models[0], domain, row)) for row in others.to_dict("records")] == theirs


def sample(seed):
    """Return a small frame with whole, decimal and binary columns, and its full domain."""
    rng = np.random.default_rng(seed)
    n = int(rng.integers(4, 60))
    x = pd.DataFrame({"a": rng.integers(0, 2, n), "b": rng.integers(0, 30, n), "c": rng.integers(0, 60, n) / 10})
    y = pd.Series(rng.integers(0, int(rng.integers(2, 4)), n), name="y")
    domain = Domain(
        (Categorical("a", (0, 1)), Grid.between("b", 0, 29), Grid.between("c", 0, 6, 0.1)), Categorical("y", (0, 1, 2))
    )
    return rng, x, y, domain


def texts_of(tree, model, x, rng):
    """Return what scikit-learn prints of a model, in random forms, each with its reader."""
    names, classes = list(x.columns), [str(c) for c in model.classes_]
    deep = int(rng.integers(1, 5)) if rng.random() < 0.4 else 10
    yield (
        read_export_text,
        tree.export_text(
            model,
            feature_names=names,
            show_weights=bool(rng.random() < 0.8),
            decimals=int(rng.integers(2, 9)),
            max_depth=deep,
        ),
    )
    options = {"proportion": bool(rng.random() < 0.3), "precision": int(rng.integers(2, 9))}
    options |= {"class_names": classes if rng.random() < 0.7 else None, "max_depth": deep if deep < 10 else None}
    options |= {"special_characters": bool(rng.random() < 0.3), "filled": bool(rng.random() < 0.3)}
    yield read_dot, tree.export_graphviz(model, feature_names=names, **options)


def fitted(tree, rng, x, y):
    """Return a random model: plain, with weights, with constraints, one of a bootstrap forest."""
    kind = int(rng.integers(0, 6))
    more = {"max_depth": int(rng.integers(1, 6)), "random_state": 0}
    more["criterion"] = ["gini", "entropy"][int(rng.integers(0, 2))]
    if kind == 1:
        return tree.DecisionTreeClassifier(class_weight="balanced", **more).fit(x, y)
    if kind == 2:
        return tree.DecisionTreeClassifier(**more).fit(
            x, y, sample_weight=rng.integers(0, 4, len(x)) + (rng.random() < 0.7)
        )
    if kind == 3 and y.nunique() == 2:
        return tree.DecisionTreeClassifier(monotonic_cst=[0, 1, -1], **more).fit(x, y)
    if kind == 4:
        bag = rng.integers(0, len(x), len(x))
        return tree.DecisionTreeClassifier(**more).fit(x, y, sample_weight=np.bincount(bag, minlength=len(x)))
    return tree.DecisionTreeClassifier(**more).fit(x, y)


@pytest.mark.slow
def test_the_truth_is_never_excluded():
    """Weights that are whole by chance cannot be told in text: only there the stated assumption is used."""
    tree = extra("sklearn.tree")
    kinds, refused = set(), []
    for seed in range(80):
        rng, x, y, domain = sample(seed)
        if y.nunique() < 2:
            continue
        model = fitted(tree, rng, x, y)
        plain = model.class_weight is None and model.monotonic_cst is None
        nodes = model.tree_
        plain &= bool(np.allclose(nodes.n_node_samples, nodes.weighted_n_node_samples)) and nodes.n_node_samples[
            0
        ] == len(x)
        frame = x.assign(y=y)
        for reader, text in texts_of(tree, model, x, rng):
            draft = reader(text)
            kind = draft.origin.counts[0]
            if not plain and (kind == "ratio" or (kind == "exact" and reader is read_export_text)):
                assert any("weight 1" in note for note in draft.origin.notes)
                continue
            try:
                models, release = bound(draft, domain)
            except ReleaseError as error:
                refused.append(str(error))
                continue
            assert violations(release, frame) == [], (seed, text)
            kinds.add((reader.__name__, kind, plain))
            if plain and kind == "exact" and models[0].kind == "tree" and None not in draft.names:
                assert sum(map(sum, supports(models))) == len(x)
    assert all("too few digits" in message for message in refused)
    assert {(r, k) for r, k, _ in kinds} >= {
        ("read_export_text", "exact"),
        ("read_export_text", "label"),
        ("read_dot", "exact"),
        ("read_dot", "distinct"),
        ("read_dot", "ratio"),
    }


def stump(left, right, test="x", threshold="0.50"):
    """Return what export_text prints of a tree of two leaves."""
    return f"|--- {test} <= {threshold}\n|   |--- {left}\n|--- {test} >  {threshold}\n|   |--- {right}\n"


def test_export_text_forms():
    text = stump("weights: [3.00, 1.00] class: no", "weights: [0.00, 2.00] class: yes")
    draft = read_export_text(text)
    assert supports(draft.models) == [[3, 1], [0, 2]]
    assert draft.classes == ("no", "yes")
    assert draft.single
    assert draft.slack(0.5) >= Fraction(1, 200)
    assert draft.models[0].nodes[0].condition == (("x", Test(high=0.5)),)
    assert looks_like_export_text(text)
    assert not looks_like_export_text("| a | b |\n|---|---|")
    cut = stump("truncated branch of depth 3", "weights: [0.00, 2.00] class: 1")
    draft = read_export_text(cut)
    assert draft.rows == RowCount(5, None)
    assert [(f.count, f.low) for f in draft.models[0].statements] == [(None, 3), (2, None)]
    domain = Domain((Categorical("x", (0, 1)),), Categorical("y", (0, 1)))
    figures = draft.bound(Binder(draft, domain))[0].statements
    assert [(dict(f.condition).get("y"), f.count) for f in figures[1:]] == [
        (None, 2), (Test(values=(0,)), 0), (Test(values=(1,)), 2)
    ]  # fmt: skip
    unnamed = read_export_text(stump("class: 0", "class: 1", "feature_2"))
    assert [f.name for f in unnamed.features] == ["feature_0", "feature_1", "feature_2"]
    assert not unnamed.named
    assert [f.low for f in unnamed.models[0].statements] == [1, 1, 1, 1]
    weighted = read_export_text(text.replace("[3.00, 1.00]", "[3.00, 1.40]"))
    assert weighted.origin.counts == ("label",)
    assert "class_weight" in weighted.reader_notes[0]
    lone = read_export_text("|--- weights: [5.00, 7.00] class: b\n")
    assert supports(lone.models) == [12]
    assert supports(lone.bound(Binder(lone, Domain((Categorical("x", (0, 1)),), Categorical("y", ("a", "b")))))) == [
        [5, 7]
    ]


def test_missing_values_leave_upper_bounds():
    text = stump("weights: [3.00, 1.00] class: 0", "weights: [0.00, 2.00] class: 1")
    draft = read_export_text(text)
    domain = Domain((Categorical("x", (0, 1), missing=True),), Categorical("y", (0, 1)))
    models, release = bound(draft, domain)
    rows = pd.DataFrame({"x": [0, 0, 1, None, None, None], "y": [0, 0, 1, 0, 1, 1]})
    assert violations(release, rows) == []
    assert violations(release, rows.assign(y=0)) != []
    assert violations(release, rows.assign(x=1)) != []
    assert models[0].kind == "table"


PRINTED = """n=90 (3 observations deleted due to missingness)

node), split, n, loss, yval, (yprob)
      * denotes terminal node

1) root 90 44 yes (0.4888889 0.5111111)
  2) age< 52 44  6 no (0.8636364 0.1363636) *
  3) age>=52 46  6 yes (0.1304348 0.8695652) *
"""


def test_rpart_forms():
    draft = read_rpart(PRINTED)
    assert supports(draft.models) == [[38, 6], [6, 40]]
    assert draft.models[0].nodes[0].condition == (("age", Test(high=52.0, high_open=True)),)
    assert "3 rows" in draft.reader_notes[0]
    assert looks_like_rpart(PRINTED)
    for wrong in (
        ("44  6 no", "44  7 no"),
        ("0.8636364 0.1363636", "0.8461538 0.1538462"),
        ("90 44 yes", "90 45.5 yes"),
    ):
        weighted = read_rpart(PRINTED.replace(*wrong))
        assert supports(weighted.models) == [44, 46]
        assert "priors" in weighted.reader_notes[0]
    with pytest.raises(Unsupported, match="2 rows stop at node 1"):
        read_rpart(PRINTED.replace("44  6 no", "42  6 no"))
    with pytest.raises(ReleaseError, match="children"):
        read_rpart(PRINTED.replace("46  6 yes", "47  6 yes"))
    levels = PRINTED.replace("age< 52", "job=clerk,day labourer 3").replace("age>=52", "job=none")
    draft = read_rpart(levels)
    assert draft.models[0].nodes[0].condition == (("job", Test(values=("clerk", "day labourer 3"))),)
    assert draft.hints["job"].values == ("clerk", "day labourer 3", "none")
    sizes = "n= 90\n\nnode), split, n, deviance, yval\n\n1) root 90 1501.49 26.5\n"
    sizes += "  2) age< 52 44 584.2 25 *\n  3) age>=52 46 29.7 22 *\n"
    assert supports(read_rpart(sizes).models) == [44, 46]
    root = "n= 90\n\nnode), split, n, loss, yval, (yprob)\n\n1) root 90 44 yes (0.4888889 0.5111111) *\n"
    draft = read_rpart(root)
    assert supports(draft.models) == [90]
    domain = Domain((Categorical("x", (0, 1)),), Categorical("y", ("no", "yes")))
    assert supports(draft.bound(Binder(draft, domain))) == [[44, 46]]


def test_rpart_shares_of_many_classes_leave_intervals():
    text = (
        "n= 1000\n\nnode), split, n, loss, yval, (yprob)\n\n"
        "1) root 1000 700 a (0.3 0.24 0.2 0.15 0.11)\n"
        "  2) x< 5.125 600 400 a (0.33 0.2 0.17 0.15 0.15) *\n  3) x>=5.125 400 280 b (0.25 0.3 0.25 0.15 0.05) *\n"
    )
    draft = read_rpart(text)
    assert draft.classes is None
    assert supports(draft.models) == [600, 400]
    domain = Domain((Grid.between("x", 0, 9),), Categorical("y", tuple("abcde")))
    tree, table = draft.bound(Binder(draft, domain))
    assert supports([tree]) == [600, 400]
    found = {(dict(f.condition)["y"].values[0], f.count, f.low, f.high) for f in table.statements}
    assert ("a", 200, None, None) in found  # the loss of its leaf is exact
    assert ("b", 120, None, None) in found


def test_rpart_json_of_an_ordered_factor():
    stored = {
        "frame": {
            "var": ["g", "<leaf>", "<leaf>"], "n": [5, 2, 3], "wt": [5, 2, 3], "ncompete": [0, 0, 0],
            "nsurrogate": [0, 0, 0], "yval2": [[1, 3, 2, 0.6, 0.4, 1], [1, 2, 0, 1, 0, 0.4], [2, 1, 2, 0.3, 0.7, 0.6]],
        },
        "node": [1, 2, 3], "splits": [[5, 1, 0.9, 1.5, 0]], "cuts": ["1.5"], "csplit": {}, "label": ["y"],
        "xlevels": {"g": ["low", "mid", "high"]}, "ylevels": ["no", "yes"], "method": ["class"], "na": [2],
    }  # fmt: skip
    draft = read_rpart_json(stored)
    assert draft.models[0].nodes[0].condition == (("g", Test(values=("mid", "high"))),)
    assert supports(draft.models) == [[2, 0], [1, 2]]
    assert draft.slack is None
    assert draft.label == "y"
    assert "2 rows" in draft.reader_notes[0]
    weighted = json.loads(json.dumps(stored))
    weighted["frame"]["wt"] = [7, 3, 4]
    assert supports(read_rpart_json(weighted).models) == [2, 3]
    for key in stored:
        broken = {k: v for k, v in stored.items() if k != key}
        if key in {"cuts", "csplit", "xlevels", "label", "na", "method", "ylevels"}:
            read_rpart_json(broken)
        else:
            with pytest.raises(ReleaseError):
                read_rpart_json(broken)


def test_corels_forms():
    one = "if [age:18-20 && not sex:Male]: recidivate = 1 [7, 87]\n"
    one += "else if [not a]: recidivate = 0 [5, 1]\nelse recidivate = 1 [0, 3]"
    draft = read_corels_text(one)
    assert supports(draft.models) == [[7, 87], [5, 1], [0, 3]]
    assert draft.models[0].rules[0].condition == (("age:18-20", Test(values=(1,))), ("sex:Male", Test(values=(0,))))
    assert draft.label == "recidivate"
    assert draft.rows == RowCount(103, 103)
    cpp = f"learning...\n\n{CPP}\nwriting to: x\n"
    draft = read_corels_text(cpp)
    assert looks_like_corels_text(cpp)
    assert draft.classes == ("Yes", "No")
    assert [f.name for f in draft.features] == ["a", "b", "c"]
    shares = [f for f in draft.models[0].statements if f.statistic is not None]
    assert len(shares) == 1  # "not (a and b)" is not a condition, so the second rule's share is not stated
    assert shares[0].statistic.of == "y=Yes"
    lone = read_corels_text("RULELIST:\nrecid = True\n")
    assert lone.rows is None
    with pytest.raises(ReleaseError, match="default"):
        read_corels_text("if [a]:\n  y = True\n")
    with pytest.raises(ReleaseError, match="goes on"):
        read_corels_text("if [a]:\n  y = True\nelse\n  y = False\nif [b]:\n  y = True\n")


@pytest.mark.slow
def test_corels_statements_hold_for_majority_lists():
    """Random rules on random rows, labels by majority: what is read of the list without counts is true."""
    rng = np.random.default_rng(3)
    for _ in range(60):
        frame = pd.DataFrame(rng.integers(0, 2, (int(rng.integers(5, 40)), 3)), columns=list("abc")).assign(y=0)
        frame["y"] = rng.integers(0, 2, len(frame))
        free, lines = np.ones(len(frame), dtype=bool), []
        for _ in range(int(rng.integers(1, 4))):
            picked = [(c, int(rng.integers(0, 2))) for c in rng.permutation(list("abc"))[: int(rng.integers(1, 3))]]
            hit = free & np.all([frame[c] == v for c, v in picked], axis=0)
            if hit.any():
                free &= ~hit
                said = " && ".join(c if v else f"not {c}" for c, v in picked)
                counts = [int((frame.y[hit] == v).sum()) for v in (0, 1)]
                lines.append((said, counts[1] > counts[0], counts))
        rest = [int((frame.y[free] == v).sum()) for v in (0, 1)]
        domain = Domain(tuple(Categorical(c, (0, 1)) for c in "abc"), Categorical("y", (0, 1)))
        for shown in (False, True):
            text = "RULELIST:\n"
            for said, label, counts in lines:
                text += f"if [{said}]:\n  y = {label}{f' {counts}' if shown else ''}\nelse "
            text += f"\n  y = {rest[1] > rest[0]}{f' {rest}' if shown else ''}\n"
            _, release = bound(read_corels_text(text), domain)
            assert violations(release, frame) == []


def test_count_table():
    text = "sex,age,N\nF,young,3\nF,old,<10\nM,young,*\nM,total,12\n,,40\nM,old,5-9\n"
    draft = read_count_table(text)
    assert looks_like_count_table(text)
    figures = draft.models[0].statements
    assert [(f.count, f.low, f.high, f.suppressed) for f in figures] == [
        (3, None, None, None), (None, 0, 9, "primary"), (None, None, None, "unknown"), (12, None, None, None),
        (40, None, None, None), (None, 5, 9, None),
    ]  # fmt: skip
    assert figures[3].condition == (("sex", Test(values=("M",))),)
    assert draft.rows == RowCount(40, 40)
    assert draft.hints["sex"].values == ("F", "M")
    for noisy in ("3.5", "-2", "abc"):
        with pytest.raises(ReleaseError, match="line 2"):
            read_count_table(text.replace("young,3", f"young,{noisy}", 1))
    with pytest.raises(ReleaseError, match="'n', 'Freq' may all be counts"):
        read_count_table("a,n,Freq\n1,2,3\n")
    with pytest.raises(ReleaseError, match="no column"):
        read_count_table("a,b\n1,2\n")
    assert read_count_table("a;count\n1;2\n10;3\n2;0\n").hints["a"].values == (1, 2, 10)
    assert read_count_table("a\tcount\n01\t2\n1\t3\n").hints["a"].values == ("01", "1")
    partial = read_count_table("a,b,count\n0,0,2\n0,1,3\n1,0,4\n")
    assert partial.rows == RowCount(9, None)
    whole = read_count_table("a,b,count\n0,0,2\n0,1,3\n1,0,4\n1,1,0\n")
    assert whole.rows == RowCount(9, 9)
    assert any("every combination" in note for note in whole.origin.notes)


@pytest.mark.slow
def test_count_tables_of_real_frames_hold():
    rng = np.random.default_rng(5)
    for _ in range(40):
        frame = pd.DataFrame(
            {"a": rng.integers(0, 3, 30), "b": rng.choice(["x", "y z", "q,r"], 30), "c": rng.random(30).round(1)}
        )
        table = frame.groupby(["a", "b", "c"]).size().rename("count").reset_index()
        margin = frame.groupby("b").size().rename("count").reset_index()
        text = pd.concat([table, margin, pd.DataFrame({"count": [30]})]).to_csv(index=False)
        draft = read_count_table(text)
        assert draft.rows == RowCount(30, 30)
        models, release = bound(draft, guess_domain(draft))
        assert violations(release, frame) == []
        frame.loc[0, "a"] = (frame.loc[0, "a"] + 1) % 3
        assert violations(release, frame) != []
        assert len(models[0].statements) == len(table) + len(margin) + 1


@pytest.mark.slow
def test_a_deep_tree_and_a_long_table_are_quick():
    deep = "".join(f"{'|   ' * k}|--- x <= {9_000 - k}.50\n" for k in range(600))
    deep += "|   " * 600 + "|--- weights: [1.00, 2.00] class: 1\n"
    for k in reversed(range(600)):
        deep += f"{'|   ' * k}|--- x >  {9_000 - k}.50\n{'|   ' * (k + 1)}|--- weights: [2.00, 1.00] class: 0\n"
    table = "a,b,count\n" + "".join(f"{k},{k % 7},{k % 5}\n" for k in range(20_000))
    begun = time.process_time()
    assert len(read_export_text(deep).models[0].nodes) == 1_201
    assert len(read_count_table(table).models[0].statements) == 20_000
    assert time.process_time() - begun < 10  # figure: 0.4 s


SPLICES = (
    "1e999",
    "-",
    "[",
    "]",
    "|",
    "nan",
    "inf",
    "\\n",
    '"',
    "9" * 60,
    "0.5",
    "<=",
    "(...)",
    "\x00",
    "²",
    "truncated branch of depth 9",
)
FUZZED = {
    e["file"]: (GOLDEN / e["file"]).read_text(encoding="utf-8")
    for e in FILES
    if "1.2.2" in e["file"] or "sklearn" not in e["file"]
}


def mutated(text, rng):
    """Return a text with some characters, words or lines changed, doubled, moved or lost."""
    for _ in range(rng.randint(1, 4)):
        at = rng.randrange(len(text) + 1)
        how = rng.randrange(5)
        if how == 0:
            text = text[:at] + text[at + rng.randint(1, 9) :]
        elif how == 1:
            text = text[:at] + rng.choice(SPLICES) + text[at:]
        elif how == 2:
            lines = text.splitlines(keepends=True)
            rng.shuffle(lines) if rng.random() < 0.2 else lines.insert(
                0, lines.pop(rng.randrange(len(lines)))
            ) if lines else None
            text = "".join(lines)
        elif how == 3:
            digits = [i for i, c in enumerate(text) if c.isdigit()] or [0]
            i = rng.choice(digits)
            text = text[:i] + str(rng.randrange(10)) + text[i + 1 :]
        else:
            text = text[:at] + text[max(0, at - rng.randint(1, 60)) :]
    return text


def altered(value, rng):
    """Return parsed JSON with one part changed."""
    if isinstance(value, dict) and value and rng.random() < 0.9:
        key = rng.choice(list(value))
        return (
            {k: v for k, v in value.items() if k != key}
            if rng.random() < 0.1
            else value | {key: altered(value[key], rng)}
        )
    if isinstance(value, list) and value and rng.random() < 0.9:
        i = rng.randrange(len(value))
        return (
            value[:i] + value[i + 1 :] if rng.random() < 0.1 else [*value[:i], altered(value[i], rng), *value[i + 1 :]]
        )
    return rng.choice([None, -1, 0, 1, 3, 2**70, 1.5, 1e300, "", "x", "<leaf>", True, [], {}, [[]], {"a": 1}])


def fuzz(times, seed):
    """Read mutated files; only refusals may come out, quickly, and what is read must fit a guessed domain or refuse."""
    rng = random.Random(seed)
    files = [*FUZZED.items(), ("table", TABLE), ("corels-cpp", CPP), ("orange-titanic", ORANGE)]
    read_ones = 0
    for _ in range(times):
        file, text = rng.choice(files)
        begun = time.process_time()
        try:
            if file.endswith(".json"):
                draft = read_rpart_json(altered(json.loads(text), rng))
            elif file == "table":
                draft = read_count_table(mutated(text, rng))
            else:
                draft = read(mutated(text, rng), file)
            domain = guess_domain(draft)
            draft.bound(Binder(draft, domain))
            read_ones += 1
        except (ReleaseError, Unsupported):
            pass
        assert time.process_time() - begun < 30
    return read_ones


def test_fuzz():
    assert fuzz(900, 1) > 50


@pytest.mark.long
def test_fuzz_long():
    assert fuzz(10_000 * 7, 2) > 5_000


def test_the_heads_are_told_apart():
    looks = [
        looks_like_dot, looks_like_export_text, looks_like_rpart, looks_like_corels_text, looks_like_count_table,
        looks_like_orange,
    ]  # fmt: skip
    for file, text in {**FUZZED, "table": TABLE, "corels-cpp": CPP, "orange-titanic": ORANGE}.items():
        if not file.endswith(".json"):
            assert sum(look(text[:4096]) for look in looks) == 1, file
    assert not any(look("") or look("hello\nworld") for look in looks)


def test_branches_of_a_tree_that_orange_printed():
    text = (
        "             [4. 2.] chest pain a b\n             [1. 0.] chest pain b\n             [3. 9.] chest pain c, d\n"
        "             [3. 1.]     max HR ≤ 150\n             [0. 8.]     max HR > 150\n"
    )
    draft = read_orange(text)
    assert {f.name for f in draft.features} == {"chest pain", "max HR"}
    assert draft.hints["chest pain"].values == ("a b", "b", "c, d")  # of three branches each is one value
    assert draft.rows == RowCount(19, 19)
    domain = Domain(
        (Categorical("chest pain", ("a b", "b", "c, d")), Grid.between("max HR", 100, 200, 1)),
        Categorical("label", ("no", "yes")),
    )
    models, _ = bound(draft, domain)
    assert sorted(supports(models)) == [[0, 8], [1, 0], [3, 1], [4, 2]]
    two = read_orange(" [1. 5.] thal a or c\n [2. 2.] thal b\n")
    assert two.hints["thal"].values == ("a", "c", "b")
    for old, new, why in (
        ("[0. 8.]", "[0. 7.]", "1 row stops here"), ("[0. 8.]", "[0. 9.]", "has 9 rows of a class, its branches 10"),
        ("[0. 8.]", "[0.5 8.]", "no numbers of rows per class"), ("max HR > 150", "max HR > 15", "are no split"),
        ("             [0. 8.]     max HR > 150\n", "", "has one branch only"), ("chest pain b", "pain b", "test no"),
        ("chest pain b", "chest pain c, d", "do not part"), ("[1. 0.]", "[1. 0. 0.]", "another number of classes"),
        ("    max HR ≤", "        max HR ≤", "at no place"), ("[1. 0.]", "1, 0", "is no branch of a tree"),
    ):  # fmt: skip
        with pytest.raises((ReleaseError, Unsupported), match=why):
            read_orange(text.replace(old, new))


def test_spaces_that_orange_does_not_write_are_seen():
    assert odd_spelling(ORANGE.encode()) == 0
    for old, new in (("[  4. 141.]", "[4.         141.]"), ("sex male", "sex       male")):
        assert odd_spelling((ORANGE.replace(old, new) * 20).encode()) > 64


def test_passes_is_what_the_binder_uses():
    """A value that printed digits leave open goes where the printed threshold says."""
    text = stump("weights: [3.00, 1.00] class: 0", "weights: [0.00, 2.00] class: 1", "c", "2.40")
    draft = read_export_text(text)
    for step, high in ((0.1, 2.4), (1, 2)):
        domain = Domain((Grid.between("c", 0, 6, step),), Categorical("y", (0, 1)))
        ((_, test),) = draft.bound(Binder(draft, domain))[0].nodes[0].condition
        assert test.high == high
        assert passes(test, high)
    domain = Domain((Grid.between("c", 0, 6, 0.01),), Categorical("y", (0, 1)))
    with pytest.raises(ReleaseError, match="too few digits"):
        draft.bound(Binder(draft, domain))


IMPLIED = "region,ill,count\nnorth,flu,23\nnorth,total,25\nsouth,flu,31\nsouth,total,45\n"


def test_a_total_above_its_parts_says_that_the_table_leaves_a_value_out():
    draft = read_count_table(IMPLIED)
    assert draft.hints["ill"].values == ("flu", "other")
    assert draft.hints["region"].values == ("north", "south")
    assert draft.rows == RowCount(70, 70)
    assert any("'ill' has a further value 'other': the values listed are 2 rows short" in n for n in draft.reader_notes)


def test_a_partial_table_beside_its_total_has_a_further_value_and_no_total_of_its_own():
    draft = read_count_table("region,sex,count\nA,f,12\nA,m,7\ntotal,f,30\ntotal,m,25\n")
    assert draft.hints["region"].values == ("A", "other")
    assert draft.rows == RowCount(55, 55)


def test_two_rows_that_a_total_implies_are_a_small_group(tmp_path, run):
    path = tmp_path / "implied.csv"
    path.write_text(IMPLIED + "total,total,70\n", encoding="utf-8")
    policy = tmp_path / "policy.toml"
    policy.write_text("smallest_group = 10\n", encoding="utf-8")
    said = run("gate", path, "--policy", policy, code=1).stdout
    assert "(count where region = north) without" in said  # whoever is left in the north: the other value
    assert "2 rows), the policy asks for at least 10 rows" in said


def test_numbers_that_a_table_leaves_out_are_to_be_declared():
    draft = read_count_table("age,ill,count\n10,total,40\n11,total,30\ntotal,no,70\n10,no,40\n11,no,20\n")
    assert draft.hints["age"].values == (10, 11)
    assert any("10 rows have a value of 'age' that the table leaves out: declare it" in n for n in draft.reader_notes)


def test_a_total_beside_hidden_or_missing_parts_says_nothing_of_further_values():
    for line in ("north,cold,*", "south,cold,*"):
        draft = read_count_table(IMPLIED + line + "\n")
        assert draft.hints["ill"].values == ("flu", "cold")
