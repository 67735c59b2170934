"""Files made to ask for much memory or time: a sentence, an exit code, and no more memory than --memory allows."""

from __future__ import annotations

import gc
import io
import json
import os
import random
import re
import subprocess
import sys
from itertools import pairwise
from pathlib import Path

import hostile
import numpy as np
import pandas as pd
import pytest
import typer

import recon
import recon.cli.app
from encoders.kinds import tree as encoder
from recon.io.files.opening import WORK, ReadingBudget, _read_stream, budget_within, current, drawing, read_whole
from recon.queries.certificates.issuing import all_of_it
from recon.readers.formats.release.reading import strict_json
from recon.readers.frames.selections import raw_indices, read_table
from recon.readers.inspection.inspecting import inspect
from recon.readers.loading.loading import load, read_domain
from recon.release.auditing.matching import group_rows
from solvers.foundation.errors import Inconclusive, ReleaseError, TooLarge
from solvers.foundation.limits import Limits
from solvers.programs.local_search.problem import problem_of
from solvers.statements.boxes import RunMasks, _run, spans

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="peak memory is read as Linux gives it")

GOLDEN = Path(__file__).parent / "golden"
MEMORY = 64 << 20
ROOM = 48 << 20  # what a command may take beside what it reads
PEOPLE = "a,b,c\n0,1,0\n"
TREE = {
    "recon": 1,
    "domain": {"attributes": [{"name": n, "values": [0, 1]} for n in "abc"]},
    "models": [{"kind": "tree", "nodes": [{"if": {"a": 1}, "then": 1, "else": 2}, {"count": 3}, {"count": 4}]}],
}
MANY = "--memory"
# name of the builder, ending, exit codes of count and inspect (tables: certify and domain), words of the refusal
CASES = [
    ("skops", ".skops", (3, 3), MANY),
    ("npy_shape", ".skops", (3, 3), "items of no bytes"),
    ("rpart_two", ".json", (3, 0), "more splits than are listed"),
    ("nested_pickle", ".pkl", (3, 3), ""),
    ("nested_tuples", ".pkl", (3, 3), ""),
    ("shared_pickle", ".pkl", (3, 0), "not a model"),
    ("nested_json", ".json", (3, 3), "nested too deeply"),
    ("wide_json", ".json", (3, 3), MANY),
    ("wrong_nodes", ".json", (3, 3), ""),
    ("nested_xml", ".pmml", (3, 3), "nested"),
    ("wide_xml", ".pmml", (3, None), MANY),
    ("joblib zlib", ".pkl", (3, 3), MANY),
    ("joblib bz2", ".pkl", (3, 3), ""),
    ("joblib xz", ".pkl", (3, 3), MANY),
    ("rds", ".rds", (3, 3), ""),
    ("profiles", ".csv.gz", (3, 3), MANY),
    ("long_line", ".csv.gz", (3, 3), MANY),
    ("parquet", ".parquet", (3, 3), MANY),
    ("parquet_page", ".parquet", (3, 3), MANY),
]
TABLES = (".csv.gz", ".parquet")
ASKING = "test_small_files_that_ask_for_much"


def commands(path, tree):
    limits = ["--memory", f"{MEMORY >> 20}M", "--time", "600"]
    if path.endswith(TABLES):
        return [["certify", tree, "--profiles", path, *limits], ["domain", path, *limits]]
    return [["count", path, *limits], ["inspect", path, *limits]]


def run_all(asked):
    done = subprocess.run(
        [sys.executable, str(Path(__file__).parent / "peaks.py")], input=json.dumps(asked), capture_output=True,
        text=True, check=False, timeout=3600,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr[-3000:]
    return json.loads(done.stdout)


@pytest.fixture(scope="module")
def measured(request, tmp_path_factory):
    """Return per case that is tested what its commands did (code, peak, CPU, said), the peak of one without, paths."""
    folder = tmp_path_factory.mktemp("hostile")
    tree = folder / "tree.json"
    tree.write_text(json.dumps(TREE))
    asked, paths = [["engines"]], {}
    chosen = [item.callspec.params["name"] for item in request.session.items if item.originalname == ASKING]
    for name, ending, _, _ in (case for case in CASES if case[0] in chosen):
        path = paths[name] = folder / f"{name.replace(' ', '_')}{ending}"
        build = hostile.joblib_bomb(name.split()[1]) if " " in name else getattr(hostile, name)
        build(path)
        asked += commands(str(path), str(tree))
    found = run_all(asked)
    return {name: found[1 + 2 * i : 3 + 2 * i] for i, name in enumerate(paths)}, found[0][1], paths


@pytest.mark.sampled(1, 10)
@pytest.mark.parametrize(("name", "ending", "codes", "words"), CASES, ids=[c[0] for c in CASES])
def test_small_files_that_ask_for_much(measured, name, ending, codes, words):
    found, base, paths = measured
    for (code, peak, seconds, said), wanted in zip(found[name], codes, strict=True):
        assert "Traceback" not in said
        assert "internal" not in said
        assert peak < base + 2 * MEMORY + ROOM, f"{(peak - base) >> 20} MB"
        assert seconds < 30
        if wanted is None:
            assert code in {0, 3}
            continue
        assert code == wanted, said
        if code:
            assert str(paths[name]) in said
            assert len(said.strip().splitlines()) == 1
    assert words in found[name][0][3]


@pytest.mark.slow
def test_the_clock_is_heard_in_the_midst_of_a_reader(tmp_path):
    path = tmp_path / "profiles.csv.gz"
    hostile.profiles(path, 256 << 20)  # 130 million cells: minutes, were nobody to look at the clock
    ((code, _, seconds, said),) = run_all([["domain", str(path), "--memory", "100G", "--time", "0"]])
    assert code == 4, said
    assert f"{path}: the time (--time) was up" in said
    assert seconds < 15


@pytest.mark.slow
def test_a_comb_costs_no_more_than_its_levels(tmp_path):
    asked = []
    for levels in (2_000, 8_000):
        path = tmp_path / f"{levels}.json"
        hostile.comb(path, levels)
        asked.append(["count", str(path)])
    (small, _, few, _), (large, _, many, _) = run_all(asked)
    assert small == large == 0
    assert many < 8 * few + 1  # 4 times the levels: linear 4, quadratic 16


@pytest.mark.long
@pytest.mark.parametrize("attributes", [1, 3])
def test_a_comb_of_a_hundred_thousand_levels(tmp_path, attributes):
    path = tmp_path / "comb.json"
    hostile.comb(path, 100_000, attributes)
    (base, (code, peak, seconds, _)) = run_all([["engines"], ["count", str(path)]])
    assert code == 0
    assert peak < base[1] + (400 << 20)
    assert seconds < 150


@pytest.mark.slow
def test_a_large_release_is_read_in_its_bounds(tmp_path):
    path = tmp_path / "forest.json"
    hostile.forest(path, trees=15)
    base, tight, wide = run_all(
        [["engines"], ["domain", str(path), "--memory", "16M"], ["domain", str(path), "--memory", "256M"]]
    )
    assert tight[0] == 3
    assert "--memory" in tight[3]
    assert tight[1] < base[1] + 2 * MEMORY
    assert wide[0] == 0
    assert wide[1] < base[1] + 30 * path.stat().st_size  # 46 times where every node is an object with a dict


@pytest.mark.slow
def test_a_command_has_one_budget_for_all_its_files(tmp_path, capsys, monkeypatch):
    table = tmp_path / "people.csv"
    table.write_text("a,b,c\n" + "0,1,0\n" * 60_000)
    tree = tmp_path / "tree.json"
    tree.write_text(json.dumps(TREE))
    with drawing(Limits(memory=16 << 20)) as budget:
        read_table(str(table))
        taken = (16 << 20) - budget.left
        assert taken > 60_000 * 3 * 8
        with pytest.raises(ReleaseError, match="--memory"):
            [read_table(str(table)) for _ in range(3)]
    with pytest.raises(ReleaseError, match=r"people\.csv.*--memory"):
        read_table(str(table), Limits(memory=1 << 20))
    with pytest.raises(ReleaseError, match="--memory"):
        recon.load(str(tree), limits=Limits(memory=400))
    assert recon.load(str(tree)).domain.place.keys() == set("abc")


def test_limits_of_the_library(tmp_path):
    table, tree = tmp_path / "people.csv", tmp_path / "tree.json"
    table.write_text(PEOPLE)
    tree.write_text(json.dumps(TREE))
    gone = Limits(seconds=0.0, started=Limits().started - 60)
    for ask in (recon.load, read_domain, recon.inspect):
        with pytest.raises(Inconclusive, match=r"tree\.json.*--time"):
            ask(str(tree), limits=gone)
    for ask in (read_table, read_domain):
        with pytest.raises(Inconclusive, match=r"people\.csv.*--time"):
            ask(str(table), limits=gone)


@pytest.mark.parametrize("command", ["count", "inspect", "inspect --data", "domain", "convert", "certify", "learn"])
def test_only_regular_files_are_opened(tmp_path, capsys, monkeypatch, command):
    fifo, tree, link = tmp_path / "fifo", tmp_path / "tree.json", tmp_path / "link.json"
    os.mkfifo(fifo)
    tree.write_text(json.dumps(TREE))
    link.symlink_to(tree)
    before = {
        "certify": ["certify", str(tree), "--profiles"], "learn": ["learn", "greedy-rule-list"],
        "inspect --data": ["inspect", str(tree), "--data"],
    }  # fmt: skip
    folder = "directory" if command in before else "folder"
    for path, words in ((fifo, "not a regular file"), ("/dev/zero", "not a regular file"), (tmp_path, folder)):
        for option in ([], ["--time", "5"]):
            monkeypatch.setattr(sys, "argv", ["recon", *before.get(command, [command]), str(path), *option])
            with pytest.raises(SystemExit) as stop:
                recon.cli.app.main()
            said = capsys.readouterr().err
            assert stop.value.code == 3, said
            assert str(path) in said
            assert words in said.lower()
    if command in {"count", "inspect", "convert"}:
        monkeypatch.setattr(sys, "argv", ["recon", command, str(link)])
        with pytest.raises(SystemExit) as stop:
            recon.cli.app.main()
        assert not stop.value.code


@pytest.mark.parametrize("path", ["/proc/self/status", "/proc/kmsg"])
def test_what_the_kernel_shows_is_empty(path):
    if not os.access(path, os.R_OK):
        pytest.skip(f"{path} cannot be read here")
    assert read_whole(path) == b""
    with pytest.raises(ReleaseError, match="empty"):
        read_table(path)


@pytest.mark.slow
def test_standard_input_is_bounded(monkeypatch):
    reading, writing = os.pipe()  # nobody writes
    with os.fdopen(reading, "rb") as stream, budget_within(limits=Limits(seconds=0.0)), pytest.raises(Inconclusive):
        _read_stream(stream)
    os.close(writing)
    with budget_within(1_000), pytest.raises(ReleaseError, match="--memory"):
        _read_stream(io.BytesIO(bytes(2_000)))
    assert _read_stream(io.BytesIO(b"abc")) == b"abc"


def test_every_command_that_reads_has_both_options():
    group = typer.main.get_command(recon.cli.app.app)
    stack, met = list(group.commands.items()), 0
    while stack:
        name, command = stack.pop()
        if hasattr(command, "commands"):
            stack += command.commands.items()
            continue
        if name in {"schema", "engines"}:
            continue
        met += 1
        given = {option for parameter in command.params for option in parameter.opts}
        assert {"--time", "--memory"} <= given, name
    assert met > 15


def test_budgets_add_up():
    assert current().left == 1 << 30
    with drawing(Limits(memory=1_000)) as whole:
        with budget_within(600) as part:
            part.bytes(500)
            assert (part.left, whole.left) == (100, 500)
            with pytest.raises(ReleaseError, match="600 bytes"):
                part.bytes(101)
        with budget_within(600) as part:
            assert part.left == 500
            with part.lent():
                part.bytes(500)
            assert (part.left, whole.left) == (500, 500)
            with pytest.raises(ReleaseError):
                part.entries(51, each=10)
    with pytest.raises(Inconclusive):
        ReadingBudget(1_000, Limits(seconds=0.0, started=Limits().started - 60)).entries(5_000, each=0)


def test_a_count_of_400_digits_is_refused_for_what_it_is(tmp_path):
    """It was no mark that hides a count, and no value that libraries do not write."""
    table, tree = tmp_path / "table.csv", tmp_path / "tree.json"
    table.write_text(f"a,count\n0,1{'0' * 400}\n1,3\n", encoding="utf-8")
    with pytest.raises(ReleaseError, match="the count has 401 digits"):
        load(table)
    nodes = [TREE["models"][0]["nodes"][0], {"count": 10**400}, {"count": 4}]
    tree.write_text(json.dumps(TREE | {"models": [{"kind": "tree", "nodes": nodes}]}), encoding="utf-8")
    with pytest.raises(ReleaseError, match="more than 300 digits"):
        load(tree)
    assert inspect(tree).findings[0].level == "high"


@pytest.mark.slow
def test_reading_and_questions_draw_on_one_account(tmp_path):
    """What reading took is neither there for a question, nor is its work; with the release it is given back."""
    path = GOLDEN.parents[1] / "examples" / "releases" / "compas_forest.json"
    limits = Limits(seconds=60.0, memory=1 << 24)
    with drawing(limits) as whole:
        release = load(path)
        held = limits.meter.held
        assert 1 << 20 < held == whole.limit - whole.left < 1 << 24
        assert limits.room == limits.memory - held
        assert limits.work_left() <= 60.0 - WORK * held
        inspect(path, limits=limits)
        assert limits.meter.held == held  # what an inspection read is gone
        limits.meter.held += limits.room
        with pytest.raises(ReleaseError, match="memory allowed"):  # an engine holds the rest
            load(path)
        limits.meter.held -= (1 << 24) - held
        del release
        gc.collect()
        assert limits.meter.held == 0


JSON = [
    "[" + "{}," * 9_999 + "{}]",
    "[" + "[]," * 9_999 + "[]]",
    json.dumps(["ab", "cd"] * 9_999),
    json.dumps([{"a": i, "b": [i / 7]} for i in range(9_999)]),
    json.dumps([1e300] * 9_999),
    json.dumps({f"k{i}": f"v{i}" for i in range(9_999)}),
]


@pytest.mark.parametrize("text", JSON, ids=["objects", "lists", "texts", "nested", "numbers", "keys"])
def test_json_takes_no_more_than_was_said(text):
    import tracemalloc

    with drawing(Limits()) as budget:
        tracemalloc.start()
        found = strict_json(text)
        kept, peak = tracemalloc.get_traced_memory()
        tracemalloc.stop()
        assert found
        assert kept < 1.1 * ((1 << 30) - budget.left) + 10_000
        assert peak < 2 * ((1 << 30) - budget.left) + 100_000


def test_masks_by_their_runs():
    dice = random.Random(4)
    for _ in range(300):
        size = dice.choice([1, 7, 64, 65, 300])
        mask = dice.getrandbits(size) if dice.random() < 0.5 else _run(*sorted(dice.choices(range(size + 1), k=2)))
        found = spans(mask)
        assert sum(_run(a, b) for a, b in found) == mask
        assert all(b < c for (_, b), (c, _) in pairwise(found))
        assert all(a < b for a, b in found)
    masks = RunMasks(np.array([0, 3, 70]), np.array([0, 9, 100]))
    assert masks.tolist() == [0, _run(3, 9), _run(70, 100)] == list(masks[:]) == [masks[i] for i in range(3)]
    assert list(masks[np.array([False, True, True])]) == [masks[1], masks[2]]


@pytest.mark.parametrize("seed", range(6))
def test_thresholds_as_runs_give_the_boxes_that_bits_give(tmp_path, monkeypatch, seed):
    dice = random.Random(seed)
    nodes = []

    def grow(depth):
        at = len(nodes)
        nodes.append({"counts": [1, 1]})
        if depth > 1 or (depth and dice.random() < 0.8):
            key = dice.choice(["at_most", "below", "at_least", "above"])
            value = dice.randrange(1, 400)
            then = grow(depth - 1)
            other = grow(depth - 1)
            nodes[at] = {"if": {dice.choice("ab"): {key: value}}, "then": then, "else": other}
        return at

    grow(9)
    attributes = [{"name": n, "min": 0, "max": 400} for n in "ab"] + [{"name": "c", "values": [0, 1]}]
    release = {
        "recon": 1,
        "domain": {"attributes": attributes, "label": {"name": "y", "values": [0, 1]}},
        "models": [{"kind": "tree", "nodes": nodes}],
    }
    path = tmp_path / "tree.json"
    path.write_text(json.dumps(release))
    by_runs = recon.load(str(path)).statements.blocks[0].boxes
    assert isinstance(by_runs.mask, RunMasks)
    monkeypatch.setattr(encoder, "_run_splits", lambda *_: None)
    by_bits = recon.load(str(path)).statements.blocks[0].boxes
    assert not isinstance(by_bits.mask, RunMasks)
    assert list(by_runs) == list(by_bits)


# ---------------------------------------------------------------- numbers that grew (tests/grown.py found them)


def test_more_rows_than_doubles_count_are_refused(tmp_path):
    path = tmp_path / "rules.pmml"
    honest = (GOLDEN / "readers" / "rapidminer_ruleset.pmml").read_text(encoding="utf-8")
    path.write_text(re.sub(r'recordCount="\d+"', 'recordCount="1e300"', honest), encoding="utf-8")
    with pytest.raises(ReleaseError, match=r"2\^53"):
        recon.load(str(path))


@pytest.mark.parametrize("attribute", ["0,1", "0,1,2"])
def test_numbers_beyond_all_floats_are_no_values(tmp_path, attribute):
    path = tmp_path / "rows.csv"
    path.write_text("a,b\n" + "".join(f"{value},0\n" for value in [*attribute.split(","), "9" * 400]), encoding="utf-8")
    with pytest.raises(ReleaseError, match="more than 308 digits"):
        read_domain(str(path))


@pytest.mark.slow
def test_texts_of_a_parquet_file_are_texts(tmp_path):
    pa = pytest.importorskip("pyarrow")
    import pyarrow.parquet as pq

    buffers = [None, pa.py_buffer(np.array([0, 2, 4], dtype=np.int32)), pa.py_buffer(b"ok\xff\xfe")]
    pq.write_table(pa.table({"a": pa.Array.from_buffers(pa.string(), 2, buffers)}), tmp_path / "rows.parquet")
    with pytest.raises(ReleaseError, match=r"is not a table: .*UTF8"):
        read_table(str(tmp_path / "rows.parquet"))


def test_millions_of_rows_hear_the_clock():
    domain = recon.load(str(GOLDEN / "tree_classes.json")).domain
    frame = pd.DataFrame({a.name: [a.value_at(0)] * 3 for a in domain.all})
    rows = raw_indices(domain, frame)
    assert len(group_rows(rows, rows)[0]) == 1
    with drawing(Limits(seconds=0.0, started=-60.0)):
        for ask in (lambda: raw_indices(domain, frame), lambda: group_rows(rows, rows)):
            with pytest.raises(Inconclusive):
                ask()


def test_rows_are_charged_before_they_are_made(tmp_path):
    """A few bytes that count billions of people: no list of rows, no copy per row, only what memory holds."""
    path = tmp_path / "counts.csv"
    path.write_text("a,count\n0,4000000000\n1,3\n", encoding="utf-8")
    release, limits = recon.load(str(path)), Limits(memory=256 << 20)
    assert all_of_it(release, limits)["claim"]["only_world"]["times"] == [4_000_000_000, 3]
    for ask in (recon.table, recon.reconstruct):
        with pytest.raises(Inconclusive, match="--memory"):
            ask(release, limits=limits)
    with pytest.raises(TooLarge, match="local search over 4,000,000,003 rows needs"):
        problem_of(release.statements, limits)
