"""A released tree as the tree that its learner chose: over independent binary columns, with the limits that held it."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from encoders.encode.encoder import EncodedRelease
from encoders.models.learner import Learner
from encoders.models.models import AnyModel
from solvers.greedy.chosen import ChosenTree


def limits_of(learner: Learner, tree: ChosenTree) -> NDArray[np.bool_]:
    """Return which leaves no limit stopped."""
    raise NotImplementedError


def chosen_tree(release: EncodedRelease, model: AnyModel, learner: Learner) -> ChosenTree:
    """Return the tree as its learner chose it."""
    raise NotImplementedError
