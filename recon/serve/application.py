"""The pages' addresses and forms: files in, what was understood, a policy, an audit, a decision.

The server itself opens no uploaded file: `recon.serve.running` has the commands do it.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, Any, get_args

from starlette.applications import Starlette
from starlette.datastructures import FormData, UploadFile
from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect, Request
from starlette.responses import FileResponse, HTMLResponse, JSONResponse, RedirectResponse, Response
from starlette.routing import Route

from recon.io.console.version import VERSION
from recon.io.files.writing import writing
from recon.release.policies.policy import Policy, read_policy
from recon.release.policies.rules import EVERY, PREFIX, WORDS, Level, Verdict, parse_policy, preset_names
from recon.release.registers.decisions import ANSWERS, DecidedFile, add_decision, read_decisions
from recon.release.registers.register import Register
from recon.report.page.renderers import stylesheet
from recon.serve.jobs import MOST_FILES, OPEN, ROLES, AuditJob, UploadedFile, Workspace, refuse_files
from recon.serve.running import Runner, remedied_name
from solvers.foundation.displayed import escape_text
from solvers.foundation.errors import PolicyError, ReconError, ReleaseError

if TYPE_CHECKING:
    from jinja2 import Environment

    from recon.release.policies.checks import PolicyRule

PIECE = 1 << 20  # bytes of an upload that are written together
FORMATS = {
    "report.html": "text/html", "report.md": "text/markdown", "report.txt": "text/plain",
    "report.sarif": "application/sarif+json", "report.xml": "application/xml", "result.json": "application/json",
}  # fmt: skip
REPORT_POLICY = "default-src 'none'; style-src 'unsafe-inline'; img-src data:; base-uri 'none'; frame-ancestors 'none'"
EDITED = "../policy.toml"  # a policy of a job, as its commands see it
LISTED = 200  # jobs on the first page
LISTS = {"kinds_of_counts": None, "profiles": get_args(Verdict)}  # keys whose value is a list of words
ENDS = {
    "release": "good", "release with changes": "changes", "do not release": "bad",
}  # fmt: skip
Handler = Callable[[Request], Awaitable[Response]]


class UploadError(Exception):
    """An upload that is too large or lasts too long; `status` is that of HTTP."""

    def __init__(self, status: int, sentence: str) -> None:
        super().__init__(sentence)
        self.status = status


@dataclass
class Desk:
    """The forms and pages over one workspace."""

    workspace: Workspace
    runner: Runner

    def application(self, token: str) -> Starlette:
        """Return the application under `/TOKEN/`."""
        routes: list[tuple[str, str, Handler]] = [
            ("GET", "/", self.first_page), ("POST", "/files", self.receive),
            ("GET", "/style.css", self.style), ("GET", "/progress.js", self.script),
            ("GET", "/decisions", self.decisions), ("GET", "/decisions.jsonl", self.decision_file),
            ("GET", "/register", self.register),
            ("GET", "/jobs/{id}", self.job), ("GET", "/jobs/{id}/state", self.state),
            ("POST", "/jobs/{id}/files", self.receive_more), ("POST", "/jobs/{id}/audit", self.audit),
            ("POST", "/jobs/{id}/cancel", self.cancel), ("POST", "/jobs/{id}/remedy", self.remedy),
            ("POST", "/jobs/{id}/decision", self.decide), ("POST", "/jobs/{id}/forget", self.forget),
            ("POST", "/jobs/{id}/register", self.add_to_register),
            ("GET", "/jobs/{id}/remedied", self.remedied), ("GET", "/jobs/{id}/policy.toml", self.policy_file),
            ("GET", "/jobs/{id}/{name}", self.report),
        ]  # fmt: skip

        @contextlib.asynccontextmanager
        async def lifespan(_: Starlette) -> AsyncIterator[None]:
            yield
            await self.runner.close()
            for job in list(self.workspace.jobs()):
                self.workspace.drop_files(job)

        return Starlette(
            routes=[Route(f"/{token}{path}", handler, methods=[method]) for method, path, handler in routes],
            exception_handlers={
                UploadError: _refused_upload, ReconError: _refused, HTTPException: _refused_request,
                ClientDisconnect: _gone,
            },
            lifespan=lifespan,
        )  # fmt: skip

    # ---------------------------------------------------------------- files in

    async def first_page(self, request: Request) -> Response:
        """Show the form for files, and the jobs there are."""
        jobs = [job for job, _ in zip(self.workspace.jobs(), range(LISTED), strict=False)]
        return HTMLResponse(page("first.html", root="", roles=ROLES, jobs=jobs, limits=self.runner.limits))

    async def receive(self, request: Request) -> Response:
        """Take files, and begin to say what they are."""
        if self.runner.full:
            raise HTTPException(503, "Too many jobs are waiting: try again when some have ended.")
        job = self.workspace.new()
        try:
            async with request.form(max_files=MOST_FILES, max_fields=100) as form:
                await self._take(job, form)
            if why := refuse_files(job):
                raise ReleaseError(why)
        except BaseException:
            self.workspace.forget(job)
            raise
        self.runner.submit(job, "understand")
        return _to(f"jobs/{job.id}")

    async def receive_more(self, request: Request) -> Response:
        """Take further files for a job whose files are still there, and say anew what they are."""
        job = self._idle(request)
        before = list(job.files)
        async with request.form(max_files=MOST_FILES, max_fields=100) as form:
            await self._take(job, form)
        for role in ("domain", "data"):
            newer = [file for file in job.of(role) if file not in before]
            job.files = [file for file in job.files if file.role != role or file in newer or not newer]
        if why := refuse_files(job):
            job.files = before
            raise ReleaseError(why)
        self.runner.submit(job, "understand")
        return _to(job.id)

    async def _take(self, job: AuditJob, form: FormData) -> None:
        """Write the files of a form, piece by piece."""
        job.kept = job.kept or form.get("kept") == "yes"
        for role in ROLES:
            for one in form.getlist(role):
                if not isinstance(one, UploadFile) or not (one.filename or one.size):
                    continue
                if len(job.files) >= MOST_FILES:
                    raise ReleaseError(f"a job has at most {MOST_FILES} files")
                name, place = self.workspace.place_for(job, role, one.filename or "")
                digest, size = hashlib.sha256(), 0
                with writing(str(self.workspace.place(job, "files", place)), private=True, binary=True) as file:
                    while part := await one.read(PIECE):
                        file.write(part)
                        digest.update(part)
                        size += len(part)
                job.files.append(UploadedFile(role, name, digest.hexdigest(), size, place))

    # ---------------------------------------------------------------- a job

    async def job(self, request: Request) -> Response:
        """Show a job: what was understood and the policy's form, progress, or the verdict and the decision's form."""
        job = self._job(request)
        chosen = request.query_params.get("preset")
        return HTMLResponse(page("job.html", root="../", roles=ROLES, **self._shown(job, chosen)))

    async def state(self, request: Request) -> Response:
        """Return how far a job is, as JSON."""
        job = self._job(request)
        return JSONResponse({"step": job.step, "state": job.state, "progress": list(self._progress(job))})

    def _shown(self, job: AuditJob, chosen: str | None) -> dict[str, Any]:
        """Return all that the page of a job shows; `chosen`: the preset to fill in, None: the policy used last."""
        policy = preset(chosen or "")
        if chosen is None:
            chosen = job.settings.get("preset", "")
            edited = self.workspace.place(job, "policy.toml")
            own = job.settings.get("policy") == EDITED and edited.is_file()
            policy = read_policy(str(edited)) if own else preset(chosen)
        result = self.workspace.document(job, "result.json") if job.verdict else None
        if result is not None:
            result["sha"] = self.workspace.sha256(job, "result.json")
        folder = self.workspace.place(job, "remedied")
        remedied = sorted(os.listdir(folder)) if folder.is_dir() else []
        log = read_decisions(self.workspace.log) if job.decisions else None
        return {
            "job": job, "open": job.state in OPEN, "progress": self._progress(job), "limits": self.runner.limits,
            "understood": self.workspace.document(job, "understood.json"), "presets": preset_names(),
            "chosen": chosen, "fields": policy_fields(policy), "result": result, "remedied": remedied,
            "formats": FORMATS, "answers": ANSWERS,
            "signed": [one for one in (log.decisions if log else ()) if str(one.number) in job.decisions],
            "head": log.head if log else "",
        }  # fmt: skip

    def _progress(self, job: AuditJob) -> list[tuple[float, str]]:
        """Return the last lines of a job's progress."""
        return list(self.runner.progress.get(job.id, ()))

    async def audit(self, request: Request) -> Response:
        """Begin an audit under the policy of the form."""
        job = self._idle(request)
        async with request.form(max_files=1, max_fields=200) as form:
            said = {key: [str(v) for v in form.getlist(key) if isinstance(v, str)] for key in form}
            uploaded = form.get("policy_file")
            if isinstance(uploaded, UploadFile) and uploaded.filename:
                policy = self._written_policy(job, await uploaded.read(PIECE))
            else:
                policy = self._policy(job, said)
        asked = ("preset", "label", "rows", "with_register", "remedies", "show_rows")
        settings = {"policy": policy, **{key: "".join(said.get(key, [])[:1]).strip() for key in asked}}
        if settings["rows"] and not settings["rows"].isdecimal():
            raise ReleaseError(f"the number of training rows is a whole number, not {settings['rows'][:40]!r}")
        job.settings = settings
        job.verdict = job.sentence = ""
        self.runner.submit(job, "audit")
        return _to(f"../{job.id}")

    def _policy(self, job: AuditJob, said: dict[str, list[str]]) -> str:
        """Return the policy of a form as a command names it: a preset as it is, else a file in the job's folder."""
        base: Policy | None = preset((said.get("preset") or [""])[0])
        if base is not None and all(
            [text.strip() for text in said.get(f"policy.{one.key}", []) if text.strip()] == list(one.chosen)
            for one in policy_fields(base)
        ):
            return f"{PREFIX}{base.name}"
        return self._written_policy(job, policy_text(said, base).encode())

    def _written_policy(self, job: AuditJob, data: bytes) -> str:
        """Write a policy into a job's folder and check it; return its path as commands see it."""
        path = self.workspace.place(job, "policy.toml")
        extended = parse_policy(data, "the policy").extends or []
        for one in [extended] if isinstance(extended, str) else extended:
            if not one.startswith(PREFIX):
                raise PolicyError("a policy that is uploaded can extend presets only, no other files")
        with writing(str(path), private=True, binary=True) as file:
            file.write(data)
        read_policy(str(path))
        return EDITED

    async def cancel(self, request: Request) -> Response:
        """Stop what a job does."""
        job = self._job(request)
        self.runner.cancel(job)
        return _to(f"../{job.id}")

    async def remedy(self, request: Request) -> Response:
        """Begin to mend the released file."""
        job = self._idle(request)
        if not job.settings.get("policy"):
            raise ReleaseError("a remedy needs a policy: audit the file first")
        self.runner.submit(job, "remedy")
        return _to(f"../{job.id}")

    async def add_to_register(self, request: Request) -> Response:
        """Begin to add the released files to the server's register."""
        job = self._idle(request)
        if self.runner.limits.register is None or not job.decisions:
            raise ReleaseError("a release is registered after a decision, and where the server has a register")
        self.runner.submit(job, "register")
        return _to(f"../{job.id}")

    async def forget(self, request: Request) -> Response:
        """Take a job away; what was decided stays in the log."""
        job = self._job(request)
        self.runner.cancel(job)
        self.workspace.forget(job)
        return _to("../../")

    # ---------------------------------------------------------------- what came out

    async def report(self, request: Request) -> Response:
        """Return the report in one of its formats."""
        job, name = self._job(request), request.path_params["name"]
        if name not in FORMATS or not self.workspace.place(job, "result.json").is_file():
            raise HTTPException(404, "There is no such report.")
        path = await self.runner.convert(job, name)
        if not path.is_file():
            raise HTTPException(500, "The report could not be written.")
        shown = name == "report.html"
        headers = {"Content-Security-Policy": REPORT_POLICY} if shown else {}
        return FileResponse(
            path, media_type=FORMATS[name], headers=headers, filename=name,
            content_disposition_type="inline" if shown else "attachment",
        )  # fmt: skip

    async def remedied(self, request: Request) -> Response:
        """Return the remedied copy."""
        job = self._job(request)
        path = self.workspace.place(job, "remedied", remedied_name(job.of("released")[0].place))
        if not path.is_file():
            raise HTTPException(404, "There is no remedied copy.")
        return FileResponse(path, filename=path.name, media_type="application/octet-stream")

    async def policy_file(self, request: Request) -> Response:
        """Return the policy that was edited."""
        path = self.workspace.place(self._job(request), "policy.toml")
        if not path.is_file():
            raise HTTPException(404, "No policy was edited for this job.")
        return FileResponse(path, filename="policy.toml", media_type="application/toml")

    async def decide(self, request: Request) -> Response:
        """Sign a decision: it stands in the log, and on the disk, before the page says so."""
        job = self._idle(request)
        result = self.workspace.document(job, "result.json")
        async with request.form(max_files=0, max_fields=20) as form:
            said = {key: str(value) for key, value in form.items()}
        if result is None or not job.verdict:
            raise ReleaseError("nothing was audited yet")
        if said.get("decision") not in ANSWERS:
            raise ReleaseError(f"a decision is one of: {', '.join(ANSWERS)}")
        if said.get("result") != self.workspace.sha256(job, "result.json"):
            raise ReleaseError("the audit has changed since this page was shown: read it again before you sign")
        answer = next(one for one in ANSWERS if one == said["decision"])
        files = [DecidedFile(file.name, file.sha256) for file in job.of("released")]
        signed, _ = add_decision(
            self.workspace.log, answer, said.get("by", ""), said.get("comment", ""), files, result, said["result"]
        )
        job.decisions.append(str(signed.number))
        self.workspace.save(job)
        return _to(f"../{job.id}#signed")

    async def decisions(self, request: Request) -> Response:
        """Show the log of decisions, and whether it is whole."""
        path = self.workspace.log
        log = read_decisions(path) if os.path.lexists(path) else None
        return HTMLResponse(page("decisions.html", root="", log=log, path=path))

    async def decision_file(self, request: Request) -> Response:
        """Return the log as it is."""
        if not os.path.lexists(self.workspace.log):
            raise HTTPException(404, "Nothing was decided yet.")
        return FileResponse(self.workspace.log, filename="decisions.jsonl", media_type="application/jsonl")

    async def register(self, request: Request) -> Response:
        """Show the register that was given with --register, and whether its files are unchanged."""
        folder = self.runner.limits.register
        entries: list[tuple[Any, str]] = []
        if folder is not None:
            found = Register.read(folder)
            entries = list(zip(found.entries, found.states(), strict=True))
        return HTMLResponse(page("register.html", root="", folder=folder, entries=entries))

    async def style(self, request: Request) -> Response:
        """Return the style of the pages."""
        return Response(style(), media_type="text/css")

    async def script(self, request: Request) -> Response:
        """Return the script that renews a running job."""
        return Response(script(), media_type="text/javascript")

    def _job(self, request: Request) -> AuditJob:
        """Return the job that an address names."""
        job = self.workspace.job(request.path_params["id"])
        if job is None:
            raise HTTPException(404, "There is no such job: it was forgotten, or the address is cut off.")
        return job

    def _idle(self, request: Request) -> AuditJob:
        """Return the job that an address names, whose files are there and which does nothing now."""
        job = self._job(request)
        if job.state in OPEN:
            raise HTTPException(409, "This job is running: wait until it has ended, or cancel it.")
        return job


def _to(address: str) -> Response:
    """Return an answer that leads to another page, which a reload does not send again."""
    return RedirectResponse(address, 303)


def _problem(request: Request, status: int, sentence: str) -> Response:
    """Return a page that says what went wrong."""
    depth = request.url.path.count("/") - 2
    return HTMLResponse(page("problem.html", root="../" * depth, sentence=sentence, status=status), status)


async def _refused(request: Request, error: Exception) -> Response:
    """Show the sentence of a refusal."""
    return _problem(request, 400, " ".join(str(error).split()))


async def _refused_request(request: Request, error: Exception) -> Response:
    """Show the sentence of what HTTP refuses."""
    assert isinstance(error, HTTPException)
    return _problem(request, error.status_code, error.detail)


async def _refused_upload(request: Request, error: Exception) -> Response:
    """Show why an upload was refused."""
    assert isinstance(error, UploadError)
    return _problem(request, error.status, str(error))


async def _gone(request: Request, error: Exception) -> Response:
    """Answer an upload that was cut off: nobody reads it."""
    return Response(status_code=400)


# ---------------------------------------------------------------- pages


@dataclass(frozen=True)
class PolicyField:
    """One threshold in a form: its key, words, what may be chosen (none: a text), and what stands in it now."""

    key: str
    title: str
    help: str
    allowed: str
    choices: tuple[str, ...]
    many: bool
    value: str
    chosen: tuple[str, ...]
    source: str


def policy_fields(policy: Policy | None) -> list[PolicyField]:
    """Return the form of a policy, filled with its thresholds; None: nothing is filled in."""
    return [_policy_field(rule, policy) for rule in EVERY]


def _policy_field(rule: PolicyRule, policy: Policy | None) -> PolicyField:
    """Return the field of a rule."""
    from encoders.models.models import MEANING

    found = None if policy is None else policy.threshold(rule.key)
    value = None if found is None else found.value
    choices: tuple[str, ...] = ()
    if rule.key in LISTS:
        choices = LISTS[rule.key] or tuple(MEANING)
    elif rule.key == "stored":
        choices = get_args(Level)
    chosen = tuple(map(str, value)) if isinstance(value, list | tuple) else () if value is None else (str(value),)
    shown = "" if value is None or isinstance(value, list | tuple) else str(value)
    return PolicyField(
        rule.key, rule.title, rule.help, WORDS[rule.key], choices, rule.key in LISTS, shown, chosen,
        "" if found is None else found.source,
    )  # fmt: skip


def policy_text(form: Mapping[str, list[str]], base: Policy | None) -> str:
    """Return the policy file that a form describes; a threshold as in `base` keeps its source.

    Raises `PolicyError` where no threshold is set.
    """
    lines = []
    for one in policy_fields(base):
        given = [text.strip() for text in form.get(f"policy.{one.key}", []) if text.strip()]
        if not given:
            continue
        value = json.dumps(given) if one.many else _toml_value(given[0])
        same = tuple(given) == one.chosen
        lines.append(f"{one.key} = {{value = {value}, source = {json.dumps(one.source)}}}" if same and one.source
                     else f"{one.key} = {value}")  # fmt: skip
    if not lines:
        raise PolicyError("no threshold is set: choose a preset, or fill in at least one")
    name = " ".join("".join(form.get("policy_name", [])).split())[:80] or "a policy of one's own"
    return "\n".join([f"name = {json.dumps(name)}", *lines, ""])


def _toml_value(text: str) -> str:
    """Return a threshold as TOML writes it: a number where it is one, else a text."""
    try:
        return json.dumps(int(text))
    except ValueError:
        pass
    try:
        return json.dumps(float(text.replace(",", ".")), allow_nan=False)
    except ValueError:
        return json.dumps(text)


def preset(name: str) -> Policy | None:
    """Return a preset by its name, None where there is none."""
    return read_policy(f"{PREFIX}{name}") if name in preset_names() else None


def page(template: str, **values: Any) -> str:
    """Return a page."""
    return _environment().get_template(template).render(version=VERSION, ends=ENDS, **values)


def style() -> str:
    """Return the style of all pages: that of the report, and what forms need."""
    return stylesheet() + _environment().get_template("serve.css").render()


def script() -> str:
    """Return the script that renews a running job; without it the page renews itself."""
    return _environment().get_template("progress.js").render()


@cache
def _environment() -> Environment:
    """Return the templates: everything is escaped, and what is not defined is an error."""
    from jinja2 import Environment, PackageLoader, StrictUndefined

    found = Environment(
        loader=PackageLoader("recon.serve", "templates"), autoescape=True, undefined=StrictUndefined,
        trim_blocks=True, lstrip_blocks=True, finalize=_visible,
    )  # fmt: skip
    found.filters["size"] = _size_words
    found.filters["short"] = lambda text: text[:12]
    return found


def _visible(value: Any) -> Any:
    """Return what is printed without hidden characters."""
    return escape_text(value) if isinstance(value, str) and not hasattr(value, "__html__") else value


def _size_words(size: int) -> str:
    """Return a number of bytes in words."""
    if size < 1_000:
        return f"{size} bytes"
    return f"{size / 1_000:,.1f} kB" if size < 1_000_000 else f"{size / 1_000_000:,.1f} MB"
