"""Benches: what got worse is said, results are kept and read back, and what the documentation names is there."""

from __future__ import annotations

import json
import re
import sys
from dataclasses import replace
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
BENCH = ROOT / "tests" / "bench"
sys.path.append(str(BENCH))

import harness  # noqa: E402
import tables  # noqa: E402
from records import ORDER, Line, Results, Spent, worse  # noqa: E402

SECOND = Spent(1.0, 1.0, 3, 100, 200)


def line(name="job: a", cpu=1.0, peak=200, baseline="plain", **facts):
    """Return a line whose baseline takes two seconds."""
    return Line(name, replace(SECOND, cpu=cpu, peak=peak), baseline, Spent(2.0, 2.0, 3, 100, 130), **facts)


def told(old, new):
    return [one.partition(": ")[2] for one in worse("x", old.record(), new.record())]


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ({}, {}, []),
        ({}, {"cpu": 1.4}, []),
        ({}, {"cpu": 1.6}, ["ratio 0.5 -> 0.8"]),
        ({"cpu": 0.01}, {"cpu": 0.035}, []),  # milliseconds
        ({"cpu": 0.01}, {"cpu": 0.05}, ["ratio 0.005 -> 0.025"]),
        ({}, {"cpu": 9.0, "baseline": "another"}, []),
        ({}, {"cpu": 0.1, "peak": 110}, []),
        ({}, {"peak": 240}, []),
        ({}, {"peak": 260}, ["memory of the work 100 MB -> 160 MB"]),
        ({}, {"peak": 400}, ["peak 200 MB -> 400 MB", "memory of the work 100 MB -> 300 MB"]),
        ({"more": {"rows": 7, "status": "exact"}}, {"more": {"rows": 7, "status": "exact"}}, []),
        ({"more": {"rows": 7}}, {"more": {"rows": 6}}, ["rows 7 -> 6"]),
        ({"more": {"rows": 7}}, {"more": {}}, ["rows 7 -> None"]),
        ({"more": {"share": 1.0}}, {"more": {"share": 0.96}}, []),
        ({"more": {"share": 1.0}}, {"more": {"share": 0.94}}, ["share 1.0 -> 0.94"]),
        ({"more": {"bound": -10.0}}, {"more": {"bound": -10.4}}, []),
        ({"more": {"bound": -10.0}}, {"more": {"bound": -10.6}}, ["bound -10.0 -> -10.6"]),
        ({"more": {"status": "bounds"}}, {"more": {"status": "exact"}}, []),
        ({"more": {"status": "exact"}}, {"more": {"status": "bounds"}}, ["status exact -> bounds"]),
        ({"less": {"gap": 0.5}}, {"less": {"gap": 0.2}}, []),
        ({"less": {"gap": 0.5}}, {"less": {"gap": 0.6}}, ["gap 0.5 -> 0.6"]),
        ({"same": {"log2": 46604.0}}, {"same": {"log2": 46604.01}}, []),
        ({"same": {"log2": 46604.0}}, {"same": {"log2": 46604.1}}, ["log2 46604.0 -> 46604.1"]),
        ({"same": {"worlds": 2}}, {"same": {"worlds": 1}}, ["worlds 2 -> 1"]),
        ({"said": {"limit": 60}}, {"said": {}}, []),
    ],
)
def test_what_got_worse(old, new, said):
    assert told(line(**old), line(**new)) == said


def one_line(cpu=1.0, names=("job",)):
    """A job."""
    return [line(name, cpu, more={"status": "exact"}) for name in names]


def broken():
    """A job that fails."""
    raise ValueError("no data")


def run(results, jobs, *arguments):
    """Return the exit status of a bench whose jobs run in this process."""
    with pytest.MonkeyPatch.context() as patch:
        for name in harness.ONE_THREAD:
            patch.setenv(name, "2")  # put back afterwards
        patch.setattr(harness, "lines_of", lambda job: job.run(*job.arguments))
        with pytest.raises(SystemExit) as stop:
            harness.main("made", jobs, list(arguments), results)
    return stop.value.code


def test_results_are_kept_and_compared(tmp_path, capsys):
    job = harness.Job
    long = job(one_line, (3.0, ("long: a", "long: b")), quick=False)
    assert run(Results("made", tmp_path), {"job": job(one_line), "long": long}) == 0
    kept = json.loads((tmp_path / "made.json").read_text(encoding="utf-8"))
    assert list(kept["lines"]) == ["job", "long: a", "long: b"]
    first = kept["lines"]["job"]
    assert (first["ratio"], first["peak_mb"], first["baseline_mb"], first["more"]) == (
        0.5,
        200,
        30,
        {"status": "exact"},
    )
    assert set(kept["environments"]) == {first["environment"]}
    assert {"numpy", "ortools"} <= set(kept["environments"][first["environment"]]["versions"])
    capsys.readouterr()

    slow = {"job": job(one_line, (2.0,)), "long": job(one_line, (3.0, ("long: a",)), quick=False)}
    assert run(Results("made", tmp_path), slow, "--check", "--quick") == 1
    assert "REGRESSION job: ratio 0.5 -> 1\n" in capsys.readouterr().out
    assert run(Results("made", tmp_path), {**slow, "job more": slow["job"]}, "--check", "--lines", "lo") == 1
    assert "REGRESSION long: b: is gone\n" in capsys.readouterr().out
    assert json.loads((tmp_path / "made.json").read_text(encoding="utf-8")) == kept

    assert run(Results("made", tmp_path), slow, "--quick") == 0
    again = json.loads((tmp_path / "made.json").read_text(encoding="utf-8"))["lines"]
    assert again["job"]["ratio"] == 1.0
    assert again["long: b"] == kept["lines"]["long: b"]
    assert run(Results("made", tmp_path), {"job": job(one_line)}) == 0
    assert list(json.loads((tmp_path / "made.json").read_text(encoding="utf-8"))["lines"]) == ["job"]
    missing = job(one_line, needs=("no_such_package",))
    assert run(Results("made", tmp_path), {"job": missing}, "--check") == 0
    assert "LEFT OUT job: needs no_such_package\n" in capsys.readouterr().out


def test_a_job_that_fails_is_named_and_keeps_its_lines():
    found = harness.Spent(1.0, 1.0, 1, 0, 0)
    assert found.found is None
    sent = []
    harness.aside(type("Pipe", (), {"send": staticmethod(sent.append)}), harness.Job(broken))
    assert sent == ["ValueError: no data"]


def test_measured_work_is_repeated_and_weighed():
    made = []
    found = harness.measured(lambda given: made.append(given) or bytearray(60 << 20), lambda: len(made), repeats=3)
    assert made == [0, 1, 2]
    assert found.repeats == 3
    assert found.peak - found.before >= 50 or found.peak == found.before  # where the system tells no more
    assert len(found.found) == 60 << 20
    assert harness.unsettled([0.01] * 20)
    assert not harness.unsettled([6.0])
    child = harness.command([sys.executable, "-S", "-c", "print(len(bytearray(50 << 20)))"])
    assert child.found == f"{50 << 20}\n"
    assert child.peak > 50


KEPT = sorted((BENCH / "results").glob("*.json"))


@pytest.mark.parametrize("path", KEPT, ids=lambda path: path.stem)
def test_committed_results_are_whole(path):
    kept = json.loads(path.read_text(encoding="utf-8"))
    assert kept["bench"] == path.stem
    assert kept["lines"]
    for name, one in kept["lines"].items():
        assert one["cpu"] > 0, name
        assert one["ratio"] == pytest.approx(one["cpu"] / one["baseline_cpu"], rel=0.05), name
        assert one["baseline"], name
        assert one["peak_mb"] >= one["before_mb"] >= 0, name
        assert one["environment"] in kept["environments"], name
        words = [v for part in ("more", "less") for v in one.get(part, {}).values() if isinstance(v, str)]
        assert set(words) <= set(ORDER), name
        assert not worse(name, one, one)


def test_tables_of_the_documentation_are_those_of_the_results():
    for page in (ROOT / "docs").glob("*.md"):
        text = page.read_text(encoding="utf-8")
        assert tables.filled(text) == text, f"{page.name}: python tests/bench/tables.py"
        marks = re.findall(r"^<!-- (results of|end of results)", text, re.MULTILINE)
        assert marks == ["results of", "end of results"] * len(tables.BLOCK.findall(text))


def test_the_picture_of_the_balance_is_drawn_from_the_results(capsys):
    import balance

    balance.draw()
    picture = capsys.readouterr().out
    assert picture == (ROOT / "docs" / "balance-curve.svg").read_text(encoding="utf-8")
    assert picture.count("<circle") == 2 * len(balance.SIZES) * len(balance.BALANCES)
    assert "prefers-color-scheme: dark" in picture
    assert "(balance-curve.svg)" in (ROOT / "docs" / "random-forest.md").read_text(encoding="utf-8")


def test_tables_are_sorted_and_say_what_a_line_reached(tmp_path, monkeypatch):
    monkeypatch.setattr(tables, "RESULTS", tmp_path)
    results = Results("made", tmp_path)
    results.take("b 1,000", [line("b 1,000", more={"rows": 1_000, "all": True}, said={"each": (1, 2.5)})])
    results.take("b 20", [line("b 20", less={"gap": 0.5})])
    results.take("c", [line("c", baseline="other")])
    results.write()
    text = tables.filled("<!-- results of made: b -->\nold\n<!-- end of results --> after")
    assert "|  | CPU s | ÷ plain | peak MB (before) | gap | rows | all | each |" in text
    assert "| 20 | 1.00 | 0.50 | 200 (100) | 0.5 |  |  |  |\n| 1,000 | 1.00 | 0.50 | 200 (100) |  | 1,000 |" in text
    assert text.endswith("<!-- end of results --> after")
    assert "| c | 1.00 | 0.50 (other) |" in tables.table("made")


def test_every_script_that_is_named_is_there_and_has_results():
    benches = re.search(r"^BENCHES\s*:?=\s*((?:.*\\\n)*.*)$", (ROOT / "Makefile").read_text(encoding="utf-8"), re.M)
    assert benches is not None
    names = benches[1].replace("\\", " ").split()
    assert set(names) <= {path.stem for path in KEPT}
    for page in (ROOT / "README.md", *(ROOT / "docs").glob("*.md")):
        for name in re.findall(r"\btests/bench/([a-z_]+)\.py", page.read_text(encoding="utf-8")):
            assert (BENCH / f"{name}.py").exists(), f"{page.name}: {name}"
    for name in names:
        assert f'    main("{name}", JOBS)\n' in (BENCH / f"{name}.py").read_text(encoding="utf-8"), name
