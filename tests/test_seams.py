"""Where two parts of the command line meet: suffixes and formats, noise and domains read off rows, budgets, folds."""

from __future__ import annotations

import gzip
import json
import time
from pathlib import Path

import pytest
from extras import run

from recon.io.files.opening import budget_within
from recon.readers.formats.boosters import pickled
from recon.readers.frames.selections import read_table
from recon.readers.stored.pickled.stored_files import open_stored
from solvers.foundation.errors import ReleaseError

HERE = Path(__file__).parent
TWO = str(HERE.parent / "examples" / "releases" / "two_trees.json")
MODELS = HERE / "golden" / "models"
AGES = ["age:<20", "age:20-30", "age:>30"]


def noisy_and_data(tmp_path):
    """Return a noisy tree over bits, and rows in which three of its columns are one-hot."""
    domain = {"attributes": [{"name": n, "values": [0, 1]} for n in [*AGES, "s"]],
              "label": {"name": "y", "values": [0, 1]}, "source": "declared"}  # fmt: skip
    nodes = [{"if": {"s": 1}, "then": 1, "else": 2}, {"counts": [2, 4]}, {"counts": [4, 1]}]
    model = {"kind": "tree", "noise": {"law": "discrete_laplace", "scale": 1.0}, "nodes": nodes}
    release, data = tmp_path / "noisy.json", tmp_path / "data.csv"
    release.write_text(json.dumps({"recon": 1, "domain": domain, "rows": 12, "models": [model]}))
    rows = [[int(i % 3 == k) for k in range(3)] + [i % 2, i % 4 // 2] for i in range(12)]
    data.write_text("\n".join(",".join(map(str, row)) for row in [[*AGES, "s", "y"], *rows]) + "\n")
    return str(release), str(data)


@pytest.mark.parametrize("command", ["convert", "denoise"])
def test_beside_noisy_counts_no_note_counts_the_rows_that_a_domain_was_read_off(tmp_path, capsys, command):
    release, data = noisy_and_data(tmp_path)
    code, out, err = run(capsys, command, release, "--domain", data, "--independent-columns")
    written = json.loads(out)["domain"]
    assert code == 0
    assert written["source"] == "training data"
    assert "12 rows" not in json.dumps(written)
    assert "not covered by the noise" in err
    assert any("independent bit" in note for note in written["notes"])
    kept = tmp_path / "domain.json"  # by way of a file of its own, too
    assert run(capsys, "domain", data, "--out", str(kept))[0] == 0
    assert "12 rows" in kept.read_text()
    code, out, err = run(capsys, command, release, "--domain", str(kept))
    assert code == 0
    assert "12 rows" not in out
    assert "not covered by the noise" in err
    declared = kept.read_text().replace('"training data"', '"declared"')  # as `learn` tells people to edit it
    kept.write_text(declared)
    code, out, err = run(capsys, command, release, "--domain", str(kept))
    assert code == 0
    assert "12 rows" not in out
    assert "notes are left out" in err
    assert "not covered by the noise" not in err
    code, out, err = run(capsys, command, release)
    assert code == 0
    assert "not covered" not in err


def test_a_suffix_in_capitals_says_the_same_format_to_the_check_the_writer_and_the_reader(tmp_path, capsys):
    table, objects, world = (str(tmp_path / name) for name in ("W.CSV", "W.JSON", "R.Json"))
    assert run(capsys, "worlds", TWO, "--out", table)[0] == run(capsys, "worlds", TWO, "--out", objects)[0] == 0
    assert run(capsys, "reconstruct", TWO, "--out", world)[0] == 0
    assert (
        len(json.loads(Path(objects).read_text())) == len(read_table(table)) == len(json.loads(Path(world).read_text()))
    )
    assert run(capsys, "domain", table)[0] == 0


def test_findings_are_not_written_under_the_name_of_another_format(tmp_path, capsys):
    for name in ("x.pdf", "x.json", "x.html"):
        code, _, err = run(capsys, "inspect", TWO, "--out", str(tmp_path / name))
        assert code == 2
        assert "is not written" in err
        assert not (tmp_path / name).exists()
    assert run(capsys, "inspect", TWO, "--json", "--out", str(tmp_path / "x.json"))[0] == 0
    assert run(capsys, "inspect", TWO, "--out", str(tmp_path / "x.txt"))[0] == 0


def test_facts_of_an_unknown_number_of_rows_are_written_in_the_format_asked_for(tmp_path, capsys):
    domain = {"attributes": [{"name": "<b>", "values": [0, 1]}], "source": "declared"}
    models = [{"kind": "table", "statements": [{"where": {"<b>": 1}, "count": 3}]}]
    release = tmp_path / "open.json"
    release.write_text(json.dumps({"recon": 1, "domain": domain, "models": models}))
    for suffix in ("html", "md", "json", "txt"):
        path = tmp_path / f"facts.{suffix}"
        assert run(capsys, "audit", str(release), "--out", str(path))[0] == 4
        text = path.read_text()
        assert "exactly 3 rows" in text
        assert path.stat().st_mode & 0o77 == 0
        if suffix == "html":
            assert text.startswith("<!doctype html>")
            assert "<b>" not in text
        if suffix == "md":
            assert text.startswith("# Facts of")
            assert "<b>" not in text
        if suffix == "json":
            assert json.loads(text)["status"] == "unbounded"


def test_independent_columns_hold_for_a_domain_of_a_file_and_a_label_is_a_tables(tmp_path, capsys):
    _, data = noisy_and_data(tmp_path)
    grouped, bits = str(tmp_path / "grouped.json"), str(tmp_path / "bits.json")
    assert run(capsys, "domain", data, "--out", grouped)[0] == 0
    assert run(capsys, "domain", grouped, "--independent-columns", "--out", bits)[0] == 0
    learned = tmp_path / "list.json"
    arguments = ("learn", "greedy-rule-list", data, "--domain", grouped, "--independent-columns", "--out", str(learned))
    assert run(capsys, *arguments)[0] == 0
    for path in (bits, learned):
        domain = json.loads(Path(path).read_text())["domain"]
        assert sorted(a["name"] for a in domain["attributes"]) == sorted([*AGES, "s"])
    code, _, err = run(capsys, "domain", grouped, "--label", "y")
    assert code == 2
    assert "--label" in err


def test_options_that_cannot_hold_together_are_refused(tmp_path, capsys):
    _, data = noisy_and_data(tmp_path)
    for option in (("--rows", "5"), ("--independent-columns",)):
        code, out, err = run(capsys, "convert", TWO, "--data", data, *option)
        assert (code, out) == (2, "")
        assert "--data counts the rows" in err
    code, _, err = run(capsys, "domain", str(MODELS / "sklearn-1.9.1" / "forest.pkl"))
    assert code == 0
    assert "assumed for want" in err
    assert "assumed: assumed" not in err


def test_boosters_inside_pickles_draw_on_the_running_budget():
    stored = open_stored((MODELS / "catboost-1.2.10" / "binary.pkl").read_bytes(), 1 << 30)
    assert stored is not None
    model = stored.root
    assert pickled.read(model, "pickle").origin.format == "CatBoost, .cbm in a pickle"
    with budget_within(1_000), pytest.raises(ReleaseError, match="--memory"):
        pickled.read(model, "pickle")


def test_what_is_answered_instead_has_the_rest_of_the_time(monkeypatch, capsys):
    """Its clock began before the file was read the first time, not after."""
    from recon.readers.loading import loading
    from recon.report import stored_report

    begun, read, load = [], [], loading.load

    def loaded(*args, **more):
        read.append(time.monotonic())
        return load(*args, **more)

    monkeypatch.setattr(loading, "load", loaded)
    monkeypatch.setattr(stored_report, "_stored_report", lambda files, error, limits: begun.append(limits.started))
    run(capsys, "audit", str(MODELS / "leaky" / "KNeighborsClassifier.pkl"), "--time", "30")
    assert len(begun) == len(read) == 1
    assert begun[0] <= read[0]


@pytest.mark.slow
def test_a_file_is_inspected_before_its_leaf_values_take_the_time(monkeypatch, capsys):
    """What leaf values prove may take all of `--time`; what the file stores outright is known before."""
    from recon.readers.loading import settled
    from recon.release.auditing import auditing

    order, inspect, strengthened = [], auditing.inspect, settled.strengthened
    monkeypatch.setattr(auditing, "inspect", lambda *args: order.append("inspect") or inspect(*args))
    monkeypatch.setattr(settled, "strengthened", lambda *args: order.append("leaf values") or strengthened(*args))
    code, out, _ = run(
        capsys, "audit", "examples/releases/boosted_model.txt", "--domain", "examples/boosted_domain.json"
    )
    assert code == 0
    assert order[:2] == ["inspect", "leaf values"]
    assert "not inspected" not in out


@pytest.mark.parametrize(("content", "words"), [
    (b"\x1f\x8b\x08\x00\x00\x00\x00\x00\x00\x03garbagegarbage", "cannot be unpacked: its gzip data are damaged"),
    (gzip.compress(b"\x80\x05\x95\x00a,b", mtime=0), "is not a table: its bytes are no text (give a CSV, Parquet"),
    (gzip.compress("a,b\nKöln,1\n".encode("cp1252"), mtime=0), "is text, but not in UTF-8: save it as UTF-8"),
    (gzip.compress(b"a,b\n1,2\n", mtime=0)[:20], "is cut off: "),
    (gzip.compress(b'a,"b\n1,2\n', mtime=0), "is not a table: "), (b"", "the file is empty"),
])  # fmt: skip
def test_rows_to_search_for_that_cannot_be_read_are_refused_by_name(content, words, tmp_path, capsys):
    rows = tmp_path / "rows.csv.gz"
    rows.write_bytes(content)
    code, _, err = run(capsys, "inspect", "examples/releases/compas_tree.json", "--data", str(rows))
    assert code == 3
    assert err.startswith(f"recon: {rows}: {words}")


def test_people_saved_as_unicode_text_are_read(tmp_path):
    """Spreadsheets on Windows write "Unicode Text" and R's fileEncoding in UTF-16, with a mark."""
    people = tmp_path / "people.csv"
    people.write_bytes("age,city\n40,Köln\n".encode("utf-16"))
    assert read_table(str(people)).to_dict("records") == [{"age": "40", "city": "Köln"}]
