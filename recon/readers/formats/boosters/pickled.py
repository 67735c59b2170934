"""Pickled boosters: LightGBM's hold the text of a model file, XGBoost's hold UBJSON, CatBoost's a .cbm file."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np

from encoders.domain.values import Value
from recon.io.files.opening import current
from recon.readers.formats.boosters.catboost_model import read_cbm
from recon.readers.formats.boosters.lightgbm.model import read_lightgbm_text
from recon.readers.formats.boosters.xgboost.model import looks_like_xgboost_ubj, read_xgboost_ubj
from recon.readers.formats.drafts.drafts import Draft
from recon.readers.stored.pickled.pickles import Thing
from solvers.foundation.errors import ReleaseError, Unsupported

HEAD = 128  # bytes that tell UBJSON
KINDS: tuple[str, ...] = (
    "LGBMClassifier",
    "LGBMRegressor",
    "LGBMRanker",
    "LGBMModel",
    "Booster",
    "XGBClassifier",
    "XGBRFClassifier",
)
KINDS += ("XGBRegressor", "XGBRFRegressor", "XGBRanker", "XGBModel")
KINDS += ("CatBoostClassifier", "CatBoostRegressor", "CatBoostRanker", "CatBoost")


def read(thing: Thing, form: str) -> Draft:
    """Return what a pickled booster or its scikit-learn wrapper says; `form` is the container's word.

    Raises `Unsupported` for models that were not fitted, and for forms of old versions.
    """
    if thing.kind.startswith("catboost."):
        model = thing.get("__model")
        if not isinstance(model, (bytes, bytearray)):
            raise Unsupported(f"the {thing.class_name} in the {form} was not fitted: it holds no trees")
        return _called(read_cbm(bytes(model), memory=current().left), f"CatBoost, .cbm in a {form}")
    booster = thing if thing.class_name == "Booster" else thing.get("_Booster")
    if not isinstance(booster, Thing):
        raise Unsupported(f"the {thing.class_name} in the {form} was not fitted: it holds no trees")
    if booster.kind.startswith("xgboost."):
        handle = booster.get("handle")
        if not isinstance(handle, (bytes, bytearray)) or not looks_like_xgboost_ubj(bytes(handle[:HEAD])):
            raise Unsupported("the pickled XGBoost booster is of an old version: save_model('model.json') is read")
        missing = thing.get("missing")
        marker = float(missing) if isinstance(missing, (int, float)) and math.isfinite(missing) else None
        found = read_xgboost_ubj(bytes(handle), current().left, _class_values(thing), marker)
        return _called(found, f"XGBoost, UBJSON in a {form}")
    text = next((t for key in ("_handle", "handle") if isinstance(t := booster.get(key), str)), None)
    if text is None:
        raise ReleaseError("the LightGBM booster holds no model text", place=f"{thing.class_name}._handle")
    found = read_lightgbm_text(text, _class_values(thing))
    return _called(found, f"LightGBM, {form}")


def _called(draft: Draft, form: str) -> Draft:
    """Return the draft with the name of its form."""
    return replace(draft, origin=replace(draft.origin, format=form))


def _class_values(thing: Thing) -> tuple[Value, ...] | None:
    """Return the label's values in the order of their codes, None where the object does not hold them."""
    held = thing.get("_classes")
    encoder = thing.get("_le")
    if not isinstance(held, np.ndarray) and isinstance(encoder, Thing):
        held = encoder.get("classes_")
    if not isinstance(held, np.ndarray) or held.ndim != 1:
        return None
    values = [v.item() if isinstance(v, np.generic) else v for v in held.tolist()]
    if not all(isinstance(v, (str, int, float, bool)) for v in values):
        return None
    return tuple(values)
