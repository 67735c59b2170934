"""Files and fitted models in, one encoded release out."""

from __future__ import annotations

import os
from fractions import Fraction
from typing import Any

from encoders.domain import Domain
from encoders.encoder import CONFIDENCE, EncodedRelease
from encoders.encoder import encode as encode_models
from recon.formats import release_file, sklearn_forest, sklearn_tree
from solvers.errors import ReleaseError, Unsupported


def load(
    *paths: str | os.PathLike[str], domain: Domain | str | None = None, confidence: float | Fraction = CONFIDENCE
) -> EncodedRelease:
    """Return the release in a file; `domain` (or a file with one) replaces the file's own.

    `confidence` in (0, 1] is that of the joint intervals around noisy counts (no effect on exact ones).
    Several files are one joined release of the same rows. Raises `ReleaseError` for malformed files, naming file,
    place and value, and `ContradictionError` where no number of rows fits all of them.
    """
    if not paths:
        raise ReleaseError("no file was given")
    for path in paths:
        if not isinstance(path, (str, os.PathLike)):
            raise ReleaseError(f"a path is needed, not a {type(path).__name__}")
    declared = read_domain(domain) if isinstance(domain, str) else domain
    if declared is not None and not isinstance(declared, Domain):
        raise ReleaseError(f"domain is a Domain or a path, not a {type(declared).__name__}: see Domain.from_frame")
    files = [os.fspath(path) for path in paths]
    if len(files) > 1:
        return release_file.read_releases(files, declared, confidence)
    return release_file.read_release(files[0], declared, confidence)


def encode(model: Any, domain: Domain) -> EncodedRelease:
    """Return the release of a fitted model in memory: a scikit-learn tree or forest classifier or a GreedyRL list.

    `domain` says which rows can exist; with a domain read off the training data every figure says so.
    """
    if not isinstance(domain, Domain):
        raise ReleaseError(f"domain is a Domain, not a {type(domain).__name__}: see Domain.from_frame")
    if hasattr(model, "to_model"):
        if domain.label is None:
            raise ReleaseError("a classifier needs a domain with a label")
        values = [domain.label.value(i) for i in range(domain.label.span[1])]
        return encode_models(domain, [model.to_model(label_values=values)])
    if sklearn_tree.is_fitted_tree(model):
        return encode_models(domain, [sklearn_tree.to_tree(model, domain)])
    if sklearn_forest.is_fitted_forest(model):
        return encode_models(domain, [sklearn_forest.to_forest(model, domain)])
    known = "a fitted DecisionTreeClassifier, RandomForestClassifier, ExtraTreesClassifier or GreedyRL list"
    raise Unsupported(f"a {type(model).__name__} is not read: give {known}")


def read_domain(path: str, label: str | None = None, independent: bool = False) -> Domain:
    """Return the domain of a release file (.json) or read one off data (.csv, .csv.gz, .parquet).

    `label`: the name of the label column of data; by default the last column.
    """
    if path.endswith(".json"):
        return release_file.read_domain(path)
    from recon.selections import numbers_of, read_table

    frame = numbers_of(read_table(path))
    try:
        if not len(frame.columns):
            raise ReleaseError("the file is empty")
        return Domain.from_frame(frame, label=label or str(frame.columns[-1]), independent=independent)
    except ReleaseError as error:
        raise error.at(file=path) from None
