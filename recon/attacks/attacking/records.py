"""The rows of an attack: training rows, rows of the same population that were not trained on, who is asked about."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
import pandas as pd

from encoders.domain.values import Categorical, Continuous, Grid, from_text
from encoders.encode.encoder import EncodedRelease
from recon.attacks.membership.shadow_data import constant_columns
from recon.queries.black_box import ReleasedModel, predicting
from recon.queries.inputs import (
    Bits,
    Floats,
    InputColumn,
    Ints,
    Records,
    attack_columns,
    class_numbers,
    columns_of,
    name_list,
    numbers,
)
from recon.readers.frames.describe import named_like
from recon.readers.frames.world import speaks_of
from solvers.foundation.errors import ReleaseError

MIN_SHADOW_ROWS = 4  # rows that shadow data need


@dataclass(frozen=True, eq=False)
class Population:
    """Members (training rows) and others in one table: `frame` in its own words, `rows` as numbers, `member` (rows,).

    `box` is the black box over the columns of `rows`; `whole`: the table says something about every attribute.
    """

    release: EncodedRelease
    box: ReleasedModel
    frame: pd.DataFrame
    rows: Records
    member: Bits
    inputs: tuple[InputColumn, ...]
    notes: tuple[str, ...]
    whole: bool

    @property
    def members(self) -> Ints:
        """Return the numbers of the training rows."""
        return np.flatnonzero(self.member)

    @property
    def others(self) -> Ints:
        """Return the numbers of the rows that were not trained on."""
        return np.flatnonzero(~self.member)

    @cached_property
    def number(self) -> Ints:
        """Return (rows,) which distinct row, label included, each row is."""
        return self.rows.numbered()

    def table(self, index: Ints) -> pd.DataFrame:
        """Return some of the rows in the table's own words."""
        found = self.frame.iloc[index].reset_index(drop=True)
        found.attrs.update(self.frame.attrs)
        return found


@dataclass(frozen=True)
class RecordSplit:
    """Which rows are asked about (`asked`, members and others), and which others the attacker has."""

    asked: Ints
    shadow: Ints


def population(
    release: EncodedRelease, data: pd.DataFrame | None, others: pd.DataFrame | None = None,
    member: str | None = None, label: str | None = None,
) -> Population:  # fmt: skip
    """Return training rows and others as an attack needs them; without `others` the 0/1 column `member` says which.

    `label`: the tables' name for the domain's label. Raises `ReleaseError`, in a sentence naming what is wrong: no
    rows, columns that the model does not know or the rows lack, labels that it does not know, one class or one side
    only; `Unsupported` for a release without predictions.
    """
    predicting(release)  # before anything else: without predictions no rows need to fit
    frame, inside = both_sides(data, others, member)
    try:
        return _fitted(release, frame, inside, label)
    except ReleaseError as error:
        raise error.at(file=frame.attrs.get("file", "")) from None


def _fitted(release: EncodedRelease, frame: pd.DataFrame, inside: Bits, label: str | None) -> Population:
    """Return the rows of one table in the terms of the release; see `population`."""
    frame, notes = named_like(frame, release.domain, label)
    names = [str(c) for c in frame.columns]
    inputs = columns_of(release.domain, names)
    box = ReleasedModel(release, [n for n in names if release.domain.label is None or n != release.domain.label.name])
    box.layout.settled(frame, release, box.lines)
    y = class_numbers(frame, release.domain)
    x = numbers(frame, inputs, release)
    _refuse_one_class(release, y)
    columns = attack_columns(x, inputs)
    constant = constant_columns(columns, x)
    if len(constant) == x.shape[1]:
        raise ReleaseError(f"every column is constant ({name_list(constant)}): no attack can distinguish rows")
    if constant:
        notes = [
            *notes,
            f"constant in all rows, so that it distinguishes nobody and is never perturbed: {name_list(constant)}",
        ]
    whole = all(speaks_of(release, frame, a.name) for a in release.domain.all)
    label_of = release.domain.label
    classes = tuple(() if label_of is None else (label_of.value(i) for i in range(label_of.known[1])))
    return Population(release, box, frame, Records(x, y, columns, classes), inside, inputs, tuple(notes), whole)


def both_sides(data: pd.DataFrame | None, others: pd.DataFrame | None, member: str | None) -> tuple[pd.DataFrame, Bits]:
    """Return all rows in one table, and which are training rows."""
    if data is None:
        raise ReleaseError("there are no data beside the model: give its training rows (--data), and rows of the same "
                           "population that it was not trained on (--others)")  # fmt: skip
    file = data.attrs.get("file", "")
    if not len(data):
        raise ReleaseError("there are no rows", file=file)
    if (others is None) == (member is None):
        what = "rows that were not trained on are needed beside the training rows: give them (--others), or name the "
        twice = "--others and --member both say who is a training row: give one of them"
        raise ReleaseError(
            twice if member is not None else f"{what}0/1 column that says which are (--member)", file=file
        )
    if others is None:
        return _split_membership(data, str(member))
    if not len(others):
        raise ReleaseError("there are no rows", file=others.attrs.get("file", ""))
    mine, theirs = [str(c) for c in data.columns], [str(c) for c in others.columns]
    if set(mine) != set(theirs):
        only = sorted(set(mine) ^ set(theirs))
        message = f"the columns differ from those of the training rows: {name_list(only)} in one of them only"
        raise ReleaseError(message, file=others.attrs.get("file", ""))
    same = others.set_axis(pd.Index(theirs), axis=1)[mine]
    both = pd.concat([data.set_axis(pd.Index(mine), axis=1), same], ignore_index=True)
    both.attrs.update(text=data.attrs.get("text") or others.attrs.get("text"), file=file)
    return both, np.arange(len(both)) < len(data)


def _split_membership(data: pd.DataFrame, member: str) -> tuple[pd.DataFrame, Bits]:
    """Return a table without the column that says who was trained on, and what it says."""
    file, names = data.attrs.get("file", ""), [str(c) for c in data.columns]
    if member not in names:
        raise ReleaseError(f"there is no column '{member}' (--member); there are {name_list(names)}", file=file)
    cells = data.iloc[:, names.index(member)].tolist()
    kind = Categorical(member, (0, 1))
    plain = [from_text(c, kind) if isinstance(c, str) else c for c in cells]
    odd = next((i for i, v in enumerate(plain) if v not in (0, 1)), None)
    if odd is not None:
        message = f"the column '{member}' (--member) says 1 for training rows and 0 for others, not {cells[odd]!r}"
        raise ReleaseError(message, place=f"row {odd + 1}", file=file)
    inside = np.array([v == 1 for v in plain], dtype=bool)
    if inside.all() or not inside.any():
        who = "every row a training row" if inside.all() else "no row a training row"
        raise ReleaseError(f"the column '{member}' (--member) calls {who}: rows of both kinds are needed", file=file)
    rest = data.drop(columns=data.columns[names.index(member)])
    rest.attrs.update(data.attrs)
    return rest, inside


def _refuse_one_class(release: EncodedRelease, y: Ints) -> None:
    """Raise `ReleaseError` where all rows have one label, naming it."""
    label = release.domain.label
    if label is not None and (y == y[0]).all():
        value = label.value(int(y[0]))
        raise ReleaseError(
            f"all rows have the label '{label.name}' = {value!r}: one class only teaches no attack anything"
        )


def splits(found: Population, folds: int, limit: int, rng: np.random.Generator) -> list[RecordSplit]:
    """Return who is asked about and what the attacker has, once or once per fold.

    Of the others half are the attacker's (`folds` 1), or all but a fold; the other half, or the fold, are asked about
    beside as large a part of the members (all of them where `folds` is 1), at most `limit` of each side. Raises
    `ReleaseError` for fewer rows than that needs.
    """
    members, others = rng.permutation(found.members), rng.permutation(found.others)
    least = min(len(members), len(others))
    if folds > 1 and least < folds:
        side = "training rows" if len(members) < len(others) else "rows that were not trained on"
        raise ReleaseError(f"{least} {side} cannot be cut into {folds} folds (--folds)")
    if folds == 1:
        half = len(others) // 2
        parts = [(members, others[half:], others[:half])]
    else:
        inner, outer = np.array_split(members, folds), np.array_split(others, folds)
        rest = [np.concatenate([o for j, o in enumerate(outer) if j != k]) for k in range(folds)]
        parts = list(zip(inner, outer, rest, strict=True))
    short = min(len(rest) for _, _, rest in parts)
    if short < MIN_SHADOW_ROWS or not all(len(o) for _, o, _ in parts):
        one = len(others) == 1
        few = f"{len(others)} {'row that was' if one else 'rows that were'} not trained on leave{'s' if one else ''}"
        raise ReleaseError(f"{few} {short} to the attacker, who needs {MIN_SHADOW_ROWS} at least")
    return [RecordSplit(np.sort(np.concatenate([m[:limit], o[:limit]])), np.sort(rest)) for m, o, rest in parts]


def public_ranges(found: Population) -> tuple[Floats, Floats]:
    """Return the least and greatest value of every column that are public: the domain's ends, else the model's cuts.

    Where a continuous attribute has no end, and the model tests it, its outermost thresholds stand for the ends; else
    0 and 1.
    """
    low, high = np.zeros(len(found.inputs)), np.ones(len(found.inputs))
    cuts = {one.name: one.cuts for one in found.box.lines}
    for j, column in enumerate(found.inputs):
        attribute = found.release.domain.all[column.attribute]
        if column.view or column.value is not None:
            continue
        if isinstance(attribute, Grid):
            low[j], high[j] = float(attribute.minimum), float(attribute.maximum)
        elif isinstance(attribute, Categorical) and attribute.numeric:
            low[j], high[j] = float(attribute.numbers[0]), float(attribute.numbers[-1])
        elif isinstance(attribute, Continuous):
            own = np.real(cuts.get(attribute.name, np.zeros(0)))
            ends = [attribute.minimum, attribute.maximum]
            if attribute.bounded or len(own):
                low[j] = float(own.min()) if ends[0] is None else float(ends[0])
                high[j] = float(own.max()) if ends[1] is None else float(ends[1])
    return np.minimum(low, high), np.maximum(low, high)
