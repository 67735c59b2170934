"""Paths and data for the tests."""

from __future__ import annotations

import gc
import json
import os
import sys
from pathlib import Path

import pytest

import recon

sys.path.insert(0, str(Path(__file__).parent))

DATA = Path(os.environ.get("RECON_DATA", Path(__file__).parents[2] / "shared" / "data"))


def pytest_collection_finish() -> None:
    """Let the garbage collector pass over what stays for good: thousands of tests and all that they import."""
    gc.collect()
    gc.freeze()


@pytest.fixture
def data():
    """Return a function from a file name to its path; skips without the data, fails with CI=true."""

    def find(name: str) -> str:
        path = DATA / name
        if not path.exists():
            message = f"{path} is missing: set RECON_DATA to the folder with the data files"
            if os.environ.get("CI") == "true":
                pytest.fail(message)
            pytest.skip(message)
        return str(path)

    return find


@pytest.fixture
def encoded(tmp_path):
    """Return a function that loads a release from a file, as a user does."""

    def load(release):
        path = tmp_path / "release.json"
        path.write_text(json.dumps(release), encoding="utf-8")
        return recon.load(path)

    return load
