"""Damaged model files of every container: a refusal in one sentence or an inert graph, quick and in bounded memory."""

from __future__ import annotations

import gzip
import io
import json
import pickle
import random
import subprocess
import sys
import time
import warnings
import zipfile
import zlib
from collections import Counter
from pathlib import Path

import numpy as np
import pytest

from recon.io.files.opening import budget_within
from recon.readers.formats.detection import read_draft
from recon.readers.formats.release.parts import to_models
from recon.readers.formats.release.reading import parse
from recon.readers.stored.objects.arrays import resolve
from recon.readers.stored.objects.raw import Name
from recon.readers.stored.pickled.pickles import Thing
from recon.readers.stored.pickled.stored_files import open_stored
from recon.readers.stored.rewriting import _same, write_pickle, write_skops
from solvers.foundation.errors import ReleaseError, Unsupported

GOLDEN = Path(__file__).parent / "golden" / "models"
MEMORY = 64 << 20  # what a file may use; the process gets ROOM more than it has before the first file
ROOM = 700 << 20
SECONDS = 5
READERS = {  # read to the end, as far as their readers go
    "rds": "rpart-4.1.19/people.rds",
    "rds, text": "rpart-4.1.19/shop_ascii.rds",
    "PMML": "pmml-written/surrogates.pmml",
    "release": "../tree_classes.json",
}
PYTHON_2 = {"a": [1, 2.5, None, 2**70], "b": {3: "text", "c": (1, "x")}, "d": np.arange(4), "e": Counter("aab")}


def subjects():
    """Return small files by name, each with the function that packs a damaged content again."""
    old = GOLDEN / "sklearn-1.9.1"
    plain, joblib = (old / "tree.pkl").read_bytes(), (old / "tree.joblib").read_bytes()
    return {
        "pickle": (plain, bytes),
        "pickle 2": ((old / "tree.p2.pkl").read_bytes(), bytes),
        "pickle 0": (pickle.dumps(PYTHON_2, protocol=0), bytes),
        "pickle 5": (
            pickle.dumps({**PYTHON_2, "s": {1, (2, 3)}, "f": frozenset("a"), "y": bytearray(3)}, protocol=5),
            bytes,
        ),
        "forest, 1.2": ((GOLDEN / "sklearn-1.2.2" / "tree.pkl").read_bytes(), bytes),
        "objects": (pickle.dumps(np.array([[1, "a"], [None, [2]]], dtype=object), protocol=4), bytes),
        "joblib": (joblib, bytes),
        "joblib, zlib": (joblib, zlib.compress),
        "joblib, gzip": (joblib, gzip.compress),
        "joblib, zlib, raw": ((old / "tree.z3.joblib").read_bytes(), bytes),
        "joblib, xz, raw": ((old / "tree.xz.joblib").read_bytes(), bytes),
        "skops": ((old / "tree.skops").read_bytes(), bytes),
        "skops, members": ((old / "tree.skops").read_bytes(), None),
        **{name: ((GOLDEN / file).read_bytes(), bytes) for name, file in READERS.items()},
    }


def damaged(data, dice, other):
    """Return the data after one to four flips, cuts, insertions, copies or splices."""
    made = bytearray(data)
    for _ in range(dice.choice([1, 1, 1, 2, 4])):
        at = dice.randrange(len(made) + 1)
        kind = dice.randrange(7)
        if kind == 0 and made:
            made[at % len(made)] ^= 1 << dice.randrange(8)
        elif kind == 1 and made:
            made[at % len(made)] = dice.randrange(256)
        elif kind == 2:
            del made[at : at + dice.choice([1, 2, 9, 200])]
        elif kind == 3:
            made[at:at] = dice.randbytes(dice.choice([1, 2, 8]))
        elif kind == 4:
            begin = dice.randrange(len(other))
            made[at : at + dice.choice([0, 5])] = other[begin : begin + dice.choice([1, 10, 100])]
        elif kind == 5:
            del made[at:]
        else:  # opcodes that build, copy and fill
            made[at:at] = bytes(
                dice.choices(b"(]}\x8f)\x94\x85\x86aeustRb\x81\x93N2.0h\x96\x8a", k=dice.choice([1, 3, 20]))
            )
    return bytes(made)


def damaged_members(data, dice, other):
    """Return the archive with one member damaged, its checksum right."""
    made = io.BytesIO()
    with zipfile.ZipFile(io.BytesIO(data)) as archive, zipfile.ZipFile(made, "w") as written:
        names = archive.namelist()
        chosen = dice.choice([*names, *["schema.json"] * len(names)])
        for name in names:
            content = archive.read(name)
            written.writestr(name, damaged(content, dice, other) if name == chosen else content)
    return made.getvalue()


def all_read(file):
    """Read a file that holds no stored objects: its draft, or the parts of a release."""
    with budget_within(MEMORY):
        if read_draft(file, MEMORY) is None:
            to_models(parse(file, "file"))


def use_all(stored):
    """Resolve everything in a graph, write it and read it again."""
    stack, seen = [stored.root], {}
    while stack:
        value = stack.pop()
        if id(value) in seen:
            continue
        seen[id(value)] = value
        if isinstance(value, Thing):
            assert isinstance(value.callable, Name)
            repr(value)
            try:
                resolve(value)
                resolve(value.attributes)
            except ReleaseError:
                pass
            stack += [value.args, value.kwargs, value.state, value.items, value.pairs]
        elif isinstance(value, dict):
            stack += [*value.keys(), *value.values()]
        elif isinstance(value, (list, tuple, set, frozenset)):
            stack += value
    written = write_pickle(stored.root, 5)
    again = open_stored(written, MEMORY)
    assert again is not None
    if stored.format == "pickle" and stored.protocol > 2:
        assert _same(again.root, stored.root)


def run(name, times, seed):
    """Damage one subject `times` times; return what came out and the longest time in seconds."""
    files = subjects()
    data, pack = files[name]
    others = [content for content, _ in files.values()]
    dice, found, longest = random.Random(f"{name} {seed}"), Counter(), 0.0
    for _ in range(times):
        other = dice.choice(others)
        file = damaged_members(data, dice, other) if pack is None else pack(damaged(data, dice, other))
        begun = time.process_time()
        try:
            stored = all_read(file) if name in READERS else open_stored(file, MEMORY)
            if stored is not None:
                use_all(stored)
                if stored.format == "skops":
                    write_skops(file, [("classes_",)], MEMORY)
            found["none" if stored is None else "opened"] += 1
        except (ReleaseError, Unsupported) as error:
            message = str(error)
            plain = 5 < len(message) < 400 and message.isprintable() and "than there is" not in message
            found["refused" if plain else f"wrong: {message}"] += 1
        longest = max(longest, time.process_time() - begun)
    return {**found, "seconds": longest}


def main():
    import resource

    size = int(Path("/proc/self/statm").read_text(encoding="ascii").split()[0]) * resource.getpagesize()
    resource.setrlimit(resource.RLIMIT_AS, (size + ROOM, size + ROOM))
    warnings.simplefilter("error")
    print(json.dumps(run(sys.argv[1], int(sys.argv[2]), int(sys.argv[3]))))


def in_a_child(name, times, seed=1):
    command = [sys.executable, __file__, name, str(times), str(seed)]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=600)
    assert done.returncode == 0, done.stderr[-3000:]
    found = json.loads(done.stdout)
    assert found["refused"] > times / 10
    assert set(found) <= {"refused", "opened", "none", "seconds"}, found
    assert found["seconds"] < SECONDS
    assert sum(found.values()) - found["seconds"] == times


NAMES = list(subjects())
linux_only = pytest.mark.skipif(sys.platform != "linux", reason="the memory limit is read from /proc")


@pytest.mark.sampled(1, 4)
@linux_only
@pytest.mark.parametrize("name", NAMES)
def test_damaged_files(name):
    in_a_child(name, 300)


@linux_only
@pytest.mark.long
@pytest.mark.parametrize("name", NAMES)
def test_many_damaged_files(name):
    in_a_child(name, 10_000, seed=2)


if __name__ == "__main__":
    main()
