"""Registers of earlier releases: the folder and its index, and what a new release adds to what is known already."""

from __future__ import annotations

import datetime
import hashlib
import itertools
import json
import math
import random
import re
import shlex
import tomllib
from collections import Counter
from pathlib import Path

import oracle
import pytest
from extras import run
from hypothesis import given, settings
from hypothesis import strategies as st

import recon
from recon.cli import app as cli
from recon.cli.releasing.register import register as command
from recon.readers.loading.loading import load
from recon.release.registers.adding import _gained, _named_by_file, adds, joined_release
from recon.release.registers.differences import SMALL
from recon.release.registers.figures import RemainingUncertainty, mutual_bounds
from recon.release.registers.index import HEAD, INDEX, RegisterEntry, _quoted, appended, parse_index
from recon.release.registers.register import Register
from solvers.foundation.errors import ReleaseError
from solvers.foundation.limits import Limits

RELEASES = Path(__file__).parents[1] / "examples" / "releases"
DAY = "2026-03-02"
DOMAIN = {"attributes": [{"name": "smoker", "values": [0, 1]}, {"name": "age", "values": ["young", "middle", "old"]}]}

if not any(one.callback is command or one.name == "register" for one in cli.app.registered_commands):
    names = [getattr(one.callback, "__name__", "") for one in cli.app.registered_commands]
    if "register" not in names:  # where the command stands by itself, it is tried as it will be registered
        cli.app.command()(command)


def written(folder, name, models, rows=None, domain=DOMAIN):
    """Write a release file and return its path."""
    path = folder / name
    content = {"recon": 1, "domain": domain, "models": models} | ({} if rows is None else {"rows": rows})
    path.write_text(json.dumps(content), encoding="utf-8")
    return path


def tree(condition, counts, name=None):
    """Return a tree with one test."""
    nodes = [{"if": condition, "then": 1, "else": 2}, {"count": counts[0]}, {"count": counts[1]}]
    return {"kind": "tree", "nodes": nodes} | ({} if name is None else {"name": name})


def table(*statements):
    """Return a table."""
    return {"kind": "table", "statements": list(statements)}


def registered(folder, *files, decision="release"):
    """Return a register of these files."""
    found = Register.opened(folder)
    for i, file in enumerate(files):
        found = found.add(file, decision, date=f"2026-03-{i + 2:02d}")
    return found


def sha256(path):
    return hashlib.sha256(Path(path).read_bytes()).hexdigest()


# ---------------------------------------------------------------- the folder and its index


def test_a_file_is_copied_in_and_listed(tmp_path):
    file = written(tmp_path, "march.json", [tree({"smoker": 1}, [2, 3])])
    found = Register.opened(tmp_path / "register").add(file, "release", date=DAY, note='said "yes"\nand signed')
    copy = tmp_path / "register" / "march.json"
    assert copy.read_bytes() == file.read_bytes()
    entry = RegisterEntry("march.json", sha256(file), DAY, "release", note='said "yes"\nand signed')
    assert found.entries == Register.read(tmp_path / "register").entries == (entry,)
    text = (tmp_path / "register" / INDEX).read_text(encoding="utf-8")
    assert text.startswith(HEAD)
    assert tomllib.loads(text)["release"][0]["date"] == datetime.date(2026, 3, 2)
    assert not [p for p in (tmp_path / "register").iterdir() if p.name not in ("march.json", INDEX)]


def test_what_an_officer_wrote_by_hand_stays(tmp_path):
    first = written(tmp_path, "march.json", [tree({"smoker": 1}, [2, 3])])
    second = written(tmp_path, "june.json", [tree({"age": "old"}, [2, 3])])
    registered(tmp_path / "register", first)
    index = tmp_path / "register" / INDEX
    by_hand = index.read_text(encoding="utf-8").replace('"release"', '"withdrawn" # asked to by the ethics board')
    index.write_text('# ours\nname = "Smokers"\nrows = 5\n' + by_hand, encoding="utf-8")
    before = index.read_text(encoding="utf-8")
    found = Register.read(tmp_path / "register").add(second, "do not release", date=DAY)
    assert index.read_text(encoding="utf-8").startswith(before.rstrip("\n"))
    assert [one.decision for one in found.entries] == ["withdrawn", "do not release"]
    assert (found.index.name, found.index.rows) == ("Smokers", 5)
    assert [one.file for one in found.released] == ["march.json"]  # whoever copied it still has it


def test_the_same_content_is_refused_and_no_other_content_written_over(tmp_path):
    file = written(tmp_path, "march.json", [tree({"smoker": 1}, [2, 3])])
    found = registered(tmp_path / "register", file)
    twin = tmp_path / "twin.json"
    twin.write_bytes(file.read_bytes())
    with pytest.raises(ReleaseError, match=rf"release 1, march\.json, {DAY}, decision: release"):
        found.add(twin, "release", date=DAY)
    other = tmp_path / "other" / "march.json"
    other.parent.mkdir()
    written(other.parent, "march.json", [tree({"smoker": 1}, [3, 2])])
    before = (tmp_path / "register" / "march.json").read_bytes(), found.text
    with pytest.raises(ReleaseError, match=r"never written over.*march-2\.json"):
        found.add(other, "release", date=DAY)
    assert ((tmp_path / "register" / "march.json").read_bytes(), Register.read(found.folder).text) == before


def test_a_file_in_the_folder_stays_where_it_is(tmp_path):
    inner = tmp_path / "register" / "2026"
    inner.mkdir(parents=True)
    file = written(inner, "march.json", [tree({"smoker": 1}, [2, 3])])
    found = registered(tmp_path / "register", file)
    assert [one.file for one in found.entries] == ["2026/march.json"]
    assert found.states() == ["as registered"]
    assert found.unregistered() == []


def test_a_folder_without_an_index_is_never_guessed(tmp_path, capsys):
    for folder, said in ((tmp_path, "the folder is empty"), (tmp_path / "none", "there is no such register")):
        code, _, err = run(capsys, "register", folder)
        assert code == 3
        assert said in err
        assert "--add FILE --decision release" in err
    file = written(tmp_path, "march.json", [tree({"smoker": 1}, [2, 3])])
    code, _, err = run(capsys, "register", tmp_path)
    assert code == 3
    assert "march.json" in err
    assert "is not guessed" in err
    with pytest.raises(ReleaseError, match="is a file"):
        Register.opened(file)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("register = 2", "register: must be 1"),
        ("register = true", "register: must be 1"),
        ("", "register: must be 1"),
        ("register = 1\nname = 3", "name: must be a text"),
        ("register = 1\nrows = -1", "rows: must be a whole number"),
        ("register = 1\nrows = true", "rows: must be a whole number"),
        ("register = 1\nrows = 1.5", "rows: must be a whole number"),
        ("register = 1\nrelease = 3", "release: must be a list"),
        ("register = 1\nrelease = [3]", "release: must be a list"),
        ("register = 1\ncolour = 1", "'colour' is not understood"),
        ("register = 1\n[[release]]\nfile = 'a'", "release 1: 'sha256' is missing"),
        ("register = [", "is no TOML"),
        ("register = 1\ndomain = '../d.json'", "domain: must be a path inside"),
    ],
)
def test_a_wrong_index_is_refused_by_place(tmp_path, text, said, capsys):
    (tmp_path / INDEX).write_text(text, encoding="utf-8")
    code, out, err = run(capsys, "register", tmp_path)
    assert (code, out) == (3, "")
    assert said in err
    assert INDEX in err


@pytest.mark.parametrize(
    ("key", "value", "said"),
    [
        ("file", '"/etc/passwd"', "file: must be a path inside"),
        ("file", '"../march.json"', "file: must be a path inside"),
        ("file", r'"a\\b"', "file: must be a path inside"),
        ("file", r'"a\u0000b"', "file: must be a path inside"),
        ("file", '"C:/a.json"', "file: must be a path inside"),
        ("file", '""', "file: must be a path inside"),
        ("sha256", '"12"', "sha256: must be 64 digits"),
        ("sha256", '""', "sha256: must be 64 digits"),
        ("date", '"March"', "date: must be a date"),
        ("date", '"2026-02-30"', "date: must be a date"),
        ("date", "2026-02-03T10:00:00", "date: must be a date"),
        ("decision", '"perhaps"', "decision: must be one of release"),
        ("note", "7", "note: must be a text"),
        ("secret", "7", "'secret' is not understood"),
        ("policy_sha256", '"x"', "policy_sha256: must be 64 digits"),
    ],
)
def test_a_wrong_entry_is_refused_by_place(key, value, said):
    good = {"file": '"a.json"', "sha256": f'"{"0" * 64}"', "date": DAY, "decision": '"release"'}
    lines = "\n".join(f"{k} = {v}" for k, v in (good | {key: value}).items())
    with pytest.raises(ReleaseError) as error:
        parse_index(f"register = 1\n[[release]]\n{lines}\n", "index")
    assert "index: release 1" in str(error.value)
    assert said in str(error.value)


def test_a_register_may_be_about_no_rows():
    assert parse_index("register = 1\nrows = 0", "index").rows == 0


def test_one_file_or_content_stands_once():
    text = appended("register = 1", RegisterEntry("a.json", "0" * 64, DAY, "release"))
    for twin in (RegisterEntry("a.json", "1" * 64, DAY, "release"), RegisterEntry("b.json", "0" * 64, DAY, "release")):
        with pytest.raises(ReleaseError, match="release 2: has the same"):
            parse_index(appended(text, twin), "index")


@given(st.text(st.characters(exclude_categories=("Cs",))))
def test_any_text_reads_back_and_hides_nothing(text):
    line = _quoted(text)
    assert tomllib.loads(f"x = {line}")["x"] == text
    assert len(line.splitlines()) == 1
    assert "\u202e" not in line


HOSTILE = ["<script>alert(1)<", "=cmd|'x'!A1.json", "a\u202etxt.json", "line\nend.json", 'q"uote\\.json', "x" * 200]


@pytest.mark.parametrize("name", [one for one in HOSTILE if "/" not in one and "\\" not in one])
def test_hostile_names_stay_inert(tmp_path, name, capsys):
    file = written(tmp_path, name, [tree({"smoker": 1}, [2, 3])])
    code, out, err = run(capsys, "register", tmp_path / "r", "--add", file, "--decision", "release", "--date", DAY,
                         "--note", "=1+2\u202e\n# not a comment")  # fmt: skip
    assert code == 0
    assert not {"\u202e", "\x1b"} & {*out, *err}
    assert len(out.splitlines()) == 4
    entry = Register.read(tmp_path / "r").entries[0]
    assert (entry.file, entry.note) == (name, "=1+2\u202e\n# not a comment")
    new = written(tmp_path, "new.json", [tree({"age": "old"}, [2, 3])])
    said = run(capsys, "register", tmp_path / "r", "--json")[1] + "".join(adding(tmp_path / "r", new).sentences)
    assert "\u202e" not in said


def test_hostile_attributes_and_models_stay_inert(tmp_path):
    name, long = "<script>\u202e\n=cmd", "x" * 10_000
    domain = {"attributes": [{"name": name, "values": [0, 1]}, {"name": long, "values": ["a\u2066", "b"]}]}
    first = written(tmp_path, "first.json", [table({"where": {name: 1}, "count": 9})], 20, domain)
    second = table({"where": {name: 1, long: "b"}, "count": 7}) | {"name": "m\u202e\n"}
    registered(tmp_path / "r", first)
    found = adding(tmp_path / "r", written(tmp_path, "second.json", [second], 20, domain))
    assert [one.rows for one in found.differences.groups] == [(2, 2)]
    assert all(not {"\u202e", "\u2066", "\n"} & set(line) for line in found.sentences)
    assert max(map(len, found.sentences)) < 1_000


def test_a_link_out_of_the_folder_is_not_followed(tmp_path):
    file = written(tmp_path, "march.json", [tree({"smoker": 1}, [2, 3])])
    found = registered(tmp_path / "register", file)
    copy = tmp_path / "register" / "march.json"
    copy.unlink()
    copy.symlink_to(file)
    with pytest.raises(ReleaseError, match="link that leads out of the folder"):
        found.states()


def test_what_recon_does_not_read_cannot_count_as_known(tmp_path, capsys):
    file = tmp_path / "paper.txt"
    file.write_text("Table 1: see the paper", encoding="utf-8")
    code, _, err = run(capsys, "register", tmp_path / "r", "--add", file, "--decision", "release")
    assert code == 3
    assert "paper.txt" in err
    assert "release file" in err
    assert not (tmp_path / "r").exists()
    code, _, _ = run(capsys, "register", tmp_path / "r", "--add", file, "--decision", "do not release")
    assert code == 0


def test_wrong_usage_is_said(tmp_path, capsys):
    file = written(tmp_path, "march.json", [tree({"smoker": 1}, [2, 3])])
    add = ["register", tmp_path / "r", "--add", file]
    assert run(capsys, *add)[0] == 2
    assert run(capsys, *add, "--decision", "perhaps")[0] == 2
    code, _, err = run(capsys, *add, "--decision", "release", "--date", "2026-02-30")
    assert code == 2
    assert "2026-02-30" in err
    assert run(capsys, "register", tmp_path / "r", "--note", "x")[0] == 2
    assert run(capsys, "register", tmp_path / "r", "--add", tmp_path / "no.json", "--decision", "release")[0] == 3
    assert not (tmp_path / "r").exists()


def test_the_policy_is_kept_by_name_and_hash(tmp_path, capsys):
    file = written(tmp_path, "march.json", [tree({"smoker": 1}, [2, 3])])
    policy = tmp_path / "ours.toml"
    policy.write_text("smallest_group = 10\n", encoding="utf-8")
    code, out, _ = run(capsys, "register", tmp_path / "r", "--add", file, "--decision", "release", "--policy", policy,
                       "--json")  # fmt: skip
    (entry,) = json.loads(out)["entries"]
    assert code == 0
    assert (entry["policy"], entry["policy_sha256"]) == ("ours.toml", sha256(policy))
    assert entry["date"] == datetime.date.today().isoformat()


def test_a_changed_or_missing_file_ends_the_check(tmp_path, capsys):
    first = written(tmp_path, "march.json", [tree({"smoker": 1}, [2, 3])])
    second = written(tmp_path, "june.json", [tree({"age": "old"}, [2, 3])])
    registered(tmp_path / "r", first, second)
    assert run(capsys, "register", tmp_path / "r", "--check")[0] == 0
    with open(tmp_path / "r" / "march.json", "a", encoding="utf-8") as file:
        file.write("\n")
    code, out, _ = run(capsys, "register", tmp_path / "r", "--json")
    assert (code, [one["state"] for one in json.loads(out)["entries"]]) == (0, ["changed", "as registered"])
    code, _, err = run(capsys, "register", tmp_path / "r", "--check")
    assert code == 3
    assert "march.json" in err
    assert "june.json" not in err
    (tmp_path / "r" / "june.json").unlink()
    code, out, err = run(capsys, "register", tmp_path / "r", "--check")
    assert (code, "MISSING" in out) == (3, True)
    assert "june.json is missing" in err
    new = written(tmp_path, "new.json", [tree({"smoker": 0}, [3, 2])])
    with pytest.raises(ReleaseError, match=r"march\.json is not the file that was registered"):
        adding(tmp_path / "r", new)


def test_a_domain_for_all(tmp_path, capsys):
    file = written(tmp_path, "march.json", [tree({"smoker": 1}, [2, 3])])
    domain = written(tmp_path, "domain.json", [], domain=DOMAIN)
    domain.write_text(json.dumps({"recon": 1, "domain": DOMAIN}), encoding="utf-8")
    rows = tmp_path / "rows.csv"
    rows.write_text("smoker,age\n1,old\n", encoding="utf-8")
    add = ["register", tmp_path / "r", "--add", file, "--decision", "release", "--domain"]
    code, _, err = run(capsys, *add, rows)
    assert code == 3
    assert "never copied into a register" in err
    assert run(capsys, *add, domain)[0] == 0
    found = Register.read(tmp_path / "r")
    assert found.domain == str(tmp_path / "r" / "domain.json")
    assert found.unregistered() == []
    with pytest.raises(ReleaseError, match=r"is read with domain\.json already"):
        found.add(written(tmp_path, "x.json", [tree({"age": "old"}, [2, 3])]), "release", date=DAY, domain=str(domain))


# ---------------------------------------------------------------- what a new release adds


def adding(folder, *new, limits=None, **more):
    """Return what new files add to a register."""
    return adds(load(*map(str, new)), Register.read(folder), limits or Limits(seconds=60), **more)


def possible(content):
    """Return every dataset that agrees with a release, as a count of each row, by brute force."""
    (n,) = set(oracle.row_numbers(content))
    return [Counter(one) for one in oracle.datasets(content, n)]


def least_of_each(content):
    """Return how many people are pinned down: of each row, how often it is in every dataset."""
    every = possible(content)
    return sum(min(one[row] for one in every) for row in set().union(*every)) if every else None


@pytest.mark.sampled(8)
@pytest.mark.parametrize("seed", range(24))
def test_the_figures_are_those_of_every_dataset(tmp_path, seed):
    content, truth = oracle.random_release(random.Random(seed), models=3)
    content["rows"] = len(truth)
    parts = [{**content, "models": content["models"][:2]}, {**content, "models": content["models"][2:]}]
    files = []
    for name, one in zip(("old.json", "new.json"), parts, strict=True):
        files.append(tmp_path / name)
        files[-1].write_text(json.dumps(one), encoding="utf-8")
    registered(tmp_path / "r", files[0])
    found = adding(tmp_path / "r", files[1])
    for left, one in ((found.before, parts[0]), (found.alone, parts[1]), (found.after, content)):
        number = oracle.count(one, "multiset")
        assert left.status == "exact"
        assert left.log2_datasets == pytest.approx((math.log2(number),) * 2)
        if truth:
            assert left.bits_left_per_person == pytest.approx((math.log2(number) / len(truth),) * 2, abs=1e-12)
            people = least_of_each(one)
            assert left.pinned == (people, people)
            if people:
                assert left.least_bits_left == (0.0, 0.0)
    assert found.to_json()["earlier"] == [{"file": "old.json", "sha256": sha256(files[0]), "date": DAY,
                                           "decision": "release"}]  # fmt: skip


@pytest.mark.sampled(6)
@pytest.mark.parametrize("seed", range(12))
def test_bounds_hold_where_limits_end_the_counting(tmp_path, seed):
    content, truth = oracle.random_release(random.Random(100 + seed), models=3)
    content["rows"] = len(truth)
    parts = [{**content, "models": content["models"][:1]}, {**content, "models": content["models"][1:]}]
    for name, one in zip(("old.json", "new.json"), parts, strict=True):
        (tmp_path / name).write_text(json.dumps(one), encoding="utf-8")
    registered(tmp_path / "r", tmp_path / "old.json")
    found = adding(tmp_path / "r", tmp_path / "new.json", limits=Limits(cells=2))
    for left, one in ((found.before, parts[0]), (found.alone, parts[1]), (found.after, content)):
        assert left.status in ("exact", "bounds", "unknown")
        if left.log2_datasets is not None:
            bits, (low, high) = math.log2(oracle.count(one, "multiset")), left.log2_datasets
            assert low - 1e-9 <= bits
            assert high is None or bits <= high + 1e-9
        if left.pinned is not None and truth:
            low, high = left.pinned
            assert low <= least_of_each(one) <= (len(truth) if high is None else high)


def test_a_file_that_changes_while_it_is_read_is_noticed(tmp_path):
    file = written(tmp_path, "march.json", [tree({"smoker": 1}, [2, 3])])
    registered(tmp_path / "r", file)
    new = written(tmp_path, "new.json", [tree({"age": "old"}, [2, 3])])
    read = load(str(new))
    written(tmp_path, "new.json", [tree({"age": "old"}, [3, 2])])
    with pytest.raises(ReleaseError, match="changed while they were read"):
        adds(read, Register.read(tmp_path / "r"), Limits())


def split_tree(name, splits, rows):
    """Return a tree that tests attributes one after the other, with the counts of some rows."""
    nodes, path = [], {}

    def grow(left, here):
        at = len(nodes)
        nodes.append(None)
        if not left:
            nodes[at] = {"count": sum(all(r[k] == v for k, v in here.items()) for r in rows)}
            return at
        attribute, value = left[0]
        others = [v for v in ((0, 1) if attribute == "smoker" else ("young", "middle", "old")) if v != value]
        yes = grow(left[1:], {**here, attribute: value})
        no = len(nodes)
        nodes.append({"count": sum(all(r[k] == v for k, v in here.items()) and r[attribute] in others for r in rows)})
        nodes[at] = {"if": {attribute: value}, "then": yes, "else": no}
        return at

    grow(splits, path)
    return {"kind": "tree", "name": name, "nodes": nodes}


ROWS = st.lists(
    st.fixed_dictionaries({"smoker": st.sampled_from([0, 1]), "age": st.sampled_from(["young", "middle", "old"])}),
    min_size=1, max_size=5,
)  # fmt: skip
SPLIT = st.one_of(
    st.tuples(st.just("smoker"), st.sampled_from([0, 1])),
    st.tuples(st.just("age"), st.sampled_from(["young", "middle", "old"])),
)


def leaves(content, model):
    """Return the rows of every leaf of a tree, by brute force, and its count."""
    counted = [node.get("count") for node in model["nodes"]]
    return {frozenset(found): counted[j] for j, found in oracle.region_rows(content, model).items()}


@pytest.mark.slow
@settings(max_examples=60, deadline=None)
@given(rows=ROWS, old=SPLIT, new=st.tuples(SPLIT, SPLIT))
def test_differences_are_the_small_groups_that_no_release_publishes(tmp_path_factory, rows, old, new):
    folder = tmp_path_factory.mktemp("differences")
    if new[0][0] == new[1][0]:
        new = new[:1]  # one attribute is tested once
    models = [split_tree("first", [old], rows), split_tree("second", list(new), rows)]
    files = [written(folder, f"{m['name']}.json", [m], len(rows)) for m in models]
    registered(folder / "r", files[0])
    found = adding(folder / "r", files[1])
    content = {"recon": 1, "domain": DOMAIN, "rows": len(rows), "models": models}
    every = possible(content)
    singles = [leaves(content, model) for model in models]
    wanted, allowed = set(), set()
    for one, other in itertools.product(*singles):
        both = one & other
        counts = [sum(dataset[row] for row in both) for dataset in every]
        if not both or min(counts) == 0 or max(counts) >= SMALL:
            continue
        group = (len(both), min(counts), max(counts))
        told = any({leaf.get(both)} == set(counts) for leaf in singles)
        if not told:
            allowed.add(group)
        # A published group whose other rows nobody has: the same people, known more closely.
        narrowed = any(both < group and only(group - both, every) for leaf in singles for group in leaf)
        if not told and not narrowed:
            wanted.add(group)
    got = {(size_of(one.where), *one.rows) for one in found.differences.groups if "not (" not in one.where}
    assert wanted <= got <= allowed
    assert found.differences.in_all == len(found.differences.groups)


def meets(where, row):
    """Return whether a row (smoker, age) meets a condition in words, `not (...)` included."""
    for part in re.split(r" and (?=not \()", where):
        if part.startswith("not ("):
            if meets(part[5:-1], row):
                return False
            continue
        for test in part.split(" and ") if part != "everybody" else []:
            name, _, values = test.partition(" in " if " in " in test else " = ")
            if str(row[("smoker", "age").index(name)]) not in values.strip("{}").split(", "):
                return False
    return True


def test_conditions_in_words_are_read_as_they_are_meant():
    where = "smoker = 1 and age in {young, old} and not (smoker = 1 and age = old) and not (smoker = 0)"
    kept = [row for row in oracle.rows({"domain": DOMAIN}) if meets(where, row)]
    assert kept == [(1, "young")]
    assert meets("everybody and not (age = old)", (0, "young"))


@pytest.mark.slow
@settings(max_examples=80, deadline=None)
@given(rows=ROWS, first=SPLIT, second=SPLIT, new=st.tuples(SPLIT, SPLIT))
def test_what_is_said_of_a_difference_holds_in_every_dataset(tmp_path_factory, rows, first, second, new):
    """Three trees: whatever group is listed has the rows that are said in every dataset, by brute force."""
    folder = tmp_path_factory.mktemp("three")
    new = new[:1] if new[0][0] == new[1][0] else new
    models = [split_tree(f"t{i}", list(s), rows) for i, s in enumerate(([first], [second], new))]
    files = [written(folder, f"{m['name']}.json", [m], len(rows)) for m in models]
    registered(folder / "r", *files[:2])
    found = adding(folder / "r", files[2])
    every = possible({"recon": 1, "domain": DOMAIN, "rows": len(rows), "models": models})
    for one in found.differences.groups:
        counts = [sum(n for row, n in dataset.items() if meets(one.where, row)) for dataset in every]
        assert 1 <= one.rows[0] <= min(counts) <= max(counts) <= one.rows[1] < SMALL


def test_a_difference_that_a_third_release_cuts_into_cells_is_found(tmp_path):
    """No cell of the joined release surely has anybody in it; the difference of the two groups has two people."""
    domain = {"attributes": [*DOMAIN["attributes"], {"name": "ward", "values": ["A", "B"]}]}
    smokers = written(tmp_path, "smokers.json", [table({"where": {"smoker": 1}, "count": 40})], 100, domain)
    nodes = [{"if": {"age": "young"}, "then": 1, "else": 2}, {"count": 45}]
    nodes += [{"if": {"age": "old"}, "then": 3, "else": 4}, {"count": 35}, {"count": 20}]
    ages = {"kind": "tree", "nodes": nodes}
    registered(tmp_path / "r", smokers, written(tmp_path, "ages.json", [ages], 100, domain))
    new = written(tmp_path, "new.json", [table({"where": {"smoker": 1, "ward": "A"}, "count": 38})], 100, domain)
    (one,) = adding(tmp_path / "r", new).differences.groups
    assert (one.where, one.rows) == ("smoker = 1 and not (smoker = 1 and ward = A)", (2, 2))
    assert one.name.startswith("smokers.json: ")
    assert " without new.json: " in one.name


def only(rest, every):
    """Return whether no dataset has a row of the rest."""
    return not any(dataset[row] for dataset in every for row in rest)


def size_of(where):
    """Return how many raw rows meet a condition in words over DOMAIN."""
    sizes = {"smoker": 2, "age": 3}
    for test in where.split(" and ") if where != "everybody" else []:
        name, _, values = test.partition(" in " if " in " in test else " = ")
        sizes[name] = len(values.strip("{}").split(", "))
    return math.prod(sizes.values())


def test_differencing_of_nested_groups(tmp_path):
    march = written(tmp_path, "march.json", [table({"where": {"smoker": 1}, "count": 40})], 100)
    new = written(
        tmp_path, "new.json", [table({"where": {"smoker": 1, "age": {"in": ["middle", "old"]}}, "count": 38})], 100
    )
    registered(tmp_path / "r", march)
    found = adding(tmp_path / "r", new)
    (one,) = found.differences.groups
    assert (one.where, one.rows) == ("smoker = 1 and age = young", (2, 2))
    assert "march.json" in one.name
    assert any("1 group of fewer than 10 people is singled out only by the releases together; the smallest has 2 people"
               in line for line in found.sentences)  # fmt: skip
    assert found.after.pinned == (2, 2)
    assert found.before.pinned == found.alone.pinned == (0, 0)
    assert found.sentences[0] == (
        f"Together with march.json (released {DAY}) the new release fully reveals 2 people; alone it fully reveals "
        "nobody, and the earlier release without it nobody."
    )


def test_a_second_table_reveals_a_suppressed_cell(tmp_path):
    hidden = [{"where": {"smoker": 1, "age": "old"}, "suppressed": "primary", "at_least": 1, "at_most": 9}]
    shown = [{"where": {"smoker": 1, "age": a}, "count": c} for a, c in (("young", 20), ("middle", 30))]
    first = written(tmp_path, "first.json", [table(*hidden, *shown)], 200)
    second = written(tmp_path, "second.json", [table({"where": {"smoker": 1}, "count": 53})], 200)
    registered(tmp_path / "r", first)
    found = adding(tmp_path / "r", second)
    (one,) = found.differences.groups
    assert (one.where, one.rows) == ("smoker = 1 and age = old", (3, 3))
    assert found.before.smallest_group == (1, 9)
    assert found.before.pinned == (51, 51)  # 20 and 30, and one of the suppressed cell at least
    assert found.after.pinned == (53, 53)
    # The other way round it is the table with the hole that reveals it.
    registered(tmp_path / "q", second)
    assert adding(tmp_path / "q", first).differences.groups[0].rows == (3, 3)


def test_what_adds_nothing_is_said(tmp_path):
    fine = [{"where": {"smoker": s, "age": a}, "count": 4} for s in (0, 1) for a in ("young", "middle", "old")]
    registered(tmp_path / "r", written(tmp_path, "fine.json", [table(*fine)], 24))
    found = adding(tmp_path / "r", written(tmp_path, "coarse.json", [tree({"smoker": 1}, [12, 12])], 24))
    assert any("adds nothing to the earlier ones" in line for line in found.sentences)
    assert found.differences.groups == ()
    after = recon.measure(found.release, "ordered")  # an audit has measured all together: nobody measures again
    again = adding(tmp_path / "r", tmp_path / "coarse.json", after=after, together=found.release)
    assert again.after.measures is after


def test_only_what_was_released_is_joined(tmp_path):
    first = written(tmp_path, "first.json", [tree({"smoker": 1}, [2, 3])])
    refused = written(tmp_path, "refused.json", [tree({"age": "old"}, [1, 4])])
    found = registered(tmp_path / "r", first)
    found = found.add(refused, "do not release", date=DAY)
    new = written(tmp_path, "new.json", [tree({"age": "young"}, [2, 3])])
    said = adding(tmp_path / "r", new)
    assert [one.file for one in said.earlier] == ["first.json"]
    assert said.release.files == (str(tmp_path / "r" / "first.json"), str(new))
    assert f"Not joined, because not released: refused.json (do not release, {DAY})." in said.sentences
    index = tmp_path / "r" / INDEX
    index.write_text(index.read_text(encoding="utf-8").replace('"do not release"', '"withdrawn"'), encoding="utf-8")
    said = adding(tmp_path / "r", new)
    assert [one.file for one in said.earlier] == ["first.json", "refused.json"]
    assert any("still have it" in line for line in said.sentences)


def test_nothing_was_released_before(tmp_path):
    refused = written(tmp_path, "refused.json", [tree({"age": "old"}, [1, 4])])
    registered(tmp_path / "r", refused, decision="do not release")
    found = adding(tmp_path / "r", written(tmp_path, "new.json", [tree({"age": "young"}, [2, 3])]))
    assert found.before.log2_datasets == pytest.approx((math.log2(math.comb(6 + 5 - 1, 5)),) * 2)
    assert found.before.pinned == (0, 0)
    assert found.after == found.alone
    assert found.sentences[0].startswith("Nothing else was released about these rows")


def test_a_release_that_is_registered_is_compared_with_the_others(tmp_path):
    march, june = (written(tmp_path, f"{name}.json", [tree(condition, [2, 3])])
                   for name, condition in (("march", {"smoker": 1}), ("june", {"age": "old"})))  # fmt: skip
    registered(tmp_path / "r", march, june)
    found = adding(tmp_path / "r", tmp_path / "r" / "june.json")
    assert [one.file for one in found.earlier] == ["march.json"]
    assert "as june.json (released 2026-03-03)" in found.sentences[0]
    assert len(found.release.models) == 2
    registered(tmp_path / "alone", march)
    assert adding(tmp_path / "alone", march).sentences[1].startswith("Nothing else was released")


def test_one_row_more_is_no_release_about_the_same_rows(tmp_path):
    registered(tmp_path / "r", written(tmp_path, "march.json", [tree({"smoker": 1}, [2, 3])]))
    found = adding(tmp_path / "r", written(tmp_path, "april.json", [tree({"smoker": 1}, [3, 3])]))
    assert found.contradicts
    assert found.release is None
    assert found.conflict == ("april.json: 6 rows", "march.json: 5 rows")
    assert found.sentences[0].startswith(f"The new release and march.json (released {DAY}) contradict each other")
    assert "not about the same rows" in found.sentences[1]
    assert "--removed K" in found.sentences[1]
    assert found.sentences[-1].startswith(f"Compared with march.json (released {DAY}) as two versions of the data")
    assert "the fewest changes" in found.sentences[-1]
    assert "The two models do not identify the person who came" in found.sentences[-1]
    assert found.alone.status == found.before.status == "exact"


def test_other_rows_of_the_same_number_clash_by_statement(tmp_path):
    registered(tmp_path / "r", written(tmp_path, "march.json", [tree({"smoker": 1}, [2, 3])]))
    found = adding(tmp_path / "r", written(tmp_path, "april.json", [tree({"smoker": 1}, [3, 2])]))
    assert found.contradicts
    assert all("march.json" in line or "april.json" in line for line in found.conflict)
    assert {name for name in ("march.json", "april.json") for line in found.conflict if name in line} == {
        "march.json", "april.json"
    }  # fmt: skip
    assert found.differences.groups == ()
    assert found.to_json()["after"]["pinned"] is None
    # Measures of all releases together that were taken before name models, not files: they are taken again.
    whole, register = recon.load(tmp_path / "march.json", tmp_path / "april.json"), Register.read(tmp_path / "r")
    before = recon.measure(whole)
    assert before.status == "unsat"
    again = adds(recon.load(tmp_path / "april.json"), register, recon.Limits(), after=before, together=whole)
    assert again.conflict == found.conflict
    assert again.after.status == "unsat"


def test_models_of_one_name_are_told_apart_by_their_files(tmp_path):
    """Fitted trees are all called alike: what clashes, and what a difference lies in, still says the file."""
    march = written(tmp_path, "march.json", [tree({"smoker": 1}, [12, 18], "tree")])
    april = written(tmp_path, "april.json", [tree({"smoker": 1}, [11, 19], "tree")])
    found = registered(tmp_path / "r", march)
    clash = adding(tmp_path / "r", april)
    assert clash.contradicts
    assert sorted({line.split(":")[0] for line in clash.conflict}) == ["april.json", "march.json"]
    may = written(tmp_path, "may.json", [tree({"age": "old"}, [28, 2], "tree")])
    new = tmp_path / "new" / "march.json"  # the name of an earlier file
    new.parent.mkdir()
    written(new.parent, "march.json", [table({"where": {"age": "old", "smoker": 0}, "count": 17})])
    found.add(may, "release", date=DAY)
    said = adding(tmp_path / "r", new)
    named = " ".join(one.name for one in said.differences.groups)
    assert "march.json: tree, leaf" in named
    assert "may.json: tree, leaf" in named
    assert [one.name for one in said.release.models][:2] == ["tree", "tree"]  # as certificates name them


@pytest.mark.sampled(3)
@pytest.mark.parametrize("kind", ["forest", "rule_list", "rule_set", "boosting"])
def test_every_kind_of_model_takes_a_file_in_its_name(tmp_path, kind):
    release = {"forest": "compas_forest.json", "rule_list": "compas_rule_list.json", "rule_set": None,
               "boosting": "boosted_model.txt"}[kind]  # fmt: skip
    if release is None:
        made = load(str(written(tmp_path, "a.json", [{"kind": kind, "rules": [{"if": {"smoker": 1}, "count": 1}]}], 3)))
    else:
        made = load(str(RELEASES / release))
    named = _named_by_file(made, ["file"] * len(made.models))
    assert all(one.name.startswith("file: ") for one in named.models)
    pairs = zip(made.statements.blocks, named.statements.blocks, strict=True)
    for one, other in pairs:
        assert (one.low.tolist(), one.high.tolist()) == (other.low.tolist(), other.high.tolist())
        assert other.source(0).startswith("file: ")


def test_bounds_of_a_part_bound_the_whole():
    alone = RemainingUncertainty("exact", (5.0, 5.0), (1.0, 1.0), (2, 2), (3.0, 3.0))
    before = RemainingUncertainty("bounds", (1.0, 9.0), (0.2, 1.8), (0, 4), (0.0, 7.0))
    after = RemainingUncertainty("bounds", (2.0, 8.0), (0.4, 1.6), (0, None), (1.0, 6.0))
    one, other, both = mutual_bounds(alone, before, after)
    assert one == alone
    assert (other.log2_datasets, other.bits_left_per_person) == ((2.0, 9.0), (0.4, 1.8))
    assert both == RemainingUncertainty("bounds", (2.0, 5.0), (0.4, 1.0), (2, None), (1.0, 3.0))
    clash = RemainingUncertainty("unsat")
    assert mutual_bounds(alone, before, clash) == (alone, before, clash)


def test_earlier_releases_that_clash_are_named(tmp_path):
    first = written(tmp_path, "march.json", [tree({"smoker": 1}, [2, 3])])
    second = written(tmp_path, "april.json", [tree({"smoker": 1}, [3, 3])])
    registered(tmp_path / "r", first, second)
    found = adding(tmp_path / "r", written(tmp_path, "may.json", [tree({"age": "old"}, [3, 2])]))
    assert found.contradicts
    assert found.sentences[0].startswith("The earlier releases contradict each other already")


def test_domains_that_disagree_are_refused_with_advice(tmp_path):
    other = {"attributes": [{"name": "smoker", "values": [0, 1, 2]}]}
    registered(tmp_path / "r", written(tmp_path, "march.json", [tree({"smoker": 1}, [2, 3])], domain=other))
    with pytest.raises(ReleaseError, match=r"the attribute 'smoker' has .* give it with --domain"):
        adding(tmp_path / "r", written(tmp_path, "new.json", [tree({"smoker": 1}, [2, 3])]))


def test_releases_with_different_attributes_share_one_domain(tmp_path):
    only_smoker = {"attributes": DOMAIN["attributes"][:1]}
    registered(tmp_path / "r", written(tmp_path, "march.json", [tree({"smoker": 1}, [2, 3])], domain=only_smoker))
    found = adding(tmp_path / "r", written(tmp_path, "new.json", [tree({"age": "old"}, [2, 3])]))
    assert found.before.log2_datasets == pytest.approx((math.log2(math.comb(4, 2) * math.comb(5, 3)),) * 2)


def test_the_number_of_rows_may_stand_in_the_register(tmp_path):
    rule = {"kind": "rule_set", "rules": [{"if": {"smoker": 1}, "count": 2}]}
    found = registered(tmp_path / "r", written(tmp_path, "march.json", [rule]))
    index = tmp_path / "r" / INDEX
    index.write_text("rows = 5\n" + found.text, encoding="utf-8")
    new = written(tmp_path, "new.json", [{"kind": "rule_set", "rules": [{"if": {"age": "old"}, "count": 1}]}])
    content = {"recon": 1, "domain": DOMAIN, "rows": 5, "models": [rule, json.loads(new.read_text())["models"][0]]}
    said = adding(tmp_path / "r", new)
    assert said.after.log2_datasets == pytest.approx((math.log2(oracle.count(content, "multiset")),) * 2)


def test_a_number_of_rows_in_the_register_that_no_release_has_is_a_contradiction(tmp_path):
    found = registered(tmp_path / "r", written(tmp_path, "march.json", [tree({"smoker": 1}, [2, 3])]))
    (tmp_path / "r" / INDEX).write_text("rows = 6\n" + found.text, encoding="utf-8")
    said = adding(tmp_path / "r", written(tmp_path, "new.json", [tree({"age": "old"}, [2, 3])]))
    assert said.contradicts
    assert said.conflict == ("all files: 5 rows", "the new release: 5 rows", "register.toml: 6 rows")


def test_several_new_files_and_known_columns(tmp_path):
    registered(tmp_path / "r", written(tmp_path, "march.json", [tree({"smoker": 1}, [2, 3])]))
    new = [written(tmp_path, f"new{i}.json", [tree({"age": a}, c)]) for i, (a, c) in enumerate(
        (("old", [2, 3]), ("young", [3, 2])))]  # fmt: skip
    found = adding(tmp_path / "r", *new)
    assert len(found.release.models) == 3
    people = tmp_path / "people.csv"
    people.write_text("smoker\n1\n1\n0\n0\n0\n", encoding="utf-8")
    known = load(*map(str, new), known_columns=str(people))
    register = Register.read(tmp_path / "r")
    with_it = adds(known, register, Limits(seconds=60))
    assert with_it.release.known is not None
    assert with_it.after.log2_datasets[1] <= found.after.log2_datasets[1]
    assert joined_release(known, register, Limits()).statements.rows.low == 5


def test_standard_input_cannot_be_joined(tmp_path):
    registered(tmp_path / "r", written(tmp_path, "march.json", [tree({"smoker": 1}, [2, 3])]))
    new = load(str(written(tmp_path, "new.json", [tree({"age": "old"}, [2, 3])])))
    from dataclasses import replace

    for files in (("-",), ()):  # or made by a program
        with pytest.raises(ReleaseError, match="save it"):
            adds(replace(new, files=files), Register.read(tmp_path / "r"), Limits())


@pytest.mark.parametrize("stopped", [True, False])
def test_limits_leave_bounds_or_say_so(tmp_path, stopped):
    limits = Limits() if stopped else Limits(cells=1)
    if stopped:
        limits.stop.set()
    registered(tmp_path / "r", written(tmp_path, "march.json", [tree({"smoker": 1}, [4, 4])]))
    new = written(tmp_path, "new.json", [tree({"age": "old"}, [5, 3])])
    found = adding(tmp_path / "r", new, limits=limits)
    content = {"recon": 1, "domain": DOMAIN, "rows": 8,
               "models": [tree({"smoker": 1}, [4, 4]), tree({"age": "old"}, [5, 3])]}  # fmt: skip
    assert found.after.status in ("bounds", "unknown")
    low, high = found.after.log2_datasets or (0.0, None)
    truth = math.log2(oracle.count(content, "multiset"))
    assert low <= truth + 1e-9
    assert high is None or truth <= high + 1e-9
    assert found.after.pinned is None or found.after.pinned[0] == 0
    assert (found.differences.groups, found.differences.in_all) == ((), None)
    assert not any("no further group" in line for line in found.sentences)
    assert any(word in line for line in found.sentences for word in ("could not be worked out", "bounds", "at least"))


def test_noisy_counts_hold_at_a_confidence(tmp_path):
    noisy = json.loads((RELEASES / "noisy_tree.json").read_text(encoding="utf-8"))
    registered(tmp_path / "r", str(RELEASES / "noisy_tree.json"))
    leaves_of = {"kind": "tree", "nodes": [{"count": 60}]}
    new = written(tmp_path, "new.json", [leaves_of], domain=noisy["domain"])
    found = adding(tmp_path / "r", new)
    assert any("at confidence 0.95" in line for line in found.sentences)


def coarser(content):
    """Return a tree with its first two sibling leaves merged, and the counts of both."""
    nodes = content["models"][0]["nodes"]
    at = next(i for i, n in enumerate(nodes) if "if" in n and not {"if"} & {*nodes[n["then"]], *nodes[n["else"]]})
    pair = [nodes[nodes[at][side]]["counts"] for side in ("then", "else")]
    merged = [{"counts": [sum(c) for c in zip(*pair, strict=True)]} if i == at else n for i, n in enumerate(nodes)]
    gone = {nodes[at]["then"], nodes[at]["else"]}
    kept = [i for i in range(len(nodes)) if i not in gone]
    new = {old: k for k, old in enumerate(kept)}
    lines = [{k: new[v] if k in ("then", "else") else v for k, v in merged[i].items()} for i in kept]
    return {**content, "models": [{"kind": "tree", "nodes": lines}]}


def test_a_finer_copy_of_a_real_tree_gives_away_its_leaves(tmp_path):
    fine = json.loads((RELEASES / "compas_tree.json").read_text(encoding="utf-8"))
    coarse = coarser(fine)
    for name, content in (("fine.json", fine), ("coarse.json", coarse)):
        (tmp_path / name).write_text(json.dumps(content), encoding="utf-8")
    registered(tmp_path / "r", tmp_path / "coarse.json")
    found = adding(tmp_path / "r", tmp_path / "fine.json", limits=Limits())
    logs = [recon.count(str(tmp_path / f"{name}.json"), "multiset").log2 for name in ("coarse", "fine")]
    assert [found.before.log2_datasets[0], found.alone.log2_datasets[0]] == pytest.approx(logs)
    assert found.after.log2_datasets == pytest.approx((logs[1],) * 2)
    registered(tmp_path / "q", tmp_path / "fine.json")
    again = adding(tmp_path / "q", tmp_path / "coarse.json", limits=Limits())
    assert any("adds nothing to the earlier ones" in line for line in again.sentences)
    assert again.differences.groups == ()


@pytest.mark.long
def test_two_real_models_of_the_same_rows(tmp_path):
    """The tree and the list of COMPAS that stand in examples/: nothing is lost by joining, and bounds are bounds."""
    registered(tmp_path / "r", str(RELEASES / "compas_tree.json"))
    new = recon.load(str(RELEASES / "compas_rule_list.json"))
    found = adds(new, Register.read(tmp_path / "r"), Limits(seconds=60.0))
    single = [recon.count(str(RELEASES / f"compas_{name}.json"), "multiset").log2 for name in ("tree", "rule_list")]
    assert [found.before.log2_datasets[0], found.alone.log2_datasets[0]] == pytest.approx(single)
    assert found.after.log2_datasets[0] <= found.after.log2_datasets[1] < single[0]
    assert found.after.pinned == (0, 0)
    assert found.release.rows.low == 7214


# ---------------------------------------------------------------- the page


def test_the_page_says_what_happens(tmp_path, monkeypatch, capsys):
    """What docs/register.md shows is what is printed: its files, its command, its Python, its contradiction."""
    page = (Path(__file__).parents[1] / "docs" / "register.md").read_text(encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    for name, content in re.findall(r"<!-- file: (\S+) -->\n```json\n(.*?)```", page, re.DOTALL):
        (tmp_path / name).write_text(content, encoding="utf-8")
    ((line, printed), _) = re.findall(r"```console\n\$ recon (.*?)\n(.*?)```", page, re.DOTALL)
    code, out, err = run(capsys, *shlex.split(line))
    assert (code, err + out) == (0, printed)
    (program,), (said, _, clash, opening) = (
        re.findall(rf"```{kind}\n(.*?)```", page, re.DOTALL) for kind in ("python", "text")
    )
    exec(program, {})
    assert capsys.readouterr().out == said
    april = json.loads((tmp_path / "march.json").read_text(encoding="utf-8"))
    april["rows"] = 61
    april["models"][0]["statements"][0]["count"] += 1
    (tmp_path / "april.json").write_text(json.dumps(april), encoding="utf-8")
    assert adding("released", "april.json").sentences[0] + "\n" == clash
    (line,) = re.findall(r"^recon (audit april.*)$", page, re.MULTILINE)
    assert opening in run(capsys, *shlex.split(line))[1]
    (line,) = re.findall(r"^recon (register .* --added 1)$", page, re.MULTILINE)
    assert run(capsys, *shlex.split(line))[0] == 0
    assert Register.read("released").entries[1].origin == "march"
    (toml,) = re.findall(r"```toml\n(.*?)```", page, re.DOTALL)
    assert parse_index(toml, "page").entries[0].sha256 == sha256("released/march.json")


def test_what_is_not_bounded_above_is_no_gain():
    """Bits that all releases leave may have no bound: then nothing is known to be taken away."""
    before, after = (RemainingUncertainty("bounds", ends) for ends in ((10.0, 20.0), (5.0, None)))
    assert _gained(before, after, noisy=False)[0].endswith("is not decided: these are bounds.")
