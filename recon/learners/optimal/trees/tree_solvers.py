"""Solvers of others for optimal trees, each in a process of its own: they print, crash, and do not hear Ctrl-C.

STreeD: van der Linden, de Weerdt, Demirović, NeurIPS 2023 (pystreed). DL8.5: Aglin, Nijssen, Schaus, AAAI 2020
(pydl8.5); it is what the experiments of Ferry et al., SaTML 2024, ran, and its claim of an optimum is not believed
(docs/learners.md).
"""

from __future__ import annotations

import base64
import importlib.util
import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from recon.learners.optimal.trees.table import Shape
from solvers.foundation.errors import Inconclusive, Unsupported, installing
from solvers.foundation.limits import Limits
from solvers.foundation.native.processes import run

HOME = "recon.learners.optimal.trees.tree_solvers"
SLACK = 2.0  # seconds that a solver may take beyond its own time limit before it is killed
PACKAGES = {
    "streed": ("pystreed", installing("learn")),
    "dl85": ("pydl85", "pip install pydl8.5, which builds with a C++ compiler"),
}


@dataclass(frozen=True)
class SolvedTree:
    """What a solver returned: the shape of its tree, the errors it says it makes, whether it says it is optimal.

    `shape` None with `errors` None: it found no tree in its time.
    """

    shape: Shape
    errors: int | None
    optimal: bool


def solve_tree(
    solver: str, bits: NDArray[np.bool_], codes: NDArray[np.intp], depth: int, least: int, limits: Limits
) -> SolvedTree:
    """Return what `streed` or `dl85` makes of rows of bits with class codes, within the time of `limits`.

    Raises `Unsupported` where the package is not installed, `TooLarge` and `EngineError` as
    `solvers.foundation.native.processes`.
    """
    package, how = PACKAGES[solver]
    if importlib.util.find_spec(package) is None:
        raise Unsupported(f"the solver '{solver}' needs the package {package}, which is not installed: {how}")
    seconds = limits.solver_seconds()
    payload = {
        "bits": base64.b64encode(np.packbits(bits, axis=1).tobytes()).decode(),
        "rows": len(bits), "columns": bits.shape[1], "codes": codes.tolist(), "depth": depth, "least": least,
        "seconds": seconds if math.isfinite(seconds) else 1e6,
    }  # fmt: skip
    try:
        reply = run(f"{HOME}:in_{solver}", payload, limits.beyond(seconds + SLACK))
    except Inconclusive:
        return SolvedTree(None, None, False)
    return SolvedTree(reply["shape"], reply["errors"], reply["optimal"])


def _table_of(payload: Any) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return the rows and classes of a payload."""
    raw = np.frombuffer(base64.b64decode(payload["bits"]), dtype=np.uint8).reshape(payload["rows"], -1)
    bits = np.unpackbits(raw, axis=1, count=payload["columns"]).astype(np.int64)
    return bits, np.array(payload["codes"], dtype=np.int64)


def in_streed(payload: Any) -> Any:
    """Return STreeD's tree; called in a process of its own."""
    import warnings

    from pystreed import STreeDClassifier

    bits, codes = _table_of(payload)
    model = STreeDClassifier(
        max_depth=payload["depth"], min_leaf_node_size=payload["least"], time_limit=payload["seconds"]
    )
    warnings.simplefilter("ignore")  # "No feasible tree found"
    model.fit(bits, codes)
    if not model.is_fitted():
        return {"shape": None, "errors": None, "optimal": False}

    def shape(node: Any) -> Any:
        if node.is_leaf_node():
            return None
        return [int(node.feature), shape(node.left_child), shape(node.right_child)]

    wrong = int((np.asarray(model.predict(bits)) != codes).sum())
    return {"shape": shape(model.tree_), "errors": wrong, "optimal": bool(model.fit_result.is_optimal())}


def in_dl85(payload: Any) -> Any:
    """Return DL8.5's tree, in which rows with 1 go left; called in a process of its own."""
    from pydl85 import DL85Classifier

    bits, codes = _table_of(payload)
    model = DL85Classifier(
        max_depth=payload["depth"], min_sup=payload["least"], time_limit=max(1, math.ceil(payload["seconds"]))
    )
    model.fit(bits, codes)
    if not isinstance(model.tree_, dict):
        return {"shape": None, "errors": None, "optimal": False}

    def shape(node: Any) -> Any:
        if "feat" not in node:
            return None
        return [int(node["feat"]), shape(node["right"]), shape(node["left"])]

    return {"shape": shape(model.tree_), "errors": round(float(model.error_)), "optimal": not model.timeout_}
