"""Names, values and paths that want to be more than text: whatever a command prints, they stay on their line."""

from __future__ import annotations

import ast
import json
import re
import unicodedata
from pathlib import Path

import pytest
from extras import run
from sources import SOURCES, nodes_of

from solvers.foundation.displayed import escape_text, html, json_shown, markdown, quote

ROOT = Path(__file__).parents[1]
FORGED = "certified (regions): some training row has name = Alice"
HOSTILE = f"old\n{FORGED}\r\x1b[31m\x9b2J\u202e\u2066\u200b\u2028\u061c\x00\x07\t|<b>*_x_`[y](http://e.test)"


def release(noise: bool = False) -> dict:
    leaves = [{"counts": [1, 1]}, {"counts": [0, 1]}]
    attributes = [{"name": HOSTILE, "values": [HOSTILE, "young"]}, {"name": "age", "values": [0, 1]}]
    domain = {"attributes": attributes, "label": {"name": f"y{HOSTILE}", "values": [0, 1]}, "source": "declared"}
    tree = {"kind": "tree", "name": HOSTILE, "nodes": [{"if": {HOSTILE: HOSTILE}, "then": 1, "else": 2}, *leaves]}
    if noise:
        tree["noise"] = {"law": "discrete_laplace", "scale": 1}
    table = {
        "kind": "table",
        "name": HOSTILE,
        "statements": [{"where": {HOSTILE: HOSTILE}, "count": 2, "name": HOSTILE}],
    }
    return {"recon": 1, "rows": 3, "domain": domain, "models": [tree] if noise else [tree, table]}


def harmless(text: str, what: object) -> None:
    """Demand that nothing in a text acts, hides or starts a line that the program did not mean."""
    odd = {c for c in text if unicodedata.category(c) in {"Cc", "Cf", "Cs", "Zl", "Zp"}} - {"\n"}
    assert not odd, (what, odd)
    assert not any(line.strip().startswith(FORGED) for line in text.splitlines()), (what, text)


@pytest.fixture
def files(tmp_path):
    """Return files with hostile names and hostile content."""
    folder = tmp_path / "a\n\x1b[31m\u202eb"
    folder.mkdir()
    out = {
        "folder": folder,
        "release": folder / "r\n.json",
        "noisy": folder / "n\r.json",
        "people": folder / "p\x9b.csv",
    }
    out["release"].write_text(json.dumps(release()), encoding="utf-8")
    out["noisy"].write_text(json.dumps(release(noise=True)), encoding="utf-8")
    quoted = HOSTILE.replace('"', '""')
    out["people"].write_text(f'"{quoted}",age\n"{quoted}",0\nyoung,1\n', encoding="utf-8", newline="")
    return {name: str(path) for name, path in out.items()}


@pytest.mark.slow
def test_no_command_prints_what_others_wrote_as_it_is(files, capsys):
    path, noisy, people, seen = files["release"], files["noisy"], files["people"], 0
    where = json.dumps({HOSTILE: HOSTILE})
    tables = [("worlds", path), ("sample", path), ("reconstruct", path), ("certify", path, "--profiles", people),
              ("attribute", path, "--profiles", people, "--sensitive", f"y{HOSTILE}"), ("table", path),
              ("posterior", noisy)]  # fmt: skip
    others = [("count", path), ("count", noisy), ("audit", path), ("audit", path, "--json"), ("inspect", path),
              ("inspect", path, "--json"), ("convert", path), ("domain", path), ("bound", path, "--where", where),
              ("denoise", noisy), ("export", path, "--to", "dimacs", "--out", "-"),
              ("export", path, "--to", "mps", "--out", "-"), ("export", path, "--to", "opb", "--out", "-"),
              ("audit", noisy), ("audit", noisy, "--json"), ("count", path, "--log-json")]  # fmt: skip
    for command in [*tables, *others]:
        code, out, err = run(capsys, *command)
        assert code in {0, 4}, (command, err)
        harmless(err, command)
        if command in others:
            harmless(out, command)
        elif "--json" not in command:  # tables are data; as JSON nothing hidden stands as it is
            code, out, err = run(capsys, *command, "--json")
            assert code in {0, 4}
            assert json.loads(out)
            harmless(out + err, command)
        seen += 1
    assert seen == len(tables) + len(others)


def test_no_refusal_prints_what_others_wrote_as_it_is(files, capsys):
    path, people = files["release"], files["people"]
    missing = str(Path(files["folder"]) / f"none\n{FORGED}")
    bad = Path(files["folder"]) / "bad\n.csv"
    bad.write_text(f'"{HOSTILE}"\n"{HOSTILE}x"\n'.replace("\x00", ""), encoding="utf-8", newline="")
    cases = [
        ("count", missing), ("verify", missing), ("inspect", missing), ("convert", missing), ("count", people),
        ("certify", path, "--profiles", missing), ("certify", path, "--profiles", str(bad)),
        ("count", path, "--convention", HOSTILE), ("bound", path, "--where", HOSTILE),
        ("export", path, "--to", HOSTILE, "--out", "-"),
        ("count", path, "--domain", missing), ("attribute", path, "--profiles", people, "--sensitive", HOSTILE + "z"),
        ("count", path, HOSTILE.replace("\x00", "")),  # no argument of a program holds a zero
        (HOSTILE,), ("count", path, f"--{HOSTILE}"), ("learn", "greedy-rule-list", missing),
        ("worlds", path, "--out", f"{missing}/x.csv"), ("bound", path, "--where", "{}", "--of", HOSTILE),
    ]  # fmt: skip
    for command in cases:
        code, out, err = run(capsys, *command)
        assert code in {2, 3, 4}, (command, code, out, err)  # 4: a profile outside the domain
        harmless(out + err, command)


def test_verify_prints_no_line_that_it_did_not_mean(files, capsys, tmp_path):
    path, people, result = files["release"], files["people"], tmp_path / "result.json"
    assert run(capsys, "certify", path, "--profiles", people, "--json", "--out", str(result))[0] == 0
    lines = json.loads(result.read_text(encoding="utf-8"))
    assert lines[0]["profile_values"] == {HOSTILE: HOSTILE, "age": 0}
    forged = {
        FORGED: lines[0],
        f"q{' ' * 200}{FORGED}": {"verdict": "certain"},
        f"x\n{FORGED}": {**lines[1], "verdict": f"certain\n{FORGED}", f"\n{FORGED}": 3},
        "y": {"verdict": "certain", "certificate": {**(lines[0]["proofs"][0]), "seal": f"\n{FORGED}"}},
        "z": {"certificate": {"recon_certificate": 1, "claim": {f"\n{FORGED}": 1}, "proof": {"kind": f"\n{FORGED}"}}},
        "pad": {"verdict": "certain", "certificate": {"recon_certificate": 1, "claim": {"at_least": 1,
                "profile": {"a": "x" + " " * 200 + FORGED}}}},
    }  # fmt: skip
    changed = tmp_path / "changed.json"
    for data, options in (
        (lines, ()),
        (lines, ("--steps",)),
        (forged, ()),
        (forged, ("--steps",)),
        (forged, ("--json",)),
    ):
        changed.write_text(json.dumps(data), encoding="utf-8")
        code, out, err = run(capsys, "verify", str(changed), path, *options)
        assert code == (1 if data is forged else 0), out + err
        harmless(out + err, options)
        assert "   " not in out.replace("\n ", "") or "--steps" in options or "--json" in options


def test_reports_escape_markdown_and_html(files, capsys, tmp_path):
    for ending in ("md", "html", "txt"):
        out = tmp_path / f"report.{ending}"
        code, _, err = run(capsys, "audit", files["release"], "--out", str(out))
        if ending == "txt" and code == 3:  # an ending that is refused
            continue
        assert code == 0, err
        text = out.read_text(encoding="utf-8")
        harmless(text, ending)
        if ending != "txt":
            assert "<b>" not in text
        if ending == "md":
            assert "\\[y\\](" in text
            own = r"(`+).*?\1|(?m:^\|(?:---\|)+$|^\| | \|$)| \| |\*\*"  # the report's code, tables, bold
            assert not re.search(r"(?<!\\)[|*`\[]", re.sub(own, "", text))


def test_what_the_functions_return():
    assert escape_text("a\nb\x1b\u202e\ud800\U000e0041") == "a\\x0ab\\x1b\\u202e\\ud800\\U000e0041"
    assert escape_text("naïve Größe 漢字 العربية ½") == "naïve Größe 漢字 العربية ½"
    assert quote(" a  b ") == "\\x20a \\x20b\\x20"
    assert len(quote("x" * 10_000)) < 250
    assert html('<a href="\x1b">') == "&lt;a href=&quot;\\x1b&quot;&gt;"
    assert markdown("# a_b _c_ 1. <i>") == "\\# a_b \\_c\\_ 1. \\<i\\>"
    assert markdown("- x") == "\\- x"
    assert markdown("1. x") == "1\\. x"
    value = {"k\u2028\x9b": ["\u202e\U000e0041", "é\n\t"], "n": 1.5}
    text = json_shown(json.dumps(value, ensure_ascii=False, indent=1))
    harmless(text, "JSON")
    assert json.loads(text) == value


def _may_print(called: ast.expr) -> bool:
    """Return whether what is called has the name of something that prints."""
    return getattr(called, "attr", getattr(called, "id", "")) in {"print", "write", "writelines"}


def test_text_is_printed_in_one_place():
    """Every line for people goes through `recon.io.console.output.print_lines`."""
    found = []
    for path in SOURCES:
        for node in nodes_of(path):
            name = ast.unparse(node.func) if isinstance(node, ast.Call) and _may_print(node.func) else ""
            if name == "print" or name.startswith(("sys.stdout.write", "sys.stderr.write")):
                found.append(f"{path.relative_to(ROOT)}: {name}")
    allowed = {
        "recon/io/console/output.py: print",
        "recon/io/console/output.py: sys.stdout.write",
        "recon/__main__.py: print",
    }
    allowed |= {"recon/models/exporting.py: sys.stdout.writelines"}
    assert set(found) <= allowed
