"""XGBoost models as published trees: JSON and UBJSON of `save_model`, pickles, `dump_model(with_stats=True)`.

A node's cover is the sum of its rows' hessians. In the first round all rows have the same one, so that covers are
sizes, and a node's weight w = -G / (H + lambda) tells how many of its rows are of the class (Chen, Guestrin,
"XGBoost", KDD 2016, eq. 5). All of it is float32. Later covers mix rows of different hessians and give no counts.

Whether XGBoost's first round saw all training rows: what later trees of the file say about it.

A root's cover is the sum of its rows' hessians. Where all rows start at an estimated score, their gradients sum to 0;
rows drawn for the tree (`subsample`) do not. The second tree's root has hessians that follow from the first tree's
leaves: their sum is predicted to within float32, and drawn rows miss it. A file without either says nothing.
Source: XGBoost 3.2, src/objective/regression_loss.h, src/tree/param.h; doc/parameter.rst (`subsample`, per iteration).

What covers, weights and leaf values of XGBoost say of gradients: float32 rows, sums of doubles, figures too.

Binary logistic, alpha = 0: over the rows of a node H = Σ h, G = Σ g, weight w = -G / (H + λ), a leaf's value v = η w.
So every node says H and G + w H = -w λ, a leaf η G + v H = -v λ. What rounding moves (XGBoost 3.2, CPU; d = 2^-24,
u = 2^-53):
- rows (common/math.h, Sigmoid; objective/regression_loss.h): e = expf(-F), p = 1 / (1 + e), g = p - y, h = p (1 - p),
  in float32 step by step, which is done after them (`Gradients.stages`). expf of glibc and musl is a double rounded,
  that is off by 1.7 * 2^-34 (ARM optimized routines, math/expf.c); four times that is allowed.
- scores are sums of float32, tree by tree (UpdatePredictionCache), from -logf(1 / base_score - 1).
- sums (tree/hist): histograms of doubles, one child's built from rows, the other's by subtraction from the parent's,
  left sides added up bin by bin, right sides by subtraction. Per level at most 3 sums of n terms, of all rows' sizes S:
  (1 + 3 depth) n u S (Higham 2002, section 4.2). `exact` and `approx` sum less.
- figures: covers float32(H), weights float32(-G / (H + λ)) (tree/param.h, CalcWeight), values float32(w η).
η and λ are not in the file: of the values that people take, those that make the counts of the first tree whole.
`tests/bench/xgboost_bounds.py` compares all of it with thousands of models whose rows are known.

The logarithm of a float32 number as glibc (2.27 and later) and musl compute it, to the last bit.

A table of 16 centres c with 1 / c and log c, and a polynomial of degree 4 in z / c - 1, in doubles; the result is off
by 0.818 units in the last place of float32 at most, so that rounding a better logarithm would not give the same number.

Source: ARM optimized routines, math/logf.c and math/logf_data.c (MIT), which glibc and musl took over.
"""

from __future__ import annotations

import math
import re
import struct
from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from encoders.domain.values import Value
from encoders.models.models import (
    AnyModel,
    Boosting,
    CountKind,
    Forest,
    Provenance,
    PublishedFigure,
    Table,
    TreeSums,
    UnusedPublication,
)
from encoders.models.nodes import Support
from recon.readers.formats.boosters.shared import (
    PREDICTED,
    REFUTED,
    RoundMoves,
    first_of_other_rows,
    label_name,
    refuse,
    sums,
)
from recon.readers.formats.boosters.xgboost.directions import DirectedDraft, FirstTreeCounts
from recon.readers.formats.boosters.xgboost.file import (
    ROBUST,
    UNIT_HESSIAN,
    Cover,
    ObjectiveStart,
    StoredXGBoostTree,
    XGBoostFile,
    class_counts,
    dump_booster,
    json_booster,
    part,
    real,
    sizes,
    starting_shares,
)
from recon.readers.formats.drafts.binding import Feature
from recon.readers.formats.drafts.drafts import CHANCE, OTHERS, SAME, Draft, copies_note, divided
from recon.readers.stored.binary.ubjson import read_ubjson
from solvers.foundation.errors import ReleaseError, Unsupported
from solvers.statements.gradients.boosted import Gradients
from solvers.statements.release import RowCount

BITS = 4
OFFSET = 0x3F330000
LN2 = float.fromhex("0x1.62e42fefa39efp-1")
POLYNOMIAL = tuple(map(float.fromhex, ("-0x1.00ea348b88334p-2", "0x1.5575b0be00b6ap-2", "-0x1.ffffef20a4123p-2")))
TABLE = tuple(
    (float.fromhex(inverse), float.fromhex(log))
    for inverse, log in (
        ("0x1.661ec79f8f3bep+0", "-0x1.57bf7808caadep-2"),
        ("0x1.571ed4aaf883dp+0", "-0x1.2bef0a7c06ddbp-2"),
        ("0x1.49539f0f010bp+0", "-0x1.01eae7f513a67p-2"),
        ("0x1.3c995b0b80385p+0", "-0x1.b31d8a68224e9p-3"),
        ("0x1.30d190c8864a5p+0", "-0x1.6574f0ac07758p-3"),
        ("0x1.25e227b0b8eap+0", "-0x1.1aa2bc79c81p-3"),
        ("0x1.1bb4a4a1a343fp+0", "-0x1.a4e76ce8c0e5ep-4"),
        ("0x1.12358f08ae5bap+0", "-0x1.1973c5a611cccp-4"),
        ("0x1.0953f419900a7p+0", "-0x1.252f438e10c1ep-5"),
        ("0x1p+0", "0x0p+0"),
        ("0x1.e608cfd9a47acp-1", "0x1.aa5aa5df25984p-5"),
        ("0x1.ca4b31f026aap-1", "0x1.c5e53aa362eb4p-4"),
        ("0x1.b2036576afce6p-1", "0x1.526e57720db08p-3"),
        ("0x1.9c2d163a1aa2dp-1", "0x1.bc2860d22477p-3"),
        ("0x1.886e6037841edp-1", "0x1.1058bc8a07ee1p-2"),
        ("0x1.767dcf5534862p-1", "0x1.4043057b6ee09p-2"),
    )
)


def _single_log(x: float) -> float:
    """Return logf of a float32 number above 0, normal and finite; `ValueError` for others."""
    bits = struct.unpack("<I", struct.pack("<f", x))[0]
    if bits == 0x3F800000:
        return 0.0
    if not 0x00800000 <= bits < 0x7F800000:
        raise ValueError(f"{x!r} has no logarithm, or is not a normal float32 number")
    moved = (bits - OFFSET) & 0xFFFFFFFF
    place = (moved >> (23 - BITS)) & ((1 << BITS) - 1)
    exponent = (moved - (1 << 32) if moved >> 31 else moved) >> 23
    z = struct.unpack("<f", struct.pack("<I", (bits - (moved & 0xFF800000)) & 0xFFFFFFFF))[0]
    inverse, log = TABLE[place]
    r = z * inverse - 1
    first = log + exponent * LN2
    r2 = r * r
    y = POLYNOMIAL[1] * r + POLYNOMIAL[2]
    y = POLYNOMIAL[0] * r2 + y
    y = y * r2 + (first + r)
    found: float = struct.unpack("<f", struct.pack("<f", y))[0]
    return found


Floats = NDArray[np.float64]
SUMS_HALF = 2.0**-24  # half a unit in the last place of float32, relative
UNIT = 2.0**-53
TINY = 1e-37  # figures below it may be subnormal float32
MADE = "XGBoost trained on a CPU, its expf and logf those of glibc 2.27 and later or musl (Linux)"
PLAINLY = "a model trained without reg_alpha, max_delta_step and weights of rows, at usual values of both, is read"
# What people take for the learning rate and lambda.
RATES = tuple(sorted({m * 10.0**-k for k in (1, 2, 3, 4) for m in (*range(1, 10), 15, 25, 35, 75)} | {1.0}))
RIDGES = tuple(
    sorted(
        {m * 10.0**k for k in range(-4, 4) for m in range(1, 10)} | {0.0, 0.15, 0.25, 0.75, 1.5, 2.5, 12.0, 15.0, 25.0}
    )
)


@dataclass(frozen=True)
class XGBoostRates:
    """The learning rate and lambda of a model, as the doubles that XGBoost's float32 are."""

    rate: float
    ridge: float

    @property
    def note(self) -> str:
        """Return the assumption in words."""
        return (
            f"learning_rate {self.rate:.6g}, reg_lambda {self.ridge:.6g}, reg_alpha 0 (the first tree's counts say so)"
        )


def _start(base: float) -> float:
    """Return the score that rows start at, of a base_score: float32 arithmetic."""
    odds = np.float32(np.float32(1) / np.float32(base)) - np.float32(1)
    return -_single_log(float(odds))


def _gradients() -> Gradients:
    """Return how gradients follow from scores (docstring of the module)."""
    return Gradients("log_loss", "float32", "float32", relative=2.0**-31, stages="float32")


def _unusable(booster: XGBoostFile) -> str:
    """Return why later trees' figures are not used, "" where they are: what the file says of its training."""
    if booster.dump:
        return "a dump says neither learning rate nor weights of inner nodes"
    if booster.objective != "binary:logistic":
        return f"figures of later rounds of the objective {booster.objective[:40]} are not used"
    if booster.dart:
        return "its trees were dropped and scaled (dart)"
    if booster.parallel > 1:
        return "several trees were grown per round"
    return ""


def _rates_of(tree: StoredXGBoostTree, cover: Cover) -> XGBoostRates | str:
    """Return the only usual learning rate and lambda that make the first tree's counts whole, else why there is none.

    Cost: candidates times nodes.
    """
    rows, weight = cover.rows.astype(np.float64), np.array(tree.weight)
    hessian = np.array(tree.cover)
    inner = np.array([split is not None for split in tree.grown.splits])
    error = rows * (cover.off + 16 * SUMS_HALF) + 1e-6
    found: list[tuple[float, float]] = []
    for ridge in map(_single, RIDGES):
        whole = _row_counts(rows[inner] * cover.share, weight[inner], hessian[inner] + ridge, rows[inner], error[inner])
        if whole is None:
            continue
        for rate in map(_single, RATES):
            below = _row_counts(rows[~inner] * cover.share, weight[~inner] / rate, hessian[~inner] + ridge,
                            rows[~inner], error[~inner])  # fmt: skip
            if below is None:
                continue
            every = np.array(sums(tree.grown, dict(zip(np.flatnonzero(~inner).tolist(), below.tolist(), strict=True))))
            if bool((every[inner] == whole).all()):
                found.append((rate, ridge))
    if len(found) != 1:
        how, step = ("more than one", "") if found else ("no", f": {PLAINLY}")
        return f"{how} usual pair of learning rate and lambda makes the first tree's counts whole{step}"
    return XGBoostRates(*found[0])


def _row_counts(base: Floats, weight: Floats, below: Floats, rows: Floats, error: Floats) -> NDArray[np.int64] | None:
    """Return base + weight * below as whole numbers in 0..rows, None where one is none."""
    count = base + weight * below
    near = np.rint(count)
    error = error + np.abs(weight) * below * 6 * SUMS_HALF
    fits = (np.abs(count - near) <= error) & (near >= 0) & (near <= rows) & (error < 0.25)
    return near.astype(np.int64) if bool(fits.all()) else None


def _single(value: float) -> float:
    """Return the nearest float32."""
    return float(np.float32(value))


def _tree_sums(tree: StoredXGBoostTree, t: int, rates: XGBoostRates, rows: int) -> TreeSums:
    """Return what the figures of one tree say: cover and weight of every node, in the order of the nodes."""
    cover, weight = np.array(tree.cover), np.array(tree.weight)
    leaf = np.array([split is None for split in tree.grown.splits])
    each = (1 + 3 * tree.grown.links.depths) * (rows + 8) * UNIT * 1.01
    in_h, in_g = each * float(cover[0]) * (1 + 2 * SUMS_HALF), each * float(rows)
    high = cover * (1 + 1.001 * SUMS_HALF) + in_h
    low = np.maximum(cover * (1 - 1.001 * SUMS_HALF) - in_h, 0.0)
    factor = np.where(leaf, rates.rate, 1.0)
    off = np.abs(weight) * np.where(leaf, 2.01, 1.01) * SUMS_HALF * (high + rates.ridge)
    off = (off + factor * in_g + np.abs(weight) * in_h) * 1.0001
    said = np.flatnonzero(np.abs(weight) > TINY)  # a weight of 0 may mean that the node has too few rows for one
    n, m = len(cover), len(said)
    middle = -weight[said] * rates.ridge
    return TreeSums(
        t, 0, weight[leaf],
        np.concatenate([np.arange(n), said]),
        np.concatenate([np.zeros(n), factor[said]]),
        np.concatenate([np.ones(n), weight[said]]),
        np.zeros(n + m),
        np.nextafter(np.concatenate([low, middle - off[said]]), -np.inf),
        np.nextafter(np.concatenate([high, middle + off[said]]), np.inf),
        ("cover",) * n + tuple("value" if leaf[i] else "weight" for i in said.tolist()),
    )  # fmt: skip


BALANCED = 1e-5  # of the rows: how far float32 takes the sum of gradients from 0
TELLING = 100.0  # figures that drawn rows have by chance about once in so many times tell that none was drawn
EQUAL = 3  # roots with the same number of rows tell that none was drawn from so many trees on


def _all_rows_seen(
    booster: XGBoostFile, start: ObjectiveStart, trees: Sequence[tuple[int, StoredXGBoostTree]], covers: Sequence[Cover]
) -> bool | None:
    """Return whether the first round saw all rows: True, False, None where the file does not tell."""
    if start.every:
        roots = {int(cover.rows[0]) for cover in covers}
        if len(roots) > 1 or len(covers) >= EQUAL:
            return len(roots) == 1
    told = 1.0
    if booster.averaged and start.balanced:
        first = [(tree, cover) for (t, tree), cover in zip(trees, covers, strict=True) if t < max(1, booster.classes)]
        scale = 1.0 if start.shares else max(abs(w) for tree, _ in first for w in tree.weight) * 4
        if any(abs(tree.weight[0]) * tree.cover[0] > BALANCED * scale * int(c.rows[0]) for tree, c in first):
            return False
        if not start.shares:
            return True
        told = _balance(start.shares, int(covers[0].rows[0]))
    if told >= TELLING:
        return True
    if start.margin is None or len(booster.trees) < 2 or booster.parallel > 1 or booster.dart or trees[0][0] != 0:
        return None
    leaves = trees[0][1].grown.leaves
    share = 1 / (1 + np.exp(-np.clip(start.margin + np.array(trees[0][1].weight)[leaves], -80.0, 80.0)))
    each, rows = share * (1 - share), covers[0].rows[leaves]
    if not math.isclose(booster.trees[1].cover[0], float((rows * each).sum()), rel_tol=PREDICTED, abs_tol=1e-6):
        return False
    alike: dict[float, int] = {}
    for hessian, n in zip(each.tolist(), rows.tolist(), strict=True):
        alike[round(hessian, 5)] = alike.get(round(hessian, 5), 0) + n
    return True if told * math.prod(math.sqrt(n) for n in alike.values()) >= TELLING else None


def _balance(shares: Sequence[float], rows: int) -> float:
    """Return once in how many draws, about, so many drawn rows have exactly these shares of the classes.

    Of the share k / d in lowest terms the number of rows must be a multiple of d, and as many of each class be drawn.
    """
    known = [*shares, 1 - shares[0]] if len(shares) == 1 else list(shares)
    if rows < 1:
        return 1.0
    least = math.lcm(*(Fraction(share).limit_denominator(rows).denominator for share in known))
    return min(least, rows) * math.prod(math.sqrt(rows * p * (1 - p)) for p in sorted(known)[:-1])


def _same_rows(booster: XGBoostFile, trees: Sequence[tuple[int, StoredXGBoostTree]], covers: Sequence[Cover]) -> int:
    """Return how many of the trees, from the first one on, nothing in the file shows to be of other rows.

    Their roots have as many rows. Of squared error: from one root to the next the weight -G / (n + lambda) moves by
    what the leaves between them add up to, over n + lambda; one lambda must explain all of it.
    """
    others = [k for k, cover in enumerate(covers) if int(cover.rows[0]) != int(covers[0].rows[0])]
    trees = trees[: others[0]] if others else trees
    if booster.objective not in UNIT_HESSIAN or booster.parallel > 1 or booster.dart or trees[-1][0] + 1 > len(trees):
        return len(trees)
    low, high = 0.0, math.inf
    for k, ((_, tree), cover) in enumerate(zip(trees[:-1], covers, strict=False)):
        leaves, rows = tree.grown.leaves, int(cover.rows[0])
        moved = float((np.array(tree.weight)[leaves] * cover.rows[leaves]).sum())
        size = float((np.abs(np.array(tree.weight)[leaves]) * cover.rows[leaves]).sum())
        by = tree.weight[0] - trees[k + 1][1].weight[0]
        off = (size + (abs(by) + abs(tree.weight[0])) * rows) * PREDICTED
        if abs(by) * rows <= off and abs(moved) <= off:  # nothing moved, whatever lambda is
            continue
        ends = sorted((moved + sign * off) / by - rows for sign in (-1, 1)) if by else [math.inf, math.inf]
        low, high = max(low, ends[0]), min(high, ends[1] + rows * PREDICTED)
        if low > high:
            return k + 1
    return len(trees)


NOT_STATED = (
    "XGBoost's subsample was 1 (figures of the file agree with that, where there are any) and no row was weighted (the "
    "file does not say): every cover is a whole number of rows"
)
ALL_SEEN = "XGBoost's subsample was 1 (figures of the file agree with that)"
NOT_WEIGHTED = (
    "no row was weighted (the file does not say; rows of weight 0 do not count): every cover is a whole number of rows"
)
HALF = "base_score was 0.5 (a dump does not say; every cover is a multiple of a quarter, as it must be then)"
LOWER_BOUNDS = "the trees saw samples of the rows: a leaf's count is a least number of training rows"
NOT_TOLD = (
    "no figure of the file tells that the trees saw all rows (subsample below 1 leaves no trace in it): a leaf's count "
    "is a least number of training rows"
)
FIGURES = "its leaf values, weights and covers"
_DUMPED = re.compile(r"yes=\d{1,18},no=\d{1,18}")  # the children of a node
SIZES = "they are not worked with beyond how many rows there are in the leaves"
SAME_ROWS = f"{SAME} (no continued training)"
UNPROVED = "the XGBoost dump does not prove what its covers count: save it with save_model('model.json')"
LATER = "covers of later rounds are sums of different hessians: only the first round says how many rows a leaf has"


def looks_like_xgboost_text(head: str) -> bool:
    """Return whether a text starts like what `Booster.dump_model` writes."""
    return head.startswith("booster[0]") or _DUMPED.search(head) is not None


def refuse_xgboost_text(text: str) -> Draft:
    """Refuse a dump as text: `Unsupported`, with what to save instead."""
    advice = "save_model('model.json'), or dump_model(..., with_stats=True, dump_format='json')"
    raise Unsupported(f"XGBoost's text dump is not read: use {advice}")


def looks_like_xgboost_ubj(head: bytes) -> bool:
    """Return whether a file begins like a model in UBJSON, XGBoost's default format."""
    return head[:1] == b"{" and b"learner" in head[:64] and not head[1:].lstrip().startswith(b'"')


def read_xgboost_ubj(
    data: bytes, memory: int, classes: Sequence[Value] | None = None, marker: float | None = None
) -> Draft:
    """Return what a model in UBJSON says: that of `save_model`, or what a pickle holds (its settings stand beside it).

    See `read_xgboost`. `memory`: bytes that what is read may take. `marker`: what the model takes for missing.
    """
    found = read_ubjson(data, memory)
    if isinstance(found, dict) and isinstance(found.get("Model"), dict):
        draws = _subsampled(found.get("Config"))
        return _to_draft(json_booster(found["Model"], "XGBoost, UBJSON of a pickle"), classes, (), draws, marker)
    return _to_draft(json_booster(found, "XGBoost, save_model UBJSON"), classes, ())


def _subsampled(config: Any) -> bool | None:
    """Return whether the settings of a pickled booster say that every tree saw a sample of the rows, None: unsaid."""
    try:
        trained = part(config, "learner", "gradient_booster", "tree_train_param")
        return real(trained.get("subsample"), "subsample") < 1
    except ReleaseError:
        return None


def read_xgboost(found: Any, classes: Sequence[Value] | None = None) -> Draft:
    """Return what a saved model says; `classes` are the label's values in the order of the codes 0, 1, ...

    Raises `ReleaseError` naming the tree and key, `Unsupported` for objectives whose covers are no sizes.
    """
    return _to_draft(json_booster(found), classes, ())


def read_xgboost_dump(found: Any, classes: Sequence[Value] | None = None) -> Draft:
    """Return what a dump with statistics says: it names neither objective nor base_score nor learning rate.

    Sizes of the first tree, where its covers are multiples of a quarter (base_score 0.5); see `read_xgboost`.
    """
    return _to_draft(dump_booster(found), classes, (HALF,))


def _to_draft(
    booster: XGBoostFile,
    classes: Sequence[Value] | None,
    assumed: tuple[str, ...],
    draws: bool | None = None,
    marker: float | None = None,
) -> Draft:
    """Return the statements of a booster in its own terms; `draws`: whether its trees saw samples (None: unsaid).

    `marker`: the value that the model takes for missing beside NaN, where the file names it.
    """
    begin = starting_shares(booster)
    shares, labels, label = begin.shares, _label_values(begin, classes), label_name(booster.names)
    first = booster.trees if begin.every else booster.trees[: max(1, len(shares)) * booster.parallel]
    first = first[:1] if booster.dump else first
    trees = [(t, tree) for t, tree in enumerate(first) if len(tree.grown.splits) > 1]
    if not trees:
        raise Unsupported("no tree of the first round has a split: the XGBoost model says nothing about its rows")
    covers = [_cover_of(t, tree, begin, booster) for t, tree in trees]
    kept = _same_rows(booster, trees, covers) if begin.every else len(trees)
    cut = trees[kept][0] if kept < len(trees) else len(booster.trees)  # the first tree of other rows, or drawn anew
    trees, covers = trees[:kept], covers[:kept]
    seen = _all_rows_seen(booster, begin, trees, covers)
    if seen is None and draws is False and booster.parallel == 1:  # figures tell of an earlier training, settings not
        seen = True
    minimum = booster.parallel > 1 or draws is True or seen is not True
    least, copies = _without_copies(trees, covers, labels)
    drawn, minimum = minimum, minimum or bool(copies)
    models, kinds, remarks, counted = _statements(trees, covers, label, labels, least if minimum else None, drawn)
    if booster.dump and "exact" not in kinds:
        raise Unsupported(UNPROVED)
    rows = max(int(n[0]) for n in least)
    told = (NOT_TOLD if seen is None else LOWER_BOUNDS,) if drawn else ()
    stated = NOT_STATED if draws is None and not drawn else NOT_WEIGHTED
    own = () if copies and drawn else (ALL_SEEN,) if copies else (stated,)
    notes = (*assumed, *own, *([copies] if copies else []), *told)
    if begin.every and len(booster.trees) > 1:
        notes = (*notes, SAME_ROWS)
    others: list[Draft | str] = []
    if cut < len(booster.trees):
        remarks += [f"from tree {cut} on the leaf values belong to other rows, or to drawn ones: those are left out"]
        others = _other_trainings(replace(booster, trees=booster.trees[cut:], averaged=False))
    if len(booster.trees) > len(first) and shares and not booster.dump:
        found = "the trees may have seen samples of the rows" if minimum else _later(booster, covers[0])
        if isinstance(found, XGBoostRates):
            other = first_of_other_rows((_moves(tree, found) for tree in booster.trees), (found.ridge,) * 2)
            cut, others = (len(booster.trees), []) if other is None else (other, [LATER])
            part = replace(booster, trees=booster.trees[:cut])
            models = (_boosting(part, models[0], found, rows),) if cut > 1 else models
            notes = (*notes, MADE, found.note, SAME_ROWS) if cut > 1 else notes
        else:
            remarks += [LATER, found]
    if others and draws is not None:  # the settings in a pickle are those of the last training
        return _to_draft(booster, classes, assumed, None, marker)
    draft = DirectedDraft(
        Provenance(booster.form, kinds, notes, unused=_unused_figures(booster, models, kinds, minimum, remarks)),
        tuple(Feature(name, name) for name in booster.names),
        models,
        labels if "exact" in kinds or models[0].scores else None,
        label,
        rows=RowCount(rows, None if drawn else max(int(cover.rows[0]) for cover in covers)),
        hints=booster.hints,
        named=booster.named,
        more=booster.dump and not booster.named,
        single=True,
        reader_notes=tuple(remarks),
        every=tuple(tree.grown for tree in booster.trees),
        counted=tuple(counted),
        drawn=drawn,
        marker=marker,
    )
    return draft.before_others(cut, others, REFUTED) if others else draft


def _other_trainings(booster: XGBoostFile) -> list[Draft | str]:
    """Return what the trees from the first one on that is about other rows say, [] where rows may have been drawn."""
    begin, trees = starting_shares(booster), [tree for tree in booster.trees if len(tree.grown.splits) > 1]
    rows = [int(_cover_of(t, tree, begin, booster).rows[0]) for t, tree in enumerate(trees)]
    if len(rows) < EQUAL or rows[0] != rows[EQUAL - 1]:
        return []
    found = _to_draft(booster, None, ())
    return [replace(found.of_others(f"{OTHERS}: {REFUTED}"), others=()), *found.others]


def _moves(tree: StoredXGBoostTree, rates: XGBoostRates) -> RoundMoves:
    """Return what the figures of one tree say of the gradients of all its rows."""
    leaves, before = tree.grown.leaves, -tree.weight[0] * (tree.cover[0] + rates.ridge)
    off = PREDICTED * tree.cover[0] * (abs(tree.weight[0]) + 4 * SUMS_HALF)
    return RoundMoves(before, 0.0, off, np.array(tree.weight)[leaves], np.array(tree.cover)[leaves])


def _unused_figures(
    booster: XGBoostFile, models: Sequence[AnyModel], kinds: Sequence[CountKind], minimum: bool, remarks: Sequence[str]
) -> tuple[UnusedPublication, ...]:
    """Return that figures of a booster are not used; nothing where all of them are, or one tree gives its classes."""
    alone = len(booster.trees) == 1 and not minimum
    if models[0].scores or (alone and tuple(kinds) == ("exact",)):
        return ()
    return (UnusedPublication(FIGURES, remarks[-1] if remarks else SIZES, labels=alone),)


def _later(booster: XGBoostFile, cover: Cover) -> XGBoostRates | str:
    """Return learning rate and lambda, with which all trees' figures are used, or why they are not."""
    return _unusable(booster) or _rates_of(booster.trees[0], cover)


def _boosting(booster: XGBoostFile, first: AnyModel, rates: XGBoostRates, rows: int) -> Boosting:
    """Return all trees with what their figures say; `first`: the first one, which counts rows."""
    assert booster.base is not None
    (begin,) = first.members()
    nothing = Support()
    later = (tree.grown.tree([nothing] * len(tree.grown.splits), f"tree {t}") for t, tree in enumerate(booster.trees))
    said = tuple(_tree_sums(tree, t, rates, rows) for t, tree in enumerate(booster.trees))
    score = (_start(booster.base[0]),)
    return Boosting((begin, *list(later)[1:]), said, _gradients(), score, score, (0, 1))


def _label_values(begin: ObjectiveStart, classes: Sequence[Value] | None) -> tuple[Value, ...]:
    """Return the label's values in the order of its codes, () where the model is not a classifier."""
    size = max(2, len(begin.shares)) if begin.classes else 0
    if classes is not None and size and len(classes) != size:
        raise refuse(f"{len(classes)} classes are given for a model of {size}", "classes")
    return tuple(range(size)) if classes is None or not size else tuple(classes)


def _cover_of(t: int, tree: StoredXGBoostTree, begin: ObjectiveStart, booster: XGBoostFile) -> Cover:
    """Return the figures of one tree with its sizes; `Unsupported` where its covers are not numbers of rows."""
    share = begin.shares[tree.group] if begin.shares and tree.group < len(begin.shares) else None
    found = sizes(tree, share, begin.factor)
    if found is None:
        ask = "rows were weighted" + (", or hessians smoothed (after 3.2)" if booster.objective in ROBUST else "")
        ask = "save the model with save_model('model.json')" if booster.dump else ask
        raise Unsupported(f"the covers of tree {t} are not whole numbers of rows with equal hessians: {ask}")
    return found


Answer = tuple[tuple[AnyModel, ...], tuple[CountKind, ...], list[str], list[FirstTreeCounts]]


def _without_copies(
    trees: Sequence[tuple[int, StoredXGBoostTree]], covers: Sequence[Cover], labels: tuple[Value, ...]
) -> tuple[list[list[int]], str]:
    """Return how many rows the nodes have at least, and why that is fewer than their covers ("": it is not)."""
    binary = len(labels) == 2 and len({tree.group for _, tree in trees}) == 1
    leaves: list[list[int]] = []
    for (_, tree), cover in zip(trees, covers, strict=True):
        ones = class_counts(tree, cover) if binary else None
        rows = cover.rows.tolist()
        leaves += [[rows[i]] if ones is None else [rows[i] - ones[i], ones[i]] for i in tree.grown.leaves]
    if len({len(leaf) for leaf in leaves}) > 1:
        leaves = [[sum(leaf)] for leaf in leaves]
    divisors, fewer = divided(leaves, CHANCE)
    if max(divisors) == 1:
        return [cover.rows.tolist() for cover in covers], ""
    out, found = [], iter(fewer)
    for _, tree in trees:
        out.append(sums(tree.grown, {i: next(found) for i in tree.grown.leaves}))
    return out, copies_note(divisors, labels if len(divisors) == len(labels) else ())


def _statements(
    trees: Sequence[tuple[int, StoredXGBoostTree]],
    covers: Sequence[Cover],
    label: str,
    labels: tuple[Value, ...],
    least: Sequence[Sequence[int]] | None,
    drawn: bool,
) -> Answer:
    """Return the trees of the first round (of every round where covers are sizes) with what is proved of them.

    `least`: rows that their nodes have at least, where they may have seen samples of the rows, or copies.
    """
    grown: list[Any] = []
    figures: list[PublishedFigure] = []
    counted: list[FirstTreeCounts] = []
    binary, unproved = len(labels) == 2 and len({tree.group for _, tree in trees}) == 1, False
    for i, ((t, tree), cover) in enumerate(zip(trees, covers, strict=True)):
        if least is not None:
            most = None if drawn else tuple(cover.rows.tolist())
            figures += tree.grown.at_least(least[i], f"tree {t}", most)
            counted.append(FirstTreeCounts(f"tree {t}", tree.grown, tuple(least[i]), most=most))
            continue
        counts = class_counts(tree, cover) if labels else None
        unproved |= counts is None
        of = [Support(count=n) for n in cover.rows.tolist()]
        value = labels[1 if binary else tree.group] if labels else 1
        ones = None if counts is None else tuple(counts)
        counted.append(FirstTreeCounts(f"tree {t}", tree.grown, tuple(cover.rows.tolist()), ones, value))
        if counts is not None and binary:
            of = [Support((n - k, k)) for n, k in zip(cover.rows.tolist(), counts, strict=True)]
        elif counts is not None:
            figures += tree.grown.of_class(counts, label, labels[tree.group], f"tree {t}")
        grown.append(tree.grown.tree(of, f"tree {t}"))
    if least is not None:
        return (Table(tuple(figures), "leaves"),), ("size",), ["only least numbers of rows are stated"], counted
    models: tuple[AnyModel, ...] = (grown[0],) if len(grown) == 1 else (Forest(tuple(grown)),)
    notes = ["counts per class are not proved by the leaf values: only sizes are stated"] if unproved and labels else []
    if figures:
        return (*models, Table(tuple(figures), "classes")), ("exact", "size"), notes, counted
    return models, ("size",) if unproved else ("exact",), notes, counted
