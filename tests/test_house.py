"""The house: what imports what, how large rooms are, and that `import recon` loads no solver."""

from __future__ import annotations

import ast
import doctest
import functools
import graphlib
import importlib
import inspect
import json
import os
import re
import runpy
import subprocess
import sys
from pathlib import Path

import grimp
import pytest
from reached import Graph
from sources import PACKAGES, SOURCES, nodes_of

import recon

ROOT = Path(__file__).parents[1]
ROOMS = sorted({path.parent for path in SOURCES})
HEAVY = {"ortools", "oxidd", "pysat", "highspy", "sklearn", "pyarrow", "numpy", "pandas", "scipy", "networkx"}


def in_a_fresh_interpreter(code):
    return subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, cwd=ROOT).stdout


def test_import_recon_loads_no_solver():
    code = "import sys, recon; print(sorted({m.split('.')[0] for m in sys.modules}))"
    loaded = set(ast.literal_eval(in_a_fresh_interpreter(code)))
    assert not loaded & HEAVY


def test_help_loads_nothing_heavy():
    code = (
        "import sys; sys.argv = ['recon', '--help']\nfrom recon.cli.app import main\n"
        "try: main()\nexcept SystemExit: pass\nprint(sorted({m.split('.')[0] for m in sys.modules}))"
    )
    out = in_a_fresh_interpreter(code)  # the time (0.4 s) is printed by tests/bench
    assert not set(ast.literal_eval(out.splitlines()[-1])) & HEAVY


@pytest.mark.parametrize(("given", "used"), [({}, "1"), ({"OPENBLAS_NUM_THREADS": "2"}, "2")])
def test_linear_algebra_of_a_command_uses_one_thread_or_as_many_as_were_asked_for(given, used, monkeypatch):
    monkeypatch.delenv("OPENBLAS_NUM_THREADS", raising=False)
    for name, value in given.items():
        monkeypatch.setenv(name, value)
    code = (
        "import os, sys; sys.argv = ['recon', 'schema', '--help']\nfrom recon.__main__ import main\n"
        "try: main()\nexcept SystemExit: pass\nimport threadpoolctl, numpy\n"
        "print({one['num_threads'] for one in threadpoolctl.threadpool_info() if one['internal_api'] == 'openblas'})"
    )
    found = ast.literal_eval(in_a_fresh_interpreter(code).splitlines()[-1])
    assert found == {int(used)} or os.cpu_count() == 1


def test_public_names_are_there():
    for name in recon.__all__:
        assert getattr(recon, name) is not None
    assert callable(recon.worlds)
    assert callable(recon.audit)
    with pytest.raises(AttributeError, match="nothing"):
        recon.nothing  # noqa: B018


@functools.cache
def arrows():
    """Return who imports whom among our own modules, imports within functions and for type checkers included."""
    graph = grimp.build_graph(*PACKAGES, exclude_type_checking_imports=False, cache_dir=None)
    return {module: graph.find_modules_directly_imported_by(module) for module in graph.modules}


def name_of(path):
    return ".".join(path.relative_to(ROOT).with_suffix("").parts).removesuffix(".__init__")


@pytest.mark.slow
def test_rooms_have_a_purpose_and_a_face():
    """`__all__` of a room lists the modules that others import; the others are the room's own."""
    for room in ROOMS:
        name, tree = name_of(room / "__init__.py"), ast.parse((room / "__init__.py").read_text(encoding="utf-8"))
        purpose = ast.get_docstring(tree)
        assert purpose is not None, name
        assert purpose.splitlines()[0].endswith("."), name
        if "." not in name or name in ("solvers.engines", "recon.models"):  # faces of their own
            continue
        (face,) = (n.value for n in tree.body if isinstance(n, ast.Assign) and ast.unparse(n.targets[0]) == "__all__")
        outside = {
            imported[len(name) + 1 :].split(".")[0]
            for module, all_of in arrows().items()
            if module != name and not module.startswith(name + ".")
            for imported in all_of
            if imported.startswith(name + ".")
        }
        assert ast.literal_eval(face) == sorted(outside), name


LONGEST = 620  # lines of a module
APART = {  # names of both clash, or the user imports the module only when it is needed
    "solvers.programs.local_search.compiled",
    "recon.experiments.draft2024",  # an experiment by itself, found by its name
}


def test_modules_are_short_and_helpers_stand_with_their_only_user():
    """A module that one module of its room alone imports is part of it, where both together stay short."""
    lines = {name_of(path): path.read_text(encoding="utf-8").count("\n") for path in SOURCES}
    assert max(lines.values()) <= LONGEST
    rooms = {name_of(path / "__init__.py") for path in ROOMS}
    users = {}
    for module, all_of in arrows().items():
        for imported in all_of:
            users.setdefault(imported, set()).add(module)
    alone = set()
    for module, by in users.items():
        (user, *others) = by
        near = user.rpartition(".")[0] == module.rpartition(".")[0] and not {user, module} & rooms
        kept = module.startswith(("solvers.kernel", "solvers.engines.", "encoders.kinds.", "recon.learners."))
        if not others and near and not kept and lines[user] + lines[module] <= 600:
            alone.add(module)
    assert alone == APART


def test_class_names_occur_once():
    names = [n.name for p in SOURCES for n in nodes_of(p) if isinstance(n, ast.ClassDef)]
    assert len(names) == len(set(names))


ALONE = """
    added agreed allowed apart around asked bare before beside both bounded bought broken brought cached
    changed checked chosen closed coarse computed counted covered cut decoded drawn each encoded ends
    estimated every few forbidden forced found gathered given grown grouped held here inside joined kept known
    least left listed located loosened lost made marked measured merged most moved named needed none now once
    opened ordered outside packed paid parsed passed placed plain printed proved put ranked reached refused
    removed replaced right rounded said sampled scaled scored sealed seen selected settle settled shown signed
    solved some sorted spent split spread stated stored taken tied together told tried trimmed unlocated
    unpacked unused used verified walked wanted weighted whole within won worked written
"""
CONTRACT = {"recon.queries.leaf_values.remedies.rounded", "recon.queries.noisy.likely_worlds.sampled"} | {
    f"recon.report.document.parts.{name}" for name in ("Made", "Stored", "Forced")
} | {"recon.report.document.schema.Counted"}  # fmt: skip


def test_names_are_noun_phrases():
    """No function or class is called by a participle or an adverb alone; what the contract names stays."""
    alone, kinds = set(ALONE.split()), (ast.FunctionDef, ast.ClassDef)
    found = {
        f"{name_of(path)}.{one.name}"
        for path in SOURCES
        for one in nodes_of(path)
        if isinstance(one, kinds) and one.col_offset == 0 and one.name.lstrip("_").lower() in alone
    }
    assert found == CONTRACT


def test_there_is_no_circle_of_imports():
    """Imports within functions and those for type checkers count; `CycleError` names the modules of a circle."""
    assert len(arrows()) > 300
    graphlib.TopologicalSorter(arrows()).prepare()


def test_types_and_lazy_names_are_the_same():
    tree = ast.parse((ROOT / "recon" / "__init__.py").read_text(encoding="utf-8"))
    (block,) = (n for n in tree.body if isinstance(n, ast.If) and ast.unparse(n.test) == "TYPE_CHECKING")
    typed = {a.asname: one.module for one in block.body if isinstance(one, ast.ImportFrom) for a in one.names}
    assert typed == recon._HOME


def test_functions_are_short_and_no_bare_exception_is_raised():
    long, bare = [], []
    for path in SOURCES:
        for node in nodes_of(path):
            if isinstance(node, ast.FunctionDef) and node.end_lineno - node.lineno >= 75:
                long.append(f"{path.relative_to(ROOT)}: {node.name}")
            if isinstance(node, ast.Raise) and isinstance(node.exc, ast.Call):
                bare += [f"{path.relative_to(ROOT)}:{node.lineno}"] * (getattr(node.exc.func, "id", "") == "Exception")
    assert long == bare == []


def test_examples_in_docstrings_run():
    """The modules that have none are imported by others; `examples` counts what ran."""
    examples = 0
    for path in SOURCES:
        if ">>> " in path.read_text(encoding="utf-8") and path.stem != "__main__":
            ran = doctest.testmod(importlib.import_module(name_of(path)))
            assert ran.failed == 0, path
            examples += ran.attempted
    assert examples > 100


UNREACHED = {
    "recon.io.console.output.Channel.writable", "recon.io.files.tables.Metered.readable",  # called by Python
    "recon.io.files.tables.Metered.readinto",
    "recon.io.console.guarding.OnceCommand.format_options", "solvers.programs.cpsat.Listener.on_solution_callback",
    "recon.queries.tables.tables.Tables.tops",
    "recon.release.registers.adding.AddedDisclosure.contradicts",  # of results
    "recon.report.wording.headline.Rendered.to_html",  # called by users
    "recon.report.wording.headline.Rendered.to_markdown",
    "recon.report.page.blocks.TableBlock.folded", "solvers.statements.questions.answers.CountAnswer.log2_value",
}  # fmt: skip


@pytest.mark.slow
def test_nothing_is_there_for_tests_alone():
    assert set(Graph().unreached()) - UNREACHED == set()


def test_schema_and_engines_commands(capsys):
    from recon.readers.formats.release.schema import json_schema

    schema = json_schema()
    assert {"recon", "domain"} <= set(schema["required"])
    assert json.dumps(schema)


DEAR = {"demo.py", "10_read_a_model_file.py", "11_rows_by_position.py", "13_census_tracts.py"}  # seconds each
EXAMPLES = [
    pytest.param(p, marks=pytest.mark.slow if p.name in DEAR else (), id=p.name)
    for p in sorted((ROOT / "examples").glob("*.py"))
    if p.name != "make_releases.py"  # that one needs data
]


@functools.cache
def demo():
    return subprocess.run(
        [sys.executable, "examples/demo.py"], capture_output=True, text=True, check=True, cwd=ROOT
    ).stdout


@pytest.mark.sampled(1)
@pytest.mark.parametrize("example", EXAMPLES)
def test_examples_run(example, capsys, monkeypatch):
    """All in this process but the demo, which people run as it stands: imports are most of what examples cost."""
    if example.name == "demo.py":
        assert demo()
        return
    monkeypatch.chdir(ROOT)
    monkeypatch.setattr(sys, "argv", [str(example)])
    runpy.run_path(str(example), run_name="__main__")
    assert capsys.readouterr().out


OPENING = {  # modules that may open what they are given: the one place, what recon writes itself, its own data
    "recon/io/files/opening.py", "recon/io/files/named_files.py", "recon/io/files/writing.py",
    "recon/io/console/output.py", "recon/cli/releasing/remedy.py", "recon/cli/output/printing.py",
    "recon/readers/inspection/ledger/entries.py", "recon/readers/inspection/ledger/forms.py",
    "recon/readers/inspection/documents/pmml_findings.py", "recon/release/policies/rules.py",
    "recon/experiments/running.py", "recon/experiments/experiment.py", "recon/readers/formats/tables/dialects.py",
}  # fmt: skip


def test_one_place_opens_files():
    """What somebody names is opened in `recon.io.files`: regular files only, without waiting, within the budget."""
    found = set()
    for path in sorted((ROOT / "recon").rglob("*.py")):
        for node in nodes_of(path):
            called = node.func if isinstance(node, ast.Call) else None
            own = isinstance(called, ast.Name) and called.id == "open"
            of_path = isinstance(called, ast.Attribute) and called.attr in ("read_text", "read_bytes", "fdopen")
            named = ast.unparse(node.args[0]) if isinstance(node, ast.Call) and node.args else ""
            by_pandas = isinstance(called, ast.Attribute) and ast.unparse(called).startswith("pd.read_")
            of_path |= by_pandas and named != "text" and not named.startswith("io.")  # it would open pipes and fetch
            if own or (of_path and ast.unparse(called.value) not in ("reading", "self")):
                found.add(str(path.relative_to(ROOT)))
    assert found - OPENING == set()
    assert {"recon/io/files/opening.py", "recon/io/files/writing.py"} <= found


def test_help_of_a_public_name_says_its_types_without_quotes_and_each_parameter():
    """What `help(recon.X)` shows; `release`, `limits` and such mean the same everywhere."""
    for name in sorted(set(recon.__all__) - {"__version__"}):
        thing = getattr(recon, name)
        if inspect.isclass(thing) and issubclass(thing, Exception):
            continue
        said, signature = inspect.getdoc(thing) or "", inspect.signature(thing)
        assert not re.search(r"[:>] '", str(signature)), name
        if inspect.isfunction(thing):
            silent = [one for one in signature.parameters if not re.search(rf"\b{one}\b", said)]
            assert set(silent) <= {"release", "limits", "model", "profiles", "adversary", "convention"}, (name, silent)
            assert re.search(r"(?i)return|yield", said), name
            assert re.search(r"[Rr]aise", said), name


def test_every_public_name_has_an_example_that_runs():
    """They are run above; a text such as the version has no docstring, the package's own stands for it."""
    named = {name: getattr(recon, name) for name in recon.__all__ if name != "__version__"}
    assert [name for name, value in named.items() if ">>> import recon" not in (value.__doc__ or "")] == []


def test_kinds_of_models_are_asked_by_what_they_publish():
    """Functions that differ by kind dispatch (`functools.singledispatch`); few places ask for a class."""
    kinds, found = {"Tree", "RuleList", "RuleSet", "Forest", "Table", "Boosting"}, []
    for path in SOURCES:
        for node in nodes_of(path):
            if isinstance(node, ast.Call) and getattr(node.func, "id", "") == "isinstance" and len(node.args) == 2:
                named = {getattr(one, "id", getattr(one, "attr", "")) for one in ast.walk(node.args[1])}
                found += [f"{path.relative_to(ROOT)}:{node.lineno}"] if named & kinds else []
    assert len(found) < 20, found


@pytest.mark.parametrize("path", sorted(Path(__file__).parent.glob("safety*.json")), ids=lambda path: path.stem)
def test_stored_random_runs_found_nothing_wrong(path):
    """A stored run with a wrong case, or with none, is not what a page may cite."""
    found = json.loads(path.read_text(encoding="utf-8"))
    assert (found["cases_wrong"], found["failures"]) == (0, {})
    assert found["number"] >= 200
