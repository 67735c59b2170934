"""What certificates cannot rest on: assumptions of a reader that the figures of a model file themselves contradict.

A model file says less than its reader has to assume: that no row was drawn, weighted or left out, that training was not
continued, that nothing was taken for missing, that this version of the library writes what others write. Where no data
set fits all figures, or leaf values refute counts, one of these is false: a proof from them proves nothing.
"""

from __future__ import annotations

from encoders.encode.encoder import EncodedRelease
from recon.readers.loading.settled import as_released
from solvers.engines.settling import NOT_USED

TABLES = "table of counts"  # how the format of published tables begins: nothing is assumed of a learner there
ALSO = "rows drawn or weighted, training continued, values taken for missing, or an unknown version of the library"
NAMED = 4  # assumptions named in a sentence


def contradicted(release: EncodedRelease) -> str:
    """Return which assumptions must be false where no data set fits a release, "" where none is a reader's."""
    release = as_released(release)
    read = [m.origin for m in release.models if m.origin is not None and m.origin.format]
    read = [origin for origin in read if not origin.format.startswith(TABLES)]
    if not read:
        return ""
    notes = list(dict.fromkeys(note.partition(" (")[0] for origin in read for note in origin.notes))
    shown = "; ".join(notes[:NAMED]) + ("; ..." if len(notes) > NAMED else "")
    formats = ", ".join(dict.fromkeys(origin.format for origin in read))
    which = f"assumed were: {shown}; not excluded are {ALSO}" if notes else f"not excluded are {ALSO}"
    joined = ", or the files are not of the same rows" if len(release.files) > 1 else ""
    return f"something that reading {formats} assumes is false, or the domain is{joined}: {which}"


def refuted(release: EncodedRelease) -> bool:
    """Return whether leaf values contradicted what their model was assumed to be: no verdict on it is certified."""
    return any(NOT_USED in line for line in release.statements.loosened)
