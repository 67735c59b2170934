"""Files and fitted models in, one encoded release out."""

from __future__ import annotations

import os
import pickle
from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any

from encoders.domain import Domain
from encoders.encoder import CONFIDENCE, EncodedRelease, confidence_level
from encoders.encoder import encode as encode_models
from encoders.joining import Published, join
from encoders.models import AnyModel
from recon.formats import release_file
from recon.formats.binding import Binder
from recon.formats.drafts import Draft
from recon.formats.guessing import guess_domain, with_class_columns
from recon.formats.names import with_own_names
from recon.formats.reading import draft_of_object, read_draft
from recon.formats.rules import streed
from recon.stored.containers import collector_paused, open_stored, unpacked
from solvers.errors import ReleaseError, Unsupported

BY_NAME = (
    "files were joined by the names of attributes and label: what is called differently counts as different (--domain)"
)
MEMORY = 1 << 30  # bytes that a file may unpack to unless told otherwise (--memory)


@collector_paused()
def load(
    *paths: str | os.PathLike[str],
    domain: Domain | str | None = None,
    confidence: float | Fraction = CONFIDENCE,
    memory: int = MEMORY,
) -> EncodedRelease:
    """Return the release in a file of any format that is read, told by its content; nothing in it is run.

    `domain` (or a file with one) replaces the file's own; without it, that of a model file is guessed from what the
    model tests, and every answer says so. `confidence` in (0, 1] is that of the joint intervals around noisy counts
    (no effect on exact ones). `memory`: bytes that a stored model may unpack to. Several files are one joined release
    of the same rows. Raises `ReleaseError` for malformed files, naming file, place and value, `Unsupported` for models
    that are not read, and `ContradictionError` where no number of rows fits all of them.
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
        return load_several(files, declared, confidence, memory)
    found = read_file(files[0], memory)
    part = found.published(declared)
    try:
        release = encode_models(part.domain, part.models, part.rows, part.file, confidence)
    except ReleaseError as error:
        raise error.at(file=part.file) from None
    return replace(release, sha256=part.sha256, files=(part.file,), said=found.said)


def load_several(
    files: Sequence[str], declared: Domain | None, confidence: float | Fraction, memory: int
) -> EncodedRelease:
    """Return the release that several files make together, all of the same rows; see `encoders.joining.join`.

    Models without a name are numbered over all files.
    """
    if files.count("-") > 1:
        raise ReleaseError("standard input (-) can be read once, not twice")
    read = [read_file(path, memory) for path in files]
    several, first, parts = sum(one.models for one in read) > 1, 0, []
    for one in read:
        parts.append(one.published(declared, first, several))
        first += one.models
    if declared is None and any(isinstance(one.content, Draft) for one in read):
        parts[0] = replace(parts[0], domain=replace(parts[0].domain, notes=(*parts[0].domain.notes, BY_NAME)))
    if declared is not None:  # what was matched by names stands in the parts' notes
        declared = replace(declared, notes=tuple(dict.fromkeys(n for part in parts for n in part.domain.notes)))
    release = join(parts, declared, confidence_level(confidence))
    return replace(release, said=tuple(dict.fromkeys(s for one in read for s in one.said)))


@dataclass(frozen=True)
class ReadFile:
    """One file as it was read: a release file's parts, or the draft of anything else."""

    path: str
    sha256: str
    content: release_file.ReleasePart | Draft

    @property
    def models(self) -> int:
        """Return how many models it publishes (a draft: one, whatever it becomes)."""
        return 1 if isinstance(self.content, Draft) else len(self.content.models)

    @property
    def said(self) -> tuple[str, ...]:
        """Return what its reader has to say about it."""
        return self.content.said if isinstance(self.content, Draft) else ()

    def published(self, declared: Domain | None, first: int = 0, several: bool | None = None) -> Published:
        """Return the models over the declared domain, else the file's own or a guessed one."""
        try:
            if isinstance(self.content, Draft):
                domain, models = settle(self.content, declared)
                return Published(self.path, self.sha256, domain, models, self.content.rows)
            part = self.content
            own = declared if declared is not None else release_file.to_domain(part.domain)
            found = tuple(release_file.to_models(part, first, several))
            return Published(self.path, self.sha256, own, found, release_file.to_rows(part))
        except ReleaseError as error:
            raise error.at(file=self.path) from None


def read_file(path: str, memory: int = MEMORY) -> ReadFile:
    """Return what a file publishes ("-": standard input); `ReleaseError` naming it where it cannot be read."""
    data, sha256 = release_file.read_bytes(path)
    try:
        draft = read_draft(data, memory)
    except ReleaseError as error:
        raise error.at(file=path) from None
    except Unsupported as error:
        raise Unsupported(f"{path}: {error}") from None
    if draft is None:
        return ReadFile(path, sha256, release_file.parse(unpacked(data, memory), path))
    return ReadFile(path, sha256, draft)


def settle(draft: Draft, declared: Domain | None) -> tuple[Domain, tuple[AnyModel, ...]]:
    """Return the domain of a draft (guessed where none is declared), and its models over it."""
    domain = guess_domain(draft) if declared is None else with_class_columns(draft, declared)
    draft, domain = with_own_names(draft, domain)
    with collector_paused():
        return domain, draft.bound(Binder(draft, domain))


def encode(model: Any, domain: Domain) -> EncodedRelease:
    """Return the release of a fitted model in memory: scikit-learn, imodels, CORELS, LightGBM or a list of ours.

    `domain` says which rows can exist; with a domain read off the training data every figure says so. The model is
    pickled and read like a file, so that both are one path.
    """
    if not isinstance(domain, Domain):
        raise ReleaseError(f"domain is a Domain, not a {type(domain).__name__}: see Domain.from_frame")
    if hasattr(model, "to_model"):
        if domain.label is None:
            raise ReleaseError("a classifier needs a domain with a label")
        values = [domain.label.value_at(i) for i in range(domain.label.known[1])]
        return encode_models(domain, [model.to_model(label_values=values)])
    draft = draft_of(model)
    found, models = settle(draft, domain)
    return replace(encode_models(found, models, draft.rows), said=draft.said)


def models_of(model: Any, domain: Domain) -> tuple[AnyModel, ...]:
    """Return what a fitted model in memory publishes, over the domain."""
    return settle(draft_of(model), domain)[1]


def draft_of(model: Any) -> Draft:
    """Return what a fitted model in memory publishes; `Unsupported` for what is not read."""
    if isinstance(model, Draft):
        return model
    if streed.is_streed(model):  # cannot be pickled
        return streed.of_model(model)
    try:
        data = pickle.dumps(model, protocol=5)
    except Exception as error:  # whatever a foreign class raises when it cannot be pickled
        raise Unsupported(f"a {type(model).__name__} is not read: it cannot be pickled ({error})") from None
    stored = open_stored(data, max(4 * len(data), MEMORY))
    if stored is None:
        raise Unsupported(f"a {type(model).__name__} is not read")
    return draft_of_object(stored.root, "in memory")


def read_domain(path: str, label: str | None = None, independent: bool = False, lenient: bool = False) -> Domain:
    """Return the domain of a release or model file, or read one off data (.csv, .csv.gz, .parquet).

    `label`: the name of the label column of data; by default the last column, which it is as well for data without
    that column if `lenient`.
    """
    if not path.endswith((".csv", ".csv.gz", ".parquet")):
        content = read_file(path).content
        try:
            return guess_domain(content) if isinstance(content, Draft) else release_file.to_domain(content.domain)
        except ReleaseError as error:
            raise error.at(file=path) from None
    from recon.selections import numbers_of, read_table

    frame = numbers_of(read_table(path))
    try:
        if not len(frame.columns):
            raise ReleaseError("the file is empty")
        last = str(frame.columns[-1])
        named = last if label is None or (lenient and label not in frame.columns) else label
        return Domain.from_frame(frame, label=named, independent=independent)
    except ReleaseError as error:
        raise error.at(file=path) from None
