"""`--time` is the budget of the whole command: what a command takes of the CPU beyond it stays within some seconds.

The CPU is counted, not the wall clock, so that a busy machine changes nothing. Model files are made on the fly.
"""

from __future__ import annotations

import contextlib
import functools
import itertools
import json
import math
import os
import pickle
import queue
import re
import signal
import subprocess
import sys
import tempfile
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from contextvars import copy_context
from dataclasses import dataclass, replace
from operator import attrgetter
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
from ortools.sat.python import cp_model

import recon
from recon.cli.app import app
from recon.io.console.output import WHOLE, working
from recon.learner_rule.optimal.classes import ModelClass
from recon.learner_rule.optimal.competing_models import best_on
from recon.queries.certificates import issuing
from solvers.cells.clauses import sat
from solvers.cells.clauses.gates import Clauses
from solvers.cells.clauses.lowering import lower
from solvers.cells.components import Component, known_presolve
from solvers.cells.system import _refined, system_of
from solvers.engines.chain import answer
from solvers.foundation import native
from solvers.foundation.errors import Inconclusive, TooLarge
from solvers.foundation.limits import CUT, GRACE, STAGES, Limits
from solvers.histograms import decision_diagram as layers
from solvers.histograms.decision_diagram import EliminationWindow, elimination_order, layers_of
from solvers.kernel.rup import check
from solvers.programs import cpsat
from solvers.programs.cpsat import state
from solvers.programs.linear_program import by_column, whole_program
from solvers.statements.boxes import Box
from solvers.statements.questions.query import Count
from solvers.statements.regions.captures import captures

GOLDEN = Path(__file__).parent / "golden"
KINDS = ("ada", "bag", "boosting", "forest", "extra", "noisy")
SETS = ("breast_cancer", "wine", "digits", "compas14", "adult19")
ROOT = Path(__file__).parents[1]
BEYOND = 5.0  # seconds of CPU beyond the budget and the imports
EVERYTHING = """
import recon.cli.app
import recon.queries.questions.questions
import recon.release.auditing.auditing
import recon.report.report
import recon.models.exporting
import recon.queries.certificates.verifying
import recon.cli.output.streaming
import recon.readers.loading.loading
import recon.queries.questions.probabilistic
import recon.queries.noisy.likely_worlds
import recon.queries.measures.sweeping
import recon.queries.bounds.bounding
import recon.release.auditing.findings
import pyarrow
from solvers.engines.chain import engines
import solvers.programs.linear_program
import solvers.programs.bounded_answers
import solvers.programs.row_model
import solvers.cells.clauses.sat
import solvers.programs.interval.bracket
import solvers.programs.columns.master
import solvers.noisy.likelihood.most_likely
list(engines())
"""


@dataclass(frozen=True)
class Case:
    """A command asked of one file: its options, and how long it took of the CPU."""

    command: str
    file: str
    options: tuple[str, ...]

    def run(self, seconds: float) -> str:
        """Return what was wrong, "" where the command kept to its budget and ended with a code of the contract."""
        told = ("--time", str(seconds)) if takes_time(self.command) else ()
        cpu, code, said = cpu_of([sys.executable, "-m", "recon", self.command, self.file, *self.options, *told])
        wrong = cpu - imports() > seconds + BEYOND or code not in range(6)
        return (
            f"{' '.join(map(str, self.options))} {self.command} {self.file}: {cpu:.1f} s, {code}, {said[-300:]}" * wrong
        )


def cpu_of(command: list[str]) -> tuple[float, int, str]:
    """Return the seconds of CPU that a command and its children took, its exit code, and what it said."""
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
    said = process.stderr.read()
    _, status, used = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    process.stderr.close()
    return used.ru_utime + used.ru_stime, process.returncode, said


@functools.cache
def imports() -> float:
    """Return the seconds of CPU that importing everything takes."""
    return cpu_of([sys.executable, "-c", EVERYTHING])[0]


@functools.cache
def takes_time(command: str) -> bool:
    """Tell whether a command has the option --time."""
    (callback,) = [c.callback for c in app.registered_commands if c.callback.__name__ == command]
    return "seconds" in callback.__annotations__


def frame_of(name: str, data) -> pd.DataFrame:
    """Return a data set, its label last."""
    if name in {"compas14", "adult19"}:
        return pd.read_csv(data(f"{name}.csv.gz"))
    datasets = pytest.importorskip("sklearn.datasets")
    found = getattr(datasets, f"load_{name}")(as_frame=True)
    return found.data.assign(label=found.target)


def fitted(kind: str, frame: pd.DataFrame):
    """Return a fitted model of a kind, with its usual options."""
    ensemble, tree = pytest.importorskip("sklearn.ensemble"), pytest.importorskip("sklearn.tree")
    stump = tree.DecisionTreeClassifier(max_depth=1)
    model = {
        "ada": lambda: ensemble.AdaBoostClassifier(stump, n_estimators=20, random_state=0),
        "bag": lambda: ensemble.BaggingClassifier(n_estimators=10, random_state=0),
        "boosting": lambda: ensemble.GradientBoostingClassifier(n_estimators=20, random_state=0),
        "forest": lambda: ensemble.RandomForestClassifier(random_state=0),
        "extra": lambda: ensemble.ExtraTreesClassifier(random_state=0),
        "noisy": lambda: ensemble.RandomForestClassifier(10, max_depth=4, bootstrap=False, random_state=0),
    }[kind]()
    return model.fit(frame.iloc[:, :-1], frame.iloc[:, -1])


@dataclass(frozen=True)
class Released:
    """A model file with the files that questions about it need."""

    model: str
    table: str
    profiles: str
    people: str
    label: str

    def cases(self, commands: tuple[str, ...], folder: Path, domain: bool = True) -> list[Case]:
        """Return commands about the file, with a domain read off its data or without."""
        options = {
            "certify": ("--profiles", self.profiles),
            "attribute": ("--profiles", self.people, "--sensitive", self.label),
            "bound": ("--where", json.dumps({self.label: 0})),
            "sample": ("-k", "5", "--out", str(folder / f"{Path(self.model).stem}.parquet")),
            "export": ("--to", "mps", "--out", str(folder / f"{Path(self.model).stem}.mps")),
            "verify": (),
        }
        told = ("--domain", self.table) if domain else ()
        out = []
        for command in commands:
            file = self.model
            if command == "verify":  # what certify says about the file
                made = [*self.command("certify"), *told, "--json", "--time", "3", "--out", str(folder / "result.json")]
                subprocess.run(made, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, check=False)
                if not (folder / "result.json").exists():
                    continue
                file = str((folder / "result.json").rename(folder / f"{Path(self.model).stem}-{domain}.result.json"))
                out.append(Case(command, file, (self.model, *told)))
                continue
            out.append(Case(command, file, (*options.get(command, ()), *(() if command == "inspect" else told))))
        return out

    def command(self, name: str) -> list[str]:
        """Return the command line that certifies the profiles."""
        return [sys.executable, "-m", "recon", name, self.model, "--profiles", self.profiles]


def released(kind: str, name: str, frame: pd.DataFrame, folder: Path) -> Released:
    """Write a model file of a kind that was trained on a data set, and its profiles."""
    table, label = folder / f"{name}.csv", str(frame.columns[-1])
    if not table.exists():
        frame.to_csv(table, index=False)
        frame.head(20).to_csv(folder / f"{name}.profiles.csv", index=False)
        frame.head(20).drop(columns=label).to_csv(folder / f"{name}.people.csv", index=False)
    path = folder / f"{name}.{kind}.pkl"
    path.write_bytes(pickle.dumps(fitted(kind, frame)))
    if kind == "noisy":
        exact = folder / "exact.json"
        with_domain = ["--domain", str(table), "--out", str(exact)]
        subprocess.run([sys.executable, "-m", "recon", "convert", str(path), *with_domain], check=True)
        said = json.loads(exact.read_text())
        for model in said["models"]:
            model["noise"] = {"law": "laplace", "scale": 2.0}
        path = folder / f"{name}.{kind}.json"
        path.write_text(json.dumps(said))
    made = (table, folder / f"{name}.profiles.csv", folder / f"{name}.people.csv")
    return Released(str(path), *map(str, made), label)


# ---------------------------------------------------------------- commands


@pytest.mark.slow
@pytest.mark.parametrize(
    ("kind", "name", "rows", "commands"),
    [
        ("ada", "breast_cancer", 285, ("count", "table")),
        ("bag", "wine", None, ("audit", "attribute")),
        pytest.param("extra", "digits", 600, ("count",), marks=pytest.mark.long),
    ],
)
def test_commands_keep_to_their_budget(tmp_path, data, kind, name, rows, commands):
    pytest.importorskip("sklearn")
    file = released(kind, name, frame_of(name, data).head(rows or 10**9), tmp_path)
    assert [wrong for case in file.cases(commands, tmp_path) if (wrong := case.run(2.0))] == []


COMMANDS = (
    "count", "audit", "worlds", "sample", "reconstruct", "certify", "attribute", "bound", "table", "convert", "export",
    "posterior", "denoise", "sweep", "inspect", "verify",
)  # fmt: skip


@pytest.mark.long
def test_every_command_keeps_to_its_budget(tmp_path, data):
    """Every command with every kind of model and on every data set (not every pair of them), and on golden files."""
    cases: list[Case] = []
    for k, kind in enumerate(KINDS):
        for d, name in enumerate(SETS):
            file = released(kind, name, frame_of(name, data), tmp_path)
            asked = tuple(c for i, c in enumerate(COMMANDS) if (i + k + d) % len(SETS) == 0)
            asked += ("posterior", "denoise") if kind == "noisy" else ()
            cases += file.cases(tuple(dict.fromkeys(asked)), tmp_path, domain=(k + d) % 3 != 0 or kind == "noisy")
    plain = ("count", "audit", "worlds", "sample", "reconstruct", "table", "convert", "export", "sweep", "inspect")
    for g, path in enumerate(sorted(GOLDEN.glob("*.json"))):
        cases += [
            Case(c, str(path), ("--to", "opb", "--out", str(tmp_path / f"{g}.opb")) if c == "export" else ())
            for i, c in enumerate(plain)
            if (i + g) % 4 == 0
        ]
    imports()
    with ThreadPoolExecutor(2) as pool:
        assert [wrong for wrong in pool.map(lambda case: case.run(5.0), cases) if wrong] == []


# ---------------------------------------------------------------- worlds, one after the other


def test_drawn_worlds_are_written_until_the_time_is_up(tmp_path, clock):
    from recon.cli.output.streaming import write_worlds
    from recon.queries.questions.questions import iterate_samples

    out, release = tmp_path / "drawn.csv", recon.load(str(GOLDEN / "tree_classes.json"))
    first = recon.sample(release, 3)
    notes, early = write_worlds(
        iterate_samples(release, 10**8, limits=Limits(seconds=2.0)), False, str(out), as_json=False
    )
    assert notes == []
    found = pd.read_csv(out)
    assert early.startswith(f"the time was up after {found['world'].nunique():,} of 100,000,000 worlds")
    assert out.stat().st_mode & 0o777 == 0o600
    assert (found.groupby("world").size() == 4).all()
    expected = pd.concat([w.to_frame() for w in first], ignore_index=True).head(len(found))
    pd.testing.assert_frame_equal(found.drop(columns="world").head(len(expected)), expected)


@pytest.mark.slow
def test_a_stop_is_heard_between_two_worlds(tmp_path):
    out = tmp_path / "drawn.json"
    command = [sys.executable, "-m", "recon", "sample", str(GOLDEN / "tree_classes.json"), "-k", "100000000"]
    process = subprocess.Popen([*command, "--log-json", "--out", str(out)], stderr=subprocess.PIPE, text=True)
    while "64 of 100,000,000 worlds" not in (line := process.stderr.readline()):
        assert line
    process.send_signal(signal.SIGINT)
    said = process.communicate(timeout=600)[1]
    assert process.returncode == 4
    assert "stopped after" in said
    assert json.loads(out.read_text())[-1]["world"] >= 0


@pytest.mark.parametrize("ending", ["csv", "json", "parquet"])
def test_worlds_in_several_batches_are_those_of_one_table(tmp_path, monkeypatch, ending):
    if ending == "parquet":
        pytest.importorskip("pyarrow")
    from recon.cli.output import streaming

    release = recon.load(str(GOLDEN / "tree_classes.json"))
    whole = pd.concat(
        [w.to_frame().assign(world=i) for i, w in enumerate(recon.sample(release, 25))], ignore_index=True
    )
    for batch, group in ((4_096, 100_000), (6, 10)):
        monkeypatch.setattr(streaming, "BATCH", batch)
        monkeypatch.setattr(streaming, "GROUP", group)
        out = tmp_path / f"{batch}.{ending}"
        notes, early = streaming.write_worlds(iter(recon.sample(release, 25)), False, str(out), as_json=False)
        read = {"csv": pd.read_csv, "json": pd.read_json, "parquet": pd.read_parquet}[ending](out)
        pd.testing.assert_frame_equal(read[list(whole.columns)], whole, check_dtype=False)
        assert (notes, early) == ([], "")


def test_a_listing_that_the_time_ends_says_so():
    release = recon.load(str(GOLDEN / "tree_classes.json"))
    found = recon.worlds(release, None, limits=(limits := Limits(seconds=60)))
    next(found)
    limits.stop.set()
    with pytest.raises(Inconclusive, match="stopped after 1 worlds"):
        list(found)
    with pytest.raises(Inconclusive, match="--memory"):
        recon.sample(release, 1, limits=Limits(memory=10))


def test_a_search_ends_with_the_listing_that_reads_it():
    from recon.queries.questions.questions import _iterate_worlds

    release = recon.load(str(GOLDEN / "tree_classes.json"))
    world, ended = recon.sample(release, 1)[0].inner, []

    def search():
        try:
            while True:
                yield world
        finally:
            ended.append(True)

    limits = Limits(seconds=60)
    listing = _iterate_worlds(release, search(), None, limits)
    next(listing)
    limits.stop.set()
    with pytest.raises(Inconclusive) as held:  # the error, and every frame that it passed, is still held
        next(listing)
    assert ended == [True]
    assert held.value


def test_a_search_that_says_nothing_is_stopped():
    from solvers.programs.cpsat import _next_of

    class Silent:
        def stop_search(self):
            found.put(None)

    found = queue.Queue()
    assert _next_of(found, Silent(), Limits(seconds=0.0)) is None


# ---------------------------------------------------------------- limits


def test_every_question_of_a_measure_has_its_limits(monkeypatch):
    from recon.queries.measures import figures as coupled

    asked, ask = [], coupled.ask

    def heard(release, query, kind, limits=None):
        asked.append(limits)
        return ask(release, query, kind, limits)

    monkeypatch.setattr(coupled, "ask", heard)
    limits = Limits(seconds=600)
    attributes = [{"name": name, "values": [0, 1, 2]} for name in "abc"]
    figures = [{"where": {"a": 0}, "count": 2}, {"where": {"b": 1}, "count": 1}]
    said = {"recon": 1, "domain": {"attributes": attributes}, "rows": 4}
    release = loaded(said | {"models": [{"kind": "table", "statements": figures}]})
    assert recon.measure(release, "multiset", limits).dist_g_mentioned is not None
    assert len(asked) >= 2
    assert all(one is limits for one in asked)


def test_passes_over_histograms_hear_the_clock_and_hold_their_numbers():
    system = system_of(recon.load(str(GOLDEN / "join.json")).statements, Limits())
    part = max(known_presolve(system, Limits()).components, key=lambda p: len(p.cells))
    graph = layers_of(part, Limits())
    weights = [[1 << 100_000] * (room + 1) for room in part.room.tolist()]
    counted = graph.count(weights)
    graph.clock.limits = Limits(memory=20_000)
    with pytest.raises(TooLarge, match="--memory"):
        graph.count(weights)
    graph.clock.limits = Limits(seconds=0.0)
    for ask in (graph.count, graph.prefixes):
        with pytest.raises(Inconclusive, match="the time was up"):
            ask(weights)
    graph.clock.limits = Limits()
    assert graph.count(weights) == counted


@pytest.mark.slow
def test_long_numbers_are_added_piece_by_piece(monkeypatch):
    system = system_of(recon.load(str(GOLDEN / "wide_total.json")).statements, Limits())
    part = max(known_presolve(system, Limits()).components, key=lambda p: len(p.cells))
    graph = layers_of(part, Limits())
    weights = [[k + y + 1 for y in range(room + 1)] for k, room in enumerate(part.room.tolist())]
    whole = graph.prefixes(weights)
    for few in (1, 3, 50):
        monkeypatch.setattr(layers, "AT_ONCE", few)
        assert [list(x) for x in graph.prefixes(weights)] == [list(x) for x in whole]


def loaded(release: dict) -> recon.EncodedRelease:
    """Return a release from its JSON."""
    with tempfile.NamedTemporaryFile("w", suffix=".json") as file:
        json.dump(release, file)
        file.flush()
        return recon.load(file.name)


def test_a_solver_that_outstays_its_time_is_left(monkeypatch):
    monkeypatch.setattr(native, "SOLVER_LATE", 0.1)
    stopped = threading.Event()
    with pytest.raises(Inconclusive, match="the time was up while a solver was at work"):
        native.run_in_thread(lambda: stopped.wait(3600), threading.Event(), None, 0.1)
    assert native.left_behind()
    stopped.set()
    assert native.run_in_thread(lambda: 3, threading.Event(), None, 60.0) == 3


class EndlessSolver:
    """CP-SAT's solver, which finds nothing until it is told to stop."""

    def __init__(self) -> None:
        self.parameters, self.stopped = cp_model.CpSolver().parameters, threading.Event()
        self.response_proto = SimpleNamespace(deterministic_time=0.0)

    def solve(self, model, *more):
        self.stopped.wait(60)
        return cp_model.UNKNOWN

    def stop_search(self):
        self.stopped.set()


@pytest.mark.parametrize("hears", [True, False])
def test_what_the_clock_cut_in_a_native_solver_is_noted(monkeypatch, hears):
    """A solver is ended by the one clock, not by its own, which ends early; also one that has to be left is noted."""
    monkeypatch.setattr(native, "SOLVER_LATE", 5.0 if hears else 0.05)
    solver = EndlessSolver()
    monkeypatch.setattr(cp_model, "CpSolver", lambda: solver)
    if not hears:
        monkeypatch.setattr(solver, "stop_search", lambda: None)
    limits = Limits(seconds=0.2).stage("graphs")
    with contextlib.nullcontext() if hears else pytest.raises(Inconclusive):
        assert cpsat.run(cp_model.CpModel(), limits)[0] == cp_model.UNKNOWN
    solver.stopped.set()
    assert limits.cut_short() == (f"{CUT}: graphs",)
    assert solver.parameters.max_time_in_seconds == math.inf


def test_a_solver_that_takes_too_much_of_the_processor_is_ended(monkeypatch):
    """By its own thread's seconds, which a busy machine does not lengthen; waiting takes none."""
    monkeypatch.setattr(native, "SOLVER_LATE", 5.0)
    ended = threading.Event()

    def busy():
        while not ended.is_set():
            pass
        return "interrupted"

    assert native.run_in_thread(busy, threading.Event(), ended.set, math.inf, 0.05) == "interrupted"
    waiting = threading.Event()
    assert native.run_in_thread(lambda: waiting.wait(0.3), threading.Event(), waiting.set, math.inf, 0.05) is False
    assert Limits().processor_seconds() == Limits().solver_seconds() == math.inf
    assert Limits().at_most(2.0).processor_seconds() == 30.0
    assert Limits().at_most(2.0).solver_seconds() == math.inf  # no clock is looked at where none was asked for


def test_without_a_time_limit_work_alone_ends_a_stage():
    limits = Limits()
    stage = limits.stage("profile")
    assert not stage.clocked
    assert stage.left() == STAGES["profile"].cap == 5.0
    stage.charge(4.0)
    assert limits.stage("hard claim").left() == math.inf
    assert stage.stage("hard claim").left() == 1.0  # its floor, and a part of what is left of the stage around it
    assert stage.share(0.5).left() == 0.5
    assert stage.lasting(0.25).left() == 0.25
    stage.charge(2.0)
    assert stage.expired()
    assert limits.cut_short() == ()  # work ended it, as it does everywhere
    assert not limits.expired()


def test_without_a_time_limit_the_clock_is_not_asked(monkeypatch):
    """A thousand seconds pass at every look: a machine that stood still all the time proves the same."""
    rows = pd.DataFrame(np.random.default_rng(3).integers(0, 2, (60, 6)), columns=list("abcdef"))
    label = (rows.a & rows.b) | rows.c ^ (rows.index % 7 == 0)
    names = tuple(rows)
    classes = [ModelClass("rule list", names, 2, 0, length=2), ModelClass("tree", names, 2, 0, depth=2),
               ModelClass("tree", names, 2, 0, leaves=4)]  # fmt: skip
    clauses = [(1, 2), (-1, 2), (1, -2), (-1, -2)]
    boxes = [Box.of([(k, 2), (k + 1, 2)]) for k in range(40)]

    def found(limits):
        best = [best_on(rows, label, models, limits) for models in classes]
        check(clauses, ["1 2 0"] * 90 + ["2 0", "0"], limits)
        sizes = captures([[1, 1]] * 41, boxes, limits.at_most(1e-9))  # bounds alone, without diagrams
        return [(one.errors, one.proved) for one in best], sizes.lower, sizes.upper

    before, passed = found(Limits()), itertools.count(2 * time.monotonic(), 1_000.0)
    for name in ("monotonic", "thread_time", "process_time", "perf_counter"):
        monkeypatch.setattr(time, name, lambda: next(passed))
    assert found(Limits()) == before
    assert all(proved for _, proved in before[0])
    assert sum(low > 0 for low in before[1]) == len(boxes)


@pytest.mark.slow
def test_the_answer_names_the_stage_that_the_clock_cut():
    limits = Limits(seconds=1e-3, end=math.inf)
    stage = limits.stage("graphs")
    time.sleep(2e-3)
    assert stage.late()
    assert limits.late()
    assert limits.stage("passes").late()  # it was never begun: the whole was up
    assert limits.cut_short() == ("the clock (--time) cut short: graphs",)
    release = recon.load(ROOT / "tests" / "golden" / "bags_open.json").statements
    found = answer(release, Count("ordered"), replace(Limits(), meter=limits.meter))
    assert found.status == "bounds"
    assert found.trail[-1:] == limits.cut_short()


def test_a_command_says_what_the_clock_cut(capsys):
    """Also where nothing else of its answer does: a certificate that is not found in time is none."""
    with working(60.0, "1G", 1) as limits:
        limits.meter.cut.update(dict.fromkeys(["hard claim", ""]))
    assert capsys.readouterr().err == f"{CUT}: hard claim\n"
    with working(60.0, "1G", 1) as limits:
        limits.meter.cut[""] = None
    assert capsys.readouterr().err == f"{CUT}: the command as a whole\n"
    for cut, said in (("", ""), ("graphs", f"{CUT}: graphs\n")):  # an error says itself that the time was up
        with contextlib.suppress(Inconclusive), working(60.0, "1G", 1) as limits:
            limits.meter.cut[cut] = None
            raise Inconclusive("the time was up")
        assert capsys.readouterr().err == said
    with working(60.0, "1G", 1):
        pass
    assert capsys.readouterr().err == ""


def test_verdicts_without_a_certificate_say_which_stage_the_clock_cut(monkeypatch):
    """The clock stands still until certificates are looked for, and then takes all at once."""
    release = recon.load(GOLDEN / "linear_sums.json")
    first, plainly = time.monotonic(), issuing.profile_certificates
    moment = [first]

    def late(*given):
        moment[0] = first + 61.0
        return plainly(*given)

    monkeypatch.setattr("solvers.foundation.limits.time.monotonic", lambda: moment[0])
    monkeypatch.setattr(issuing, "profile_certificates", late)
    people = [{"age": 20, "income": -1, "sex": "F", "ill": 0}]
    lines = recon.certify(release, people, limits=Limits(seconds=60.0, started=first))
    assert list(lines["certificate"]) == [None]
    assert lines.attrs["notes"][-1] == f"{CUT}: late certificates"


@pytest.mark.slow
def test_stages_are_one_table_and_each_is_some_module_s():
    used = set()
    for path in sorted(p for room in ("recon", "solvers") for p in (ROOT / room).rglob("*.py")):
        if path.name != "limits.py":
            used |= {name for name in STAGES if f'"{name}"' in path.read_text(encoding="utf-8")}
    assert used == set(STAGES)


def table_of_stages() -> str:
    """Return the table of docs/how-long.md."""
    lines = ["| stage | of what | share | at least | at most |", "|---|---|--:|--:|--:|"]
    for name, stage in STAGES.items():
        figures = (f"{stage.share:g}", f"{stage.floor:g}" * (stage.floor > 0), f"{stage.cap:g}" * stage.capped)
        lines.append(" | ".join(("| " + name, stage.about, *figures)) + " |")
    return "\n".join(lines)


def test_the_page_lists_the_stages():
    page = (ROOT / "docs" / "how-long.md").read_text(encoding="utf-8")
    listed = page.partition("<!-- stages -->\n")[2].partition("\n<!-- end of stages -->")[0]
    assert listed == table_of_stages()


CLOCKS = {  # module that looks at a clock -> what for; whatever is proved is bounded by work
    "solvers/foundation/limits.py": "--time: the one clock that ends stages",
    "solvers/cells/clauses/sat.py": "--time of a SAT solver in a process of its own",
    "solvers/foundation/native.py": "--time of the whole process and of native solvers; their thread's own seconds",
    "solvers/foundation/parallel/opening.py": "waiting for processes of a cluster",
    "solvers/foundation/parallel/pieces.py": "whether a second process is worth its start",
    "solvers/foundation/parallel/work.py": "waiting for pieces that were told to stop",
    "recon/io/files/writing.py": "waiting for another writer",
    "recon/serve/running.py": "a process that does not end by itself is ended",
    "solvers/engines/chain.py": "shown", "solvers/engines/estimates.py": "shown", "recon/report/audit.py": "shown",
    "recon/cli/output/printing.py": "shown", "recon/io/console/output.py": "shown",
    "recon/learner_rule/optimal/generation.py": "shown", "recon/learners/optimal/trees/optimal_tree.py": "shown",
    "recon/queries/leaf_values/remedies.py": "shown",
    "recon/release/remediation/candidates.py": "shown",
}  # fmt: skip


@pytest.mark.slow
def test_the_clock_is_looked_at_where_the_list_says():
    """Of 46 modules with constants of seconds these are left; experiments have caps by design, and say so."""
    look = re.compile(
        r"\btime\.(?:monotonic|perf_counter|process_time|thread_time|clock_gettime)\b|import.*\bmonotonic\b"
    )
    found = {
        path.relative_to(ROOT).as_posix()
        for room in ("recon", "solvers", "encoders")
        for path in (ROOT / room).rglob("*.py")
        if "experiments" not in path.parts and look.search(path.read_text(encoding="utf-8"))
    }
    assert found == set(CLOCKS)


def test_the_clock_is_shared_out_to_nobody():
    """A time limit is so much work, which stages share out, and the same time by the clock for all of them."""
    limits = Limits(seconds=60.0, started=time.monotonic() - 40.0)
    stage = limits.stage("graphs").share(0.5)
    assert stage.work_left() == 0.4 * 60.0 * 0.5
    assert 19.0 < stage.clock_left() <= 20.0  # the machine is slow, and the stage as long as elsewhere
    assert stage.affords(11.0)
    limits = Limits(seconds=60.0, started=time.monotonic() - 55.0)
    assert not limits.stage("graphs").affords(11.0)
    assert limits.cut_short() == ("the clock (--time) cut short: graphs",)
    assert limits.remaining()[0] == 60.0
    assert limits.spent((24.0, 4.0)) == 24.0  # ended by its work: with as much it ends there again
    assert replace(limits, end=0.0).spent((24.0, 4.0)) == 4.0


def test_one_clock_for_all_that_a_command_does():
    """The audits of some folds share out the work of --time, and none of them the clock."""

    def inner():
        WHOLE.set(Limits(seconds=60.0, started=time.monotonic() - 10.0))
        with working(20.0, "1G", 1_000, quiet=True) as limits:
            return limits

    limits = copy_context().run(inner)
    assert limits.work_left() == 20.0
    assert 45.0 < limits.clock_left() <= 50.0
    with working(20.0, "1G", 1_000, quiet=True) as limits:
        assert limits.clock_left() <= 20.0


def test_no_share_of_the_time_lasts_beyond_the_whole():
    limits = Limits(seconds=1.0, started=time.monotonic() - 50.0)
    assert limits.expired()
    assert limits.lasting(60.0).left() == limits.beyond(60.0).left() == 0.0
    fresh = Limits(seconds=5.0)
    assert fresh.lasting(60.0).left() <= 5.0 < fresh.beyond(60.0).beyond(60.0).left() <= 5.0 + GRACE
    assert Limits().lasting(60.0).left() > 50.0
    with pytest.raises(Inconclusive, match="the time was up while cells were listed"):
        limits.check("cells were listed")
    with pytest.raises(Inconclusive):
        list(limits.paced(range(3), "cells were listed"))
    assert list(fresh.paced(range(3), "cells were listed")) == [0, 1, 2]


# ---------------------------------------------------------------- the order of cells


def plain_order(matrix: np.ndarray) -> list[int]:
    """Return the greedy order by its definition: every candidate priced anew for every place."""
    used = matrix != 0
    left, opened, todo = used.sum(axis=1), np.zeros(len(matrix), dtype=bool), np.ones(matrix.shape[1], dtype=bool)
    order = []
    for _ in range(matrix.shape[1]):
        candidates = np.flatnonzero(todo)
        if opened.any():
            rows = np.flatnonzero(opened)
            candidates = np.flatnonzero(todo & used[rows[np.argmin(left[rows])]])
        opens = (used[:, candidates] & ~opened[:, None]).sum(axis=0)
        closes = (used[:, candidates] & (left == 1)[:, None]).sum(axis=0)
        c = int(candidates[np.argmin(opens - closes)])
        order.append(c)
        todo[c] = False
        left = left - used[:, c]
        opened = (opened | used[:, c]) & (left > 0)
    return order


def test_the_order_is_the_greedy_one():
    dice = np.random.default_rng(8)
    for _ in range(60):
        rows, columns = int(dice.integers(1, 14)), int(dice.integers(1, 40))
        matrix = (dice.random((rows, columns)) < dice.choice([0.1, 0.3, 0.7])).astype(np.int64)
        assert elimination_order(matrix) == plain_order(matrix)


@pytest.mark.slow
def test_the_order_of_many_cells_looks_at_few_candidates(monkeypatch):
    seen, best = [], EliminationWindow.best

    def counted(self, price):
        found = best(self, price)
        seen.append(len(self.window))
        return found

    monkeypatch.setattr(EliminationWindow, "best", counted)
    dice = np.random.default_rng(8)
    cells, few = 30_000, 2_048
    order = elimination_order((dice.random((24, cells)) < 0.5).astype(np.int64))
    assert sorted(order) == list(range(cells))
    assert sum(seen) <= few * cells  # half of the cells are candidates of any place


def test_the_order_hears_the_clock():
    with pytest.raises(Inconclusive, match="put in order"):
        elimination_order(np.ones((2, 5), dtype=np.int64), Limits(seconds=0.0))


@pytest.mark.slow
def test_what_nobody_counted_is_counted():
    """Cells that are derived, and branch and bound before it branches: both end by work alone, the same everywhere."""
    release = recon.load(ROOT / "examples" / "releases" / "compas_forest.json").statements
    limits = Limits()
    _refined(release, limits, None)
    looks = limits.meter.used
    with pytest.raises(Inconclusive, match="the time was up while the cells were derived"):
        _refined(release, Limits().at_most(looks / 2), None)
    dice = np.random.default_rng(0)
    matrix = dice.integers(0, 2, (60, 200))
    row, column = np.nonzero(matrix)
    sums = (matrix @ dice.integers(0, 9, 200)).astype(np.float64)
    entries = by_column(row, column, matrix[row, column], 200)
    limits = Limits().at_most(0.5)
    assert whole_program(dice.random(200), entries, (sums, sums), np.full(200, 20.0), limits) is None
    assert 0.5 <= limits.meter.used < 1.5  # no branch was reached: it takes half a minute


def spread_model(variables, constraints):
    """Return a model that takes longer to read than to search."""
    model = cp_model.CpModel()
    every = [model.new_int_var(0, 20, "") for _ in range(variables)]
    for k in range(constraints):
        state(model, [x.index for x in every[k : k + 20]], [1] * 20, (5, 9))
    return model, every


def test_a_large_model_of_cp_sat_is_counted_by_its_size_too():
    """Its own time leaves out reading, presolve and most of what goes through all variables: 20 s were .5 of it."""
    model, _ = spread_model(4_000, 800)
    limits = Limits().at_most(30.0)
    _, solver = cpsat.run(model, limits)
    terms = 4_000 + 800 * (1 + 20)
    own = solver.response_proto.deterministic_time
    unit = 0.5 + 150 / 4_000 + 4_000 / 800 * (1.4 * 4_000 / (terms - 4_000)) ** 2
    assert limits.meter.used == pytest.approx(7e-4 + 6e-6 * terms + unit * own, abs=1e-9)
    left = 30.0 - 7e-4 - 6e-6 * terms
    assert solver.parameters.max_deterministic_time == pytest.approx(left / unit)
    assert cpsat.ModelWork.of(model).units(0.0) > 0.0  # 0 were no limit


@pytest.mark.parametrize(("variables", "constraints", "length", "measured"), [
    (60, 12, 20, (1.7, 2.5)), (300, 12, 311, (0.6, 1.2)), (815, 652, 12, (0.4, 0.5)), (1_200, 150, 100, (0.4, 0.9)),
    (3_000, 250, 100, (0.5, 0.5)), (4_000, 800, 6, (4.9, 4.9)), (8_000, 1_600, 6, (16.0, 16.0)),
])  # fmt: skip
def test_a_unit_of_cp_sat_is_what_it_takes_by_size_and_density(variables, constraints, length, measured):
    """1.5 and more were counted of any model: 3 times too much of 3,000 dense variables, 1/5 of 8,000 thin ones."""
    model = cp_model.CpModel()
    every = [model.new_int_var(0, 20, "").index for _ in range(variables)]
    for k in range(constraints):
        state(model, [every[(k * length + i) % variables] for i in range(length)], [1] * length, (5, 9))
    unit = cpsat.ModelWork.of(model).unit
    assert measured[0] / 2.2 < unit < 2.2 * measured[1]


def test_solutions_that_are_asked_for_count_the_same_each_time():
    """The search runs ahead of whoever asks, and no two times as far."""
    used = []
    for _ in range(2):
        model, every = spread_model(40, 2)
        limits = Limits().at_most(30.0)
        found = cpsat.solutions(model, lambda value: [value(x) for x in every], limits)  # noqa: B023
        assert len(list(itertools.islice(found, 50))) == 50
        found.close()
        used.append(limits.meter.used)
    assert used[0] == used[1] > 0.0


@pytest.mark.slow
def test_clauses_and_processes_are_counted():
    """Writing a formula, handing it over, the steps of the solver, and all of the work where a process took it."""
    limits = Limits()
    clauses = Clauses(limits)
    clauses.counted(tuple(clauses.fresh() for _ in range(200)), 50, 52)
    assert limits.meter.used > 0.9 * (len(clauses.clauses) - (1 << 13)) * 2.5e-6 > 0.0
    limits = Limits()
    release = recon.load(GOLDEN / "two_odd_cycles.json").statements
    lowered = lower(release, Limits(), raw=False)
    steps = sat.in_child({"clauses": lowered.clauses, "variables": lowered.variables, "proof": False})["steps"]
    assert sat.satisfy(lowered, limits).status in {"sat", "unsat"}
    assert limits.meter.used > 0.1 + steps / sat.SPEED
    assert steps > 0
    limits = Limits().at_most(1.0)
    with pytest.raises(Inconclusive, match="more work than there was"):
        native.run("test_budgets:taking_all", None, limits)
    assert limits.work_left() == 0.0


ONE_STEP = 0.25  # seconds of work: CP-SAT looks at its time about so often


@pytest.mark.sampled(4, 5)
@pytest.mark.parametrize("work", [0.02, 0.2, pytest.param(2.0, marks=pytest.mark.slow)])
@pytest.mark.parametrize("file", [
    pytest.param(file, marks=() if file in {"forest_3.json", "two_odd_cycles.json"} else pytest.mark.slow)
    for file in (
        "forest_3.json", "two_odd_cycles.json", "bags_open.json", "table_statistics.json", "boosted_log.json",
        "boosted/xgb_long.ubj", "boosted/cat_long.cbm", "models/sklearn-1.9.1/hist_boosting.pkl",
        "../published/tract_a.json.gz", "../../examples/releases/compas_forest.json",
        "../../examples/releases/diabetes_forest.joblib", "../../examples/releases/boosted_model.txt",
    )
])  # fmt: skip
def test_no_more_work_is_counted_than_was_given_and_one_step(file, work, monkeypatch):
    """What takes more than a step asks before: it is not begun with less."""
    beyond, before = [0.0], Limits.charge

    def charge(limits, more):
        beyond.append(more - max(0.0, limits.work_left()))
        before(limits, more)

    monkeypatch.setattr(Limits, "charge", charge)
    limits = Limits().at_most(work)
    with contextlib.suppress(recon.ReconError):
        recon.audit(recon.load(GOLDEN / file, limits=limits), limits=limits)
    assert limits.meter.used > 0.0
    assert max(beyond) < ONE_STEP


def taking_all(payload):
    """End as the system ends a process of its own that has taken its seconds of the processor."""
    os.kill(os.getpid(), signal.SIGXCPU)


def test_edges_of_histograms_weigh_by_the_statements_that_are_open():
    """They were counted alike, and a stage took thirty times its work where 400 statements are open."""
    used = []
    for statements in (4, 240):
        matrix, every = np.ones((statements, 3), dtype=np.int64), np.arange(statements)
        part = Component(np.arange(3), np.full(3, 100), every, matrix, 0 * every, 0 * every + 300)
        limits = Limits()
        layers_of(part, limits, [0, 1, 2])
        used.append(limits.meter.used)
    assert 20 < used[1] / used[0] < 60


def test_the_engines_of_a_report_are_engines():
    release = recon.load(GOLDEN / "bags_open.json")
    limits = Limits()
    limits.meter.cut["graphs"] = None
    engines = [name for name, _ in json.loads(recon.audit(release, limits=limits).to_json())["how"]["engines"]]
    assert engines
    assert not [name for name in engines if name.startswith(CUT)]


@pytest.mark.parametrize("command", ["audit", "positions", "remedy"])
def test_the_default_budget_is_printed(command, tmp_path, capsys):
    policy = ("--policy", str(ROOT / "examples" / "gate" / "policy.toml"), "--out", str(tmp_path / "out.json"))
    examples = ROOT / "examples" / "releases"
    words = [command, str(GOLDEN / "bags_open.json" if command == "positions" else examples / "compas_tree.json")]
    words += policy if command == "remedy" else ()
    with contextlib.suppress(SystemExit):
        app(words, standalone_mode=False)
    assert "limits: at most 60 s (--time), 1,024 MB (--memory)" in capsys.readouterr().err
    with contextlib.suppress(SystemExit):
        app([*words, "--json", "--time", "none"], standalone_mode=False)
    found = json.loads(capsys.readouterr().out)
    assert (found.get("limits") or found["how"]["limits"])["seconds"] is None


MODEL, CATBOOST = "models/sklearn-1.9.1/tree.pkl", "boosted/cat_honest.json"  # to count the latter takes minutes
PEOPLE = ("--domain", str(GOLDEN / "models" / "data" / "people.csv"))
REMEDIED = os.path.join(tempfile.mkdtemp(), "remedied.json")
UNLABELLED = "people without their label"
FAMILIES = (
    "bags_open.json", "boosted_log.json", "forest_3.json", "list_interval_coupled.json", "table_statistics.json",
    "two_odd_cycles.json", "boosted/xgb_long.ubj", "boosted/cat_long.cbm", MODEL,
    "models/sklearn-1.9.1/voting.pkl", "models/sklearn-1.9.1/hist_boosting.pkl", "models/lightgbm-4.7.0/binary.txt",
    "models/rpart-4.1.19/people.rds", "readers/rf_avg.pmml", "readers/j48.txt",
    "models/corels-1.1.29/list_with_counts.txt", "../../examples/releases/noisy_tree.json",
    "../published/tract_a.json.gz",
)  # fmt: skip
ASKED = (
    ("count", "census_block.json"), ("audit", "tree_classes.json", "--remedies"),
    ("table", "tree_classes.json"), ("worlds", "two_odd_cycles.json"), ("sample", "two_odd_cycles.json", "-k", "3"),
    ("reconstruct", "wide_total.json"), ("positions", "bags_open.json"), ("posterior", "noisy_tree.json"),
    ("denoise", "noisy_tree.json"), ("sweep", "tree_plain.json", "--epsilon", "1"), ("plan", MODEL, *PEOPLE),
    ("inspect", "models/sklearn-1.9.1/forest.joblib"), ("inspect", CATBOOST), ("plan", CATBOOST),
    ("labels", MODEL, *PEOPLE, "--known-columns", UNLABELLED, "--label", "sick"),
    ("certify", MODEL, *PEOPLE, "--profiles", PEOPLE[1]), ("bound", "forest_3.json", "--where", "{}"),
    ("attribute", MODEL, *PEOPLE, "--profiles", UNLABELLED, "--sensitive", "sick"),
    ("attack", "correlation", MODEL, *PEOPLE, "--data", PEOPLE[1]),
    ("audit", MODEL, *PEOPLE, "--data", PEOPLE[1], "--remedies"), ("audit", "forest_3.json", "--workers", "2"),
    ("gate", MODEL, "--policy", "preset:minimum-cell-10"),
)  # fmt: skip
TWICE = (
    *(("count", file) for file in FAMILIES), *(("audit", file, "--time", "none") for file in FAMILIES), *ASKED,
    *(("audit", file) for file in FAMILIES),
    ("remedy", "tree_plain.json", "--policy", "preset:minimum-cell-10", "--out", REMEDIED),
)  # fmt: skip


@pytest.mark.sampled(1)
@pytest.mark.parametrize("ending", ["json", "md", "html"])
def test_no_document_says_how_long_it_took_where_a_date_is_given(ending, tmp_path, monkeypatch):
    monkeypatch.setenv("SOURCE_DATE_EPOCH", "0")
    found = []
    for slower in (0.0, 7.0):
        with monkeypatch.context() as patched:
            ticks = itertools.count()
            patched.setattr("recon.report.audit.time.monotonic", lambda: next(ticks) * slower)  # noqa: B023
            out = tmp_path / f"{slower}.{ending}"
            with contextlib.suppress(SystemExit):
                words = ["audit", str(GOLDEN / "tree_classes.json"), "--remedies", "--time", "none", "--quiet"]
                app([*words, "--out", str(out)], standalone_mode=False)
        found.append(out.read_text(encoding="utf-8").replace(out.name, ""))
    assert found[0] == found[1]
    if ending == "json":
        made = json.loads(found[0])
        assert made["made"]["seconds"] == made["how"]["seconds"] == 0.0
        assert {one["seconds"] for one in made["remedies"]} == {0.0}


SAME_BYTES = "test_the_same_command_gives_the_same_bytes_beside_a_load_of_ten"
LOAD = 10  # commands at once, on one core


@functools.cache
def unlabelled() -> str:
    """Return a table of the people without what they are to be told."""
    path = os.path.join(tempfile.mkdtemp(), "people.csv")
    pd.read_csv(PEOPLE[1]).drop(columns="sick").to_csv(path, index=False)
    return path


def said(command: tuple[str, ...], cores: set[int] | None = None) -> tuple[int, str]:
    """Return the exit code and what a command prints; on some cores alone."""
    words = [sys.executable, "-m", "recon"]
    for word in (unlabelled() if one == UNLABELLED else one for one in command):
        files = [path for path in (GOLDEN / word, ROOT / "examples" / "releases" / word) if path.is_file()]
        words.append(str(files[0]) if files else word)
    settings = os.environ | {"PYTHONPATH": str(ROOT), "SOURCE_DATE_EPOCH": "0"}
    kept = None if cores is None else functools.partial(os.sched_setaffinity, 0, cores)
    done = subprocess.run(
        [*words, "--json"], capture_output=True, text=True, check=False, env=settings, preexec_fn=kept
    )
    assert done.returncode in {0, 1, 4, 5}, done.stderr
    return done.returncode, done.stdout


@pytest.fixture(scope="module")
def beside(request):
    """What the commands that are tested say while ten of them share one core: each is the load of the others."""
    chosen = [item.callspec.params["command"] for item in request.session.items if item.originalname == SAME_BYTES]
    core = {max(os.sched_getaffinity(0))}
    with ThreadPoolExecutor(LOAD) as pool:
        padded = chosen + [chosen[k % len(chosen)] for k in range(max(0, LOAD - len(chosen)))]
        return dict(zip(padded, pool.map(functools.partial(said, cores=core), padded), strict=True))


SAID = ("status", "bounds", "convention", "guarantee", "engine", "trail")
QUICK = {("bags_open.json", "audit"), ("two_odd_cycles.json", "audit")}


@pytest.mark.sampled(2, 12)
@pytest.mark.parametrize(("file", "question"), [
    pytest.param(file, question, marks=() if (file, question) in QUICK else pytest.mark.slow)
    for file in FAMILIES for question in ("count", "audit")
])  # fmt: skip
def test_a_time_limit_that_is_not_reached_changes_nothing(file, question, monkeypatch):
    """The clock runs with the work, so fast that a half of `--time 60` is up at the end: no stage has a share of it."""
    monkeypatch.setenv("SOURCE_DATE_EPOCH", "0")

    def found(speed):
        limits, first = Limits(seconds=60.0), time.monotonic()
        limits = replace(limits, started=first, end=first + 60.0 + GRACE)
        with monkeypatch.context() as patched:
            patched.setattr("solvers.foundation.limits.time.monotonic", lambda: first + speed * limits.meter.used)
            try:
                release = recon.load(GOLDEN / file, limits=limits)
                if question == "count":
                    told = attrgetter(*SAID)(recon.count(release, limits=limits))
                else:
                    told = json.loads(recon.audit(release, limits=limits).to_json())
            except recon.ReconError as error:
                told = str(error)
        return re.sub(r"(?:seconds|elapsed)[^,]*", "", repr(told)), limits

    alone, limits = found(0.0)
    slowly, limits = found(30.0 / max(0.03, limits.meter.used))
    assert slowly == alone
    assert limits.cut_short() == ()


@pytest.mark.long
@pytest.mark.parametrize("command", TWICE, ids=lambda c: " ".join(w.rpartition("/")[2] for w in c))
def test_the_same_command_gives_the_same_bytes_beside_a_load_of_ten(command, beside):
    """A date stands in for the clock, so that nothing took any time. Without `--time`, a command that has a budget by
    default says so where the clock ended it, which alone may tell the two apart.
    """
    found = said(command), beside[command]
    cut = ['"cut_short": [' in out for _, out in found]
    assert not any(cut) or (command[0] in {"audit", "positions", "remedy"} and "--time" not in command)
    assert any(cut) or found[0] == found[1]
