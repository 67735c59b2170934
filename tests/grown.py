"""Grows numbers in honest model files and watches what commands then take (`make safety`).

    python tests/grown.py [--seed 1] [--number 5000] [--minutes 9] [--kinds KIND ...] [--out FILE]

Each case is one honest file of tests/golden or examples with one to three numbers made larger (counts, lengths, shapes,
widths, thresholds; in JSON also lists and texts made longer), and one command under `--time 5 --memory 512M`, in a
process that is forked from one that has everything loaded. No process takes more than 600 MB or 10 seconds of the
processor, none ends with exit code 70 or by a signal. The same seed makes the same files. Prints what is wrong (the
file stays in the folder that is named) and keeps the result in --out, by seed (tests/grown.json). Exit code 1 where
anything is wrong.
"""

from __future__ import annotations

import argparse
import contextlib
import gzip
import io
import json
import os
import pickletools
import re
import resource
import signal
import sys
import tempfile
import time
import traceback
from collections import Counter
from datetime import date
from functools import cache
from pathlib import Path
from random import Random

ROOT = Path(__file__).resolve().parents[1]
sys.path[:0] = [str(ROOT), str(Path(__file__).parent)]

RESULT = Path(__file__).with_suffix(".json")
GOLDEN = ROOT / "tests" / "golden"
LARGEST = 120_000  # bytes of a file whose numbers are grown
MEMORY, PROCESSOR, WALL = 600 << 20, 10.0, 60.0
LIMITS = ["--time", "5", "--memory", "512M"]
COMMANDS = (["count"], ["audit"], ["inspect"], ["plan"], ["count", "--rows", "300"], ["audit", "--rows", "300"])
NUMBERS = (2**16, 10**6, 2**31 - 1, 2**31, 2**32 - 1, 4 * 10**9, 10**12, 2**62, 2**63 - 1, 10**18, 10**19, 2**64)
FLOATS = ("1e18", "4e9", "1e300", "-1e308", "1e400", "9" * 400, "0.1" + "0" * 300 + "1", "-0", "1e-320")
NUMBER = re.compile(rb"(?<![A-Za-z_\d.])-?\d+(?:\.\d+)?(?:[eE][-+]?\d+)?")
KINDS = {
    "release": ("*.json", "../../examples/releases/*.json"),
    "JSON": ("boosted/**/*.json", "models/**/*.json", "readers/**/*.json"),
    "text": ("models/**/*.txt", "boosted/**/*.txt", "readers/*.txt", "models/**/*.dot"),
    "table": ("**/*.csv",),
    "PMML": ("**/*.pmml",),
    "pickle": ("models/**/*.pkl", "**/*.joblib", "boosted/**/*.pkl"),
    "UBJSON": ("**/*.ubj",),
    "binary": ("**/*.cbm", "**/*.rds", "models/**/*.skops"),
}


@cache
def honest(kind: str) -> tuple[Path, ...]:
    """Return the honest files of a kind."""
    files = {path.resolve() for pattern in KINDS[kind] for path in GOLDEN.glob(pattern)}
    return tuple(sorted(p for p in files if p.stat().st_size <= LARGEST and p.name != "index.json"))


def grown(kind: str, data: bytes, dice: Random) -> bytes:
    """Return a file with some of its numbers grown."""
    packed = data[:2] == b"\x1f\x8b"
    data = gzip.decompress(data) if packed else data
    for _ in range(dice.choice((1, 1, 1, 2, 3))):
        if kind in {"release", "JSON"} and data[:1] in b"{[" and dice.random() < 0.6:
            data = in_tree(data, dice)
        elif kind == "pickle":
            data = in_opcodes(data, dice)
        elif kind in {"UBJSON", "binary"}:
            data = in_words(data, dice)
        else:
            data = in_text(data, dice)
    return gzip.compress(data, 1) if packed else data


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
        node[key] = (node[key] or "x") * dice.choice((10, 1000, 100_000))
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


def tried(case: int, seed: int, kinds: tuple[str, ...], folder: Path) -> tuple[str, list[str], str]:
    """Return the kind of a case, its command, and what is wrong with it ("": nothing); the file is in `folder`."""
    dice = Random(f"{seed} {case}")
    kind = dice.choice(kinds)
    source = dice.choice(honest(kind))
    path = folder / f"{case}{source.suffix}"
    path.write_bytes(grown(kind, source.read_bytes(), dice))
    command = dice.choice(COMMANDS)
    words = [command[0], str(path), *command[1:], *LIMITS]
    code, taken, most, said = forked(words)
    wrong = []
    if code not in {0, 1, 2, 3, 4, 5}:
        wrong.append(f"exit code {code}: {said[-300:]}")
    if most > MEMORY:
        wrong.append(f"{most >> 20} MB")
    if taken > PROCESSOR:
        wrong.append(f"{taken:.1f} s of the processor")
    if not wrong:
        path.unlink()
    return kind, words, "; ".join(wrong)


def forked(words: list[str]) -> tuple[int, float, int, str]:
    """Return the exit code of a command (below 0: a signal), the seconds and bytes it took, and what it complained."""
    reader, writer = os.pipe()
    child = os.fork()
    if not child:
        os.close(reader)
        os.setpgid(0, 0)
        silent = os.open(os.devnull, os.O_RDWR)
        os.dup2(silent, 0)
        os.dup2(silent, 1)
        os.dup2(writer, 2)
        sys.stdin, sys.stdout, sys.stderr = (io.TextIOWrapper(os.fdopen(os.dup(k), m)) for k, m in
                                             ((0, "rb"), (1, "wb"), (2, "wb")))  # fmt: skip
        code = 99
        try:
            from recon.cli.app import main

            sys.argv = ["recon", *words]
            main()
        except SystemExit as error:
            code = error.code if isinstance(error.code, int) else 0
        except BaseException:
            traceback.print_exc()
        finally:
            with contextlib.suppress(Exception):
                sys.stderr.flush()
            os._exit(code)
    os.close(writer)
    said, until = bytearray(), time.monotonic() + WALL
    os.set_blocking(reader, False)
    while True:
        with contextlib.suppress(BlockingIOError):
            said += os.read(reader, 1 << 16)
        done, status, used = os.wait4(child, os.WNOHANG)
        if done:
            break
        if time.monotonic() > until:
            os.killpg(child, signal.SIGKILL)
        time.sleep(0.01)
    with contextlib.suppress(BlockingIOError):
        said += os.read(reader, 1 << 16)
    os.close(reader)
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(child, signal.SIGKILL)
    text = said.decode(errors="replace")
    return os.waitstatus_to_exitcode(status), used.ru_utime + used.ru_stime, used.ru_maxrss << 10, text


def run(seed: int, number: int, kinds: tuple[str, ...], seconds: float, folder: Path) -> tuple[Counter[str], list[str]]:
    """Return how many cases of each kind were tried, and lines about those that are wrong."""
    import recon.auditing.gathering
    import recon.cli.app
    import recon.report.audit  # noqa: F401 - loaded once, for all
    import solvers.chain  # noqa: F401

    done: Counter[str] = Counter()
    wrong, until = [], time.monotonic() + seconds
    for case in range(number):
        if time.monotonic() > until:
            break
        kind, words, why = tried(case, seed, kinds, folder)
        done[kind] += 1
        if why:
            wrong.append(f"case {case} ({kind}): recon {' '.join(words)}: {why}")
            print(wrong[-1], flush=True)
    return done, wrong


def main() -> int:
    """Try the cases and write the result."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--number", type=int, default=5_000)
    parser.add_argument("--minutes", type=float, default=1e6)
    parser.add_argument("--kinds", nargs="*", default=list(KINDS), choices=list(KINDS))
    parser.add_argument("--out", type=Path, default=RESULT)
    asked = parser.parse_args()
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    folder = Path(tempfile.mkdtemp(prefix="grown-"))
    done, wrong = run(asked.seed, asked.number, tuple(asked.kinds), 60 * asked.minutes, folder)
    print(f"{sum(done.values()):,} files, {len(wrong)} wrong{f': see {folder}' if wrong else ''}")
    found = json.loads(asked.out.read_text(encoding="utf-8")) if asked.out.exists() else {}
    found[str(asked.seed)] = {"date": date.today().isoformat(), "cases": dict(sorted(done.items())), "wrong": wrong}
    asked.out.write_text(json.dumps(found, indent=1) + "\n", encoding="utf-8")
    if not wrong:
        folder.rmdir()
    return int(bool(wrong))


if __name__ == "__main__":
    sys.exit(main())
