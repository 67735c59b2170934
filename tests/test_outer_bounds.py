"""The outer bounds of a command: memory and time of what looks at neither, and numbers that drive loops."""

import math
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from recon.io.files.named_files import read_regular
from recon.io.files.opening import _model_file
from recon.models.exporting import _read_map
from recon.queries.certificates.verifying import read_result
from recon.readers.formats.drafts.binding import _number_of, single_limits
from recon.readers.formats.sklearn.trees.arrays import MAX_MULTIPLES, _multiples
from recon.readers.inspection.documents.documents import _export_text
from solvers.foundation.errors import CertificateError, Inconclusive, ReleaseError
from solvers.foundation.exact import (
    factorial_ratio,
    log2_factorial_ratio,
    log2_product,
    log_absent_multiset,
    multiset_factors,
    product,
)

ROOT = Path(__file__).parents[1]
BEGUN = """
import sys, time
from recon.io.console.output import print_error, working
from solvers.foundation.errors import Inconclusive
from solvers.foundation import native
native.LATE = 0.2
def resident():
    return int(open("/proc/self/statm").read().split()[1]) >> 8
before = resident()
"""


def ended(code):
    """Return what Python prints to both channels, and its exit code."""
    env = {**os.environ, "PYTHONPATH": str(ROOT)}
    command = [sys.executable, "-c", BEGUN + code]
    found = subprocess.run(command, capture_output=True, text=True, timeout=120, env=env, check=False)
    return found.stdout, found.stderr, found.returncode


@pytest.mark.skipif(sys.platform != "linux", reason="memory of a process is read from /proc")
class TestOuterBounds:
    @pytest.mark.slow
    def test_a_loop_that_does_not_look_at_the_clock_is_ended(self):
        out, err, code = ended(
            "try:\n with working(0.1, '1G', 10, quiet=True):\n  while True: pass\n"
            "except Inconclusive as error: print_error(error); print('heard')\n"
        )
        assert (out.strip(), err.strip(), code) == ("heard", "recon: the time (--time) was up: give it more", 0)

    @pytest.mark.slow
    def test_a_process_that_does_not_hear_ends_by_itself(self):
        out, err, code = ended(
            "with working(0.1, '1G', 10, quiet=True):\n __import__('hashlib').pbkdf2_hmac('sha256', b'', b'', 10**9)\n"
        )
        assert (out, err.strip(), code) == ("", "recon: the time (--time) was up: give it more", 4)

    @pytest.mark.slow
    def test_memory_that_grows_is_ended(self):
        out, err, _ = ended(
            "held = []\ntry:\n with working(None, '300M', 10, quiet=True):\n"
            "  while True: held.append(bytes(bytearray(1 << 20)))\n"
            "except Inconclusive as error: print(len(held)); print_error(error)\n"
        )
        assert err.strip() == "recon: more than the 300 MB of memory allowed (--memory) was needed: give it more"
        assert 290 <= int(out) <= 500

    @pytest.mark.slow
    def test_memory_that_grows_again_after_some_was_given_back_is_ended_as_gently(self):
        out, err, _ = ended(
            "import gc; gc.disable()\nheld = []\ntry:\n with working(None, '300M', 10, quiet=True):\n"
            "  for _ in range(330): ring = [bytes(bytearray(1 << 20))]; ring.append(ring)\n"
            "  del ring; time.sleep(0.1); print(resident() - before < 100)\n"
            "  while True: held.append(bytes(bytearray(1 << 20)))\n"
            "except Inconclusive as error: print(len(held) > 250); print_error(error)\n"
        )
        assert err.strip() == "recon: more than the 300 MB of memory allowed (--memory) was needed: give it more"
        assert out.split() == ["True", "True"]

    @pytest.mark.slow
    def test_memory_that_is_given_back_counts_no_more(self):
        out, err, _ = ended(
            "with working(None, '300M', 10, quiet=True):\n for _ in range(5):\n"
            "  held = [bytes(300) for _ in range(400_000)]; del held; time.sleep(0.1)\nprint('done')\n"
        )
        assert (out.strip(), err) == ("done", "")

    @pytest.mark.slow
    def test_one_huge_allocation_is_refused(self):
        out, _, _ = ended(
            "import numpy as np\ntry:\n with working(None, '300M', 10, quiet=True):\n"
            "  np.ones(1 << 36, dtype=np.int8)\n"
            "except MemoryError: print(resident() - before < 200)\n"
        )
        assert out.strip() == "True"


@pytest.mark.parametrize(
    ("n", "below"),
    [(0, []), (1, [1]), (10, [3, 3, 4]), (2_000, [999, 1_001]), (3_000_000, [2_999_990, 5, 5]), (7, [9])],
)
def test_logs_of_factorials_are_those_of_the_factors(n, below):
    assert log2_factorial_ratio(n, below) == pytest.approx(
        log2_product(factorial_ratio(n, below)), rel=1e-15, abs=1e-15
    )
    exact = math.lgamma(n + 1) - sum(math.lgamma(k + 1) for k in below)
    assert log2_factorial_ratio(n, below) == pytest.approx(exact / math.log(2), rel=1e-7, abs=1e-9)


def test_logs_of_factorials_of_any_length():
    assert log2_factorial_ratio(10**400, [10**400 - 1, 1]) == pytest.approx(400 * math.log2(10), rel=1e-15)
    assert log2_factorial_ratio(4 * 10**9, [4 * 10**9]) == 0.0
    half = 2 * 10**9  # C(2k, k) = 4^k / sqrt(pi k) (1 - 1/(8k) + ...)
    expected = 2 * half - math.log2(math.pi * half) / 2 - 1 / (8 * half * math.log(2))
    assert log2_factorial_ratio(2 * half, [half, half]) == pytest.approx(expected, rel=1e-15)


def test_factors_of_numbers_of_any_size_or_a_refusal():
    assert product(factorial_ratio(4 * 10**9, [4 * 10**9 - 3, 2, 1])) == math.prod(4 * 10**9 - i for i in range(3)) // 2
    assert product(multiset_factors(10**12, 3)) == math.comb(10**12 + 2, 3)
    with pytest.raises(Inconclusive, match="not written out"):
        factorial_ratio(4 * 10**9, [2 * 10**9, 2 * 10**9])


@pytest.mark.parametrize(("chosen", "size", "rows"), [(3, 10, 5), (10**5, 10**6, 400_000), (10**6 - 1, 10**6, 10**6)])
def test_absent_rows_of_large_cells(chosen, size, rows):
    expected = math.fsum(np.log1p(-(chosen / size) / (1 + np.arange(rows) / size)))
    assert log_absent_multiset(chosen / size, size, rows) == pytest.approx(expected, rel=1e-12)


def test_absent_rows_of_cells_with_any_number_of_rows():
    # Γ(size - m + k) Γ(size) / (Γ(size - m) Γ(size + k)) for size = 10^8, m = 3 · 10^7, k = 10^10
    expected = -log2_factorial_ratio(99_999_999, [69_999_999]) + log2_factorial_ratio(10_099_999_999, [10_069_999_999])
    assert log_absent_multiset(0.3, 10**8, 10**10) == pytest.approx(-expected * math.log(2), rel=1e-12)


def test_multiples_are_not_listed_where_they_are_too_many():
    assert _multiples([1, 1], MAX_MULTIPLES + 2) == []
    assert _multiples([1, 10**9], 10**15) == []
    assert _multiples([2, 3], 11) == [[2, 9], [8, 3]]


def test_thresholds_below_every_float32():
    (end,) = single_limits(np.array([-1e308])).tolist()
    with np.errstate(over="ignore"):
        assert np.float32(end) == -np.inf
        assert np.float32(np.nextafter(end, 0)) == np.finfo(np.float32).min


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="no named pipes here")
@pytest.mark.parametrize("how", ["pipe", "link"])
def test_what_a_folder_says_of_itself_is_a_regular_file_in_it(tmp_path, how):
    about = tmp_path / "model" / "MLmodel"
    about.parent.mkdir()
    (tmp_path / "outside").write_text("  model_path: secret.pkl\n")
    os.mkfifo(about) if how == "pipe" else about.symlink_to(tmp_path / "outside")
    with pytest.raises(ReleaseError, match="regular file" if how == "pipe" else "is a link"):
        _model_file(str(about.parent))


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="no named pipes here")
def test_pipes_are_not_waited_for(tmp_path):
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(ReleaseError, match="not a regular file"):
        read_result(str(tmp_path / "pipe"), 1 << 20)
    with pytest.raises(CertificateError, match="not a regular file"):
        read_regular(str(tmp_path / "pipe"), 1 << 20)
    with pytest.raises(ReleaseError, match="not a regular file"):
        _read_map(str(tmp_path / "pipe"))


def test_infinite_numbers_are_no_whole_ones():
    """They stand in files as 1e400; `int` of one raises what is no error of the file."""
    assert _number_of("1e400", None) == math.inf
    assert _number_of("3.0", None) == 3
    assert _export_text("|--- class: 0 weights: [1e400, 2.00]")[:2] == ("tree as text", None)
