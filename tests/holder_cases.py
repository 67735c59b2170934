"""Places of model files where somebody may hide training rows: each hides one holder, and says where.

Nothing here asks recon what it thinks of a place: containers are changed byte by byte, opcode by opcode, key by key.
A place takes a random generator and the bytes of a file and returns the changed bytes, None where it has no such place.
"""

from __future__ import annotations

import base64
import bz2
import datetime
import decimal
import fractions
import gzip
import io
import json
import lzma
import pickle
import pickletools
import re
import struct
import zipfile
import zlib
from array import array
from collections import Counter, OrderedDict, deque
from collections.abc import Callable
from itertools import pairwise
from random import Random
from typing import Any
from xml.etree import ElementTree

import numpy as np
import pandas as pd
from scipy import sparse

Place = Callable[[Random, bytes], bytes | None]


def people(draw: Random) -> list[list[int]]:
    """Return rows of training data: age, income, illness; enough that no eight small values hold them."""
    return [
        [draw.randint(18, 99), draw.randint(12_000, 250_000), draw.randint(0, 1)] for _ in range(draw.randint(9, 30))
    ]


def values(rows: list[list[int]]) -> list[int]:
    """Return the values of rows, one row behind the other."""
    return [value for row in rows for value in row]


def text_of(draw: Random) -> str:
    """Return rows as a text: as a table, as JSON, or packed."""
    rows = people(draw)
    table = draw.choice(";|\n").join(draw.choice(", \t").join(map(str, row)) for row in rows)
    return draw.choice([
        table, json.dumps(rows), base64.b64encode(table.encode()).decode(), table.encode().hex(),
        " ".join(f"age {a} income {b} ill {c};" for a, b, c in rows),
    ])  # fmt: skip


def words_of(draw: Random) -> list[str]:
    """Return rows as short words without spaces: more than a model has columns or classes."""
    packed = json.dumps(people(draw)).encode().hex() + json.dumps(people(draw)).encode().hex()
    size = draw.choice([12, 24, 36])
    return ["v" + packed[i : i + size] for i in range(0, len(packed), size)]


def plain_of(draw: Random) -> Any:
    """Return rows as values that JSON has."""
    rows = people(draw)
    return draw.choice([
        rows, values(rows), [float(v) for v in values(rows)], {f"p{i}": v for i, v in enumerate(values(rows))},
        [{"age": a, "ill": c} for a, _, c in rows], int.from_bytes(json.dumps(rows).encode(), "big"), text_of(draw),
        [bool(draw.randint(0, 1)) for _ in range(80)], [draw.choice([None, True, False]) for _ in range(90)],
        [[[row]] for row in rows], words_of(draw), dict.fromkeys(words_of(draw)),
    ])  # fmt: skip


def object_of(draw: Random) -> Any:
    """Return rows as an object that a pickle has."""
    rows = people(draw)
    flat, labels = values(rows), [draw.randint(0, 1) for _ in range(90)]
    made: list[Callable[[], Any]] = [
        lambda: tuple(map(tuple, rows)), lambda: set(flat), lambda: frozenset(map(str, flat)),
        lambda: text_of(draw).encode(),
        lambda: bytearray(text_of(draw).encode()), lambda: [complex(a, b) for a, b, _ in rows],
        lambda: np.array(rows, draw.choice(["f8", "f4", "i8", "i4", "u4"])),
        lambda: np.array(labels, draw.choice(["?", "i1", "u1"])),
        lambda: np.array(flat, dtype=object), lambda: np.array(list(map(str, flat))),
        lambda: pd.DataFrame(rows, columns=list("abc")),
        lambda: pd.Series(flat), lambda: sparse.csr_matrix(np.array(rows, float)),
        lambda: np.array([tuple(r) for r in rows], [("a", "i4"), ("b", "f8"), ("c", "?")]),
        lambda: [decimal.Decimal(v) for v in flat],
        lambda: [datetime.date(2020, 1, 1) + datetime.timedelta(a) for a, _, _ in rows],
        lambda: dict(enumerate(flat)), lambda: {tuple(r): None for r in rows},
        lambda: [np.float64(v) for v in flat],
        lambda: np.ma.masked_array(flat, mask=[v == 1 for v in flat]), lambda: {"rows": {"deep": [{"x": rows}]}},
        lambda: slice(int.from_bytes(json.dumps(rows).encode(), "big"), None), lambda: pd.Index(flat),
        lambda: np.array(flat, "M8[s]"), lambda: {complex(a, b) for a, b, _ in rows},
        lambda: {complex(a, b): None for a, b, _ in rows}, lambda: np.array(flat) + 1j,
        lambda: [fractions.Fraction(a, b) for a, b, _ in rows], lambda: [bytes(row[::2]) for row in rows],
        lambda: array("l", flat), lambda: deque(flat), lambda: set(map(frozenset, rows)), lambda: Counter(flat),
        lambda: OrderedDict.fromkeys(flat), lambda: [range(a, b) for a, b, _ in rows],
        lambda: [[[], ()][label] for label in labels], lambda: [np.empty((a, 0, b)) for a, b, _ in rows],
        lambda: {datetime.timedelta(a, b): 0 for a, b, _ in rows}, lambda: [np.datetime64(b, "s") for _, b, _ in rows],
    ]  # fmt: skip
    return plain_of(draw) if draw.random() < 0.3 else draw.choice(made)()


# ------------------------------------------------------------------ pickles: opcode by opcode, no library needed


def opcodes(value: Any) -> bytes:
    """Return the opcodes that push a value, without memo."""
    out = io.BytesIO()
    packer = pickle.Pickler(out, 2)
    packer.fast = True
    packer.dump(value)
    return out.getvalue()[2:-1]


def names_of(draw: Random) -> bytes:
    """Return the opcodes of a list of class names that are rows."""
    return b"]" + b"".join(b"cshop\n" + word.encode() + b"\na" for word in words_of(draw))


def opcodes_of(data: bytes) -> list[tuple[str, Any, int, int]] | None:
    """Return name, argument, begin and end of each opcode of a pickle; None for what is none."""
    try:
        found = [(op.name, arg, at) for op, arg, at in pickletools.genops(data)]
    except Exception:
        return None
    ends = [at for _, _, at in found[1:]] + [len(data)]
    return [(name, arg, at, end) for (name, arg, at), end in zip(found, ends, strict=True)]


def _unframed(data: bytes) -> bytes:
    return b"".join(data[at:end] for name, _, at, end in opcodes_of(data) or [] if name != "FRAME")


PUTS = frozenset({"BINPUT", "LONG_BINPUT", "MEMOIZE"})
HIDDEN: dict[int, list[tuple[int, int]]] = {}  # by a file's hash: where in it holders stand, which are no places


def in_opcodes(draw: Random, data: bytes) -> bytes | None:
    """Hide a holder in a pickle: an attribute, an item, a key, a value taken off the stack, or one that is replaced."""
    if opcodes_of(data) is None:
        return None
    data = data if hash(data) in HIDDEN else _unframed(data)
    ranges = HIDDEN.get(hash(data), [])
    steps = [one for one in opcodes_of(data) or [] if not any(a < one[3] <= b for a, b in ranges)]
    held = names_of(draw) if draw.random() < 0.1 else opcodes(object_of(draw))
    key = opcodes(draw.choice(["note_", "_cache", "x_", "data_"]) + str(draw.randint(0, 999)))
    after = {
        "attribute": [end for (name, _, _, end), follow in pairwise(steps)
                      if name in {"SETITEMS", "SETITEM"} and follow[0] == "BUILD"],
        "key": [end for name, _, _, end in steps if name == "SETITEMS"],
        "item": [end for name, _, _, end in steps if name == "APPENDS"],
        "popped": [end for name, _, _, end in steps[1:-1] if name not in {"PROTO", "MARK"}],
        "state": [end for name, _, _, end in steps if name == "BUILD"],
        "memo": [end for name, _, _, end in steps[1:-1] if name not in {"PROTO", "MARK"}],
    }  # fmt: skip
    replaced = [
        (steps[i + (2 if "PUT" not in steps[i + 1][0] and steps[i + 1][0] != "MEMOIZE" else 3)][1], end)
        for i, (name, _, _, end) in enumerate(steps[:-4])
        if name == "EMPTY_DICT" and steps[i + 1][0] in PUTS and steps[i + 2][0] == "MARK"
    ]  # fmt: skip
    kind = draw.choice([*(k for k, v in after.items() if v), *(["replaced"] if replaced else [])])
    if kind == "replaced":
        name, at = draw.choice(replaced)
        if not isinstance(name, str):
            return None
        at = next(end for _, _, begin, end in steps if begin == at)  # behind the memo
        return _added(data, at, opcodes(name) + held + b"s")
    at = draw.choice(after[kind])
    put = b"r" + struct.pack("<I", draw.randint(5_000, 60_000))
    added = {"attribute": key + held + b"s", "key": key + held + b"s", "item": held + b"a", "popped": held + b"0",
             "state": b"}" + key + held + b"sb", "memo": held + put + b"0"}[kind]  # fmt: skip
    return _added(data, at, added)


def _added(data: bytes, at: int, added: bytes) -> bytes:
    """Return a pickle with more opcodes in it, and remember where they stand."""
    size = len(added)
    found = data[:at] + added + data[at:]
    HIDDEN[hash(found)] = [(a + size * (a >= at), b + size * (a >= at)) for a, b in HIDDEN.get(hash(data), [])] + [
        (at, at + size)
    ]
    return found


LEAF = struct.pack("<qqqd", -1, -1, -2, -2.0)  # a leaf of scikit-learn: no children, no feature, no threshold


def in_leaves(draw: Random, data: bytes) -> bytes | None:
    """Hide a holder in what leaves of trees have where others have thresholds, columns or children."""
    spots = [m.start() for m in re.finditer(re.escape(LEAF), data)]
    if (
        len(spots) < 9 or hash(data) in HIDDEN
    ):  # the first holder of a file only: others may have taken its arrays apart
        return None
    field, form = draw.choice([(24, "<d"), (16, "<q"), (8, "<q")])
    found = bytearray(data)
    for at, value in zip(spots, values(people(draw)), strict=False):
        struct.pack_into(form, found, at + field, -float(value) if form == "<d" else -value - 9)
    HIDDEN[hash(bytes(found))] = HIDDEN.get(hash(data), [])
    return bytes(found)


# ------------------------------------------------------------------ objects, saved again


def _owners(root: Any) -> list[Any]:
    """Return the objects, dicts and lists below an estimator, each once."""
    found, stack, met = [], [root], set()
    while stack:
        one = stack.pop()
        if id(one) in met or isinstance(one, (str, bytes, type, np.ndarray, np.generic, pd.DataFrame)):
            continue
        met.add(id(one))
        if isinstance(one, dict):
            found.append(one)
            stack += one.values()
        elif isinstance(one, (list, tuple)):
            found += [one] if isinstance(one, list) else []
            stack += one
        elif hasattr(one, "__dict__") and not callable(one):
            found.append(one)
            stack += vars(one).values()
        elif hasattr(one, "__dict__"):
            stack += vars(one).values() if hasattr(one, "get_params") else []
    return found


def on_estimator(draw: Random, data: bytes) -> bytes | None:
    """Hide a holder on an object of a pickle that this Python can load: a new attribute, or a parameter's value."""
    try:
        root = pickle.loads(data)
    except Exception:
        return None
    owners = [one for one in _owners(root) if hasattr(one, "get_params")] or [
        one for one in _owners(root) if hasattr(one, "__dict__")
    ]
    if not owners:
        return None
    owner = draw.choice(owners)
    inner = [
        name
        for name, value in vars(owner).items()
        if not hasattr(value, "__dict__") and not isinstance(value, (list, np.ndarray))
    ]
    name = draw.choice(inner) if inner and draw.random() < 0.5 else f"note{draw.randint(0, 99)}_"
    try:
        vars(owner)[name] = object_of(draw)
        return pickle.dumps(root, draw.choice([2, 3, 4, 5]))
    except Exception:
        return None


# ------------------------------------------------------------------ JSON, UBJSON, schemas


def _places(content: Any) -> tuple[list[Any], list[Any]]:
    dicts, lists, stack = [], [], [content]
    while stack:
        one = stack.pop()
        if isinstance(one, dict):
            dicts.append(one)
            stack += one.values()
        elif isinstance(one, list):
            lists.append(one)
            stack += one
    return dicts, lists


def changed(draw: Random, content: Any) -> None:
    """Hide a holder in parsed JSON: a new key, a longer list, another value of a key."""
    dicts, lists = _places(content)
    kind = draw.choice(["key", "key", "list", "value"])
    if kind == "list" and lists:
        one = draw.choice(lists)
        one += values(people(draw)) if draw.random() < 0.5 or not one else [plain_of(draw)]
    elif kind == "value" and any(dicts):
        one = draw.choice([d for d in dicts if d])
        plain = [k for k, v in one.items() if not isinstance(v, (dict, list))]
        one[draw.choice(plain or list(one))] = plain_of(draw)
    elif dicts:
        draw.choice(dicts)[f"note{draw.randint(0, 99)}"] = plain_of(draw)
    else:
        content.append(plain_of(draw))


def in_json(draw: Random, data: bytes) -> bytes | None:
    """Hide a holder in JSON; a doubled key among them."""
    try:
        content = json.loads(data)
    except ValueError:
        return None
    if draw.random() < 0.1:
        keys = list(re.finditer(rb'"(\w+)":', data))
        if keys:
            one = draw.choice(keys)
            return data[: one.start()] + one.group() + json.dumps(plain_of(draw)).encode() + b"," + data[one.start() :]
    if draw.random() < 0.05:
        return data + b"\n" + json.dumps(plain_of(draw)).encode()
    changed(draw, content)
    return json.dumps(content).encode()


def to_ubjson(value: Any) -> bytes:
    """Return a value as UBJSON."""

    def size(number: int) -> bytes:
        return b"L" + struct.pack(">q", number)

    if value is None or isinstance(value, bool):
        return {None: b"Z", True: b"T", False: b"F"}[value]
    if isinstance(value, dict):
        parts = (size(len(k.encode())) + k.encode() + to_ubjson(v) for k, v in value.items())
        return b"{" + b"".join(parts) + b"}"
    if isinstance(value, (list, np.ndarray)):
        return b"[" + b"".join(map(to_ubjson, list(value))) + b"]"
    if isinstance(value, (int, np.integer)):
        return b"L" + struct.pack(">q", int(value)) if abs(value) < 1 << 62 else to_ubjson(str(value))
    if isinstance(value, (float, np.floating)):
        return b"D" + struct.pack(">d", float(value))
    raw = str(value).encode()
    return b"S" + size(len(raw)) + raw


def in_ubjson(draw: Random, data: bytes) -> bytes | None:
    """Hide a holder in UBJSON: behind no-operations, behind its end, or in its values."""
    from recon.readers.stored.binary.ubjson import read_ubjson

    content = read_ubjson(data, 1 << 28)
    if draw.random() < 0.1:
        return data + text_of(draw).encode()
    changed(draw, content)
    return to_ubjson(content)


# ------------------------------------------------------------------ archives and compressed files


def in_zip(draw: Random, data: bytes) -> bytes | None:
    """Hide a holder in a skops archive: a member, notes, a gap, times and rights of members, or the schema."""
    out, kind = (
        io.BytesIO(),
        draw.choice(["member", "comment", "note", "extra", "gap", "schema", "schema", "schema", "before", "times"]),
    )
    hidden = values(people(draw)) if kind == "times" else []
    held = text_of(draw).encode()
    with zipfile.ZipFile(io.BytesIO(data)) as old, zipfile.ZipFile(out, "w") as new:
        infos = old.infolist()
        chosen = draw.choice(infos).filename
        for info in infos:
            content, mine = old.read(info.filename), info.filename == chosen
            if kind == "schema" and info.filename == "schema.json":
                schema = json.loads(content)
                dicts, _ = _places(schema)
                draw.choice(dicts)[f"__note{draw.randint(0, 9)}__"] = plain_of(draw)
                content = json.dumps(schema).encode()
            if kind == "note" and mine:
                info.comment = held
            if kind == "times":
                one = draw.choice(hidden)
                info.date_time, info.external_attr = (1980 + one % 100, 1 + one % 12, 1 + one % 28, 0, 0, 0), one
            if kind == "extra" and mine:
                info.extra = struct.pack("<HH", 0x9999, len(held)) + held
            new.writestr(info, content)
            if kind == "gap" and mine:
                new.fp.write(held)
                new.start_dir = new.fp.tell()
        if kind == "member":
            new.writestr(f"{draw.randint(10**9, 10**10)}.npy", held)
        new.comment = held if kind == "comment" else old.comment
    return (held if kind == "before" else b"") + out.getvalue()


def packed(data: bytes) -> bytes:
    """Return a zip archive written again, with the same members, without times of its own."""
    out = io.BytesIO()
    with zipfile.ZipFile(io.BytesIO(data)) as old, zipfile.ZipFile(out, "w") as new:
        for info in old.infolist():
            info.date_time, info.external_attr = (1980, 1, 1, 0, 0, 0), 0o600 << 16
            new.writestr(info, old.read(info.filename))
        new.comment = old.comment
    return out.getvalue()


def in_gzip(draw: Random, data: bytes) -> bytes | None:
    """Hide a holder beside the content of a gzip file: name, comment, extra field, second stream, bytes behind."""
    content = gzip.decompress(data) if data[:2] == b"\x1f\x8b" else data
    held = text_of(draw).encode().replace(b"\0", b"")
    body = gzip.compress(content, mtime=0)
    kind = draw.choice(["name", "comment", "extra", "stream", "behind"])
    if kind in {"stream", "behind"}:
        return body + (gzip.compress(held) if kind == "stream" else held)
    flag, more = {"name": (8, held + b"\0"), "comment": (16, held + b"\0"),
                  "extra": (4, struct.pack("<H", len(held)) + held)}[kind]  # fmt: skip
    return body[:3] + bytes([flag]) + body[4:10] + more + body[10:]


def behind(draw: Random, data: bytes) -> bytes | None:
    """Hide a holder behind the end of a compressed pickle, or in a second stream of it."""
    pack = draw.choice([zlib.compress, lzma.compress, bz2.compress])
    held = text_of(draw).encode()
    return pack(data) + (pack(held) if draw.random() < 0.5 else held)


# ------------------------------------------------------------------ how values are written


def in_spelling(draw: Random, data: bytes) -> bytes | None:
    """Hide a holder in spaces: bits of a text as blanks and tabs in one place, or as digits behind a number."""
    text = data.decode("utf-8")
    bits = "".join(f"{byte:08b}" for byte in text_of(draw).encode())
    spaces = bits.replace("0", " ").replace("1", "\t")
    if draw.random() < 0.5:
        spots = [m.end() for m in re.finditer(r"\n" if "\n" in text.strip() else r"[,{]", text)][:-1]
        if not spots:
            return None
        at = draw.choice(spots)
        return (text[:at] + spaces + ("" if text[0] in "<{[" else "\n") + text[at:]).encode()
    held = iter(values(people(draw)))
    form = r"(?<=[ ,:=\[\"])(\d+\.\d{1,16})(?=[ ,\n\]\"}])"
    if len(re.findall(form, text)) < 9:
        return None
    return re.sub(form, lambda m: m[1] + (f"{0:018d}{more}" if (more := next(held, 0)) else ""), text).encode()


# ------------------------------------------------------------------ texts


def in_lines(draw: Random, data: bytes) -> bytes | None:
    """Hide a holder in a printed model: a line of its own or once more, behind a line, in a list, in a name."""
    lines = data.decode("utf-8").split("\n")
    held = text_of(draw).replace("\n", ";")
    kind = draw.choice(["line", "line", "behind", "numbers", "name", "parameter", "again"])
    full = [i for i, line in enumerate(lines) if line.strip()]
    if kind == "line":
        at = draw.randrange(1, len(lines) + 1)
        lines.insert(at, draw.choice(["", "# ", "note=", "[data: ", "  "]) + held)
    elif kind == "behind":
        at = draw.choice(full[1:] or full)
        lines[at] += draw.choice(["  # ", " ", "; "]) + held
    elif kind == "numbers":
        of = [i for i in full if re.match(r"\w+=-?[\d.e+-]+( -?[\d.e+-]+)*$", lines[i])]
        if not of:
            return None
        at = draw.choice(of)
        lines[at] += " " + " ".join(str(v) for v in values(people(draw)))
    elif kind == "again":
        of = [i for i in full if re.match(r"\w+=", lines[i])]
        if not of:
            return None
        at = draw.choice(of)
        numbers = " ".join(str(v) for v in values(people(draw)))
        lines.insert(at, lines[at].partition("=")[0] + "=" + numbers)
    elif kind == "parameter":
        of = [i for i in full if re.match(r"\[\w+: .*\]$", lines[i])]
        if not of:
            return None
        at = draw.choice(of)
        lines[at] = lines[at].partition(":")[0] + ": " + held + "]"
    else:
        names = sorted({w for line in lines for w in re.findall(r"[A-Za-z_]{3,}", line) if line.count(w) == 1})
        of = [n for n in names if sum(n in line for line in lines) == 1]
        if not of:
            return None
        name = draw.choice(of)
        lines = [line.replace(name, name + held.replace(" ", "_")) for line in lines]
    return "\n".join(lines).encode()


def in_drawing(draw: Random, data: bytes) -> bytes | None:
    """Hide a holder in a DOT file: a comment, an attribute, a line of a label, a second graph, a node."""
    text = data.decode("utf-8")
    held = text_of(draw).replace("\n", ";").replace('"', "'")
    kind = draw.choice(["comment", "attribute", "label", "graph", "node", "edge"])
    if kind == "comment":
        at = draw.choice([m.end() for m in re.finditer(r"\n", text)])
        return (text[:at] + draw.choice(["// " + held, "/* " + held + " */", "# " + held]) + "\n" + text[at:]).encode()
    if kind == "graph":
        return (text + f'\ndigraph rows {{ "{held}" ; }}\n').encode()
    spots = {
        "attribute": r"\[(?=label)",
        "label": r"\blabel=[\"<]",
        "node": r"\n(?=\w+ \[)",
        "edge": r"-> \w+ (?=;|\[)",
    }[kind]
    found = [m.end() for m in re.finditer(spots, text)]
    if not found:
        return None
    at = draw.choice(found)
    added = {"attribute": f'tooltip="{held}", ', "label": held + r"\n", "node": f'"{held}" [label="x"] ;\n',
             "edge": f'[tooltip="{held}"] '}[kind]  # fmt: skip
    return (text[:at] + added + text[at:]).encode()


def in_pmml(draw: Random, data: bytes) -> bytes | None:
    """Hide a holder in PMML: an element or attribute that it has not, a text, a comment, an instruction, a name."""
    root = ElementTree.fromstring(data)
    held = text_of(draw)
    every = list(root.iter())
    one = draw.choice(every)
    kind = draw.choice(
        ["element", "attribute", "text", "tail", "comment", "instruction", "extension", "value", "space"]
    )
    space = root.tag.partition("}")[0] + "}" if "}" in root.tag else ""
    if kind == "element":
        ElementTree.SubElement(one, draw.choice(["Rows", "Note", space + "Rows"])).text = held
    elif kind == "attribute":
        one.set(draw.choice(["note", "x-rows", "data"]), held)
    elif kind == "text":
        one.text = (one.text or "") + held
    elif kind == "space":
        return re.sub(
            rb"<(\w+:)?PMML ",
            lambda m: m[0] + f'xmlns:r="{"".join(held.split()).replace(chr(34), "_")[:90]}" '.encode(),
            data,
            count=1,
        )
    elif kind == "tail" and one is not root:
        one.tail = (one.tail or "") + held
    elif kind == "instruction":
        one.append(ElementTree.ProcessingInstruction("rows", held))
    elif kind == "extension":
        ElementTree.SubElement(one, space + "Extension", {"name": "rows", "value": held})
    elif kind == "value":
        given = [
            (e, k)
            for e in every
            for k in e.attrib
            if k in {"name", "description", "id", "copyright", "modelName", "version"}
        ]
        if not given:
            return None
        chosen, key = draw.choice(given)
        chosen.set(key, held)
    else:
        one.append(ElementTree.Comment(held.replace("--", "- -")))
    return ElementTree.tostring(root)


def in_flatbuffer(draw: Random, data: bytes) -> bytes | None:
    """Hide a holder in a CatBoost file: behind its end or its core, or over one of its texts."""
    held = text_of(draw).encode()
    if draw.random() < 0.2:
        size = int.from_bytes(data[4:8], "little")
        end = 8 + size
        core = struct.pack("<I", size + len(held))
        changed_to = data[:4] + core + data[8:end] + held + data[end:]
        HIDDEN[hash(changed_to)] = [*HIDDEN.get(hash(data), []), (end, end + len(held))]
        return changed_to
    ranges = HIDDEN.get(hash(data), [])
    runs = [m for m in re.finditer(rb"[ -~]{170,}", data) if not any(a < m.end() and m.start() < b for a, b in ranges)]
    if not runs or draw.random() < 0.3:
        HIDDEN[hash(data + held)] = [*ranges, (len(data), len(data) + len(held))]
        return data + held
    run = draw.choice(runs)
    at, most = run.start() + 20, run.end() - run.start() - 20
    found = data[:at] + held[:most] + data[at + len(held[:most]) :]
    HIDDEN[hash(found)] = [*ranges, (run.start() - 6_000, run.end() + 6_000)]  # all of its text
    return found


# ------------------------------------------------------------------ R


def to_rds(root: Any) -> bytes:
    """Return an object that recon read from R as an .rds file (binary, version 2); code of functions is left out."""
    known: dict[int, int] = {}

    def number(value: int) -> bytes:
        return struct.pack(">i", value)

    def text(value: str | None) -> bytes:
        raw = b"" if value is None else value.encode()
        return number(0x40009) + (number(-1) if value is None else number(len(raw)) + raw)

    def symbol(name: str) -> bytes:
        return number(1) + text(name)

    def pairs(parts: Any, flags: int = 2) -> bytes:
        out = b""
        for name, value in parts:
            out += number(flags | (0x400 if name else 0)) + (symbol(name) if name else b"") + item(value)
            flags = 2
        return out + number(254)

    def item(one: Any) -> bytes:
        kind, values = one.kind, one.values
        more = pairs(one.attributes.items()) if one.attributes else b""
        flag = 0x200 if more else 0
        if kind == "reference":
            return (
                item(values)
                if values.kind == "symbol"
                else number((known[id(values)] << 8) | 255)
                if id(values) in known
                else number(254)
            )
        if kind == "symbol":
            return symbol(str(values))
        if kind in {"list", "character"}:
            parts = map(item, values) if kind == "list" else map(text, values)
            return number((19 if kind == "list" else 16) | flag) + number(len(values)) + b"".join(parts) + more
        if kind in {"integer", "logical"}:
            return (
                number((13 if kind == "integer" else 10) | flag)
                + number(len(values))
                + np.asarray(values, ">i4").tobytes()
                + more
            )
        if kind == "double":
            return number(14 | flag) + number(len(values)) + np.asarray(values, ">f8").tobytes() + more
        if kind == "raw":
            return number(24 | flag) + number(len(values)) + bytes(values) + more
        if kind == "text":
            return text(values)
        if kind in {"pairlist", "call"} and values:
            return pairs([(n, v) for n, v in values], 2 if kind == "pairlist" else 6)
        return number(254)

    return b"X\n" + number(2) + number(0x40102) + number(0x20300) + item(root)


def in_rds(draw: Random, data: bytes) -> bytes | None:
    """Hide a holder in an R object: an attribute, an element, a longer vector."""
    from recon.readers.stored.binary.rds import RObject, read_rds

    root, rows = read_rds(data), values(people(draw))
    holder = draw.choice([
        RObject("double", np.array(rows, float)), RObject("integer", np.array(rows)),
        RObject("character", words_of(draw)),
        RObject("character", [text_of(draw)]), RObject("raw", text_of(draw).encode()),
        RObject("logical", np.array([v % 2 for v in rows * 2])),
        RObject("list", [RObject("double", np.array([float(v)])) for v in rows]),
    ])  # fmt: skip
    found, stack = [], [root]
    while stack:
        one = stack.pop()
        if one.kind in {"list", "double", "integer", "character"}:
            found.append(one)
        stack += [*one.attributes.values(), *(v for _, v in one.parts)]
    one = draw.choice(found)
    if one.kind == "list" and draw.random() < 0.7:
        one.values.append(holder)
        if "names" in one.attributes:
            one.attributes["names"].values.append(draw.choice(["note", "dots", "info", "means", "pars"]))
    else:
        one.attributes[f"note{draw.randint(0, 999)}"] = holder  # not in place of one that is told already
    return to_rds(root)
