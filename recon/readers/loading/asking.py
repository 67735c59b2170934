"""What a public question may be given: an encoded release, the path of a file, or a fitted model in memory."""

from __future__ import annotations

import os
from dataclasses import replace
from typing import Any, Protocol, TypeAlias

from encoders.encode.encoder import EncodedRelease
from encoders.encode.encoder import encode as encode_models
from recon.io.files.budget import within
from recon.readers.formats.drafts.drafts import Draft
from recon.readers.formats.rules import streed
from recon.readers.loading.loading import draft_of, load, settle
from solvers.foundation.displayed import named
from solvers.foundation.errors import ReleaseError, Unsupported
from solvers.foundation.limits import Limits

WITH_DOMAIN = "recon.encode(model, domain), with domain = recon.Domain.from_frame(df, label=...) or a declared one"
NEEDED = "give a release (recon.load, recon.encode), the path of a file or a fitted model"
DATA = {"pandas", "numpy", "polars", "pyarrow", "scipy"}  # libraries whose objects hold rows
NAME = 60  # characters of a type's name
OURS = {"recon", "encoders", "solvers"}


class FittedModel(Protocol):
    """A fitted model of any library: something that predicts."""

    @property
    def predict(self) -> Any:
        """Return what predicts."""


Released: TypeAlias = EncodedRelease | str | os.PathLike[str] | FittedModel


def release_of(thing: Released, limits: Limits | None = None) -> EncodedRelease:
    """Return the release that a question is asked about: itself, a file's (`recon.load`) or a fitted model's.

    The domain of files without one, and of models in memory, is guessed from what the model tests; every answer says
    so. Nothing is kept: for several questions about one file or model, load or encode it once. `limits`: time and
    memory of reading, out of those of the question. Raises `ReleaseError` or `Unsupported`, saying what to do, for what
    is no release, and what `recon.load` raises. Cost: none for a release, else that of loading.
    """
    if isinstance(thing, EncodedRelease):
        return thing
    if isinstance(thing, (str, os.PathLike)):
        return load(thing, limits=limits)
    if why := _no_model(thing):
        raise Unsupported(f"{why}: {NEEDED}")
    with within(limits=limits):
        return _model_release(thing)


def _no_model(thing: object) -> str:
    """Return why something cannot be a fitted model, in words; "" where it may be one."""
    if isinstance(thing, type):
        return f"{named(thing.__name__, NAME)} is a class, not a fitted model"
    if isinstance(thing, Draft) or hasattr(thing, "predict") or hasattr(thing, "to_model") or streed.is_streed(thing):
        return ""
    name, package = _kind_of(thing), type(thing).__module__.partition(".")[0]
    if isinstance(thing, (list, tuple, set)) and thing and all(isinstance(x, (str, os.PathLike)) for x in thing):
        return f"{name} of paths is no release (recon.load(*paths) makes one of several files)"
    if package in DATA:
        return f"{name} holds data, not what was released about them"
    return f"{name} is no release" if package in {*OURS, "builtins"} else ""


def _kind_of(thing: object) -> str:
    """Return the name of a value's type, with its article."""
    name = named(type(thing).__name__, NAME)
    return f"{'an' if name[:1] in 'AEIOUaeio' else 'a'} {name}"


def _model_release(model: Any) -> EncodedRelease:
    """Return the release of a fitted model, read as its file would be, over the domain that it says or lets guess."""
    if hasattr(model, "to_model"):
        raise ReleaseError(f"{_kind_of(model)} does not say which values its columns have: ask about {WITH_DOMAIN}")
    try:
        draft = draft_of(model)
        domain, models = settle(draft, None)
        found = encode_models(domain, models, draft.rows)
    except ReleaseError as error:
        if "--domain" in str(error):
            raise ReleaseError(f"{error}; of a model in memory ask about {WITH_DOMAIN}") from None
        raise error.at(file=_kind_of(model)) from None
    return replace(found, reader_notes=draft.reader_notes)
