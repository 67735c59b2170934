"""Paths and data for the tests."""

from __future__ import annotations

import contextlib
import functools
import gc
import hashlib
import importlib
import itertools
import json
import math
import os
import sys
import time
from pathlib import Path
from types import SimpleNamespace

import pytest
import typer.main
from _pytest.warnings import catch_warnings_for_item
from hypothesis import HealthCheck, settings
from hypothesis.internal.conjecture import providers

import recon
from solvers.foundation import native
from solvers.foundation.limits import STAGES

sys.path.insert(0, str(Path(__file__).parent))

DATA = Path(os.environ.get("RECON_DATA", Path(__file__).parents[2] / "shared" / "data"))

# How long an example takes says how busy the machine is, not whether it is right.
settings.register_profile("any machine", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("any machine")
# Hypothesis draws the constants of all our modules that are loaded, too: each worker would parse 900 files, and what a
# test draws would hang on what was tested before it.
providers.is_local_module_file = lambda path: False


# Both workers and every command in a process of its own load the same modules: who forbids to keep them compiled
# has each of them compile 400 modules anew, and pytest rewrite the assertions of 90 files.
sys.dont_write_bytecode = False
os.environ.pop("PYTHONDONTWRITEBYTECODE", None)

# Typer builds all commands anew at every call, 20 ms; a process that runs thousands of commands builds them once.
typer.main.get_command = functools.cache(typer.main.get_command)


# Files of many seconds, their slow tests included (measured), the longest first: started last, one would keep a worker
# busy alone at the end. The first two do not compile the same loops, so that one worker compiles for both.
LONGEST = (
    "positions", "suggestions", "engines", "no_false_release", "coupled_commands", "certificates",
    "result_consistency", "channel", "release_is_proved", "against_oracle", "published_tables", "greedy_lists",
    "ferry2024", "reading_limits", "experiments", "counters", "boosted_sklearn", "correlation_experiment", "gate",
    "coupled", "budgets", "assignments", "sat", "positions_truth", "spreading", "facts", "child", "converting",
    "midpoints", "boosted_oracle", "grown", "denoising", "posterior", "columns", "learner_facts", "interval", "brl",
    "sizes",
)  # fmt: skip


def pytest_configure(config: pytest.Config) -> None:
    """Keep the order below: pytest-xdist would start the files of the fewest tests last, the longest among them."""
    config.option.loadscopereorder = False


def pytest_collectstart(collector: pytest.Collector) -> None:
    """Let every worker import the files of tests from another one on: what one has compiled the others read."""
    worker = getattr(collector.config, "workerinput", None)
    if not worker or not isinstance(collector, pytest.Session) or not all(map(os.path.isdir, collector.config.args)):
        return
    names = sorted(path.stem for path in Path(__file__).parent.glob("test_*.py"))
    first = len(names) * int(worker["workerid"].removeprefix("gw")) // worker["workercount"]
    for name in (*names[first:], *names[:first]):
        with (
            contextlib.suppress(Exception, pytest.skip.Exception),  # said where the file is collected
            catch_warnings_for_item(collector.config, collector.ihook, "collect", item=None),
        ):
            importlib.import_module(name)


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add `--tenth`, for `make quick`."""
    parser.addoption("--tenth", action="store_true", help="run a tenth of the tests, drawn by their names")


def draw(name: str) -> bytes:
    """Return what a case is drawn by: the same on every machine, and nothing of the order of the cases."""
    return hashlib.sha256(name.encode()).digest()


@pytest.hookimpl(tryfirst=True)
def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """Leave out the long cases before they are made where none is wanted: thousands, a third of all."""
    if "not long" in metafunc.config.option.markexpr:
        for mark in metafunc.definition.iter_markers("parametrize"):
            cases = mark.args[1] if len(mark.args) > 1 else ()
            if isinstance(cases, list):
                kept = [one for one in cases if all(own.name != "long" for own in getattr(one, "marks", ()))]
                cases[:] = kept or cases


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Put the longest files first; mark as slow or long what of a sampled test is drawn for neither."""
    told = [item.nodeid for item in items if " at 0x" in item.nodeid]
    if told:
        raise pytest.UsageError(f"{told[0]} is called otherwise in every process (an address)")
    if config.getoption("tenth"):
        config.hook.pytest_deselected(items=[item for item in items if draw(item.nodeid)[0] % 10])
        items[:] = [item for item in items if not draw(item.nodeid)[0] % 10]
    ranks = {f"test_{name}": rank for rank, name in enumerate(LONGEST)}
    items.sort(key=lambda item: ranks.get(item.path.stem, len(ranks)))
    cases: dict[tuple[Path, str], list[pytest.Item]] = {}
    for item in items:
        if item.get_closest_marker("sampled") and not item.get_closest_marker("long"):
            cases.setdefault((item.path, item.originalname), []).append(item)
    for of_test in cases.values():
        every_run, slow = (*of_test[0].get_closest_marker("sampled").args, None)[:2]
        drawn = sorted(of_test, key=lambda item: (bool(item.get_closest_marker("slow")), draw(item.name)))
        for item in drawn[every_run:]:
            item.add_marker("slow")
        for item in () if slow is None else drawn[every_run + slow :]:
            item.add_marker("long")


def pytest_runtest_setup(item: pytest.Item) -> None:
    """Let the slow tests alone compile loops, a minute of a core in a fresh clone: plain ones give the same numbers."""
    compiled = item.get_closest_marker("slow") or item.path.stem == "test_compiling"
    native.COMPILING = STAGES["compiled loops"].floor if compiled else math.nan  # no time is enough


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


@pytest.fixture
def clock(monkeypatch):
    """Let a hundredth of a second pass for limits whenever they are looked at, however long anything takes."""
    begun, looks = time.monotonic(), itertools.count()
    monkeypatch.setattr("solvers.foundation.limits.time", SimpleNamespace(monotonic=lambda: begun + next(looks) / 100))


@pytest.fixture
def run(capsys):
    """Return a function that runs a command as users do and checks its exit code."""
    from extras import run as run_command

    def command(*args, code=0):
        ended, out, err = run_command(capsys, *map(str, args))
        assert ended == code, out + err
        return SimpleNamespace(stdout=out, stderr=err)

    return command
