"""Grows numbers in honest files and watches what commands then take (`make safety`).

    python tests/grown.py [--seed 1] [--number 5000] [--minutes 9] [--kinds KIND ...] [--out FILE] [--resume] [--light]
    python tests/grown.py --seed 1 --case 17        the seventeenth again, in a process of its own; its file is kept

Each case is one honest file of tests/golden, tests/corpus or examples (models of all libraries and forms, encoders,
statistics, survival curves, release files, published tables as CSV and xlsx), or one that stands beside them (domains,
rows and profiles as CSV and Parquet, policies, registers, results with certificates, stored experiments), with one to
three numbers made larger (counts, lengths, shapes, widths, thresholds; in JSON also lists and texts made longer), and
one command that reads it, under `--time 5 --memory 512M`.
No command takes more than 600 MB or 10 seconds of the processor, none ends with exit code 70 or by a signal.

Cases run some dozens in one process, which is forked from one that has loaded what most commands load: a twentieth of a
second, where a process of its own takes a whole one. What comes near to a limit there, or ends in an unknown way, is
run again in a process of its own, whose figures count. The same seed makes the same files. Prints what is wrong
(the file stays in the folder that is named) and keeps the result in --out, by seed (tests/grown.json), as it goes;
--resume goes on from it. Exit code 1 where anything is wrong.
"""

from __future__ import annotations

import argparse
import contextlib
import gc
import gzip
import io
import json
import os
import pickletools
import re
import resource
import select
import shutil
import signal
import sys
import tempfile
import time
import traceback
import zipfile
import zlib
from collections import Counter
from collections.abc import Collection, Iterator
from dataclasses import dataclass
from datetime import date
from functools import cache
from pathlib import Path
from random import Random
from typing import Any, NamedTuple, NoReturn

import pandas as pd

ROOT = Path(__file__).resolve().parents[1]
sys.path[:0] = [str(ROOT), str(Path(__file__).parent)]

RESULT = Path(__file__).with_suffix(".json")
GOLDEN = ROOT / "tests" / "golden"
FEW = 12  # rows that tables of counts are made of
LARGEST = 60_000  # bytes of a file whose numbers are grown
LONGEST = 10**7  # characters of a text that is made longer
MEMORY, PROCESSOR = 600 << 20, 10.0
ENDED, WALL = 30, 900.0  # seconds of the processor, of the clock: nobody waits longer; a busy machine is slow
NEAR = 0.85  # of a limit: beyond it a process of its own decides
KEPT = 200  # cases between two results on disk
TOGETHER = 50  # cases of one child
CODES = {0, 1, 2, 3, 4, 5}
LIMITS = ["--time", "5", "--memory", "512M"]
NUMBERS = (2**16, 10**6, 2**31 - 1, 2**31, 2**32 - 1, 4 * 10**9, 10**12, 2**62, 2**63 - 1, 10**18, 10**19, 2**64)
FLOATS = ("1e18", "4e9", "1e300", "-1e308", "1e400", "9" * 400, "0.1" + "0" * 300 + "1", "-0", "1e-320")
NUMBER = re.compile(rb"(?<![A-Za-z_\d.])-?\d+(?:\.\d+)?(?:[eE][-+]?\d+)?")
MODELS = {
    "release": ("*.json", "../../examples/releases/*.json", "../published/*.json.gz"),
    "JSON": ("boosted/**/*.json", "models/**/*.json", "readers/**/*.json"),
    "text": ("models/**/*.txt", "boosted/**/*.txt", "readers/*.txt", "models/**/*.dot"),
    "PMML": ("**/*.pmml",),
    "pickle": ("models/**/*.pkl", "**/*.joblib", "boosted/**/*.pkl"),
    "UBJSON": ("**/*.ubj",),
    "binary": ("**/*.cbm", "**/*.rds", "models/**/*.skops"),
    "corpus": ("../corpus/**/*.*",),
}
MANNERS = {".pkl": "pickle", ".joblib": "pickle", ".rds": "binary", ".RData": "binary", ".json": "JSON"}  # of a corpus
# `@` is the file whose numbers are grown, OUT a file to write, DATA rows that fit the model, FOLDER the grown file's.
READING = ("inspect @", "inspect @ --json", "plan @", "plan @ --domain DATA", "convert @ --out OUT.json",
           "convert @ --domain DATA --out OUT.json", "domain @ --suggest", "inspect @ --strip OUT")  # fmt: skip
ASKING = ("count @", "count @ --domain DATA", "count @ --rows 300", "audit @", "audit @ --domain DATA",
          "audit @ --domain DATA --remedies", "gate @ --policy POLICY", "worlds @ --domain DATA --limit 3",
          "sample @ -k 2", "reconstruct @ --domain DATA", "table @ --domain DATA", "labels @ --known-columns DATA",
          "positions @ --domain DATA", "certify @ --domain DATA --profiles DATA", "audit @ --data DATA --truth DATA",
          "remedy @ --policy POLICY --out OUT.json", "export @ --to opb --out OUT.opb", "count @ --learner auto",
          "export @ --domain DATA --to mps --out OUT.mps", "count @ @ --domain DATA", "bound @ --where {}",
          "attack correlation @ --data DATA --domain DATA",
          "count @ --domain DATA --learner auto --json", "count @ --domain DATA --learner midpoints")  # fmt: skip
SELDOM = {
    "--rows": 0.1,
    "--learner": 0.2,
    "audit": 0.5,
    "bound": 0.3,
    "count": 0.7,
}  # words of commands that take seconds of honest files: so much more rarely
LIGHT = {  # of words, and of kinds, with --light: yet more so
    "--remedies": 0.05, "audit": 0.1, "positions": 0.2, "labels": 0.3, "remedy": 0.1, "attack": 0.1, "--profiles": 0.4,
    "Parquet": 0.15, "store": 0.0,
}  # fmt: skip
ON_RELEASES = ("worlds @ --limit 3", "reconstruct @", "table @", "labels @", "positions @", "sweep @ --epsilon 1")
ON_NOISY = ("posterior @", "denoise @", "count @ --confidence 0.5", "sample @ -k 3")
ON_ROWS = ("domain @", "count MODEL --domain @", "convert MODEL --data @ --out OUT.json", "audit MODEL --data @",
           "certify MODEL --domain DATA --profiles @", "audit MODEL --domain DATA --profiles @",
           "audit MODEL --domain DATA --truth @", "labels MODEL --known-columns @", "positions MODEL --domain @",
           "attribute MODEL --domain DATA --profiles @ --sensitive LABEL", "reconstruct MODEL --domain @",
           "remedy MODEL --policy POLICY --data @ --domain @ --out OUT.json",
           "attack correlation MODEL --domain @ --data @")  # fmt: skip
ON_POLICIES = ("policy @", "gate RELEASE --policy @", "audit RELEASE --policy @ --remedies",
               "remedy RELEASE --policy @ --out OUT.json")  # fmt: skip
ON_REGISTERS = ("register FOLDER --check", "audit RELEASE --register FOLDER", "register FOLDER --json")
RESULTS = (("tree_classes", "audit @ --json"), ("tree_classes", "audit @ --json --remedies"),
           ("contradiction", "count @ --json"), ("unique", "reconstruct @ --json"), ("tree_plain", "audit @ --json"),
           ("forest_3", "audit @ --json"))  # fmt: skip
ON_RESULTS = ("verify @ OF", "verify @ OF --steps", "report @ --to html --out OUT.html", "report @ --to junit",
              "report @ --to sarif", "report @ --to md --policy POLICY", "report @ --to txt")  # fmt: skip
TOWN = {"recon": 1, "domain": {"attributes": [{"name": "sex", "values": ["F", "M"]},
        {"name": "age", "min": 0, "max": 110}]}, "models": [{"kind": "tables", "cells": [
        {"name": "all", "table": "P1", "where": {}}, {"name": "women", "table": "P2", "where": {"sex": "F"}},
        {"name": "young", "table": "P3", "where": {"age": {"below": 18}}}], "values": [["town", "all", 9],
        ["town", "women", 5], ["town", "young", 3], ["town:1", "all", 3], ["town:1", "women", 2],
        ["town:2", "all", 6], ["town:2", "young", 2]]}]}  # fmt: skip
PEOPLE = "".join(f"{k},{18 + k % 6},{'AB'[k // 6 % 2]},{k // 12}\n" for k in range(24))
KNOWN = {"recon_adversary": 1, "rows": [{"where": {"age": 18}, "rows": 1}], "weights": {"age": {"18": 2, "20": "3/2"}},
         "statements": [{"where": {"city": "A"}, "at_most": 6}]}  # fmt: skip
LISTED = {"recon_adversary": 1, "population": {"people": "people.csv"}}
FIRMS = "".join(f"{'ns'[k % 2]},{'fl'[k // 3 % 2]},g{k % 7},{(k * 7919) % 97 + 1}\n" for k in range(24))
ASKED = "person,q1,q2,q3,q4\nAnn,1,1,0,1\nBen,1,0,1,1\nCleo,0,1,1,1\nDora,1,1,1,0\nanswer,2,1,1,2\nwithin,0,1,1,1\n"
NEWEST = {
    "town.json": (json.dumps(TOWN), ("count @", "audit @", "variability @", "variability @ --without P3", "inspect @",
                                     "gate @ --policy POLICY", "certify @ --profiles FOLDER/profiles.csv")),
    "known.json": (json.dumps(KNOWN), ("audit RELEASE --adversary @", "count RELEASE --adversary @")),
    "listed.json": (json.dumps(LISTED), ("audit RELEASE --adversary @",
                                         "population RELEASE --adversary @ --profiles FOLDER/profiles.csv")),
    "people.csv": ("person,age,city,y\n" + PEOPLE, (
        "population RELEASE --adversary FOLDER/listed.json --profiles FOLDER/profiles.csv",
        "audit RELEASE --adversary FOLDER/listed.json")),
    "profiles.csv": ("age\n18\n20\n23\n", ("population RELEASE --adversary FOLDER/listed.json --profiles @",
                                          "certify FOLDER/town.json --profiles @")),
    "firms.csv": ("region,branch,group,sales\n" + FIRMS, (
        "magnitudes @ --by region,branch --value sales --holding group --policy FOLDER/totals.toml",
        "magnitudes @ --by region,branch --value sales --policy FOLDER/totals.toml --out OUT.csv")),
    "totals.toml": ('name = "totals"\n[magnitudes]\np_percent = 10\n',
                    ("magnitudes FOLDER/firms.csv --by region,branch --value sales --policy @", "policy @")),
    "queries.csv": (ASKED, ("queries @", "queries @ --within 2")),
}  # fmt: skip
STORING = "reproduce correlation --quick --figure model-less --quiet --out FOLDER"
WEIGHTS = {"store": 0.004, "register": 0.3, "policy": 0.3}  # of kinds; the others: 1
KINDS = (*MODELS, "table", "xlsx", "rows", "Parquet", "policy", "register", "result", "newest", "store")
PYTHON = (sys.executable, "-m", "recon")
RELEASE, POLICY = GOLDEN / "tree_classes.json", ROOT / "examples" / "gate" / "policy.toml"
MODELS_OF, TABLE = GOLDEN / "models", GOLDEN / "table_statistics.json"
TREE, ROWS = MODELS_OF / "sklearn-1.9.1" / "tree.pkl", MODELS_OF / "data" / "people.csv"
NEVER = ("--time", "none")  # whatever else the machine does
WARM = (["audit", RELEASE, *NEVER], ["count", TREE, *NEVER], ["inspect", TREE, *NEVER], ["domain", ROWS],
        ["audit", TREE, "--domain", ROWS, *NEVER], ["plan", RELEASE, *NEVER], ["plan", TREE, *NEVER],
        ["table", RELEASE, *NEVER], ["reconstruct", RELEASE, *NEVER], ["gate", RELEASE, "--policy", POLICY],
        ["certify", TREE, "--domain", ROWS, "--profiles", ROWS, *NEVER], ["count", TABLE, *NEVER])  # fmt: skip


class Case(NamedTuple):
    """What is asked: a kind, the honest file, where its grown copy stands, the command, and a folder copied first."""

    kind: str
    source: Path
    place: tuple[str, ...]
    words: tuple[str, ...]
    around: Path | None = None


@dataclass(frozen=True)
class Taken:
    """What a command took: its exit code (below 0: a signal), seconds and bytes, and what it complained."""

    code: int
    seconds: float
    memory: int
    said: str

    def wrong(self, part: float = 1.0) -> str:
        """Return what is beyond so much of the limits ("": nothing)."""
        found = [] if self.code in CODES else [f"exit code {self.code}: {self.said[-300:]}"]
        if self.code in CODES and "Traceback (most recent" in self.said:
            found.append(f"a traceback: {self.said[-300:]}")
        if self.memory > part * MEMORY:
            found.append(f"{self.memory >> 20} MB")
        if self.seconds > part * PROCESSOR:
            found.append(f"{self.seconds:.1f} s of the processor")
        return "; ".join(found)


@cache
def honest(kind: str) -> tuple[Path, ...]:
    """Return the honest model files of a kind."""
    files = {path.resolve() for pattern in MODELS[kind] for path in GOLDEN.glob(pattern)}
    return tuple(
        sorted(p for p in files if p.stat().st_size <= LARGEST and p.name not in {"index.json", "verdicts.json"})
    )


@cache
def rows_of() -> dict[Path, Path]:
    """Return the table of rows beside each model file that has one."""
    listed = json.loads((MODELS_OF / "index.json").read_text(encoding="utf-8"))
    return {(MODELS_OF / one["file"]).resolve(): MODELS_OF / one["data"] for one in listed}


def made(folder: Path, kinds: Collection[str] = KINDS) -> dict[str, list[Case]]:
    """Return the cases of some kinds; what stands beside models is made in `folder` first, by commands."""
    found: dict[str, list[Case]] = {"table": [], "xlsx": []}
    found |= {kind: [case for path in honest(kind) for case in of_model(kind, path, folder)] for kind in MODELS}
    models = {data: path for path, data in rows_of().items() if path.parent == TREE.parent and path.suffix == ".pkl"}
    for data in sorted(models):
        for path in counted(data, folder):
            for kind, one in (("table", path), ("xlsx", as_workbook(path))):
                found[kind] += [Case(kind, one, *c) for c in commands(one, (*READING, *ASKING), DATA=data)]
        beside = {
            "MODEL": models[data],
            "DATA": data,
            "LABEL": data.read_text(encoding="utf-8").split("\n")[0].split(",")[-1],
        }
        for kind, path in (("rows", data), ("Parquet", as_parquet(data, folder))):
            found.setdefault(kind, []).extend(Case(kind, path, *c) for c in commands(path, ON_ROWS, **beside))
    presets = (ROOT / "recon" / "policies" / "presets").glob("*.toml")
    found["policy"] = [Case("policy", path, *c) for path in (POLICY, *presets) for c in commands(path, ON_POLICIES)]
    register = folder / "register"
    for file in (RELEASE, GOLDEN / "unique.json"):
        ran(["register", str(register), "--add", str(file), "--decision", "release"])
    names = [register / name for name in ("register.toml", "register.toml", "unique.json")]
    found["register"] = [Case("register", path, *c, register) for path in names for c in commands(path, ON_REGISTERS)]
    found["result"] = []
    for name, words in RESULTS:
        of, path = GOLDEN / f"{name}.json", folder / f"{name}-{len(found['result'])}.json"
        ran(words.replace("@", str(of)).split(), output=path)
        found["result"] += [Case("result", path, *c) for c in commands(path, ON_RESULTS, OF=of)]
    newest = folder / "newest"
    newest.mkdir()
    for name, (text, _) in NEWEST.items():
        (newest / name).write_text(text, encoding="utf-8")
    found["newest"] = [Case("newest", newest / name, *c, newest) for name, (_, words) in NEWEST.items()
                       for c in commands(newest / name, words)]  # fmt: skip
    if "store" in kinds:  # seconds
        store = folder / "store"
        ran(STORING.replace("FOLDER", str(store)).split())
        runs = sorted((store / "runs").glob("*.parquet"))
        found["store"] = [Case("store", path, ("runs", path.name), tuple(STORING.split()), store) for path in runs]
    return {kind: some for kind, some in found.items() if kind in kinds}


def of_model(kind: str, path: Path, folder: Path) -> list[Case]:
    """Return the cases of one model file, of those commands that can read it."""
    data, text = rows_of().get(path), path.read_bytes()
    if kind == "corpus":
        data = max(sorted(path.parent.glob("*.csv")), key=lambda one: alike(one.name, path.name))
    elif data is None and kind != "release":
        data = ROWS
    if kind != "corpus" and data is not None and (kind in {"UBJSON", "JSON"} or path not in rows_of()):
        data = numbered(data, folder)
    words = tuple(w for w in (*READING, *READING, *ASKING) if data is not None or "DATA" not in w)
    words += ON_RELEASES if kind == "release" else ()
    words += ON_NOISY if kind == "release" and b'"noise"' in text else ()
    return [Case(kind, path, *c) for c in commands(path, words, DATA=data or ROWS)]


def alike(name: str, other: str) -> int:
    """Return how many characters two names begin with in common."""
    return next((k for k, (one, two) in enumerate(zip(name, other, strict=False)) if one != two), 0)


def commands(path: Path, words: tuple[str, ...], **beside: object) -> list[tuple[tuple[str, ...], tuple[str, ...]]]:
    """Return where a file stands, and the words of each command on it, with what stands beside."""
    named = {"POLICY": POLICY, "RELEASE": RELEASE} | beside
    return [((path.name,), tuple(str(named.get(word, word)) for word in one.split())) for one in words]


def numbered(data: Path, folder: Path) -> Path:
    """Return a table whose label is numbered, as boosting libraries number it."""
    path = folder / f"numbered-{data.name}"
    if not path.exists():
        frame = pd.read_csv(data)
        label = frame.columns[-1]
        frame.assign(**{label: frame[label].astype("category").cat.codes}).to_csv(path, index=False)
    return path


def counted(data: Path, folder: Path) -> list[Path]:
    """Return tables of counts of some rows, by two columns and by all."""
    frame, paths = pd.read_csv(data).head(FEW), []
    for k, columns in enumerate((list(frame.columns[:2]), list(frame.columns))):
        paths.append(folder / f"counts-{k}-{data.name}")
        frame.groupby(columns).size().rename("count").reset_index().to_csv(paths[-1], index=False)
    return paths


def as_workbook(data: Path) -> Path:
    """Return a table of counts as the one sheet of a workbook (xlsx), its texts in the cells."""
    lines = [line.split(",") for line in data.read_text(encoding="utf-8").splitlines()]
    cells = [[f"<c><v>{one}</v></c>" if NUMBER.fullmatch(one.encode()) else
              f'<c t="inlineStr"><is><t>{one}</t></is></c>' for one in line] for line in lines]  # fmt: skip
    rows = "".join(f'<row r="{k}" spans="1:{len(row)}">{"".join(row)}</row>' for k, row in enumerate(cells, 1))
    made = "http://schemas.openxmlformats.org/"
    main, office = f"{made}spreadsheetml/2006/main", f"{made}officeDocument/2006/relationships"
    package = f"{made}package/2006"
    kind = "application/vnd.openxmlformats-officedocument.spreadsheetml."
    parts = {
        "[Content_Types].xml": f'<Types xmlns="{package}/content-types"><Default Extension="rels" ContentType='
        f'"application/vnd.openxmlformats-package.relationships+xml"/><Override PartName="/xl/workbook.xml" ContentType'
        f'="{kind}sheet.main+xml"/><Override PartName="/xl/s.xml" ContentType="{kind}worksheet+xml"/></Types>',
        "_rels/.rels": f'<Relationships xmlns="{package}/relationships"><Relationship Id="r" Type='
        f'"{office}/officeDocument" Target="xl/workbook.xml"/></Relationships>',
        "xl/workbook.xml": f'<workbook xmlns="{main}" xmlns:r="{office}"><sheets><sheet name="s" sheetId="1" r:id="r"/>'
        "</sheets></workbook>",
        "xl/_rels/workbook.xml.rels": f'<Relationships xmlns="{package}/relationships"><Relationship Id="r" Type='
        f'"{office}/worksheet" Target="s.xml"/></Relationships>',
        "xl/s.xml": f'<worksheet xmlns="{main}"><dimension ref="A1:{chr(64 + len(lines[0]))}{len(lines)}"/><sheetData>'
        f"{rows}</sheetData></worksheet>",
    }
    path = data.with_suffix(".xlsx")
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, part in parts.items():
            archive.writestr(name, part)
    return path


def as_parquet(data: Path, folder: Path) -> Path:
    """Return a table written as Parquet, plainly, so that numbers of its pages can be grown as well."""
    path = folder / f"{data.stem}.parquet"
    pd.read_csv(data).to_parquet(path, compression=None)
    return path


def grown(kind: str, data: bytes, dice: Random) -> bytes:
    """Return a file with some of its numbers grown, within what it is packed in."""
    if data[:2] == b"\x1f\x8b":
        return gzip.compress(grown(kind, gzip.decompress(data), dice), 1)
    if kind == "pickle" and data[:1] == b"\x78":
        return zlib.compress(grown(kind, zlib.decompress(data), dice))
    if data[:4] == b"PK\x03\x04":
        return in_member(data, dice)
    if kind == "Parquet" and dice.random() < 0.03:
        return longer(data, dice.choice((10**5, 10**6, 3 * 10**6)))
    for _ in range(dice.choice((1, 1, 1, 2, 3))):
        if data[:1] in (b"{", b"[") and kind in {"release", "JSON", "result", "newest"} and dice.random() < 0.6:
            data = in_tree(data, dice)
        elif kind == "pickle":
            data = in_opcodes(data, dice)
        elif kind in {"UBJSON", "binary", "Parquet", "store"}:
            data = in_words(data, dice)
        else:
            data = in_text(data, dice)
    return data


def in_member(data: bytes, dice: Random) -> bytes:
    """Return a ZIP archive with numbers of one member grown."""
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        parts = {name: archive.read(name) for name in archive.namelist()}
    name = dice.choice(sorted(parts))
    text = b"\0" not in parts[name] and Path(name).suffix in {".xml", ".rels", ".txt", ".ini"}
    how = in_tree if parts[name][:1] in (b"{", b"[") else in_text if text else in_words
    parts[name] = how(parts[name], dice)
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, part in parts.items():
            archive.writestr(name, part)
    return packed.getvalue()


def longer(data: bytes, rows: int) -> bytes:
    """Return a Parquet file with the rows of one repeated until there are so many: it packs to little."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    table = pq.read_table(io.BytesIO(data))
    times = max(1, min(rows, 10**7 // max(1, table.num_columns)) // max(1, len(table)))
    packed = io.BytesIO()
    pq.write_table(pa.concat_tables([table] * times).combine_chunks(), packed, compression="zstd")
    return packed.getvalue()


def in_text(data: bytes, dice: Random) -> bytes:
    """Return text with one number grown."""
    found = list(NUMBER.finditer(data))
    if not found:
        return data
    at = dice.choice(found)
    new = dice.choice((*map(str, NUMBERS), *FLOATS, at.group().decode() + "0" * dice.choice((3, 9, 30, 400))))
    return data[: at.start()] + new.encode() + data[at.end() :]


def in_tree(data: bytes, dice: Random) -> bytes:
    """Return JSON with one number grown, or one list or text made longer."""
    try:
        tree = json.loads(data)
    except ValueError:
        return in_text(data, dice)
    places: list[tuple[dict | list, str | int]] = []
    todo = [tree]
    while todo:
        node = todo.pop()
        items = node.items() if isinstance(node, dict) else enumerate(node) if isinstance(node, list) else ()
        for key, value in items:
            places.append((node, key))
            todo.append(value)
    wanted = dice.choice(("number", "number", "number", "list", "text"))
    kinds = {"number": (int, float), "list": (list,), "text": (str,)}[wanted]
    fit = [(node, key) for node, key in places if isinstance(node[key], kinds) and not isinstance(node[key], bool)]
    if not fit:
        return in_text(data, dice)
    node, key = dice.choice(fit)
    if wanted == "number":
        node[key] = dice.choice((*NUMBERS, 1e300, -1e308, 10**400, 5e-324))
    elif wanted == "list":
        times = dice.choice((2, 10, 1000, 30_000)) if len(json.dumps(node[key])) < 2_000 else 2
        node[key] = node[key] * times
    else:
        text = node[key] or "x"  # one that was made longer before does not fill the machine
        node[key] = text * min(dice.choice((10, 1000, 100_000)), max(2, LONGEST // len(text)))
    return json.dumps(tree).encode()


def in_opcodes(data: bytes, dice: Random) -> bytes:
    """Return a pickle with the argument of one opcode grown: numbers, lengths, and what stands in raw arrays."""
    found = []
    with contextlib.suppress(Exception):
        for opcode, argument, place in pickletools.genops(data):
            if opcode.name in {"BININT", "BININT1", "BININT2", "LONG1", "BINFLOAT", "BINUNICODE", "BINBYTES"}:
                found.append((opcode.name, argument, place))
    if not found or dice.random() < 0.2:
        return in_words(data, dice)
    name, argument, place = dice.choice(found)
    number = dice.choice(NUMBERS)
    size = {"BININT": 5, "BININT1": 2, "BININT2": 3, "BINFLOAT": 9}.get(name)
    if name == "LONG1":
        size = 2 + data[place + 1]
    if size is None:  # a length of bytes: in place
        return data[: place + 1] + min(number, 2**32 - 1).to_bytes(4, "little") + data[place + 5 :]
    packed = number.to_bytes(17, "little")
    new = b"\x8a" + bytes([len(packed)]) + packed if name != "BINFLOAT" else b"G\x7f\xef" + b"\xff" * 6
    return data[:place] + new + data[place + size :]


def in_words(data: bytes, dice: Random) -> bytes:
    """Return bytes with one whole number of two, four or eight bytes grown, where a small one seems to stand."""
    width, order = dice.choice((2, 4, 4, 8)), dice.choice(("little", "big"))
    for _ in range(200):
        at = dice.randrange(max(1, len(data) - width))
        if 0 < int.from_bytes(data[at : at + width], order) < 100_000:
            break
    new = min(dice.choice(NUMBERS), 2 ** (8 * width - dice.choice((0, 1))) - 1)
    return data[:at] + new.to_bytes(width, order) + data[at + width :]


def drawn(case: int, seed: int, cases: dict[str, list[Case]], light: bool = False) -> tuple[str, Case, bytes]:
    """Return the kind of a case, what is asked, and the grown file."""
    dice = Random(f"{seed} {case}")
    weights, seldom = (some | (LIGHT if light else {}) for some in (WEIGHTS, SELDOM))
    kind = dice.choices(sorted(cases), [weights.get(kind, 1.0) for kind in sorted(cases)])[0]
    one = dice.choice(cases[kind])
    while dice.random() > min(seldom.get(word, 1.0) for word in one.words):
        one = dice.choice(cases[kind])
    manner = MANNERS.get(one.source.suffix, "text") if kind == "corpus" else kind
    return kind, one, grown(manner, one.source.read_bytes(), dice)


def put(one: Case, data: bytes, own: Path) -> list[str]:
    """Write the grown file, and what stands around it, into an empty folder; return the command."""
    shutil.rmtree(own, ignore_errors=True)
    if one.around is not None:
        shutil.copytree(one.around, own / "in")
    path = own.joinpath("in", *one.place)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(data)
    meant = {"@": str(path), "FOLDER": str(own / "in")}
    return [
        *(meant.get(w, w.replace("OUT", str(own / "out")).replace("FOLDER/", f"{own / 'in'}/")) for w in one.words),
        *LIMITS,
    ]


def tried(
    case: int, seed: int, cases: dict[str, list[Case]], folder: Path, alone: bool = False, light: bool = False
) -> tuple[str, Taken, str]:
    """Return the kind of a case, what it took, and what is wrong with it ("": nothing; else its file is kept).

    `alone`: in a process of its own, whatever it takes.
    """
    kind, one, data = drawn(case, seed, cases, light)
    own = folder / str(case)
    taken = ran(put(one, data, own), alone)
    wrong = taken.wrong(1.0 if alone else NEAR)
    if wrong and not alone:  # its figures count: it holds nothing that other commands need
        taken = ran(put(one, data, own), True)
        wrong = taken.wrong()
    if wrong:
        wrong = f"case {case} ({kind}: {one.source.name}): recon {' '.join(put(one, data, own))}: {wrong}"
    else:
        shutil.rmtree(own, ignore_errors=True)
    return kind, taken, wrong


def tried_together(
    numbers: range, seed: int, cases: dict[str, list[Case]], folder: Path, light: bool
) -> Iterator[tuple[str, Taken, str]]:
    """Yield what `tried` returns of several cases, one after the other in one child; what is near a limit runs apart.

    So does the case in which the child ended, and those after it in the next one: nothing that one leaves behind in a
    process can hide what another takes, only add to it.
    """
    first, end = numbers.start, numbers.stop
    while first < end:
        reader, writer = os.pipe()
        if not (child := os.fork()):
            os.close(reader)
            one_by_one(range(first, end), seed, cases, folder, light, writer)
        os.close(writer)
        try:
            for line in lines(reader, child):
                kind, *taken = json.loads(line)
                if Taken(*taken).wrong(NEAR):
                    yield tried(first, seed, cases, folder, light=light)
                else:
                    yield kind, Taken(*taken), ""
                first += 1
        finally:  # nobody may want the rest: nothing goes on writing
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.killpg(child, signal.SIGKILL)
            os.waitpid(child, 0)
        if first < end:
            yield tried(first, seed, cases, folder, light=light)
            first += 1


def lines(reader: int, child: int) -> Iterator[bytes]:
    """Yield what a child writes, line by line; it ends where it says nothing for too long."""
    rest = b""
    while True:
        if not select.select([reader], [], [], WALL)[0]:
            os.killpg(child, signal.SIGKILL)
        more = os.read(reader, 1 << 16)
        if not more:
            break
        *whole, rest = (rest + more).split(b"\n")
        yield from whole
    os.close(reader)


def one_by_one(
    numbers: range, seed: int, cases: dict[str, list[Case]], folder: Path, light: bool, writer: int
) -> NoReturn:
    """Be several commands, in a child: a line of JSON each to `writer`, its kind and what is `Taken`."""
    try:
        os.setpgid(0, 0)
        complaints = open(folder / "complaints", "w+b")  # noqa: SIM115 - it lasts as long as the process
        for taken, stream in ((os.open(os.devnull, os.O_RDWR), 0), (os.open(os.devnull, os.O_RDWR), 1),
                              (complaints.fileno(), 2)):  # fmt: skip
            os.dup2(taken, stream)
        for case in numbers:
            kind, one, data = drawn(case, seed, cases, light)
            words, begun = put(one, data, folder / str(case)), used()
            complaints.truncate(0)
            complaints.seek(0)
            with open("/proc/self/clear_refs", "w") as peak:
                peak.write("5")
            resource.setrlimit(resource.RLIMIT_CPU, (int(begun) + ENDED, resource.RLIM_INFINITY))
            code = called(words)
            with open("/proc/self/status") as status:
                most = int(re.search(r"VmHWM:\s*(\d+)", status.read())[1]) << 10
            most = max(most, resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss << 10)
            complaints.seek(0)
            told = complaints.read()[-10_000:].decode(errors="replace")
            os.write(writer, f"{json.dumps([kind, code, used() - begun, most, told])}\n".encode())
            shutil.rmtree(folder / str(case), ignore_errors=True)
    finally:
        os._exit(0)


def used() -> float:
    """Return the seconds of the processor of this process and of those that it waited for."""
    every = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return sum(one.ru_utime + one.ru_stime for one in every)


def called(words: list[str]) -> int:
    """Return the exit code of a command that runs here, 99 for whatever it raises, with the traceback told."""
    from recon.cli.app import main

    sys.stdin, sys.stdout, sys.stderr = (io.TextIOWrapper(os.fdopen(os.dup(k), m)) for k, m in
                                         ((0, "rb"), (1, "wb"), (2, "wb")))  # fmt: skip
    sys.argv, code = ["recon", *words], 99
    try:
        main()
    except SystemExit as error:
        code = error.code if isinstance(error.code, int) else 0
    except BaseException:
        traceback.print_exc()
    for stream in (sys.stdin, sys.stdout, sys.stderr):
        with contextlib.suppress(Exception):
            stream.close()
    return code


def ran(words: list[str], alone: bool = False, output: Path = Path(os.devnull)) -> Taken:
    """Return what a command took, in a child that has everything loaded, or in a process of its own."""
    reader, writer = os.pipe()
    child = os.fork()
    if not child:
        os.close(reader)
        as_command(words, writer, output, alone)
    os.close(writer)
    said, until, watch = bytearray(), time.monotonic() + WALL, os.pidfd_open(child)
    while True:
        ready, _, _ = select.select([reader, watch], [], [], max(0.0, until - time.monotonic()))
        if reader in ready and (more := os.read(reader, 1 << 16)):
            said = (said + more)[-10_000:]
        elif watch in ready:
            break
        elif not ready:
            os.killpg(child, signal.SIGKILL)
            until += WALL
        else:  # whoever speaks is gone, and the command is about to end
            time.sleep(0.002)
    _, status, used = os.wait4(child, 0)
    os.close(reader)
    os.close(watch)
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(child, signal.SIGKILL)
    text = said.decode(errors="replace")
    return Taken(os.waitstatus_to_exitcode(status), used.ru_utime + used.ru_stime, used.ru_maxrss << 10, text)


def as_command(words: list[str], complaints: int, output: Path, alone: bool) -> NoReturn:
    """Be the command, in a child: standard output goes to a file, standard error to `complaints`."""
    code = 99
    try:
        os.setpgid(0, 0)
        resource.setrlimit(resource.RLIMIT_CPU, (ENDED, ENDED + 1))
        answers = os.open(output, os.O_RDWR | os.O_CREAT)
        for taken, stream in ((os.open(os.devnull, os.O_RDWR), 0), (answers, 1), (complaints, 2)):
            os.dup2(taken, stream)
        if alone:
            os.execve(PYTHON[0], [*PYTHON, *words], os.environ | {"PYTHONPATH": str(ROOT)})
        code = called(words)
    finally:
        os._exit(code)


def load() -> None:
    """Load what most commands load and fill what they keep (the command line, tables of known classes), once."""
    import typer.main

    import recon.cli.app as line

    built = typer.main.get_command(line.app)
    typer.main.get_command = lambda app: built
    for command in built.commands.values():
        for one in command.params:
            one.get_runtime_param()
    with open(os.devnull, "w") as silent, contextlib.redirect_stdout(silent), contextlib.redirect_stderr(silent):
        for words in WARM:
            with contextlib.suppress(SystemExit, Exception):
                built.main([str(word) for word in words], "recon", standalone_mode=False)
    gc.collect()
    gc.freeze()


def run(asked: argparse.Namespace, folder: Path, found: dict[str, Any]) -> None:
    """Try the cases that are left and keep in `found` how many of each kind were tried, the most, and what is wrong."""
    load()
    cases = made(folder, [kind for kind in asked.kinds if kind != "store" or not asked.light])
    done, until = Counter(found.get("cases", {})), time.monotonic() + 60 * asked.minutes
    codes = Counter(found.get("codes", {}))
    found.setdefault("wrong", [])
    for case, (kind, taken, wrong) in enumerate(
        each_of(range(sum(done.values()), asked.number), asked, cases, folder), sum(done.values())
    ):
        if time.monotonic() > until:
            break
        done[kind] += 1
        codes[str(taken.code)] += 1
        found["most_seconds"] = max(found.get("most_seconds", 0.0), round(taken.seconds, 2))
        found["most_mb"] = max(found.get("most_mb", 0), taken.memory >> 20)
        if wrong:
            found["wrong"].append(wrong)
            print(wrong, flush=True)
        if case % KEPT == 0:
            keep(asked, found, done, codes)
    keep(asked, found, done, codes)


def each_of(numbers: range, asked: argparse.Namespace, cases: dict[str, list[Case]], folder: Path) -> Iterator[Any]:
    """Yield what `tried_together` does of all cases, so many in one child."""
    for start in range(numbers.start, numbers.stop, TOGETHER):
        some = range(start, min(start + TOGETHER, numbers.stop))
        yield from tried_together(some, asked.seed, cases, folder, asked.light)


def keep(asked: argparse.Namespace, found: dict[str, Any], done: Counter[str], codes: Counter[str]) -> None:
    """Write what was found so far, whole or not at all."""
    found |= {
        "date": date.today().isoformat(),
        "cases": dict(sorted(done.items())),
        "codes": dict(sorted(codes.items())),
    }
    every = json.loads(asked.out.read_text(encoding="utf-8")) if asked.out.exists() else {}
    every[str(asked.seed)] = found
    beside = asked.out.with_suffix(".part")
    beside.write_text(json.dumps(every, indent=1) + "\n", encoding="utf-8")
    beside.replace(asked.out)


def main() -> int:
    """Try the cases and write the result."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--number", type=int, default=5_000)
    parser.add_argument("--minutes", type=float, default=1e6)
    parser.add_argument("--kinds", nargs="*", default=list(KINDS), choices=list(KINDS))
    parser.add_argument("--case", type=int)
    parser.add_argument("--out", type=Path, default=RESULT)
    parser.add_argument("--resume", action="store_true")
    parser.add_argument("--light", action="store_true", help="fewer of the commands that take long of honest files")
    asked = parser.parse_args()
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    folder = Path(tempfile.mkdtemp(prefix="grown-"))
    if asked.case is not None:
        kind, taken, wrong = tried(asked.case, asked.seed, made(folder, asked.kinds), folder, True, asked.light)
        print(
            kind, f"exit code {taken.code}, {taken.seconds:.1f} s, {taken.memory >> 20} MB", taken.said, wrong, sep="\n"
        )
        return int(bool(wrong))
    before = json.loads(asked.out.read_text(encoding="utf-8")) if asked.resume and asked.out.exists() else {}
    found = before.get(str(asked.seed), {})
    run(asked, folder, found)
    wrong = found["wrong"]
    print(f"{sum(found['cases'].values()):,} files, {len(wrong)} wrong{f': see {folder}' if wrong else ''}")
    if not wrong:
        shutil.rmtree(folder)
    return int(bool(wrong))


if __name__ == "__main__":
    sys.exit(main())
