"""Which column of a table is which of the domain, where their names differ: the label, changed names, no names."""

from __future__ import annotations

import re
import sys
from typing import Any

import pandas as pd

from encoders.domain.domain import GUESSED, Domain
from encoders.encode.encoder import EncodedRelease
from recon.io.console.output import print_lines
from recon.readers.formats.drafts.drafts import alike, matching_notes
from recon.readers.frames.selections import read_table
from solvers.foundation.errors import ReleaseError

NUMBERED = re.compile(r"(|.*[^\d\n])(\d+)")


def named_like(frame: pd.DataFrame, domain: Domain, label: str | None = None) -> tuple[pd.DataFrame, list[str]]:
    """Return a table with its columns called as in the domain, and what was matched by more than equal names.

    `label`: the table's name for the domain's label. Names that differ in signs only are matched where they are the
    only pair; the columns of a model that only numbers its features are taken in order where there are as many.
    Unknown names stay, to be refused. Raises `ReleaseError` for a label that is said twice, or is an attribute.
    """
    names, file = [str(c) for c in frame.columns], frame.attrs.get("file", "")
    own = _label_name(domain)
    renamed = {} if label is None else _label_column(names, domain, label, file)
    rest = [name for name in names if name not in renamed]
    known = [name for name in (*domain.place, *domain.columns) if name != own or label is None]
    notes: list[str] = []
    if numbered := _in_order([name for name in rest if name != own], domain):
        renamed |= numbered
        notes = [f"the model only numbers its features: the {len(numbered)} columns were taken in order"]
    else:
        found = alike(rest, known)
        renamed |= found
        notes = matching_notes(found, "columns", "attributes of the domain")
    if not renamed:
        return frame, []
    out = frame.copy(deep=False)
    out.columns = pd.Index([renamed.get(name, name) for name in names])
    out.attrs.update(frame.attrs)
    return out, notes


def _label_name(domain: Domain) -> str | None:
    """Return the name of the domain's label, None without one."""
    return None if domain.label is None else domain.label.name


def column_like(name: str, domain: Domain, label: str | None) -> str:
    """Return the domain's name for one column of a table; see `named_like`."""
    own = _label_name(domain)
    if own is not None and name == label and name not in domain.place:
        return own
    return alike([name], [*domain.place, *domain.columns]).get(name, name)


def table_like(release: EncodedRelease, path: str | None, label: str | None) -> Any:
    """Return a table read from a file with its columns called as in the release's domain; None without a path.

    What was matched by more than equal names is said on standard error.
    """
    if path is None:
        return None
    frame, notes = named_like(read_table(path), release.domain, label)
    for note in notes:
        print_lines(f"{path}: {note}", file=sys.stderr)
    return frame


def _label_column(names: list[str], domain: Domain, label: str, file: str) -> dict[str, str]:
    """Return the label's column with the domain's name for it, {} where it has that name or is not in the table."""
    if domain.label is None:
        raise ReleaseError(f"the domain has no label that '{label}' could be (--label)", file=file)
    own = domain.label.name
    if label == own or label not in names:  # profiles may leave the label open
        return {}
    if own in names:
        raise ReleaseError(f"the label is said twice, as '{own}' and as '{label}' (--label)", file=file)
    if label in domain.place or label in domain.columns:
        raise ReleaseError(f"'{label}' (--label) is an attribute or column of the domain, not its label", file=file)
    return {label: own}


def _in_order(names: list[str], domain: Domain) -> dict[str, str]:
    """Return table column -> attribute in order, of a model file that only numbers its features; {} otherwise."""
    attributes = [a.name for a in domain.attributes]
    if domain.source != GUESSED or len(names) != len(attributes) or set(names) & set(attributes):
        return {}
    found = [NUMBERED.fullmatch(name) for name in attributes]
    parts = [(m.group(1), int(m.group(2))) for m in found if m is not None]
    first = parts[0][1] if parts else 0
    counted = bool(parts) and first in (0, 1) and parts == [(parts[0][0], first + i) for i in range(len(attributes))]
    return dict(zip(names, attributes, strict=True)) if counted else {}
