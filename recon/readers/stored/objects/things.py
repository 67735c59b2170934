"""Objects of a stored file that were never built, with their attributes resolved: arrays, numbers, mappings."""

from __future__ import annotations

from typing import Any

from recon.readers.stored.objects.arrays import resolve
from recon.readers.stored.objects.raw import RawThing


class Thing(RawThing):
    """An object that was never built; `get` and `attributes` give resolved values.

    A value that is replaced in `state` is seen by both.
    """

    __slots__ = ()

    @property
    def attributes(self) -> dict[str, Any]:
        """Return all attributes, resolved like `get` does."""
        return {name: self.get(name) for name in self.fields() if isinstance(name, str)}

    def get(self, name: str, default: Any = None) -> Any:
        """Return an attribute: arrays as ndarrays (read-only), numpy scalars as Python numbers, mappings as dicts.

        Resolved once and kept as long as the raw value stays the same. Raises `ReleaseError` for a broken array.
        """
        fields = self.fields()
        if name not in fields:
            return default
        raw = fields[name]
        if self._resolved is None:
            self._resolved = {}
        known = self._resolved.get(name)
        if known is None or known[0] is not raw:
            known = self._resolved[name] = (raw, resolve(raw))
        return known[1]
