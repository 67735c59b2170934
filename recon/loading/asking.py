"""What a public question may be given: an encoded release, the path of a file, or a fitted model in memory."""

from __future__ import annotations

import os
from dataclasses import replace
from typing import Any, Protocol, TypeAlias

from encoders.encode.encoder import EncodedRelease
from encoders.encode.encoder import encode as encode_models
from recon.files.budget import within
from recon.formats.drafts.drafts import Draft
from recon.formats.rules import streed
from recon.loading.loading import draft_of, load, settle
from solvers.foundation.errors import ReleaseError, Unsupported
from solvers.foundation.escaping import named
from solvers.foundation.limits import Limits

WITH_DOMAIN = "recon.encode(model, domain), with domain = recon.Domain.from_frame(df, label=...) or a declared one"
NEEDED = "a release is asked about: give one (recon.load, recon.encode), the path of a file or a fitted model"
DATA = {"pandas", "numpy", "polars", "pyarrow", "scipy"}  # libraries whose objects hold rows
OURS = {"recon", "encoders", "solvers"}


class Fitted(Protocol):
    """A fitted model of any library: something that predicts."""

    @property
    def predict(self) -> Any:
        """Return what predicts."""


Released: TypeAlias = EncodedRelease | str | os.PathLike[str] | Fitted


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
    if why := no_model(thing):
        raise Unsupported(f"{why}; {NEEDED}")
    with within(limits=limits):
        return model_release(thing)


def no_model(thing: object) -> str:
    """Return why something cannot be a fitted model, in words; "" where it may be one."""
    kind = type(thing)
    name = named(kind.__name__, 60)
    if isinstance(thing, type):
        return f"{named(thing.__name__, 60)} is a class, not a fitted model"
    if isinstance(thing, Draft) or hasattr(thing, "predict") or hasattr(thing, "to_model"):
        return ""
    if isinstance(thing, (list, tuple, set)) and all(isinstance(one, (str, os.PathLike)) for one in thing) and thing:
        return f"a {name} of paths is no release: recon.load(*paths) makes one of several files about the same rows"
    package = kind.__module__.partition(".")[0]
    if package in DATA:
        return f"a {name} holds rows, not what was released about them"
    if package in OURS:
        return f"a {name} is not a release"
    return "" if streed.is_streed(thing) or package != "builtins" else f"a {name} is no release"


def model_release(model: Any) -> EncodedRelease:
    """Return the release of a fitted model, read as its file would be, over the domain that it says or lets guess."""
    name = named(type(model).__name__, 60)
    if hasattr(model, "to_model"):
        raise ReleaseError(f"a {name} does not say which values its columns have: ask about {WITH_DOMAIN}")
    draft = draft_of(model)
    try:
        domain, models = settle(draft, None)
        found = encode_models(domain, models, draft.rows)
    except ReleaseError as error:
        if "--domain" not in str(error):
            raise
        raise ReleaseError(f"{error}; of a {name} in memory ask about {WITH_DOMAIN}") from None
    return replace(found, reader_notes=draft.reader_notes)
