"""One finding of an inspection, as a frozen value, and what its five levels mean.

Refusals of an inspection: they name the file, and values that no library writes end in a sentence, not a trace.
"""

from __future__ import annotations

import dataclasses
import math
import re
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, Literal

from solvers.foundation.errors import EngineError, Inconclusive, ReconError, ReleaseError, Unsupported


@contextmanager
def naming(file: str) -> Iterator[None]:
    """Let refusals inside name the file ("": none); unforeseen values of a file raise `ReleaseError`."""
    before = f"{file}: " if file else ""
    try:
        yield
    except ReleaseError as error:
        raise error.at(file=file) from None
    except (EngineError, Unsupported, Inconclusive) as error:
        raise type(error)(f"{before}{error}") from None
    except ReconError:
        raise
    except (TypeError, ValueError, ArithmeticError, LookupError, AttributeError, RecursionError) as error:
        # What no reader thought of: somebody wrote values into the file that no library writes there.
        message = f"holds values that no such file has ({type(error).__name__}: {error})"
        raise ReleaseError(message, file=file) from error


PADDING = "padding"
_CLEAR = "set them to 0 (recon inspect --strip): nothing reads them"
SAVE_THE_FITTED = "save the model that was fitted, not a copy of it: there they are 0"
_TAKE_OUT = "look at what it holds, and take it out before saving if predictions do not need it"


Level = Literal["critical", "high", "unknown", "medium", "info"]

LEVELS: dict[Level, str] = {
    "critical": "training data: values or labels of training rows are stored in the file",
    "high": (
        "rows: something about single training rows, by their position in the training file or because counts single "
        "them out (a group of fewer than 10 rows, several models of the same rows)"
    ),
    "unknown": "not understood: what no reader and no rule knows; training rows may be in it",
    "medium": "exact statistics: sums, extremes, distinct values or counts of the training set, without noise",
    "info": "worth knowing: it says little about the training set by itself",
}
ORDER = {level: rank for rank, level in enumerate(LEVELS)}
EXAMPLES = 3  # values shown of an array: enough to recognise it, never the data
LONGEST = 40  # characters shown of a text


@dataclasses.dataclass(frozen=True)
class Finding:
    """Something that the file stores outright.

    `path` is where it is, from the object in the file ("steps[1][1]._fit_X"); the same thing at several places is one
    finding whose path has `*` for the numbers that differ, and `places` counts them. `rule` is its short name, `what`
    its class, shape and type, `follows` what can be concluded from it, `remove` what to do about it, `removable`
    whether `--strip` does so. `values` are a few examples. Of counts, `smallest` is the smallest published group (None:
    not worked out) and `models` the number of trees, lists or tables (0: no counts); see
    `recon.readers.inspection.findings.severity`. `entries`: the length of what is stored, of rows their number (None:
    it has none). `beside`: counts of another model than the one that the file's reader takes counts from, and `fewest`
    the rows of its smallest group, whatever their class. `stated`: figures of single columns that the reader states.
    """

    level: Level
    rule: str
    path: str
    what: str
    follows: str
    remove: str
    removable: bool = False
    values: tuple[Any, ...] = ()
    places: int = 1
    smallest: int | None = None
    models: int = 0
    entries: int | None = None
    beside: bool = False
    fewest: int | None = None
    stated: bool = False

    def to_json(self) -> dict[str, Any]:
        """Return the finding as a JSON object."""
        return {
            **dataclasses.asdict(self),
            "means": LEVELS[self.level],
            "values": [plain_value(v) for v in self.values],
        }


def plain_value(value: Any) -> Any:
    """Return a value that JSON holds: numbers and short texts; infinities and NaN as text."""
    value = value.item() if hasattr(value, "item") and getattr(value, "size", 1) == 1 else value
    if isinstance(value, float):
        return value if math.isfinite(value) else str(value)
    if value is None or isinstance(value, bool):
        return value
    if isinstance(value, int):
        return value if abs(value) <= 1 << 53 else str(value)
    text = value if isinstance(value, str) else repr(value)
    return text if len(text) <= LONGEST else text[: LONGEST - 3] + "..."


def merge_findings(findings: list[Finding]) -> list[Finding]:
    """Return the findings, the worst first, the same thing at several places as one; linear in their number."""
    groups: dict[tuple[str, ...], list[Finding]] = {}
    for one in findings:
        key = (one.level, one.rule, without_numbers(one.path), f"{one.removable}, {one.beside}")
        groups.setdefault(key, []).append(one)
    found = [same[0] if len(same) == 1 else _merged_finding(same) for same in groups.values()]
    return sorted(found, key=lambda f: ORDER[f.level])


def without_numbers(path: str) -> str:
    """Return a path with `*` in place of its numbers, steps from node to node of linked trees left out."""
    return _INDEX.sub("[*]", _LINKS.sub("", path))


_INDEX = re.compile(r"\[\d+\]")
# Steps from node to node of linked trees (imodels' FIGS, scikit-learn's Birch): all nodes are one finding.
_LINKS = re.compile(
    r"(?:\.(?:left_temp|right_temp|left|right|next_leaf_|prev_leaf_|(?:subclusters_\[\d+\]\.)?child_))+"
)


def _merged_finding(same: list[Finding]) -> Finding:
    """Return one finding for several that differ in numbers only; `*` stands where the paths differ."""
    paths = [_LINKS.sub("", one.path) for one in same]
    indexes = [_INDEX.findall(path) for path in paths]
    parts = _INDEX.split(paths[0])
    path = parts[0]
    for number, rest in enumerate(parts[1:]):
        seen = {one[number] for one in indexes}
        path += (seen.pop() if len(seen) == 1 else "[*]") + rest
    first = same[0]
    what = first.what if all(one.what == first.what for one in same) else f"{first.what}, and so on"
    if first.rule == "not-understood":  # the bytes of all of them, not of the first
        size = sum(int(one.what.partition(" ")[0].replace(",", "")) for one in same)
        what = f"{size:,} bytes in {len(same):,} places not understood"
    notes = {one.follows for one in same}
    follows = first.follows if len(notes) == 1 else f"{first.follows} (the first of {len(same):,} such places)"
    sizes = [one.smallest for one in same if one.smallest is not None]
    fewest = min((one.fewest for one in same if one.fewest is not None), default=None)
    return dataclasses.replace(
        first, path=path, what=what, follows=follows, places=sum(one.places for one in same),
        smallest=min(sizes, default=None), models=sum(one.models for one in same), fewest=fewest,
    )  # fmt: skip


def padding_finding(path: str, size: int, removable: bool) -> Finding:
    """Return the finding that bytes between the fields of records are not 0."""
    return Finding(
        "unknown", PADDING, path, f"{size:,} bytes between the fields of records are not 0",
        "the memory of the program that made the copy (copy.deepcopy, numpy's copies of records): whatever stood there "
        "before; values of training rows have been seen in such bytes", _CLEAR if removable else SAVE_THE_FITTED,
        removable,
    )  # fmt: skip


def not_understood(path: str, size: int, what: str, why: str = "") -> Finding:
    """Return the finding that so many bytes are not understood."""
    text = f"{size:,} bytes{f' of {what}' if what else ''} not understood"
    follows = "no reader and no rule knows what this holds: it may be training data" + (f" ({why})" if why else "")
    return Finding("unknown", "not-understood", path or "(the object)", text, follows, _TAKE_OUT)
