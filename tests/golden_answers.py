"""The stored answers: what every command prints on every release and model file of the suite, against what it printed.

`python -m tests.golden_answers` compares all with what is stored (`--write`: stores it anew; `--only TEXT`: the cases
whose name has this text). A change of the sources that shall change no answer changes nothing here; one that shall is
reviewed by the differences (case, key, before, now) and stored anew. Commands run in one process, files in an empty
folder. Normalised are versions, dates, seconds and paths; numbers are kept to nine digits; long lists and texts are
kept by hash, the keys around them in full. Under other versions of the solvers exit codes and keys alone are compared.
"""

from __future__ import annotations

import argparse
import contextlib
import copy
import csv
import dataclasses
import functools
import gc
import gzip
import hashlib
import importlib.metadata
import io
import json
import os
import platform
import re
import resource
import shutil
import signal
import sys
import tempfile
import time
from collections.abc import Collection, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import typer.main

import recon
import recon.cli.app
from solvers.statements.release import Statement

ROOT = Path(__file__).resolve().parents[1]
STORED = Path(__file__).parent / "golden_answers.json.gz"
RELEASES = sorted([*(ROOT / "examples" / "releases").glob("*.*"), *(ROOT / "tests" / "golden").glob("*.json")])
MODELS = sorted(
    path
    for room in ("models", "boosted", "inspect", "honest", "readers")
    for path in (ROOT / "tests" / "golden" / room).rglob("*.*")
    if path.suffix not in {".py", ".sh", ".R", ".md", ".csv"} and path.name not in {"index.json", "verdicts.json"}
) + [ROOT / "tests" / "corpus" / name for name in ("lm_summary.rds", "statsmodels_ols.pkl")]
CHANGING = {"seconds", "cpu_seconds", "date", "version", "versions", "recon_version"}
SOLVERS = ("numpy", "scipy", "pandas", "ortools", "oxidd", "python-sat", "highspy", "scikit-learn", "networkx", "numba")
SLOW = {"boosted_model.txt", "compas_forest.pkl", "diabetes_forest.joblib"}  # minutes: read, inspected, planned alone
TO_STORE, TO_COMPARE = 5.0, 60.0  # seconds of CPU of one command: what takes longer is left out, by name
LEFT_OUT = {  # cases by regular expression -> why they are not stored
    r"examples/releases/adult_.*: (worlds|sample|reconstruct.*|table|labels)": "45,000 rows are written: seconds each",
    r"examples/releases/census_block.json: (reconstruct.*|certify|verify|labels|attribute)": "minutes: statements tied",
    r"examples/releases/census_block.json: (audit|report.*|gate|remedy)": "the same",
    r"examples/releases/compas_forest.json: remedy": "a minute",
    r"examples/releases/compas_tree.json: labels": "seconds",
    r".*/BernoulliNB.pkl: (audit|report.*)": "ten seconds, and what is made of the result",
}


# ---- what is asked


def asked_of_releases(path: Path) -> Iterator[tuple[str, list[str]]]:
    """Yield (name, arguments) of every command that applies to a release; `IN` is the file, `@x` a file that was made.

    Each may use what those before it wrote: the domain's file, profiles, a reconstruction, results.
    """
    yield "convert", ["convert", "IN", "--out", "@release.json"]
    yield "inspect", ["inspect", "IN", "--json"]
    yield "domain", ["domain", "IN", "--out", "@domain.json"]
    yield "plan", ["plan", "IN", "--json"]
    for convention in ("multiset", "assigned", "ordered"):
        yield f"count {convention}", ["count", "IN", "--convention", convention, "--json"]
    yield "worlds", ["worlds", "IN", "--limit", "3", "--json"]
    yield "sample", ["sample", "IN", "-k", "2", "--seed", "3", "--json"]
    yield "reconstruct", ["reconstruct", "IN", "--out", "@rows.csv"]
    yield "reconstruct json", ["reconstruct", "IN", "--json"]
    yield "table", ["table", "IN", "--json"]
    yield "certify", ["certify", "IN", "--profiles", "@profiles.csv", "--json", ">@result.json"]
    yield "verify", ["verify", "@result.json", "IN", "--json"]
    yield "attribute", ["attribute", "IN", "--profiles", "@people.csv", "--sensitive", "LAST", "--json"]
    yield "bound", ["bound", "IN", "--where", "WHERE", "--json"]
    yield "bound of", ["bound", "IN", "--where", "{}", "--of", "FIRST", "--json"]
    yield "positions", ["positions", "IN", "--json"]
    yield "labels", ["labels", "IN", "--known-columns", "@known.csv", "--json"]
    yield "posterior", ["posterior", "IN", "--draws", "20", "--json"]
    yield "denoise", ["denoise", "IN", "--json"]
    yield "sweep", ["sweep", "IN", "--epsilon", "1", "--draws", "20", "--json"]
    for form in ("dimacs", "opb", "mps", "cpsat", "graphml"):
        yield f"export {form}", ["export", "IN", "--to", form, "--out", f"@out.{form}"]
    yield "audit", ["audit", "IN", "--policy", "preset:minimum-cell-10", "--time", "none", "--json", ">@audit.json"]
    for form in ("html", "md", "txt", "sarif", "junit"):
        yield f"report {form}", ["report", "@audit.json", "--to", form]
    yield "gate", ["gate", "--policy", "preset:minimum-cell-10", "IN", "--json"]
    yield "remedy", ["remedy", "IN", "--policy", "@policy.toml", "--out", "@remedy.json", "--time", "none", "--json"]
    yield "register", ["register", "@register", "--add", "IN", "--decision", "release", "--json"]
    yield "text", ["count", "IN"]


def asked_of_models(path: Path) -> Iterator[tuple[str, list[str]]]:
    """Yield (name, arguments) of the commands that every file of the readers' tests is given."""
    yield "convert", ["convert", "IN", "--out", "@release.json"]
    yield "inspect", ["inspect", "IN", "--json"]
    yield "plan", ["plan", "IN", "--json"]


def cases(quick: bool = False) -> Iterator[tuple[str, Path | None, list[tuple[str, list[str]]]]]:
    """Yield (name, file, what is asked); all that is asked of one file is one case. Quick: some of each sort."""
    full, brief = sorted_out()
    for path in brief[:: 60 if quick else 1]:
        yield str(path.relative_to(ROOT)), path, list(asked_of_models(path))
    yield "commands without a file", None, list(asked_of_nothing())
    for path in full[:: 10 if quick else 1]:
        yield str(path.relative_to(ROOT)), path, list(asked_of_releases(path))


@functools.cache
def sorted_out() -> tuple[list[Path], list[Path]]:
    """Return the files that are given every command, and those that are given some: the first of a folder is whole."""
    slow = r"boosted|honest|catboost|lightgbm|xgboost|sklearn-1.[2346]"  # releases of boosted models stand in RELEASES
    first = {
        path.parent: path for path in reversed(MODELS) if not re.search(rf"golden/(models/)?({slow})", path.as_posix())
    }
    full = [*(path for path in RELEASES if path.name not in SLOW), *sorted(first.values())]
    return full, [path for path in [*RELEASES, *MODELS] if path not in full]


def asked_of_nothing() -> Iterator[tuple[str, list[str]]]:
    """Yield (name, arguments) of what needs no released file: schemas, policies, engines, learners, help."""
    for which in ("release", "report", "policy", "card"):
        yield f"schema {which}", ["schema", which]
    yield "engines", ["engines", "--json"]
    yield "policies", ["policy", "--list", "--json"]
    yield "policy", ["policy", "preset:minimum-cell-10", "--json"]
    yield "policy text", ["policy", "preset:minimum-cell-10"]
    yield "policy init", ["policy", "--init"]
    yield "reproduce", ["reproduce"]
    people = str(ROOT / "tests/golden/models/data/bits.csv")
    for learner in ("greedy-rule-list", "optimal-rule-list", "optimal-tree", "bayesian-rule-list"):
        yield f"learn {learner}", ["learn", learner, people, "--out", "@learned.json"]
        yield f"count {learner}", ["count", "@learned.json", "--json"]
    yield "domain of data", ["domain", people]
    for words in [[], *commands()]:
        yield " ".join(["--help", *words]), [*words, "--help"]


def commands() -> list[list[str]]:
    """Return the words of every command and group of commands."""
    top = typer.main.get_command(recon.cli.app.app)
    found = []
    for name, command in sorted(top.commands.items()):
        found.append([name])
        found.extend([name, below] for below in sorted(getattr(command, "commands", {})))
    return found


# ---- one command


class TooLong(BaseException):
    """A command takes more seconds of CPU than it may."""


def ring(*_: object) -> None:
    """End what runs."""
    raise TooLong


def run(arguments: Sequence[str], most: float) -> tuple[int | str, str, str]:
    """Run a command in this process; return its exit code, standard output and standard error."""
    out, err = (io.TextIOWrapper(io.BytesIO(), encoding="utf-8", newline="") for _ in range(2))
    before, code = sys.argv, "returned"
    sys.argv = ["recon", *arguments]
    signal.signal(signal.SIGPROF, ring)
    signal.setitimer(signal.ITIMER_PROF, most)
    try:
        with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
            recon.cli.app.main()
    except SystemExit as stop:
        code = stop.code if isinstance(stop.code, (int, str)) else 0
    except TooLong:
        code = "too long"
    except Exception as error:  # a traceback is an answer too: a wrong one, by name
        code = f"{type(error).__name__}: {error}"
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
        sys.argv = before
    texts = []
    for stream in (out, err):
        with contextlib.suppress(ValueError):
            stream.flush()
        texts.append(stream.buffer.getvalue().decode(errors="replace"))  # type: ignore[attr-defined]
    return code, *texts


# ---- what is kept of an answer


def shortened(value: Any, key: str = "") -> Any:
    """Return an answer as it is kept: its keys, its short values; of long lists and texts length and hash."""
    if key in CHANGING and value is not None:
        return f"<{key}>"
    if isinstance(value, dict):
        kept = {k: shortened(v, k) for k, v in value.items()}
        return kept if size(kept) < 6000 or key == "" else {"#": hashed(kept), "keys": sorted(kept)[:40]}
    if isinstance(value, list):
        kept_list = [shortened(v, key) for v in value]
        if size(kept_list) <= 300:
            return kept_list
        return {"#": hashed(kept_list), "length": len(value)} | columns_of(kept_list)
    if isinstance(value, float):
        return float(f"{value:.9g}")
    if isinstance(value, str):
        return value if len(value) <= 300 else f"{value[:80]} ... {len(value)} characters, {hashed(value)}"
    return value


def columns_of(lines: Sequence[Any]) -> dict[str, Any]:
    """Return a hash per key of a list of objects, so that a difference names the key; else of each."""
    if not all(isinstance(line, dict) for line in lines):
        return {"each": [hashed(line)[:6] for line in lines[:40]]}
    keys = sorted({key for line in lines for key in line})
    return {"by_key": {key: hashed([line.get(key) for line in lines])[:8] for key in keys[:40]}}


def size(value: Any) -> int:
    """Return how many characters a value takes."""
    return len(json.dumps(value))


def hashed(value: Any) -> str:
    """Return a short hash of a value."""
    text = value if isinstance(value, str) else json.dumps(value, sort_keys=True)
    return hashlib.sha256(text.encode()).hexdigest()[:12]


def normalised(text: str, folder: Path) -> str:
    """Return a text without what differs from run to run or place to place: paths, seconds, dates, the version."""
    text = text.replace(str(folder), "TMP").replace(str(ROOT), "ROOT").replace(recon.__version__, "VERSION")
    text = re.sub(r"\b\d+(\.\d+)?(e-\d+)?( ?s\b| seconds?\b)", "# s", text)
    text = re.sub(r'time="[0-9.e-]+"', 'time="#"', text)
    return re.sub(r"\b20\d\d-\d\d-\d\d([T ]\d\d:\d\d(:\d\d)?(Z|\+00:00)?)?", "DATE", text)


def kept_text(text: str) -> Any:
    """Return what is kept of an output: of JSON its keys, of a text its lines, of a long one every tenth and a hash."""
    with contextlib.suppress(ValueError):
        return shortened(json.loads(text))
    lines = text.splitlines()
    if len(text) <= 1500:
        return lines
    return {"#": hashed(text), "lines": [line[:100] for line in lines[:: max(1, len(lines) // 12)]]}


def answer(arguments: Sequence[str], folder: Path, most: float) -> dict[str, Any]:
    """Return what is kept of one command: its exit code, its output, the files it wrote, why it refused."""
    *words, to = arguments if arguments[-1].startswith(">") else [*arguments, ""]
    before = {path: path.stat().st_mtime_ns for path in folder.rglob("*") if path.is_file()}
    code, out, err = run(words, most)
    if to:
        Path(to[1:]).write_text(out, encoding="utf-8")
    found: dict[str, Any] = {"code": code, "out": kept_text(normalised(out, folder))}
    if code != 0:
        found["err"] = [line[:400] for line in normalised(err, folder).splitlines()[-3:]]
    written = {}
    for path in sorted(folder.rglob("*")):
        if path.is_file() and before.get(path) != path.stat().st_mtime_ns and str(path) != to[1:]:
            written[str(path.relative_to(folder))] = kept_file(path, folder)
    return found | ({"files": written} if written else {})


def kept_file(path: Path, folder: Path) -> Any:
    """Return what is kept of a file that a command wrote."""
    try:
        return kept_text(normalised(path.read_text(encoding="utf-8"), folder))
    except UnicodeDecodeError:
        return hashed(path.read_bytes().hex())


# ---- one file and all that is asked of it


def prepared(folder: Path) -> dict[str, str]:
    """Write profiles, people and known columns from the converted release; return the words that stand for columns."""
    release = json.loads((folder / "release.json").read_text(encoding="utf-8"))
    domain = release["domain"]
    attributes = [*domain["attributes"], *([domain["label"]] if domain.get("label") else [])]
    low = {a["name"]: a["values"][0] if "values" in a else a.get("min") for a in attributes}
    high = {a["name"]: a["values"][-1] if "values" in a else a.get("max") for a in attributes}
    names = [name for name in low if low[name] is not None and high[name] is not None]
    if not names:
        return {}
    write_table(folder / "profiles.csv", names, [low, high, {names[0]: low[names[0]]}])
    write_table(folder / "people.csv", names[:-1] or names, [low, high])
    return {"FIRST": names[0], "LAST": names[-1], "WHERE": json.dumps({names[0]: low[names[0]]})}


def write_table(path: Path, columns: Sequence[str], rows: Sequence[Mapping[str, Any]]) -> None:
    """Write these columns of the rows."""
    with path.open("w", newline="", encoding="utf-8") as stream:
        writer = csv.DictWriter(stream, columns, extrasaction="ignore")
        writer.writeheader()
        writer.writerows(rows)


def known_columns(folder: Path, label: str | None) -> None:
    """Write the features of the reconstructed rows, labels left out."""
    with (folder / "rows.csv").open(newline="", encoding="utf-8") as stream:
        rows = list(csv.DictReader(stream))
    columns = [name for name in (rows[0] if rows else {}) if name not in {label, "region", "row"}]
    write_table(folder / "known.csv", columns, rows)


def answers_of(
    path: Path | None, asked: Sequence[tuple[str, list[str]]], case: str, most: float, left: Collection[str]
) -> Iterator[tuple[str, Any, float]]:
    """Yield (name, what is kept, seconds of CPU) of all that is asked of a file but what is left out."""
    folder = Path(tempfile.mkdtemp(prefix="golden"))
    inside, before = dict.fromkeys(("FIRST", "LAST"), "no_column") | {"WHERE": "{}"}, Path.cwd()
    given = "" if path is None else os.path.relpath(path, ROOT)
    (folder / "policy.toml").write_text('name = "net"\nsmallest_group = 3\n', encoding="utf-8")
    os.chdir(ROOT)
    try:
        for name, words in asked:
            if f"{case}: {name}" in left or any(re.fullmatch(known, f"{case}: {name}") for known in LEFT_OUT):
                continue
            begun = spent()
            filled = [inside.get(w, given if w == "IN" else w) for w in words]
            ready = [re.sub(r"^(>?)@", rf"\g<1>{folder}{os.sep}", w) for w in filled]
            kept = answer(ready, folder, most)
            yield f"{case}: {name}", kept, spent() - begun
            if len(asked) > 3:
                gc.collect()  # diagrams are in circles: each keeps a thread and a gigabyte of addresses until then
            if name == "convert" and (folder / "release.json").exists():
                inside.update(prepared(folder))
            if name == "reconstruct" and (folder / "rows.csv").exists():
                known_columns(folder, inside["LAST"])
    finally:
        os.chdir(before)
        shutil.rmtree(folder, ignore_errors=True)


def spent() -> float:
    """Return the seconds of CPU of this process and those it waited for."""
    return sum(resource.getrusage(who).ru_utime for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))


# ---- statements


def fingerprint(path: Path) -> str:
    """Return a hash of the statements of a file (boxes, bounds, noise, sources), or why there are none.

    Of values alone: names of classes, fields and modules may change.
    """
    try:
        release = recon.load(path)
    except recon.ReconError as refused:
        return "refused: " + str(refused).replace(str(ROOT), "")[:120]
    digest = hashlib.sha256()
    for word in flattened(release.statements):
        digest.update(word.encode() + b"\0")
    return digest.hexdigest()[:16]


def flattened(value: Any) -> Iterator[str]:
    """Yield the parts of a value: of objects the fields that make them, in order, of sets and mappings sorted."""
    if isinstance(value, Statement) and len(value.summands) == 1 and len(value.summands[0].factors) <= 1:
        (one,) = value.summands  # as it was before statements had any coefficients: files of then have the same hashes
        if one.times == 1:
            of = one.factors[0] if one.factors else (None, ())
            for part in ("(", one.region, value.low, value.high, value.source, *of, value.coarse):
                yield from [part] if part == "(" else flattened(part)
            yield ")"
            return
    if dataclasses.is_dataclass(value):
        yield "("
        for field in dataclasses.fields(value):
            if field.init:
                yield from flattened(getattr(value, field.name))
        yield ")"
    elif isinstance(value, np.ndarray):
        yield from flattened(value.tolist())
    elif isinstance(value, Mapping):
        yield from flattened(sorted((str(k), v) for k, v in value.items()))
    elif isinstance(value, (set, frozenset)):
        yield from flattened(sorted(map(str, value)))
    elif isinstance(value, (list, tuple)):
        yield "["
        for one in value:
            yield from flattened(one)
        yield "]"
    else:
        text = repr(value)
        if " at 0x" in text or isinstance(value, type) or callable(value):
            text = "object"
        yield text


# ---- stored and compared


def versions() -> dict[str, str]:
    """Return the versions of what decides between equally right answers."""
    found = {"python": ".".join(platform.python_version_tuple()[:2]), "system": f"{sys.platform} {platform.machine()}"}
    for name in SOLVERS:
        with contextlib.suppress(importlib.metadata.PackageNotFoundError):
            found[name] = importlib.metadata.version(name)
    return found


def stored() -> dict[str, Any]:
    """Return what is stored: versions, answers by case and command, fingerprints by file."""
    with gzip.open(STORED, "rt", encoding="utf-8") as stream:
        return json.load(stream)  # type: ignore[no-any-return]


def keys_alone(value: Any) -> Any:
    """Return an answer's keys and exit code."""
    if isinstance(value, dict):
        kept = {k: v for k, v in value.items() if k not in {"#", "each", "by_key", "lines"}}
        return {k: v if k == "code" else keys_alone(v) for k, v in kept.items()}
    return None


def differences(before: Any, now: Any, place: str = "") -> Iterator[str]:
    """Yield a line per place where two answers differ."""
    if isinstance(before, dict) and isinstance(now, dict):
        for key in sorted(before.keys() | now.keys()):
            if key not in before or key not in now:
                yield f"{place}/{key}: {'new' if key not in before else 'no longer there'}"
            else:
                yield from differences(before[key], now[key], f"{place}/{key}")
    elif isinstance(before, list) and isinstance(now, list) and len(before) == len(now):
        for i, (a, b) in enumerate(zip(before, now, strict=True)):
            yield from differences(a, b, f"{place}[{i}]")
    elif before != now:
        yield f"{place}: {str(before)[:150]!r} -> {str(now)[:150]!r}"


def compared(found: Mapping[str, Any], before: Mapping[str, Any]) -> list[str]:
    """Return a line per difference between answers by name and those stored under the same names."""
    keep = copy.copy if stored()["versions"] == versions() else keys_alone
    out = []
    for name, value in found.items():
        if name not in before:
            out.append(f"{name}: not stored")
        else:
            out.extend(f"{name} {line}" for line in differences(keep(before[name]), keep(value)))
    return out


@contextlib.contextmanager
def settings() -> Iterator[None]:
    """Set what answers depend on beside their files: the clock, the width of a terminal."""
    wanted = {"SOURCE_DATE_EPOCH": "0", "COLUMNS": "100", "OMP_NUM_THREADS": "1", "NO_COLOR": "1"}
    before = {key: os.environ.get(key) for key in wanted}
    os.environ.update(wanted)
    try:
        yield
    finally:
        for key, value in before.items():
            os.environ.pop(key, None) if value is None else os.environ.update({key: value})


def collected(
    quick: bool = False, only: str = "", loud: bool = False, anew: bool = False
) -> tuple[dict[str, Any], dict[str, float]]:
    """Return all answers by name, and what each took in seconds of CPU; of what is left out nothing."""
    found, took = {}, {}
    gc.collect()
    gc.freeze()
    left, most = ([], TO_STORE) if anew else (stored()["left_out"], TO_COMPARE)
    with settings():
        for case, path, asked in cases(quick):
            if only in case:
                for name, kept, seconds in answers_of(path, asked, case, most, left):
                    found[name], took[name] = kept, seconds
                    if loud:
                        print(f"{seconds:6.1f} s {name}: {kept['code']}", file=sys.stderr, flush=True)
    return found, took


def fingerprints(quick: bool = False) -> dict[str, str]:
    """Return the fingerprint of the statements of every file."""
    files = [*RELEASES, *MODELS]
    return {str(path.relative_to(ROOT)): fingerprint(path) for path in files[:: 12 if quick else 1]}


def main() -> int:
    """Compare, or store anew; return 1 where something differs."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--write", action="store_true", help="store anew what is found")
    parser.add_argument("--only", default="", help="cases whose name has this text")
    parser.add_argument("--quick", action="store_true", help="some files of each sort")
    parser.add_argument("--times", help="write what each command took to this file")
    given = parser.parse_args()
    typer.main.get_command = functools.cache(typer.main.get_command)  # built anew at every call otherwise
    begun = time.process_time()
    found, took = collected(given.quick, given.only, loud=True, anew=given.write)
    marks = fingerprints(given.quick) if not given.only else {}
    if given.times:
        Path(given.times).write_text(json.dumps(took), encoding="utf-8")
    print(f"{len(found)} answers, {len(marks)} fingerprints, {time.process_time() - begun:.0f} s of CPU")
    if given.write:
        old = stored() if given.only and STORED.exists() else {"answers": {}, "fingerprints": {}}
        long = [name for name, kept in found.items() if kept["code"] == "too long" or took[name] > TO_STORE]
        left = sorted({*long, *(name for name in old.get("left_out", ()) if name not in found)})
        answers = {name: kept for name, kept in (old["answers"] | found).items() if name not in left}
        marks = old["fingerprints"] | marks
        new = {"versions": versions(), "answers": answers, "fingerprints": marks, "left_out": left}
        lines = json.dumps(new, sort_keys=True, indent=0, separators=(",", ":")).encode()
        STORED.write_bytes(gzip.compress(lines, 9, mtime=0))
        return 0
    lines_ = compared(found, stored()["answers"]) + compared(marks, stored()["fingerprints"])
    print("\n".join(lines_[:200]))
    return 1 if lines_ else 0


if __name__ == "__main__":
    sys.exit(main())
