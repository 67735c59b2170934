"""Which file a path means: the model of an MLflow folder, and one model of several by its number (`FILE#2`)."""

from __future__ import annotations

import os
import re

from recon.io.files.opening import opened
from solvers.foundation.errors import ReleaseError, Unsupported

LARGEST = 1 << 20  # bytes of an MLmodel file that are looked at
# What MLflow's flavours call their file, in the order of preference where MLmodel does not say.
NAMES = (
    "model.pkl", "model.skops", "model.joblib", "model.cb", "model.cbm", "model.xgb", "model.ubj", "model.json",
    "model.lgb", "model.txt",
)  # fmt: skip
# Keys of a flavour in MLmodel: scikit-learn, python_function, and the boosters.
_KEYS = re.compile(
    r"^[ \t]+(pickled_model|model_path|data|model_file|model_data)\s*:\s*['\"]?([^'\"#\n]+?)['\"]?\s*(?:#.*)?$",
    re.MULTILINE,
)
OWN = frozenset(["MLmodel", "conda.yaml", "python_env.yaml", "requirements.txt", "registered_model_meta"])


def located(path: str) -> tuple[str, int | None]:
    """Return the file that a path means, and the number behind its "#" (None: it has none).

    A folder is that of an MLflow model and means its model file; `ReleaseError` where there is none.
    """
    file, number = path, None
    if "#" in path and path != "-" and not os.path.exists(path):
        before, _, behind = path.rpartition("#")
        if before and re.fullmatch(r"[1-9]\d{0,5}", behind):
            file, number = before, int(behind)
    return (model_file(file) if file != "-" and os.path.isdir(file) else file), number


def model_file(folder: str) -> str:
    """Return the path of the model in an MLflow folder: as MLmodel names it, else by its name.

    MLmodel is read line by line: no YAML is needed for the one name, which must be that of a file inside the folder.
    """
    about = os.path.join(folder, "MLmodel")
    if not os.path.lexists(about):
        raise ReleaseError("is a folder without MLmodel: give a file, or the folder that MLflow wrote", file=folder)
    if os.path.islink(about):  # what it says is quoted: it must be the folder's own
        raise ReleaseError("is a link: put the file itself into the folder", file=about)
    with opened(about) as (file, _):
        data = file.read(LARGEST).decode("utf-8", "replace")
    candidates = [name for _, name in sorted(_KEYS.findall(data), key=lambda found: found[0] != "pickled_model")]
    inside = os.path.realpath(folder)
    for name in (*candidates, *NAMES):
        path = os.path.join(folder, name)
        real = os.path.realpath(path)
        if os.path.isfile(real) and os.path.commonpath([inside, real]) == inside:
            return path
    raise Unsupported(f"{folder}: no model file that is read: MLmodel names {', '.join(candidates[:3]) or 'none'}")


def companions(path: str) -> list[tuple[str, int]]:
    """Return the other files of an MLflow folder with their bytes, those that say nothing of rows left out."""
    if path == "-" or not os.path.isdir(path):
        return []
    mine = os.path.realpath(model_file(path))
    out = []
    for entry in sorted(os.scandir(path), key=lambda e: e.name):
        if entry.is_file(follow_symlinks=False) and os.path.realpath(entry.path) != mine and entry.name not in OWN:
            out.append((entry.name, entry.stat(follow_symlinks=False).st_size))
    return out
