"""A joined release whose sentences name files: which file each model stands in, as part of the model's name."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import replace

from encoders.encode.encoder import CONFIDENCE, EncodedRelease, encode, with_known_rows
from recon.readers.loading.loading import read_file
from recon.release.registers.index import RegisterEntry
from recon.release.registers.register import Register


def labels_of(register: Register, known: Sequence[RegisterEntry], new: EncodedRelease, models: int) -> list[str]:
    """Return, for each model of the joined release in its order, what its file is called in sentences.

    Nothing ([]) where it cannot be said which models a file has. `models`: how many there are in all.
    """
    taken = {one.file for one in known}
    last = [f"{base} (new)" if (base := os.path.basename(file)) in taken else base for file in new.files]
    earlier = models - len(new.models)
    own = [len(new.models)] if len(last) == 1 else [read_file(file).models for file in new.files]
    before = [earlier] if len(known) == 1 else [read_file(register.path(one)).models for one in known]
    if (sum(before), sum(own)) != (earlier, len(new.models)):
        return []
    files = zip([*(one.file for one in known), *last], [*before, *own], strict=True)
    return [file for file, count in files for _ in range(count)]


def named_by_file(whole: EncodedRelease, labels: Sequence[str]) -> EncodedRelease:
    """Return the same statements under names that begin with the file; the release itself without labels.

    Certificates name statements as they were published: they belong to the release that is given, not to this one.
    """
    if not labels:
        return whole
    models = [replace(m, name=f"{label}: {m.name}") for m, label in zip(whole.models, labels, strict=True)]
    level = whole.statements.confidence or CONFIDENCE
    found = encode(whole.domain, models, whole.declared, whole.file, level).read_as(whole)
    return found if whole.known is None else with_known_rows(found, whole.known)
