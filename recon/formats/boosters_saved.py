"""Pickled LightGBM and XGBoost models: the first hold their text model file, the second a binary form, not read."""

from __future__ import annotations

import numpy as np

from recon.formats.drafts import Draft
from recon.formats.lightgbm_model import read_lightgbm_text
from recon.formats.sklearn_tree import class_values
from recon.formats.xgboost_model import refuse_ubj
from recon.stored.things import Thing
from solvers.errors import ReleaseError, Unsupported

KINDS = ("LGBMClassifier", "LGBMRegressor", "LGBMRanker", "XGBClassifier", "XGBRegressor", "XGBRanker", "Booster")


def read(thing: Thing, form: str) -> Draft:
    """Return the draft of a pickled model; `Unsupported` for XGBoost, saying how to save it instead."""
    if thing.kind.startswith("xgboost"):
        raise refuse_ubj()
    if not thing.kind.startswith("lightgbm"):
        raise Unsupported(f"a {thing.kind} is not read ({form}): see docs/readers.md for what is")
    booster = thing if thing.class_name == "Booster" else thing.get("_Booster")
    text = booster.get("_handle", booster.get("handle")) if isinstance(booster, Thing) else None
    if isinstance(text, (bytes, bytearray)):
        text = bytes(text).decode("utf-8", errors="replace")
    if not isinstance(text, str):
        raise ReleaseError("is not fitted: it holds no model text", place="_Booster.handle")
    stored = thing.get("_classes")
    classes = class_values(thing, "_classes") if isinstance(stored, np.ndarray) else None
    return read_lightgbm_text(text, classes)
