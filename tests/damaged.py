"""Small model files with one thing in them changed, and what becomes of each: an answer or a refusal, as stored.

    python tests/damaged.py [PATTERN]      # stores anew what became of each file, and prints what changed

A number, word, line or key is replaced, doubled, moved or taken out (of pickles: an operand; of archives: within one of
its members, of Parquet a cell; of R's objects: within what gunzip gives), so that most checks of readers and encoders
have a file that runs into them. What becomes of each is in `tests/damaged.json.gz`: the refusal in
words, or a hash of what was read. That nothing false is read is held by the tests with known rows; here nothing changes
unseen, and `make mutants` finds a check that is left out.
"""

from __future__ import annotations

import contextlib
import copy
import difflib
import gzip
import hashlib
import io
import json
import pickletools
import random
import re
import struct
import sys
import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

import recon
from solvers.foundation.errors import ReconError
from solvers.foundation.limits import Limits
from solvers.kernel.cells import NumberedStatements

HERE = Path(__file__).parent
STORED = HERE / "damaged.json.gz"
FOLDERS = (
    "corpus", "golden", "golden/readers", "golden/models/corels-1.1.29", "golden/models/imodels-3.0.4",
    "golden/models/lightgbm-4.7.0", "golden/models/nyoka-5.5.0", "golden/models/pmml-written",
    "golden/models/pydl8.5-0.1.8", "golden/models/pystreed-1.4.0", "golden/models/rpart-4.1.19",
    "golden/models/sklearn-1.9.1", "golden/models/sklearn2pmml-0.133.1", "golden/models/xgboost-3.2.0",
    "golden/models/catboost-1.2.10",
)  # fmt: skip
KINDS = {".txt", ".json", ".dot", ".csv", ".pmml", ".pkl", ".zip", ".skops", ".rds"}
LARGEST = 10_000  # bytes
CHANGES = 40  # of each file
INSIDE = 16  # of each archive and object of R, whose bytes are mostly without meaning
TELLING = 6  # different outcomes; files with fewer are not kept, tables of rows for example
NUMBER = re.compile(r"-?\d+(?:\.\d+)?(?:[eE][-+]?\d+)?")
WORD = re.compile(r"[A-Za-z_]{2,}")
NUMBERS = ("0", "-1", "1", "1.5", "2", "7", "1e999", "", "x", "99999999999999999999")
VALUES: tuple[Any, ...] = (None, True, 0, -1, 1, 1.5, 7, 1e300, "", "x", "1", [], {}, [0], 1 << 70)


def files() -> list[Path]:
    """Return the files that are damaged."""
    every = (path for folder in FOLDERS for path in sorted((HERE / folder).iterdir()))
    return [path for path in every if path.suffix in KINDS and path.stat().st_size <= LARGEST]


def name_of(path: Path) -> str:
    """Return a file's name from this folder on."""
    return str(path.relative_to(HERE))


def damaged(path: Path) -> Iterator[bytes]:
    """Yield the contents of a file, each with one thing changed."""
    data = path.read_bytes()
    for k in range(INSIDE if path.suffix in {".zip", ".skops", ".rds"} else CHANGES):
        rng = random.Random(f"{name_of(path)} {k}")
        yield HOW.get(path.suffix, lambda rng, data: of_text(rng, data.decode()).encode())(rng, data)


def of_text(rng: random.Random, text: str) -> str:
    """Return a text with a number or word replaced, or a line doubled, moved or taken out."""
    kind = rng.randrange(8)
    if kind < 5:
        found = list((WORD if kind == 4 else NUMBER).finditer(text)) or [re.search("", text)]
        one = rng.choice(found)
        new = rng.choice(rng.choice([WORD.findall(text) or ["x"], ["", "x"]]) if kind == 4 else NUMBERS)
        return text[: one.start()] + new + text[one.end() :]
    lines = text.splitlines(keepends=True)
    at, other = (rng.randrange(len(lines)) for _ in range(2))
    if kind == 5:
        del lines[at]
    elif kind == 6:
        lines.insert(other, lines[at])
    else:
        lines[at], lines[other] = lines[other], lines[at]
    return "".join(lines)


def of_json(rng: random.Random, data: Any) -> Any:
    """Return JSON with one value replaced, a key or an item taken out, or an item doubled."""
    places: list[tuple[Any, Any]] = []
    stack = [data]
    while stack:
        one = stack.pop()
        keys = list(one) if isinstance(one, dict) else range(len(one)) if isinstance(one, list) else ()
        places += [(one, key) for key in keys]
        stack += [one[key] for key in keys]
    if not places:
        return rng.choice(VALUES)
    within, key = rng.choice(places)
    kind = rng.randrange(6)
    if kind == 0:
        del within[key]
    elif kind == 1 and isinstance(within, list):
        within.insert(rng.randrange(len(within)), copy.deepcopy(within[key]))
    elif kind == 2 and isinstance(within[key], int | float) and not isinstance(within[key], bool):
        within[key] += rng.choice([-1, 1])
    else:
        within[key] = copy.deepcopy(rng.choice(VALUES))
    return data


def of_archive(rng: random.Random, data: bytes) -> bytes:
    """Return an archive with one member changed inside, taken out, empty, or with the content of another."""
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        parts = {name: archive.read(name) for name in archive.namelist()}
    told = sorted(name for name in parts if not name.startswith("experimental/") and parts[name])
    name, other, kind = rng.choice(told), rng.choice(told), rng.randrange(12)
    if kind == 0:
        del parts[name]
    elif kind == 1:
        parts[name] = rng.choice([b"", parts[other]])
    else:
        parts[name] = of_member(rng, parts[name])
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED) as archive:
        for member, part in parts.items():
            archive.writestr(zipfile.ZipInfo(member), part)
    return packed.getvalue()


def of_member(rng: random.Random, part: bytes) -> bytes:
    """Return a file of an archive with one thing changed: of JSON, of Parquet's cells, of text, else of its bytes."""
    if part[:1] == b"{":
        return json.dumps(of_json(rng, json.loads(part)), separators=(",", ":")).encode()
    if part[:4] == b"PAR1" and rng.randrange(4):
        table = pq.read_table(io.BytesIO(part))
        packed = io.BytesIO()
        with contextlib.suppress(pa.ArrowException, TypeError, ValueError, OverflowError):
            changed = pa.Table.from_pylist(of_json(rng, table.to_pylist()), table.schema)
            pq.write_table(changed, packed)
            return packed.getvalue()
    printed = b"\0" not in part and part.isascii()
    return of_text(rng, part.decode()).encode() if printed else of_bytes(rng, part)


def of_bytes(rng: random.Random, data: bytes) -> bytes:
    """Return bytes with a whole number, a float or a byte replaced, cut off, or with some of them doubled."""
    kind, changed = rng.randrange(6), bytearray(data)
    at = rng.randrange(len(data))
    if kind == 0:
        return data[:at]
    if kind == 1:
        return data[:at] + data[max(0, at - rng.choice([1, 4, 8, 40])) :]
    if kind == 2:
        return _replaced(changed, at, bytes([rng.choice([0, 1, 2, 7, 255])]))
    order = rng.choice("<>") if data[:2] != b"X\n" else ">"  # R writes big numbers first
    if kind < 5:
        small = re.compile(rb"\0\0\0[\0-\x40]" if order == ">" else rb"[\0-\x40]\0\0\0")
        places = [one.start() for one in small.finditer(data)] or [at]
        new = struct.pack(f"{order}i", rng.choice([0, -1, 1, 2, 7, 1 << 30, -(1 << 31)]))
    else:
        high = re.compile(rb"[\x3f\x40\xbf\xc0][\0-\xff]{7}" if order == ">" else rb"[\0-\xff]{7}[\x3f\x40\xbf\xc0]")
        places = [one.start() for one in high.finditer(data)] or [at]
        new = struct.pack(f"{order}d", rng.choice([0.0, -1.0, 0.5, 2.0, 7.0, 1e300, float("nan"), float("inf")]))
    return _replaced(changed, rng.choice(places), new)[: len(data)]


def of_r(rng: random.Random, data: bytes) -> bytes:
    """Return an object of R, packed as it was, with one thing in its unpacked bytes changed."""
    packed = data[:2] == b"\x1f\x8b"
    inner = of_bytes(rng, gzip.decompress(data) if packed else data)
    return gzip.compress(inner, mtime=0) if packed else inner


def of_pickle(rng: random.Random, data: bytes) -> bytes:
    """Return a pickle with an operand replaced: a number, a letter of a text, or a constant."""
    places = [(code.name, at) for code, _, at in pickletools.genops(data) if code.name in OPERANDS]
    name, at = rng.choice(places)
    return OPERANDS[name](rng, bytearray(data), at)


def _replaced(data: bytearray, at: int, new: bytes) -> bytes:
    data[at : at + len(new)] = new
    return bytes(data)


def _letter(rng: random.Random, data: bytearray, at: int, head: int) -> bytes:
    length = int.from_bytes(data[at + 1 : at + head], "little")
    return _replaced(data, at + head + rng.randrange(length), rng.choice([b"x", b"0", b"_"])) if length else bytes(data)


OPERANDS: dict[str, Any] = {
    "BININT1": lambda rng, data, at: _replaced(data, at + 1, bytes([rng.choice([0, 1, 2, 7, 255])])),
    "BININT": lambda rng, data, at: _replaced(data, at + 1, struct.pack("<i", rng.choice([0, -1, 1, 1 << 30]))),
    "BINFLOAT": lambda rng, data, at: _replaced(
        data, at + 1, struct.pack(">d", rng.choice([0.0, -1.0, 0.5, 1e300, float("nan"), float("inf")]))
    ),
    "SHORT_BINUNICODE": lambda rng, data, at: _letter(rng, data, at, 2),
    "SHORT_BINBYTES": lambda rng, data, at: _letter(rng, data, at, 2),
    "BINBYTES": lambda rng, data, at: _letter(rng, data, at, 5),
    "NONE": lambda rng, data, at: _replaced(data, at, b"\x88"),
    "NEWTRUE": lambda rng, data, at: _replaced(data, at, rng.choice([b"\x89", b"N"])),
    "NEWFALSE": lambda rng, data, at: _replaced(data, at, rng.choice([b"\x88", b"N"])),
}


HOW: dict[str, Any] = {
    ".json": lambda rng, data: json.dumps(of_json(rng, json.loads(data))).encode(),
    ".pkl": of_pickle,
    ".zip": of_archive,
    ".skops": of_archive,
    ".rds": of_r,
}


def outcome(path: Path) -> str:
    """Return what becomes of a file: the refusal, or a hash of the domain, the models' statements and the notes."""
    try:
        release = recon.load(path, limits=Limits(memory=1 << 29))
        told = repr((release.domain, release.rows, release.reader_notes, release.assumptions))
        text = told.replace(str(path), "FILE") + NumberedStatements(release.statements).fingerprint
    except ReconError as error:
        return f"{type(error).__name__}: {error}".replace(str(path), "FILE").replace(path.name, "FILE")[:300]
    return f"read: {hashlib.sha256(text.encode()).hexdigest()[:12]}"


def outcomes(path: Path, folder: Path) -> list[str]:
    """Return what becomes of a file as it is, and of each change of it."""
    place = folder / f"damaged{path.suffix}"
    found = []
    for data in (path.read_bytes(), *damaged(path)):
        place.write_bytes(data)
        found.append(outcome(place))
    return found


def stored() -> dict[str, list[str]]:
    """Return what became of each file when that was stored."""
    found: dict[str, list[str]] = json.loads(gzip.decompress(STORED.read_bytes()))
    return found


def main() -> None:
    """Store what becomes of the files whose names have a pattern (all), and print what changed."""
    import tempfile

    before, pattern = stored() if STORED.exists() else {}, re.compile(sys.argv[1] if len(sys.argv) > 1 else "")
    every = {name_of(path): path for path in files()}
    found = {name: before[name] for name in every if name in before and not pattern.search(name)}
    with tempfile.TemporaryDirectory() as folder:
        for name in filter(pattern.search, every):
            new = outcomes(every[name], Path(folder))
            found |= {name: new} if len(set(new)) >= TELLING else {}
    changed = {name: new for name, new in found.items() if new != before.get(name)}
    STORED.write_bytes(gzip.compress(json.dumps(found, indent=0, sort_keys=True).encode(), mtime=0))
    for name, new in changed.items():
        print(name, *list(difflib.unified_diff(before.get(name, []), new, n=0, lineterm=""))[2:], sep="\n  ")


if __name__ == "__main__":
    main()
