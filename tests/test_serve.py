"""`recon serve` over HTTP: who may ask, what uploads may do, and what a killed server leaves."""

from __future__ import annotations

import contextlib
import gzip
import http.client
import json
import os
import pickle
import signal
import socket
import threading
import time
from pathlib import Path

import pytest
from extras import run
from serving import ROOT, Served, known

from recon.release.registers.decisions import read_decisions

pytest.importorskip("starlette", reason="starlette is not installed (extra serve)")
GOLDEN = ROOT / "tests" / "golden"
TREE = (GOLDEN / "tree_plain.json").read_bytes()


@pytest.fixture(scope="module")
def served(tmp_path_factory):
    """Return a server and its folder."""
    folder = tmp_path_factory.mktemp("serve") / "desk"
    with Served(folder, "--time", "20", "--most", "2M") as found:
        found.folder = folder
        yield found


@pytest.mark.slow
def test_the_first_page_is_there_and_only_for_whoever_knows_the_token(served):
    assert "May this be released?" in served.get()
    for token in ("", "x", served.token[:-1], served.token + "x", served.token.swapcase()):
        status, headers, data = served.ask("GET", "", token=token)
        assert status == 404
        assert served.token not in data.decode()
        assert "default-src 'none'" in headers["content-security-policy"]


@pytest.mark.sampled(2)
@pytest.mark.parametrize(
    "host", ["example.org", "127.0.0.1", "example.org:{port}", "127.0.0.1.example.org:{port}", "", None]
)
def test_another_host_is_refused(served, host):
    connection = http.client.HTTPConnection("127.0.0.1", int(served.port), timeout=20)
    connection.putrequest("GET", f"/{served.token}/", skip_host=True)
    if host is not None:
        connection.putheader("Host", host.format(port=served.port))
    connection.endheaders()
    assert connection.getresponse().status in {400, 421}
    connection.close()


@pytest.mark.parametrize("origin", [None, "null", "http://example.org", "https://127.0.0.1:{port}", "http://127.0.0.1"])
def test_a_form_of_another_page_is_refused(served, origin):
    before = served.get()
    status, _, _ = served.ask("POST", "files", b"", Origin=origin and origin.format(port=served.port))
    assert status == 403
    assert served.get() == before


@pytest.mark.parametrize("method", ["PUT", "DELETE", "OPTIONS", "PATCH"])
def test_other_methods_are_refused(served, method):
    assert served.ask(method, "")[0] == 405


def test_it_listens_on_this_machine_only(served):
    with open("/proc/net/tcp", encoding="ascii") as file:
        lines = [line.split() for line in file][1:]
    there = [line[1] for line in lines if line[3] == "0A" and line[1].endswith(f":{int(served.port):04X}")]
    assert there == [f"0100007F:{int(served.port):04X}"]


def test_from_a_file_to_a_signed_decision(served):
    job = served.upload(("released", "tree.json", TREE))
    assert served.settled(job)["state"] == "done"
    shown = served.get(f"jobs/{job}")
    assert "What was understood" in shown
    assert shown.index("What was understood") < shown.index("May it be released?")
    assert "a release file" in shown
    assert served.post(f"jobs/{job}/decision", {"decision": "release", "by": "A", "comment": "c"})[0] == 400
    status, _, text = served.post(f"jobs/{job}/audit", {"preset": ""})
    assert (status, "no threshold is set" in text) == (400, True)
    status, _, _ = served.post(f"jobs/{job}/audit", {"preset": "", "policy.smallest_group": "100"})
    assert (status, served.settled(job)["state"]) == (303, "done")
    found = known(served.folder, job)
    assert found["verdict"] == "do not release"
    assert "smallest_group = 100" in served.get(f"jobs/{job}/policy.toml")
    result = served.ask("GET", f"jobs/{job}/result.json")[2]
    for name, begin in (
        ("report.html", b"<!doctype html>"), ("report.md", b"# Audit"), ("report.txt", b"Audit"),
        ("report.sarif", b"{"), ("report.xml", b"<?xml"), ("result.json", b"{"),
    ):  # fmt: skip
        status, headers, data = served.ask("GET", f"jobs/{job}/{name}")
        assert status == 200
        assert data[: len(begin)] == begin
        assert headers["x-content-type-options"] == "nosniff"
    import hashlib

    digest = hashlib.sha256(result).hexdigest()
    signed = {"decision": "do not release", "by": "A. Officer", "comment": "<b>small</b>", "result": digest}
    assert served.post(f"jobs/{job}/decision", signed | {"result": "0" * 64})[0] == 400
    assert served.post(f"jobs/{job}/decision", signed | {"decision": "perhaps"})[0] == 400
    assert served.post(f"jobs/{job}/decision", signed | {"by": " "})[0] == 400
    assert served.post(f"jobs/{job}/decision", signed)[0] == 303
    page = served.get("decisions")
    assert "The log is whole" in page
    assert "&lt;b&gt;small" in page
    (line,) = (served.folder / "decisions.jsonl").read_text().splitlines()
    noted = json.loads(line)
    assert noted["files"] == [{"name": "tree.json", "sha256": hashlib.sha256(TREE).hexdigest()}]
    assert (noted["verdict"], noted["result_sha256"]) == ("do not release", digest)
    assert read_decisions(served.folder / "decisions.jsonl").whole
    for path in served.folder.rglob("*"):
        assert path.stat().st_mode & 0o077 == 0 or path.name.endswith(".lock"), path
    assert served.folder.stat().st_mode & 0o777 == 0o700
    status, _, _ = served.post(f"jobs/{job}/forget")
    assert (status, served.ask("GET", f"jobs/{job}")[0]) == (303, 404)
    assert "&lt;b&gt;small" in served.get("decisions")


@pytest.mark.slow
def test_a_preset_as_it_is_stays_a_preset_and_a_change_keeps_the_other_sources(served):
    from recon.serve.application import policy_fields, preset

    job = served.upload(("released", "tree.json", TREE))
    served.settled(job)
    base = preset("cms-cell-size")
    fields = [(f"policy.{one.key}", value) for one in policy_fields(base) for value in one.chosen]
    served.post(f"jobs/{job}/audit", [("preset", "cms-cell-size"), *fields])
    served.settled(job)
    assert known(served.folder, job)["settings"]["policy"] == "preset:cms-cell-size"
    changed = [(key, "3" if key == "policy.smallest_group" else value) for key, value in fields]
    served.post(f"jobs/{job}/audit", [("preset", "cms-cell-size"), *changed])
    served.settled(job)
    text = served.get(f"jobs/{job}/policy.toml")
    assert "smallest_group = 3\n" in text
    assert "smallest_cell = {value = 11, source = " in text


@pytest.mark.slow
def test_a_policy_that_is_uploaded_reads_no_other_file(served, tmp_path):
    job = served.upload(("released", "tree.json", TREE))
    served.settled(job)
    secret = tmp_path / "secret.toml"
    secret.write_text("smallest_group = 7\n")
    policy = f'extends = "{secret}"\nsmallest_cell = 3\n'.encode()
    status, _, text = served.post(f"jobs/{job}/audit", {}, [("policy_file", "own.toml", policy)])
    assert status == 400
    assert "presets only" in text
    policy = b'extends = "preset:cms-cell-size"\nsmallest_cell = 3\n'
    assert served.post(f"jobs/{job}/audit", {}, [("policy_file", "own.toml", policy)])[0] == 303
    served.settled(job)
    assert known(served.folder, job)["verdict"]


def test_too_much_is_refused_and_leaves_nothing(served):
    jobs = set(os.listdir(served.folder / "jobs"))
    status, _, text = served.post("files", {}, [("released", "big.bin", bytes(3 << 20))])
    assert (status, "more than 2 MB" in text) == (413, True)
    connection = socket.create_connection(("127.0.0.1", int(served.port)), timeout=60)
    head = f"POST /{served.token}/files HTTP/1.1\r\nHost: 127.0.0.1:{served.port}\r\n"
    head += f"Origin: http://127.0.0.1:{served.port}\r\nTransfer-Encoding: chunked\r\n"
    connection.sendall((head + "Content-Type: multipart/form-data; boundary=x\r\n\r\n").encode())
    sent = 0
    with connection, contextlib.suppress(OSError):  # endless: the server closes
        while sent < 200 << 20:
            connection.sendall(b"10000\r\n" + b"a" * 65_536 + b"\r\n")
            sent += 65_536
    assert sent < 50 << 20
    cut = socket.create_connection(("127.0.0.1", int(served.port)), timeout=60)
    cut.sendall((head.replace("Transfer-Encoding: chunked", "Content-Length: 100000") + "\r\n--x").encode())
    cut.close()
    assert served.post("files")[0] == 400
    assert served.post("files", {}, [("domain", "d.csv", b"a,b\n1,2\n")])[0] == 400
    assert "May this be released?" in served.get()
    assert set(os.listdir(served.folder / "jobs")) == jobs


class Bomb:
    """Runs a command where it is unpickled."""

    def __init__(self, path: Path):
        self.path = path

    def __reduce__(self):
        return os.system, (f"touch {self.path}",)


@pytest.mark.slow
def test_twenty_uploads_at_once_of_which_ten_are_hostile(served, tmp_path):
    ran = tmp_path / "ran"
    script = f"open({str(ran)!r}, 'w')\n".encode()
    zeros = gzip.compress(bytes(200 << 20), 9)
    hostile = [
        [("released", "bomb.pkl", pickle.dumps(Bomb(ran)))],
        [("released", "zeros.pkl.gz", zeros)],
        [("released", "cut.json", TREE[: len(TREE) // 2])],
        [("released", "deep.json", b"[" * 1_000_000)],
        [("released", "count.csv", b"sex,count\nF,4000000000\nM,1\n")],
        [("released", "../../../../escape.json", b"{}")],
        [("released", "-out", b"x" * 100), ("released", "--json", b"{}")],
        [("released", "nothing.joblib", b"")],
        [("released", "tree.json", TREE), ("beside", "numpy.py", script), ("beside", "json.py", script),
         ("beside", "recon.py", script), ("beside", "sitecustomize.py", script)],
        [("released", "<script>alert(1)</script>.json", b'{"recon": "<script>alert(1)</script>"}')],
    ]  # fmt: skip
    answers: list[str] = []

    def send(files) -> None:
        answers.append(served.upload(*files))

    threads = [threading.Thread(target=send, args=(files,)) for files in hostile]
    threads += [threading.Thread(target=send, args=([("released", "tree.json", TREE)],)) for _ in range(10)]
    for one in threads:
        one.start()
    for one in threads:
        one.join()
    assert len(answers) == 20
    for job in answers:
        served.settled(job, 240)
        shown = served.get(f"jobs/{job}")
        assert "What was understood" in shown or 'role="alert"' in shown
        assert "Traceback" not in shown
        assert "<script>alert" not in shown
    assert not ran.exists()
    assert not (served.folder.parent / "escape.json").exists()
    status = Path(f"/proc/{served.process.pid}/status").read_text()
    (peak,) = [int(line.split()[1]) for line in status.splitlines() if line.startswith("VmHWM")]
    assert peak < 400_000  # kB: nothing of the files is held by the server


def test_cancel_stops_the_process(served):
    slow = (GOLDEN / "two_odd_cycles.json").read_bytes()
    job = served.upload(("released", "slow.json", slow))
    served.post(f"jobs/{job}/cancel")
    assert served.settled(job)["state"] in {"cancelled", "done"}
    assert known(served.folder, job)["pid"] is None


@pytest.mark.slow
def test_a_killed_server_loses_no_decision_and_no_report_and_keeps_no_file(tmp_path):
    import hashlib

    folder = tmp_path / "desk"
    with Served(folder, "--time", "20") as first:
        job = first.upload(("released", "tree.json", TREE))
        first.settled(job)
        first.post(f"jobs/{job}/audit", {"preset": "", "policy.smallest_group": "2"})
        first.settled(job)
        digest = hashlib.sha256((folder / "jobs" / job / "result.json").read_bytes()).hexdigest()
        signed = {"decision": "release", "by": "A. Officer", "comment": "c", "result": digest}
        assert first.post(f"jobs/{job}/decision", signed)[0] == 303
        kept = first.upload(("released", "tree.json", TREE), kept="yes")
        first.settled(kept)
        running = first.upload(("released", "tree.json", TREE))
        first.stop(signal.SIGKILL)
    (folder / "jobs" / "leftover").mkdir()
    with Served(folder) as second:
        assert (folder / "jobs" / job / "report.html").is_file()
        assert "A. Officer" in second.get(f"jobs/{job}")
        assert "The log is whole" in second.get("decisions")
        assert known(folder, running)["state"] in {"interrupted", "done"}
        assert "were deleted" in second.get(f"jobs/{job}")
        assert not (folder / "jobs" / job / "files").exists()
        assert (folder / "jobs" / kept / "files" / "tree.json").is_file()
        with pytest.raises(RuntimeError, match="is being written by"):
            Served(folder)
    assert second.said == ""


@pytest.mark.slow
def test_a_running_job_is_ended_with_the_server(tmp_path):
    folder = tmp_path / "desk"
    with Served(folder, "--time", "600") as first:
        path = GOLDEN / "models" / "sklearn-1.6.1" / "forest_unseeded.pkl"
        job = first.upload(("released", "forest.pkl", path.read_bytes()))
        first.settled(job)
        first.post(f"jobs/{job}/audit", {"preset": "", "policy.most_pinned": "0"})
        until = time.monotonic() + 60
        while (pid := known(folder, job)["pid"]) is None and time.monotonic() < until:
            time.sleep(0.05)
        first.stop()
    assert not Path(f"/proc/{pid}").exists()
    assert known(folder, job)["state"] == "cancelled"
    assert first.said == ""


@pytest.mark.slow
def test_earlier_releases_are_judged_together(served):
    job = served.upload(("released", "tree.json", TREE), ("earlier", "first.json", TREE))
    served.settled(job)
    served.post(f"jobs/{job}/audit", {"preset": "", "policy.most_pinned": "0"})
    assert served.settled(job)["state"] == "done", known(served.folder, job)
    assert json.loads(served.ask("GET", f"jobs/{job}/result.json")[2])["adds"] is not None


@pytest.mark.slow
def test_the_server_says_why_it_cannot_begin(tmp_path, capsys, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "file").write_text("")
    assert run(capsys, "serve", "file")[::2] == (3, "recon: file: cannot be used as a workspace: File exists\n")
    assert run(capsys, "serve", "desk", "--register", "none")[0] == 3
    assert run(capsys, "serve", "desk", "--most", "none")[0] == 2
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        code, _, said = run(capsys, "serve", "desk", "--port", taken.getsockname()[1])
    assert (code, "choose another with --port" in said) == (3, True)
