"""`recon plan` and interaction graphs: components by brute force, graphs read back, the engine that then answers."""

from __future__ import annotations

import itertools
import json
import os
import random
import shutil
import subprocess
import sys
from pathlib import Path

import networkx as nx
import oracle
import oracle_coupled
import pytest
import weights
from extras import batches
from test_against_oracle import encoded
from test_bad_input import run

import recon
from recon.models.exporting import export
from recon.queries.questions.planning import QUESTIONS
from solvers.cells.components import known_presolve
from solvers.cells.system import system_of
from solvers.engines.chain import answer
from solvers.foundation.errors import ContradictionError, Inconclusive, ReconError, ReleaseError, TooLarge, Unsupported
from solvers.foundation.limits import Limits
from solvers.proofs.export.interaction import attribute_graph, cell_graph, components
from solvers.statements.observations import StatementIndex
from solvers.statements.questions.query import QUERIES, Count
from solvers.statements.release import Choice, Partition

ROOT = Path(__file__).parents[1]
GOLDEN = sorted((ROOT / "tests" / "golden").glob("*.json"))
EXAMPLES = sorted((ROOT / "examples" / "releases").glob("*.json"))
SMALL = [path for path in EXAMPLES if path.stem != "census_block"]  # the graph of that has 78,568 edges
CENSUS = str(ROOT / "examples" / "releases" / "census_block.json")
NOISY = str(ROOT / "examples" / "releases" / "noisy_tree.json")
BATCHES = batches(1, 8)
EACH = 18
KINDS = {kind.question: kind for kind in QUERIES}


def releases(test, batch):
    """Yield random releases of all kinds, some without a world, that are not refused when they are encoded."""
    rng = random.Random(f"{test} {batch}")
    for i in range(EACH):
        made = oracle_coupled.contradictory(rng) if i % 6 == 5 else oracle_coupled.random_coupled(rng)[0]
        try:
            encoded(made)
        except ReconError:
            continue
        yield made


def sets_of(nodes, ties):
    """Return the components by union-find, each sorted, as a sorted list."""
    group = {v: {v} for v in nodes}
    for tied in ties:
        together = set().union(*(group[v] for v in tied)) if tied else set()
        for v in together:
            group[v] = together
    return sorted(sorted(part) for part in {id(g): g for g in group.values()}.values())


def named_by(statement):
    return {k for box in statement.boxes for k, _ in box.literals} | ({weights.of(statement)} - {None})


def ties_of(release):
    """Yield (attributes, source) of every statement, choice and impossible box, by the views of the statements."""
    for block in release.blocks:
        if isinstance(block, Choice):
            yield set().union(*(named_by(s) for every in block.alternatives for s in every)), block.name
        elif isinstance(block, Partition):
            for s in range(len(block)):
                yield named_by(block.statement(s, release.domain)), block.source(s)
        else:
            yield from ((named_by(s), s.source) for s in block.members)
    yield from (({k for k, _ in b.literals}, f"domain.impossible[{i}]") for i, b in enumerate(release.impossible))


# ---------------------------------------------------------------- the graph of the attributes


@pytest.mark.parametrize("batch", BATCHES)
def test_attributes_are_joined_by_the_statements_that_name_both(batch):
    for document in releases("attributes", batch):
        release = encoded(document).statements
        graph, ties = attribute_graph(release), list(ties_of(release))
        every = range(len(release.domain.attributes))
        pairs = {}
        for named, source in ties:
            for a, b in itertools.combinations(sorted(named), 2):
                pairs.setdefault((f"a{a}", f"a{b}"), []).append(source)
        assert {tuple(sorted(e)) for e in graph.edges} == set(pairs)
        for (a, b), sources in pairs.items():
            edge = graph.edges[a, b]
            assert edge["statements"] == len(sources)
            shown = sources[:5] + ([f"and {len(sources) - 5:,} more"] if len(sources) > 5 else [])
            assert edge["sources"] == "; ".join(shown)
        for k in every:
            node = graph.nodes[f"a{k}"]
            assert node["name"] == release.domain.attributes[k].name
            assert node["statements"] == sum(k in named for named, _ in ties)
            assert node["values"] == str(release.domain.attributes[k].total)
        assert sorted(sorted(int(v[1:]) for v in part) for part in components(graph)) == sets_of(
            every, [n for n, _ in ties]
        )
        for i, part in enumerate(components(graph)):
            assert {graph.nodes[v]["component"] for v in part} == {i}


@pytest.mark.slow
def test_ordered_worlds_multiply_over_components_of_attributes():
    several, rng = 0, random.Random("multiply")
    while several < 12:
        document, truth = oracle_coupled.random_coupled(rng)
        if len(truth) > 3 or document.get("rows") != len(truth):
            continue
        parts = [[int(v[1:]) for v in part] for part in components(attribute_graph(encoded(document).statements))]
        if len(parts) < 2 or not truth:
            continue
        several += 1
        worlds = {order for world in oracle.datasets(document) for order in itertools.permutations(world)}
        seen = [{tuple(tuple(row[k] for k in part) for row in world) for world in worlds} for part in parts]
        product = 1
        for one in seen:
            product *= len(one)
        assert len(worlds) == product


# ---------------------------------------------------------------- the graph of the cells


@pytest.mark.parametrize("batch", BATCHES)
def test_cells_are_joined_by_what_propagation_leaves(batch):
    for document in releases("cells", batch):
        release = encoded(document).statements
        system = system_of(release, Limits())
        if system.bounds.conflict is not None:
            with pytest.raises(ContradictionError, match="no cell is left"):
                cell_graph(release)
            continue
        graph = cell_graph(release)
        cells = {v for v, kind in graph.nodes(data="kind") if kind == "cell"}
        assert cells == {f"c{c}" for c in system.free.tolist()}
        found = known_presolve(system, Limits())
        linear, lower, fixed = system.linear, system.bounds.lower, system.bounds.fixed
        entries = {}
        for r, c, a in zip(linear.row.tolist(), linear.col.tolist(), linear.coef.tolist(), strict=True):
            entries.setdefault(r, {})[c] = a
        kept = [s for part in found.components for s in part.statements.tolist()]
        conditional = [s for choice in system.choices for alternative in choice for s in alternative]
        assert {v for v, kind in graph.nodes(data="kind") if kind == "statement"} == {
            f"s{s}" for s in kept + conditional
        }
        for s in kept + conditional:
            node = graph.nodes[f"s{s}"]
            assert node["source"] == StatementIndex(release).source(s)
            free = {f"c{c}": a for c, a in entries.get(s, {}).items() if not fixed[c]}
            assert {v: graph.edges[f"s{s}", v]["coef"] for v in graph[f"s{s}"] if v in cells} == free
        for s in conditional:  # the figure less the rows in fixed cells
            held = sum(a * int(lower[c]) for c, a in entries.get(s, {}).items() if fixed[c])
            if abs(int(linear.low[s])) < 1 << 60:
                assert graph.nodes[f"s{s}"]["at_least"] == int(linear.low[s]) - held
        ties = [{c for c in entries.get(s, {}) if not fixed[c]} for s in kept]
        ties += [
            {c for a in choice for s in a for c in entries.get(s, {}) if not fixed[c]} for choice in system.choices
        ]
        expected = sets_of(system.free.tolist(), ties)
        seen = [sorted(int(v[1:]) for v in part if v in cells) for part in components(graph)]
        assert sorted(part for part in seen if part) == expected
        planned = recon.plan(encoded(document)).left
        assert planned.joined == len(expected)
        assert planned.components == len(found.components)
        if planned.widest is not None:
            assert planned.widest.cells == max(len(part.cells) for part in found.components)


# ---------------------------------------------------------------- GraphML


@pytest.mark.sampled(10)
@pytest.mark.parametrize("nodes", ["attributes", "cells"])
@pytest.mark.parametrize("path", [*GOLDEN, *SMALL], ids=lambda p: p.stem)
def test_graphml_reads_back_the_same(path, nodes, tmp_path):
    release, out = recon.load(path), str(tmp_path / "release.graphml")
    try:
        found = export(release, "graphml", out, nodes=nodes)
    except ContradictionError:
        assert nodes == "cells"
        assert not os.path.exists(out)
        return
    back = nx.read_graphml(out)
    graph = attribute_graph(release.statements) if nodes == "attributes" else cell_graph(release.statements)
    assert (found.map, found.variables, found.constraints) == (None, len(graph), graph.number_of_edges())
    assert back.graph["about"] == "; ".join(found.about)
    data = dict(back.nodes(data=True))
    if nodes == "cells":
        for node, said in data.items():
            assert ("boxes" in said) == (said["kind"] == "cell"), node
            boxes = json.loads(said.pop("boxes", "[]"))
            assert all(set(box) <= {a.name for a in release.domain.all} for box in boxes)
    assert data == dict(graph.nodes(data=True))
    assert nx.utils.edges_equal(back.edges(data=True), graph.edges(data=True))
    assert len(components(back)) == len(components(graph))
    before = Path(out).read_bytes()
    export(recon.load(path), "graphml", out, nodes=nodes)
    assert Path(out).read_bytes() == before


def test_graphml_of_hostile_names_is_xml(tmp_path):
    name = "a\x00\x1b[31m<b>&\"' ]]>\u202e"
    attributes = [{"name": name, "values": ["\x07", "<!--"]}, {"name": "b", "min": 0, "max": 3}]
    where = {name: "<!--", "b": {"at_least": 2}}
    table = {
        "kind": "table",
        "statements": [
            {"name": "<&\x01>", "where": where, "at_least": 1, "at_most": 2},
            {"where": {"b": 0}, "count": 1},
        ],
    }
    release = encoded({"recon": 1, "domain": {"attributes": attributes}, "rows": 3, "models": [table]})
    for nodes in ("attributes", "cells"):
        out = str(tmp_path / f"{nodes}.graphml.gz")
        export(release, "graphml", out, nodes=nodes)
        back = nx.read_graphml(out)
        assert len(back) > 1
        if nodes == "attributes":
            assert back.nodes["a0"]["name"].startswith("a\\x00\\x1b[31m<b>&\"' ]]>\\u202e")


def test_graphs_keep_the_limits(tmp_path):
    for nodes, limits, error in (
        ("cells", Limits(cells=10), TooLarge),
        ("cells", Limits(memory=1 << 20), TooLarge),
        ("cells", Limits(seconds=0.0), Inconclusive),
        ("attributes", Limits(seconds=0.0), Inconclusive),
        ("attributes", Limits(memory=1), TooLarge),
        ("trees", Limits(), ReleaseError),
    ):
        out = tmp_path / "x.graphml"
        with pytest.raises(error):
            export(recon.load(CENSUS), "graphml", str(out), limits, nodes)
        assert not out.exists()


# ---------------------------------------------------------------- the plan


@pytest.mark.parametrize("batch", BATCHES)
def test_the_first_engine_of_the_plan_answers(batch):
    for i, document in enumerate(releases("first", batch)):
        planned = recon.plan(encoded(document), convention=("ordered", "multiset")[i % 2])
        for name in ("count", "enumerate", "sample", "most-likely", "per-cell"):
            fresh, query = encoded(document).statements, KINDS[name].example(planned.convention)
            assert answer(fresh, query, Limits(seconds=60.0)).engine == planned.asked(name)[0]


@pytest.mark.sampled(4, 12)
@pytest.mark.parametrize("path", [*GOLDEN, *EXAMPLES], ids=lambda p: p.stem)
def test_the_plan_of_stored_releases(path):
    planned = recon.plan(recon.load(path))
    assert set(planned.steps) == set(QUESTIONS)
    if planned.release.rows.high is not None:
        found = recon.count(recon.load(path), limits=Limits(seconds=20.0))
        given_up = [text.split(":")[0] for text in found.trail]
        assert found.engine == next(name for name in planned.asked("count") if name not in given_up)
    assert json.loads(json.dumps(planned.to_dict(), allow_nan=False))["recon_plan"] == 1
    assert "\n".join(planned.lines())


@pytest.mark.slow
def test_too_many_cells_are_said_not_listed():
    planned = recon.plan(recon.load(CENSUS), "count", limits=Limits(cells=10))
    assert planned.left.system is None
    assert "more than 10 live cells" in planned.left.reason
    assert planned.status == "exact"  # of a plan: it is whole
    steps = {step.engine: step.refusal for step in planned.steps["count"]}
    assert steps["histogram"] == steps["interval"] == planned.left.reason
    assert steps["columns"] is None
    found = answer(recon.load(CENSUS).statements, Count("ordered"), Limits(cells=10, seconds=3.0))
    assert found.engine in planned.asked("count")


def test_a_plan_keeps_the_time():
    planned = recon.plan(recon.load(CENSUS), limits=Limits(seconds=0.0))
    assert planned.status == "unknown"
    assert planned.left.reason
    with pytest.raises(ReleaseError, match="no question 'why'"):
        recon.plan(recon.load(CENSUS), "why")
    with pytest.raises(Unsupported, match="assigned"):
        recon.plan(recon.load(CENSUS), convention="assigned")


# ---------------------------------------------------------------- the command


@pytest.mark.slow
def test_the_command_prints_the_plan(capsys):
    code, out, err = run(capsys, "plan", CENSUS)
    assert (code, err) == (0, "")
    assert "live cells: 948" in out
    assert "choices between alternatives: 3" in out
    assert "age, sex, race, status" in out
    for name in QUESTIONS:
        assert name in out
    code, out, _ = run(capsys, "plan", CENSUS, "--question", "decide", "--json")
    found = json.loads(out)
    assert code == 0
    assert [q["question"] for q in found["questions"]] == ["decide"]
    assert found["questions"][0]["asked"][0] == "histogram"
    assert found["presolve"]["cells"] == 948
    assert found["interaction"]["components"] == [["age", "sex", "race", "status"]]


@pytest.mark.slow
def test_the_command_ends_as_the_contract_says(capsys, tmp_path):
    assert run(capsys, "plan", CENSUS, "--question", "why")[0] == 2
    assert run(capsys, "plan", CENSUS, "--convention", "why")[0] == 2
    assert run(capsys, "plan", str(tmp_path / "none.json"))[0] == 3
    (tmp_path / "bad.json").write_text("{")
    code, _, err = run(capsys, "plan", str(tmp_path / "bad.json"))
    assert code == 3
    assert err.count("\n") == 1
    code, out, _ = run(capsys, "plan", CENSUS, "--time", "0")
    assert code == 4
    code, out, _ = run(capsys, "plan", CENSUS, "--max-cells", "10")
    assert code == 0
    assert "more than 10 live cells" in out
    code, out, _ = run(capsys, "plan", str(ROOT / "tests" / "golden" / "list_contradiction.json"))
    assert code == 5
    assert "contradict" in out
    code, out, _ = run(capsys, "plan", str(ROOT / "tests" / "golden" / "open_table.json"), "--json")
    assert code == 0


def test_the_command_exports_graphs(capsys, tmp_path):
    out = str(tmp_path / "x.graphml")
    code, said, _ = run(capsys, "export", CENSUS, "--to", "graphml", "--out", out)
    assert code == 0
    assert f"wrote {out}: 4 nodes, 4 edges\n" in said
    assert not os.path.exists(f"{out}.map.json")
    code, said, _ = run(capsys, "export", NOISY, "--to", "graphml", "--nodes", "cells", "--out", "-")
    assert code == 0
    assert nx.parse_graphml(said).number_of_nodes() == 5
    assert run(capsys, "export", CENSUS, "--to", "mps", "--nodes", "cells", "--out", out)[0] == 2
    assert run(capsys, "export", CENSUS, "--to", "graphml", "--nodes", "trees", "--out", out)[0] == 2
    release = str(tmp_path / "release.json")
    shutil.copy(CENSUS, release)
    assert run(capsys, "export", release, "--to", "graphml", "--out", release)[0] == 2


@pytest.mark.slow
def test_counting_a_tree_loads_no_networkx():
    code = (
        "import sys, recon\n"
        f"found = recon.count(recon.load({str(ROOT / 'examples' / 'releases' / 'compas_tree.json')!r}))\n"
        "assert found.status == 'exact'\nprint('networkx' in sys.modules)"
    )
    out = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, cwd=ROOT).stdout
    assert out == "False\n"


def test_the_plan_says_that_leaf_values_are_solved_first():
    planned = recon.plan(recon.load(ROOT / "tests" / "golden" / "boosted_log.json"))
    assert planned.to_dict()["solved_first"] == ["boosting"]
    assert any("leaf values are solved first" in line for line in planned.lines())
