"""Independent pieces: each result once, whoever dies; refusals as they were; nothing left behind."""

from __future__ import annotations

import os
import pickle
import signal
import subprocess
import sys
import threading
import warnings
from pathlib import Path

import parallel_cases as cases
import pytest

from solvers.foundation import errors
from solvers.foundation.limits import Limits
from solvers.foundation.parallel import pieces
from solvers.foundation.parallel.pieces import completed, completed_with, kept_open
from solvers.foundation.parallel.work import LimitShare

ERRORS = [kind for kind in vars(errors).values() if isinstance(kind, type) and issubclass(kind, errors.ReconError)]
TWO = {"workers": 2}


def made(kind):
    """Return a refusal of a class with everything that it can say."""
    if kind is errors.ReleaseError:
        return kind("this is not a number", place="models[2]", file="model.json")
    if kind is errors.ContradictionError:
        return kind("no world", ("leaf 1", "leaf 2"))
    if issubclass(kind, errors.Unsupported):
        return kind("no engine answers", ("too many cells", "not counts"))
    if kind is errors.EmptyConfidenceSet:
        return kind("nothing fits", 0.95, ("leaf 1",), 1e-9)
    return kind("a sentence")


@pytest.mark.parametrize("kind", ERRORS, ids=lambda kind: kind.__name__)
def test_every_refusal_travels_with_all_that_it_says(kind):
    error = made(kind)
    again = pickle.loads(pickle.dumps(error))
    assert type(again) is kind
    assert (str(again), again.args, vars(again)) == (str(error), error.args, vars(error))


def test_all_refusals_are_looked_at():
    assert len(ERRORS) >= 10
    assert errors.ContradictionError in ERRORS


def test_one_after_the_other_and_on_two_processes_gives_the_same(tmp_path):
    work = [(str(tmp_path), k) for k in range(8)]
    alone = dict(completed(cases.square, work, Limits()))
    assert {process for _, process in cases.beginners(str(tmp_path))} == {os.getpid()}
    found = list(completed(cases.square, work, Limits(**TWO)))
    assert dict(found) == alone == {k: k * k for k in range(8)}
    assert len(found) == 8
    others = [process for _, process in cases.beginners(str(tmp_path)) if process != os.getpid()]
    assert len(others) == 8
    assert 1 <= len(set(others)) <= 2


@pytest.mark.parametrize("way", ["while it works", "while it sends"])
def test_the_piece_of_a_process_that_dies_is_done_again_and_no_other(tmp_path, way):
    work = [(str(tmp_path), k, way) for k in range(6)]
    found = list(completed(cases.dies, work, Limits(**TWO)))
    assert sorted(found) == [(k, bytes([k]) * 40_000) for k in range(6)]
    assert sorted(k for k, _ in cases.beginners(str(tmp_path))) == [0, 1, 2, 2, 3, 4, 5]


def test_a_piece_that_kills_every_process_is_given_up(tmp_path):
    work = [(str(tmp_path), k, "always") for k in range(3)]
    found = []
    with pytest.raises(errors.EngineError, match=r"3 processes that .* one of the trees died \(signal 9\)"):
        found.extend(completed(cases.dies, work, Limits(**TWO), what="trees"))
    assert [k for k, _ in cases.beginners(str(tmp_path))].count(2) == 3


@pytest.mark.slow
def test_refusals_come_back_as_they_were():
    with pytest.raises(errors.ReleaseError) as refused:
        list(completed(cases.fails, ["refused", "fine"], Limits(**TWO)))
    assert (refused.value.message, refused.value.place) == ("this is not a number", "models[2].threshold")
    assert str(refused.value) == "model.json: models[2].threshold: this is not a number"
    with pytest.raises(errors.EngineError, match=r"^OddError: 1 and 2$"):
        list(completed(cases.fails, ["odd", "fine"], Limits(**TWO)))
    with pytest.raises((AttributeError, pickle.PicklingError), match="lambda"):
        list(completed(cases.fails, ["not sent", "fine"], Limits(**TWO)))


def test_whoever_iterates_has_the_warnings_that_he_set(tmp_path):
    with warnings.catch_warnings():
        warnings.simplefilter("error", DeprecationWarning)
        before = list(warnings.filters)
        for _ in completed(cases.square, [(str(tmp_path), k) for k in range(3)], Limits(**TWO)):
            assert warnings.filters == before


def test_asked_to_stop_pieces_end_with_what_they_have_and_processes_are_gone(tmp_path):
    limits, folder = Limits(**TWO), str(tmp_path)

    def stop():
        cases.after(folder, lambda: len(cases.beginners(folder)) == 2)
        limits.stop.set()

    stopping = threading.Thread(target=stop)
    stopping.start()
    found = list(completed(cases.waits, [(folder, k) for k in range(5)], limits))
    stopping.join()
    assert sorted(found) == [(0, (0, "stopped")), (1, (1, "stopped"))]
    assert not any(cases.alive(process) for _, process in cases.beginners(folder))


def test_pieces_that_hear_nothing_are_given_up_and_what_is_done_is_kept(tmp_path, monkeypatch):
    monkeypatch.setattr(pieces, "PATIENCE", 0.0)
    limits, folder, found = Limits(**TWO), str(tmp_path), []
    for one in completed(cases.deaf, [(folder, k) for k in range(4)], limits):
        found.append(one)
        limits.stop.set()
    assert found == [(0, 0)]
    assert not any(cases.alive(process) for _, process in cases.beginners(folder))


def test_whoever_breaks_off_leaves_no_process(tmp_path):
    folder = str(tmp_path)
    found = completed(cases.deaf, [(folder, k) for k in range(4)], Limits(**TWO))
    assert next(found) == (0, 0)
    found.close()
    assert not any(cases.alive(process) for _, process in cases.beginners(folder))


def test_processes_end_with_their_parent(tmp_path):
    code = (
        "import parallel_cases as c; from solvers.foundation.limits import Limits\n"
        "from solvers.foundation.parallel.pieces import completed\n"
        f"list(completed(c.waits, [({str(tmp_path)!r}, k) for k in range(2)], Limits(workers=2)))"
    )
    path = os.pathsep.join((str(Path(__file__).parent), str(Path(__file__).parents[1])))
    parent = subprocess.Popen([sys.executable, "-c", code], env={**os.environ, "PYTHONPATH": path})
    cases.after(str(tmp_path), lambda: len(cases.beginners(str(tmp_path))) == 2)
    parent.kill()
    parent.wait()
    assert parent.returncode == -signal.SIGKILL
    cases.after(str(tmp_path), lambda: not any(cases.alive(one) for _, one in cases.beginners(str(tmp_path))))


def test_what_pieces_share_travels_once_to_every_process(tmp_path):
    heavy = cases.Heavy(str(tmp_path), 1_000_000)
    with kept_open():
        found = [one for _, one in completed_with(heavy, cases.weighs, range(6), Limits(**TWO))]
        more = [one for _, one in completed_with(heavy, cases.weighs, range(6, 12), Limits(**TWO))]
    assert sorted(k for k, _, _ in found + more) == list(range(12))
    assert {size for _, size, _ in found + more} == {1_000_000}
    processes = {process for _, _, process in found + more}
    assert {process for _, _, process in more} <= {process for _, _, process in found} or len(processes) == 2
    assert len(list(tmp_path.glob("read-*"))) == len(processes) <= 2
    assert not any(map(cases.alive, processes))


def test_what_is_soon_done_starts_no_process(tmp_path):
    heavy = cases.Heavy(str(tmp_path), 1)
    found = [one for _, one in completed_with(heavy, cases.weighs, range(4), Limits(**TWO), alone=60.0)]
    assert found == [(k, 1, os.getpid()) for k in range(4)]
    assert not list(tmp_path.glob("read-*"))


def test_a_share_of_the_limits_is_its_part_of_the_memory_and_the_same_clock():
    limits = Limits(seconds=500.0, memory=1 << 30, workers=2)
    for _, (left, memory, elapsed) in completed(cases.limited, range(2), limits):
        assert memory == 1 << 29
        assert limits.left() <= left <= 500.0 - elapsed + 1
        assert elapsed <= limits.elapsed()


def test_a_piece_elsewhere_is_of_the_same_stage():
    """Where the clock cuts it, the answer names that."""
    stage = Limits(seconds=500.0).stage("graphs")
    for share in (LimitShare.here(stage), LimitShare.elsewhere(stage)):
        limits = share.limits(threading.Event())
        assert limits.name == "graphs"
        assert 400.0 < limits.clock_left() <= 500.0


def test_nothing_is_begun_when_time_is_up(tmp_path):
    assert not list(completed(cases.square, [(str(tmp_path), k) for k in range(4)], Limits(seconds=0.0, workers=2)))
    assert not cases.beginners(str(tmp_path))


@pytest.mark.parametrize("workers", [1, 2])
def test_work_elsewhere_is_counted_and_is_the_same_whoever_is_quicker(workers):
    limits = Limits(workers=workers).at_most(10.0)
    limits.charge(1.0)
    left = dict(completed(cases.works, [2.0, 3.0, 1.5], limits))
    assert left == ({0: 7.0, 1: 4.0, 2: 2.5} if workers == 1 else {0: 7.0, 1: 6.0, 2: 7.5})
    assert limits.meter.used == 7.5
    assert limits.stages_cut() == ("graphs",)


def test_progress_says_the_pace_and_how_long_the_rest_takes(monkeypatch):
    """A piece takes 90 s: of four, after the first, 270 s are left; nothing is said before a piece is done."""
    clock, told = [0.0], []
    monkeypatch.setattr(pieces.time, "monotonic", lambda: clock[0])

    def slow(piece, limits):
        clock[0] += 90
        return piece

    list(completed(slow, range(4), Limits(progress=told.append), what="areas"))
    pace = ", 0.0111 a second, "
    assert told == ["areas: 1 of 4", f"areas: 2 of 4{pace}4 min left", f"areas: 3 of 4{pace}3 min left",
                    f"areas: 4 of 4{pace}90 s left"]  # fmt: skip
