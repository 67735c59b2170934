"""What `--learner` says: how much of the learner's rule the adversary knows, and the settings of the learner."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import Any

from solvers.foundation.errors import ReleaseError

KNOWN = ("none", "midpoints", "greedy", "optimal", "auto")
WHOLE_SETTINGS = {
    "max_depth": 1, "min_samples_split": 2, "min_samples_leaf": 1, "max_features": 1, "max_leaf_nodes": 2, "width": 1,
    "max_length": 1, "min_support": 1, "columns": 1,
}  # fmt: skip  # settings that are whole numbers, with the least of each
AMOUNTS = ("min_weight_fraction_leaf", "min_impurity_decrease", "ccp_alpha")
SWITCHES = ("weighted", "bootstrap", "negations", "monotonic")
WORDS = {
    "criterion": (
        "gini",
        "entropy",
        "log_loss",
        "squared_error",
        "friedman_mse",
        "absolute_error",
        "poisson",
        "errors",
    ),
    "splitter": ("best", "random"),
    "ties": ("authors", "fewest"),
}
EXAMPLE = "greedy:criterion=gini,max_depth=5,min_samples_leaf=1"


@dataclass(frozen=True)
class LearnerSettings:
    """How much of the rule is known (one of `KNOWN`), and the `settings` given beside it, as fields of `Learner`."""

    known: str
    settings: dict[str, Any] = field(default_factory=dict)


def asked_of(text: str) -> LearnerSettings:
    """Return what an option such as "greedy:criterion=gini,max_depth=5" says; `none` after "=" takes a limit away.

    Raises `ReleaseError` (a `ValueError`) naming what is no such thing: on the command line that is wrong usage.
    """
    known, colon, rest = text.partition(":")
    if known not in KNOWN:
        raise ReleaseError(f"there is no learner '{known}': choose {', '.join(KNOWN[:-1])} or {KNOWN[-1]}")
    if not colon:
        return LearnerSettings(known)
    if known not in {"greedy", "optimal"}:
        raise ReleaseError(f"'{known}' takes no settings: give them as in {EXAMPLE}")
    settings: dict[str, Any] = {}
    for part in rest.split(","):
        name, equals, value = (piece.strip() for piece in part.partition("="))
        if not equals or not value:
            raise ReleaseError(f"'{part}' is not a setting: write name=value, as in {EXAMPLE}")
        if name in settings:
            raise ReleaseError(f"the setting '{name}' is given twice")
        settings[name] = _setting(name, value)
    return LearnerSettings(known, settings)


def _setting(name: str, text: str) -> Any:
    """Return the value of a setting; `ReleaseError` for one that it cannot have, and for a name that is none."""
    if name in WORDS:
        if text not in WORDS[name]:
            raise ReleaseError(f"{name} is one of {', '.join(WORDS[name])}, not '{text}'")
        return text
    if name in SWITCHES:
        if text not in {"true", "false"}:
            raise ReleaseError(f"{name} is true or false, not '{text}'")
        return text == "true"
    if name in WHOLE_SETTINGS:
        if text == "none" and name not in {"min_samples_split", "min_samples_leaf", "min_support", "width"}:
            return None
        if not text.isdecimal() or not text.isascii() or not WHOLE_SETTINGS[name] <= int(text[:20]) < 1 << 53:
            said = f"'{text}': fractions of the rows or columns are worked out first" if "." in text else f"'{text}'"
            raise ReleaseError(f"{name} is a whole number of at least {WHOLE_SETTINGS[name]}, not {said}")
        return int(text)
    if name in AMOUNTS:
        most = 0.5 if name == "min_weight_fraction_leaf" else math.inf
        try:
            number = float(text)
        except ValueError:
            number = math.nan
        if not (math.isfinite(number) and 0 <= number <= most):
            raise ReleaseError(
                f"{name} is a number of at least 0{'' if math.isinf(most) else ' up to 0.5'}, not '{text}'"
            )
        return number
    raise ReleaseError(
        f"there is no setting '{name}': choose among {', '.join([*WORDS, *WHOLE_SETTINGS, *AMOUNTS, *SWITCHES])}"
    )
