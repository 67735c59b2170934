"""Mutation testing of the trusted kernel and of the guards that floats cannot break: `make mutants`.

One small change at a time is made to the source (a comparison, a bound, a rounding, a check left out) and the tests
of that module must fail. No file is changed: a child process forked before the package is imported gets the changed
module from an import hook and runs, quickest first, the tests that reach the changed line; a survivor is tried once
more with all tests of its module. What survives on purpose stands in `mutants_explained.txt` with its reason;
another survivor is an error.

    python tests/mutants.py [--only PATTERN] [--again] [--minutes 60] [--share 1/4] [--list]

Source: DeMillo, Lipton, Sayward, "Hints on test data selection", Computer 11, 1978; King, Offutt, "A Fortran language
system for mutation-based software testing", Software: Practice and Experience 21, 1991 (the operators).
"""

from __future__ import annotations

import argparse
import ast
import copy
import importlib.abc
import importlib.util
import json
import os
import re
import resource
import signal
import sys
import tempfile
import time
import traceback
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parents[1]
EXPLAINED = Path(__file__).with_name("mutants_explained.txt")
MEMORY = 8 << 30  # bytes of address space of a child: a mutant may ask for any amount
HEAVY = ("numpy", "scipy.optimize", "scipy.sparse.csgraph", "scipy.linalg", "pandas", "hypothesis", "pytest",
         "ortools.sat.python.cp_model", "highspy", "oxidd.bcdd", "pydantic", "typer", "rich.console")  # fmt: skip


@dataclass(frozen=True)
class Target:
    """A module, the functions of it that are mutated (none: all), and the test files that must notice."""

    module: str
    tests: tuple[str, ...]
    functions: tuple[str, ...] = ()
    everything: bool = False  # also constants, products and branches that cost time or tightness, not truth


KERNEL = ("test_refusals.py", "test_kernel.py")
COUNTS, DUALS, PROGRAMS = ("test_guards_counts.py",), ("test_guards.py",), ("test_guards_relaxation.py",)
TARGETS = (
    Target("solvers.kernel.claims", KERNEL, everything=True),
    Target("solvers.kernel.datasets", KERNEL, everything=True),
    Target("solvers.kernel.checker", KERNEL, everything=True),
    Target("solvers.kernel.cells", KERNEL, everything=True),
    Target("solvers.statements.numbering", KERNEL, everything=True),
    Target("solvers.kernel.rup", KERNEL, everything=True),
    Target("solvers.programs.linear_program", PROGRAMS, ("proved", "reduced", "refutes", "bound")),
    Target("solvers.programs.feasibility", PROGRAMS, ("refutes", "combined", "by_program")),
    Target("solvers.columns.master", DUALS, ("proof",)),
    Target("solvers.concave.multipliers", DUALS),
    Target("solvers.concave.secants", DUALS, ("outwards", "summit")),
    Target("solvers.programs.cell_model", DUALS, ("rounded",)),
    Target("solvers.conflicts.quickxplain", DUALS, ("without_idle", "conflict_of")),
    Target("solvers.questions.relaxed", DUALS),
    Target("solvers.noise.tails", ("test_noise.py",)),
    Target(
        "solvers.interval.lagrangian_dual",
        COUNTS,
        ("bound_of", "outward", "project", "log_weights", "prefix_sums", "prefix"),
    ),
    Target("solvers.interval.mixture", COUNTS, ("whole_share", "pivot")),
    Target("solvers.regions.capture_bounds", COUNTS, ("_odds", "_fixed_point", "share", "_space", "bound_plain")),
    Target("solvers.interval.bracket", COUNTS, ("weight", "high", "low", "improve", "start")),
    Target("solvers.interval.neighbourhoods", COUNTS, ("log2_ratio", "log2")),
    Target("solvers.interval.heavy_histogram", COUNTS, ("meets",)),
    Target("solvers.engines.interval", COUNTS, ("add_logs",)),
)


# ---------------------------------------------------------------- mutations


@dataclass(frozen=True)
class Mutant:
    """A change of node `node` (in the order of `ast.walk`): its place and what becomes of it."""

    target: Target
    node: int
    option: int
    line: int
    function: str
    before: str
    after: str

    def __str__(self) -> str:
        return f"{self.target.module}: {self.function}: {self.before} -> {self.after}"


COMPARED = {ast.Lt: ast.LtE, ast.LtE: ast.Lt, ast.Gt: ast.GtE, ast.GtE: ast.Gt, ast.Eq: ast.NotEq, ast.NotEq: ast.Eq,
            ast.In: ast.NotIn, ast.NotIn: ast.In, ast.Is: ast.IsNot, ast.IsNot: ast.Is}  # fmt: skip
COMPUTED = {ast.Add: ast.Sub, ast.Sub: ast.Add, ast.Mult: ast.FloorDiv, ast.FloorDiv: ast.Mult, ast.Div: ast.Mult,
            ast.LShift: ast.RShift, ast.RShift: ast.LShift, ast.BitAnd: ast.BitOr, ast.BitOr: ast.BitAnd,
            ast.Pow: ast.Mult, ast.Mod: ast.FloorDiv}  # fmt: skip
CALLED = {"min": "max", "max": "min", "any": "all", "all": "any", "floor": "ceil", "ceil": "floor",
          "minimum": "maximum", "maximum": "minimum"}  # fmt: skip


TIGHTNESS = (ast.Pow, ast.Mult, ast.FloorDiv, ast.Div, ast.Mod, ast.LShift, ast.RShift)


def of_the_guard(node: ast.AST, made: ast.AST) -> bool:
    """Tell whether a change may make a figure untrue, rather than loose, slow or another figure altogether."""
    if isinstance(node, ast.BinOp):
        return not isinstance(node.op, TIGHTNESS)
    if isinstance(node, ast.Constant):
        return not isinstance(node.value, int) or isinstance(node.value, bool)
    if isinstance(node, ast.If):
        return isinstance(made, ast.If) and ast.unparse(made.test) == "False"
    return True


def options(node: ast.AST) -> Iterator[ast.AST]:
    """Yield what a node may become."""
    made = copy.deepcopy(node)
    if isinstance(made, ast.Compare):
        for i, op in enumerate(made.ops):
            if type(op) in COMPARED:
                other = copy.deepcopy(made)
                other.ops[i] = COMPARED[type(op)]()
                yield other
    elif isinstance(made, ast.BoolOp):
        for i in range(len(made.values)):
            rest = made.values[:i] + made.values[i + 1 :]
            yield rest[0] if len(rest) == 1 else ast.BoolOp(made.op, rest)
    elif isinstance(made, ast.UnaryOp) and isinstance(made.op, ast.Not | ast.USub | ast.Invert):
        yield made.operand
    elif isinstance(made, ast.BinOp) and type(made.op) in COMPUTED:
        made.op = COMPUTED[type(made.op)]()
        yield made
    elif isinstance(made, ast.IfExp):
        yield made.body
        yield made.orelse
    elif isinstance(made, ast.comprehension):
        for i in range(len(made.ifs)):
            other = copy.deepcopy(made)
            del other.ifs[i]
            yield other
    else:
        yield from other_options(made)


def other_options(made: ast.AST) -> Iterator[ast.AST]:
    """Yield what a constant, a call or a statement may become."""
    if isinstance(made, ast.Constant):
        if isinstance(made.value, bool):
            yield ast.Constant(not made.value)
        elif isinstance(made.value, int):
            yield ast.Constant(made.value + 1)
        elif isinstance(made.value, float):
            yield ast.Constant(0.0 if made.value else 1.0)
    elif isinstance(made, ast.Call):
        name = made.func.attr if isinstance(made.func, ast.Attribute) else getattr(made.func, "id", "")
        if name in CALLED:
            swapped = copy.deepcopy(made)
            if isinstance(swapped.func, ast.Attribute):
                swapped.func.attr = CALLED[name]
            elif isinstance(swapped.func, ast.Name):
                swapped.func.id = CALLED[name]
            yield swapped
        if name in {"nextafter", "abs", "clip"}:
            yield made.args[0]
    elif isinstance(made, ast.If):
        yield ast.If(ast.Constant(False), [ast.Pass()], made.orelse)
        if not all(isinstance(s, ast.Raise) for s in made.body):
            yield ast.If(ast.Constant(True), made.body, [])
    elif (
        (isinstance(made, ast.Expr) and isinstance(made.value, ast.Call))
        or isinstance(made, ast.AugAssign | ast.Break | ast.Continue)
        or (isinstance(made, ast.Assign) and all(isinstance(t, ast.Attribute | ast.Subscript) for t in made.targets))
    ):
        yield ast.Pass()


def places(tree: ast.Module) -> Iterator[tuple[int, ast.AST, str]]:
    """Yield (number, node, function) of everything that may be mutated: no messages, annotations or decorators."""
    number = {id(node): i for i, node in enumerate(ast.walk(tree))}
    skipped: set[int] = set()
    for node in ast.walk(tree):
        parts: list[ast.AST] = []
        if isinstance(node, ast.Raise):
            parts = [node]
        elif isinstance(node, ast.FunctionDef):
            parts = [*node.decorator_list, *([node.returns] if node.returns else [])]
            parts += [a.annotation for a in (*node.args.args, *node.args.kwonlyargs) if a.annotation]
        elif isinstance(node, ast.ClassDef):
            parts = [*node.decorator_list, *node.bases]
        elif isinstance(node, ast.AnnAssign):
            parts = [node.annotation]
        elif isinstance(node, ast.If) and "TYPE_CHECKING" in ast.unparse(node.test):
            parts = [node]
        elif isinstance(node, ast.Assign) and all(isinstance(t, ast.Name) and t.id[0].isupper() for t in node.targets):
            parts = [node]  # sizes and limits, type aliases
        elif isinstance(node, ast.JoinedStr | ast.Assert) or (isinstance(node, ast.keyword) and node.arg == "strict"):
            parts = [node]
        elif isinstance(node, ast.Call) and getattr(node.func, "id", "") == "isinstance":
            parts = [node.args[1]]
        skipped.update(id(inner) for part in parts for inner in ast.walk(part))

    def below(node: ast.AST, function: str) -> Iterator[tuple[int, ast.AST, str]]:
        for child in ast.iter_child_nodes(node):
            if id(child) in skipped:
                continue
            inner = function
            if isinstance(child, ast.FunctionDef):
                inner = f"{function}.{child.name}" if function else child.name
            yield number[id(child)], child, inner
            yield from below(child, inner)

    yield from below(tree, "")


def mutants_of(target: Target) -> list[Mutant]:
    """Return every mutant of a target, in the order of the source."""
    path = path_of(target.module)
    tree = ast.parse(path.read_text(encoding="utf-8"))
    out = []
    for i, node, function in places(tree):
        wanted = not target.functions or set(function.split(".")) & set(target.functions)
        for k, made in enumerate(options(node)) if wanted and function else ():
            if not target.everything and not of_the_guard(node, made):
                continue
            words = [" ".join(ast.unparse(ast.fix_missing_locations(x)).split())[:90] for x in (node, made)]
            line = getattr(node, "lineno", 0) or getattr(getattr(node, "iter", None), "lineno", 0)
            out.append(Mutant(target, i, k, line, function, *words))
    return sorted(out, key=lambda m: m.line)


def path_of(module: str) -> Path:
    """Return the file of a module."""
    return ROOT.joinpath(*module.split(".")).with_suffix(".py")


class Mutating(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    """Loads one module with a change; all others as they are."""

    def __init__(self, mutant: Mutant) -> None:
        self.mutant = mutant

    def find_spec(self, name, path=None, target=None):
        if name != self.mutant.target.module:
            return None
        return importlib.util.spec_from_file_location(name, path_of(name), loader=self)

    def create_module(self, spec):
        return None

    def exec_module(self, module):
        path = path_of(module.__name__)
        tree = ast.parse(path.read_text(encoding="utf-8"))
        wanted = list(ast.walk(tree))[self.mutant.node]
        made = list(options(wanted))[self.mutant.option]

        class Change(ast.NodeTransformer):
            def visit(self, node):
                return ast.copy_location(made, node) if node is wanted else self.generic_visit(node)

        exec(compile(ast.fix_missing_locations(Change().visit(tree)), str(path), "exec"), module.__dict__)


# ---------------------------------------------------------------- runs


class Watch:
    """A plugin of pytest that writes, per test, its seconds and the lines of one file that it runs."""

    def __init__(self, path: Path, out: Path) -> None:
        self.path, self.out = str(path), out
        self.found: dict[str, tuple[float, list[int]]] = {}

    def pytest_runtest_protocol(self, item, nextitem):
        from _pytest.runner import runtestprotocol

        lines: set[int] = set()

        def local(frame, event, argument):
            lines.add(frame.f_lineno)
            return local

        def traced(frame, event, argument):
            return local if frame.f_code.co_filename == self.path else None

        begun = time.perf_counter()
        sys.settrace(traced)
        try:
            runtestprotocol(item, nextitem=nextitem)
        finally:
            sys.settrace(None)
        self.found[item.nodeid] = time.perf_counter() - begun, sorted(lines)
        return True

    def pytest_sessionfinish(self, session, exitstatus):
        self.out.write_text(json.dumps(self.found))


def child(tests: list[str], mutant: Mutant | None, watch: Watch | None, seconds: float) -> int:
    """Run tests in a fork; return pytest's exit code, -1 where the time was up."""
    sys.stdout.flush()
    pid = os.fork()
    if not pid:
        try:
            null = os.open(os.devnull, os.O_RDWR)
            for stream in (0, 1, 2) if not os.environ.get("MUTANTS_SHOW") else ():
                os.dup2(null, stream)
            os.setpgid(0, 0)
            resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
            if mutant is not None:
                sys.meta_path.insert(0, Mutating(mutant))
            import pytest

            flags = [
                "-x",
                "-q",
                "-p",
                "no:cacheprovider",
                "-p",
                "no:xdist",
                "-p",
                "no:randomly",
                "--tb=no",
                "--assert=plain",
            ]
            os._exit(int(pytest.main([*flags, *tests], plugins=[watch] if watch else [])))
        except BaseException:  # also where the interpreter's own memory ends
            traceback.print_exc()
            os._exit(99)
    until = time.monotonic() + seconds
    while time.monotonic() < until:
        done, status = os.waitpid(pid, os.WNOHANG)
        if done:
            return os.waitstatus_to_exitcode(status)
        time.sleep(0.01)
    os.killpg(pid, signal.SIGKILL)
    os.waitpid(pid, 0)
    return -1


def baseline(target: Target) -> dict[str, tuple[float, set[int]]]:
    """Return, per test of a target, its seconds and lines; ends the program where a test fails unmutated."""
    with tempfile.TemporaryDirectory() as folder:
        out = Path(folder) / "watch.json"
        files = [str(ROOT / "tests" / name) for name in target.tests]
        code = child(files, None, Watch(path_of(target.module), out), 900)
        if code:
            raise SystemExit(f"{', '.join(target.tests)} fail without any change (exit code {code})")
        return {name: (cost, set(lines)) for name, (cost, lines) in json.loads(out.read_text()).items()}


def survives(mutant: Mutant, known: dict[str, tuple[float, set[int]]]) -> bool:
    """Tell whether no test notices a mutant."""
    end = next((n.end_lineno for n in [node_of(mutant)] if getattr(n, "end_lineno", None)), mutant.line)
    reached = [name for name in known if known[name][1] & set(range(mutant.line, (end or mutant.line) + 1))]
    reached.sort(key=lambda name: known[name][0])
    seconds = 20 + 4 * sum(cost for cost, _ in known.values())
    if reached and child(reached, mutant, None, seconds):
        return False
    return not child([str(ROOT / "tests" / name) for name in mutant.target.tests], mutant, None, seconds)


def node_of(mutant: Mutant) -> ast.AST:
    """Return the node that a mutant changes."""
    return list(ast.walk(ast.parse(path_of(mutant.target.module).read_text(encoding="utf-8"))))[mutant.node]


def explained() -> dict[str, str]:
    """Return the mutants that survive on purpose, with the reason."""
    lines = EXPLAINED.read_text(encoding="utf-8").splitlines() if EXPLAINED.exists() else []
    return dict(line.split(" # ", 1) for line in lines if " # " in line and not line.startswith("#"))


def why(mutant: Mutant, reasons: dict[str, str]) -> str | None:
    """Return the reason why a mutant may survive; `*` in the file stands for any text."""
    for pattern, reason in reasons.items():
        if re.fullmatch(".*".join(map(re.escape, pattern.split("*"))), str(mutant)):
            return reason
    return None


def save(path: Path, tried: Counter[str], told: Counter[str], left: list[Mutant]) -> None:
    """Write what was found so far."""
    path.parent.mkdir(exist_ok=True)
    path.write_text(json.dumps({"tried": tried, "explained": told, "open": [str(m) for m in left]}, indent=1))


def main() -> int:
    """Run all mutants, or those asked for, print what survives and return how many of them nobody explained."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--only", default="", help="a regular expression found in `module: function: change`")
    parser.add_argument("--again", action="store_true", help="only those that the last run left open")
    parser.add_argument("--minutes", type=float, default=60.0)
    parser.add_argument("--share", default="1/1", help="i/n: every n-th mutant, from the i-th on")
    parser.add_argument("--list", action="store_true", help="print the mutants and run none")
    parser.add_argument("--out", type=Path, default=ROOT / "build" / "mutants.json")
    given = parser.parse_args()
    first, step = map(int, given.share.split("/"))
    last = set(json.loads(given.out.read_text(encoding="utf-8"))["open"]) if given.again else set()
    every = [m for t in TARGETS for m in mutants_of(t) if re.search(given.only, str(m))]
    chosen = [m for m in every if not given.again or str(m) in last][first - 1 :: step]
    if given.list:
        print(*chosen, sep="\n")
        return 0
    os.chdir(ROOT)
    sys.path.insert(0, str(ROOT))
    os.environ |= {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}
    for name in HEAVY:
        importlib.import_module(name)
    begun, known, reasons = time.monotonic(), dict[Target, dict[str, tuple[float, set[int]]]](), explained()
    tried, left, told = Counter[str](), list[Mutant](), Counter[str]()
    for mutant in chosen:
        if time.monotonic() - begun > 60 * given.minutes:
            break
        if mutant.target not in known:
            known[mutant.target] = baseline(mutant.target)
        tried[mutant.target.module] += 1
        if survives(mutant, known[mutant.target]):
            told[mutant.target.module] += why(mutant, reasons) is not None
            if why(mutant, reasons) is None:
                left.append(mutant)
                print(f"SURVIVED line {mutant.line}: {mutant}", flush=True)
        save(given.out, tried, told, left)
    minutes = (time.monotonic() - begun) / 60
    lost = Counter(m.target.module for m in left)
    for module, n in tried.items():
        known_ones, open_ones = told[module], lost[module]
        print(f"{module}: {n} mutants, {n - known_ones - open_ones} killed, {known_ones} explained, {open_ones} open")
    print(f"{sum(tried.values())} of {len(chosen)} mutants tried in {minutes:.1f} minutes, {len(left)} open")
    return min(1, len(left) + len(chosen) - sum(tried.values()))


if __name__ == "__main__":
    raise SystemExit(main())
