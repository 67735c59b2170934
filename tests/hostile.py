"""Small files that ask for much, one builder per known case; each returns the path of what it wrote."""

from __future__ import annotations

import bz2
import gzip
import io
import json
import lzma
import pickle
import struct
import zipfile
import zlib

import numpy as np

NODE = {"__class__": "list", "__module__": "builtins", "__loader__": "ListNode"}


def npy(array):
    """Return the bytes of a .npy file."""
    out = io.BytesIO()
    np.save(out, array)
    return out.getvalue()


def skops(path, members=3_000, size=1 << 20):
    """An archive that references one member of zeros thousands of times."""
    array = {
        "__class__": "ndarray",
        "__module__": "numpy",
        "__loader__": "NdArrayNode",
        "type": "numpy",
        "file": "a.npy",
    }
    content = [array | {"__id__": i} for i in range(members)]
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("schema.json", json.dumps(NODE | {"content": content, "protocol": 2}))
        archive.writestr("a.npy", npy(np.zeros(size, np.uint8)))


def rpart(path):
    """An rpart tree whose root says that it has 400 million surrogate splits."""
    frame = {"var": ["x", "<leaf>", "<leaf>"], "n": [4, 2, 2], "ncompete": [0, 0, 0], "nsurrogate": [400_000_000, 0, 0]}
    one = {"frame": frame, "node": [1, 2, 3], "splits": [[4, -1, 1, 0.5]]}
    path.write_text(json.dumps(one), encoding="utf-8")


def rpart_two(path):
    """The same with a second split, whose place then lies far behind the table."""
    var = ["x", "<leaf>", "x", "<leaf>", "<leaf>"]
    many = [400_000_000, 0, 0, 0, 0]
    frame = {"var": var, "n": [4, 2, 2, 1, 1], "ncompete": [0] * 5, "nsurrogate": many}
    one = {"frame": frame, "node": [1, 2, 3, 6, 7], "splits": [[4, -1, 1, 0.5]]}
    path.write_text(json.dumps(one), encoding="utf-8")


def profiles(path, size=96 << 20):
    """Profiles that unpack to 96 MB."""
    line = b"0,1,0\n" * (1 << 18)
    with gzip.open(path, "wb", 1) as file:
        file.write(b"a,b,c\n")
        for _ in range(size // len(line)):
            file.write(line)


def long_line(path, size=96 << 20):
    """A table of one endless line behind gzip."""
    with gzip.open(path, "wb", 1) as file:
        for _ in range(size >> 20):
            file.write(b"a" * (1 << 20))


def nested_pickle(path, depth=500_000):
    """A list in a list in a list ..."""
    path.write_bytes(b"\x80\x04" + b"]" * depth + b"a" * (depth - 1) + b".")


def nested_tuples(path, depth=500_000):
    """A tuple in a tuple in a tuple ..."""
    path.write_bytes(b"\x80\x04)" + b"\x85" * depth + b".")


def nested_json(path, depth=500_000):
    """A list in a list ... as JSON."""
    path.write_text("[" * depth + "]" * depth, encoding="utf-8")


def wide_json(path, size=8 << 20):
    """Empty objects, which take much more memory than text."""
    path.write_text('{"recon": 1, "models": [' + ",".join(["{}"] * (size // 3)) + "]}", encoding="utf-8")


def wrong_nodes(path, nodes=300_000):
    """A release each of whose nodes is refused."""
    wrong = ",".join(['{"colour":1}'] * nodes)
    path.write_text(
        f'{{"recon":1,"domain":{{"attributes":[{{"name":"a","values":[0,1]}}]}},'
        f'"models":[{{"kind":"tree","nodes":[{wrong}]}}]}}',
        encoding="utf-8",
    )


def nested_xml(path, depth=400_000):
    """An element in an element in an element ..."""
    path.write_text("<PMML>" + "<a>" * depth + "</a>" * depth + "</PMML>", encoding="utf-8")


def wide_xml(path, size=4 << 20):
    """Millions of empty elements."""
    path.write_text("<PMML>" + "<a/>" * (size // 4) + "</PMML>", encoding="utf-8")


def bomb(packed, size=96 << 20):
    """Return zeros packed by a function that takes them piece by piece."""
    piece, out = bytes(1 << 20), bytearray()
    for _ in range(size >> 20):
        out += packed.compress(piece)
    return bytes(out + packed.flush())


def joblib_bomb(kind):
    """Return the builder of a pickle of one long text, compressed."""
    makers = {
        "zlib": zlib.compressobj,
        "bz2": bz2.BZ2Compressor,
        "xz": lambda: lzma.LZMACompressor(preset=0),
    }

    def build(path):
        head = b"\x80\x04\x8e" + struct.pack("<Q", 96 << 20)
        packer = makers[kind]()
        path.write_bytes(packer.compress(head) + bomb(packer))

    return build


def npy_shape(path):
    """A skops archive whose array says that it has 2^40 items of no bytes."""
    array = {
        "__class__": "ndarray",
        "__module__": "numpy",
        "__loader__": "NdArrayNode",
        "type": "numpy",
        "file": "a.npy",
    }
    head = b"{'descr': '|V0', 'fortran_order': False, 'shape': (1099511627776,)}"
    content = b"\x93NUMPY\x01\x00" + struct.pack("<H", len(head)) + head
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("schema.json", json.dumps(array | {"protocol": 2}))
        archive.writestr("a.npy", content)


def rds(path, sequences=200):
    """An R list of compact sequences of four million numbers each."""

    def item(flags, *rest):
        return struct.pack(">i", flags) + b"".join(rest)

    def text(value):
        return item(0x40009, struct.pack(">i", len(value)), value)

    def one():
        info = item(2, item(1, text(b"compact_intseq")), item(254))
        state = item(14, struct.pack(">i", 3), struct.pack(">ddd", 4_000_000, 1, 1))
        return item(238, info, state, item(254))

    head = b"X\n" + struct.pack(">iii", 2, 0x40000, 0x20300)
    path.write_bytes(head + item(19, struct.pack(">i", sequences), b"".join(one() for _ in range(sequences))))


def parquet(path, rows=40_000_000):
    """A Parquet table of many rows that are all the same."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    column = pa.DictionaryArray.from_arrays(pa.array(np.zeros(rows, np.int8)), pa.array(["a" * 100]))
    pq.write_table(pa.table({"a": column}), path, compression="zstd")


def parquet_page(path, size=96 << 20):
    """A Parquet table of one cell, whose page unpacks to 96 MB."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    table = pa.table({"a": pa.array([bytes(size)], pa.large_binary())})
    pq.write_table(table, path, compression="zstd", write_statistics=False)  # of 96 MB, they take a second


def comb(path, levels, attributes=3, values=None):
    """A release of one tree that is a comb: every second child is a leaf of one row."""
    per = values or levels // attributes + 1
    every = [{"name": f"x{k}", "min": 0, "max": per} for k in range(attributes)]
    nodes = []
    for i in range(levels):
        test = {f"x{i % attributes}": {"at_most": (i // attributes) % per}}
        fresh = i // attributes < per
        nodes.append({"if": test, "then": 2 * i + 1, "else": 2 * i + 2})
        nodes.append({"counts": [int(fresh), 0]})
    nodes.append({"counts": [1, 0]})
    release = {
        "recon": 1,
        "domain": {"attributes": every, "label": {"name": "y", "values": [0, 1]}},
        "models": [{"kind": "tree", "nodes": nodes}],
    }
    path.write_text(json.dumps(release), encoding="utf-8")


def forest(path, trees=110, rows=2_000):
    """A release of a forest of full-grown random trees: 18 MB."""
    import random

    dice = random.Random(1)
    made = []
    for _ in range(trees):
        nodes = []

        def grow(n, nodes=nodes):
            at = len(nodes)
            nodes.append(None)
            if n == 1:
                nodes[at] = {"counts": [1, 0]}
                return at
            k = dice.randrange(1, n)
            test = {f"x{dice.randrange(10)}": {"at_most": dice.randrange(1000)}}
            then, other = grow(k), grow(n - k)
            nodes[at] = {"if": test, "then": then, "else": other}
            return at

        grow(rows)
        made.append({"nodes": nodes})
    every = [{"name": f"x{k}", "min": 0, "max": 1000} for k in range(10)]
    domain = {"attributes": every, "label": {"name": "y", "values": [0, 1]}}
    one = {"recon": 1, "domain": domain, "models": [{"kind": "forest", "trees": made}]}
    path.write_text(json.dumps(one), encoding="utf-8")


def shared_pickle(path, depth=60):
    """Lists that hold the list before them twice: 2^60 leaves if nobody remembers what was met."""
    value = []
    for _ in range(depth):
        value = [value, value]
    path.write_bytes(pickle.dumps(value, protocol=4))
