"""Which file each model of a joined release stands in, so that sentences name files."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass

from encoders.encode.encoder import EncodedRelease


@dataclass(frozen=True)
class Owners:
    """The models of a joined release by name, and the files that have one of that name."""

    files: dict[str, tuple[str, ...]]

    @classmethod
    def of(cls, joined: EncodedRelease, parts: Sequence[tuple[str, int]]) -> Owners:
        """Return the owners, of files in the order in which they were joined and how many models each has.

        Nothing is said of any where these numbers are not those of the joined release.
        """
        found: dict[str, tuple[str, ...]] = {}
        if sum(n for _, n in parts) != len(joined.models):
            return cls({})
        names = iter(joined.models)
        for file, n in parts:
            for _ in range(n):
                name = next(names).name
                shown = os.path.basename(file)
                if shown not in found.get(name, ()):
                    found[name] = (*found.get(name, ()), shown)
        return cls(found)

    def of_source(self, source: str) -> str:
        """Return the source of a statement with its file behind the model's name, where that is known."""
        for end in range(len(source), 0, -1):
            files = self.files.get(source[:end])
            if files is not None and (end == len(source) or not source[end].isalnum()):
                return f"{source[:end]} ({' or '.join(files)}){source[end:]}"
        return source
