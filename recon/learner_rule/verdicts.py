"""Who becomes certain or impossible, and by how much likelier, for whoever knows how the model was chosen."""

from __future__ import annotations

import pandas as pd

from recon.answers.exact import Profiles
from recon.loading.asking import Released
from solvers.foundation.limits import Limits


def certify(
    release: Released,
    profiles: Profiles,
    learner: str = "auto",
    limits: Limits | None = None,
    label: str | None = None,
) -> pd.DataFrame:
    """Return one line per profile: its verdict under the learner's rule, and without it."""
    raise NotImplementedError


def attribute(
    release: Released,
    profiles: Profiles,
    sensitive: str,
    learner: str = "auto",
    limits: Limits | None = None,
    label: str | None = None,
) -> pd.DataFrame:
    """Return one line per profile and value of the sensitive column under the learner's rule."""
    raise NotImplementedError
