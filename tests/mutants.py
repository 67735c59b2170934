"""Mutation testing of the trusted kernel and of the guards that floats cannot break: `make mutants`.

One small change at a time is made to a function (a comparison, a bound, a rounding, a check left out) and some test
of its module must fail. No file is changed: pytest collects the tests once, and per mutant a forked child gives the
live function the changed code and runs the tests that reach the changed line, the slow ones too, quickest first. What
survives on purpose stands in `mutants_explained.txt` with its reason; another survivor is an error.

Of whole rooms (readers, kinds, what decides about a release) the guards are changed: checks that end in a refusal, in
None or "unknown", their conditions, then every other comparison. What became of each is kept in `build/mutants.json`
(`--resume` goes on with those that were not run), the sums per module in `tests/mutants.json` (`--write`).

    python tests/mutants.py [--only PATTERN] [--again | --resume] [--minutes 60] [--share 1/4] [-k TESTS] [--list]

Source: DeMillo, Lipton, Sayward, "Hints on test data selection", Computer 11, 1978; King, Offutt, "A Fortran language
system for mutation-based software testing", Software: Practice and Experience 21, 1991 (the operators).
"""

from __future__ import annotations

import argparse
import ast
import copy
import hashlib
import importlib
import inspect
import itertools
import json
import math
import os
import re
import resource
import signal
import sys
import time
import traceback
import types
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import hypothesis
import pytest
from _pytest.runner import runtestprotocol
from _pytest.warnings import catch_warnings_for_item

ROOT = Path(__file__).parents[1]
RESULTS = Path(__file__).with_suffix(".json")
EXPLAINED = Path(__file__).with_name("mutants_explained.txt")
ENOUGH = 20.0  # seconds of tests that are asked about one mutant of a room
MEMORY = 8 << 30  # bytes of address space of a child: a mutant may ask for any amount


@dataclass(frozen=True)
class Target:
    """A module, the functions of it that are mutated (none: all), and the test files that must notice."""

    module: str
    tests: tuple[str, ...]
    functions: tuple[str, ...] = ()
    everything: bool = False  # also constants, products and branches that cost time or tightness, not truth
    guards: bool = False  # only what `guard_nodes` names


KERNEL = ("test_refusals.py", "test_kernel.py")
REMOVALS = (*KERNEL, "test_removals.py")
PROOFS = (
    *KERNEL,
    "test_removals.py",
    "test_leaf_value_proofs.py",
    "test_leaf_value_guards.py",
    "test_versions_positions.py",
)
COUNTS, DUALS, PROGRAMS = ("test_guards_counts.py",), ("test_guards.py",), ("test_guards_programs.py",)
VERDICT = (
    "test_checks.py", "test_fact_guards.py", "test_policies.py", "test_figures.py", "test_guards_releasing.py",
)  # fmt: skip
ENDS = ("test_exit_codes.py",)
RELATED = ("test_versions_relations.py", "test_versions.py", "test_versions_folds.py", "test_register_versions.py")
ALIGNED = ("test_versions_positions.py",)
COLUMNS = (
    "test_prepared.py", "test_separate_columns.py", "test_marginals.py", "test_compositions.py",
    "test_guards_learners.py", "test_guards_statistics.py", "test_naive_bayes.py", "test_discriminants.py",
    "test_target_encoders.py",
)  # fmt: skip
OUTPUT = ("print_error", "print_lines", "parse_memory", "records", "write_table", "write_text")
TARGETS = (
    Target("recon.cli.output.printing", ENDS),
    Target("recon.cli.releasing.policy", ENDS, ("gate", "_gated", "_gate_json", "_write_results")),
    Target("recon.io.console.output", ENDS, OUTPUT),
    Target("recon.release.policies.checks", VERDICT),
    Target("recon.release.policies.facts", VERDICT),
    Target("recon.release.policies.assessing", VERDICT),
    Target("recon.release.auditing.facts", ("test_audit_facts.py", "test_output_checks.py", *VERDICT)),
    Target("encoders.encode.marginals", ("test_marginal_statements.py",)),
    Target("encoders.encode.encoder", ("test_marginal_statements.py",), ("figures_of",)),
    Target("solvers.engines.marginal_statements", ("test_marginal_statements.py",)),
    Target("solvers.engines.closed_form", ("test_separate_columns.py",)),
    Target("encoders.parts.linear", ("test_linear_statements.py",)),
    Target("recon.readers.formats.statistics.column_figures", COLUMNS),
    Target("solvers.engines.marginal_worlds", ("test_marginals.py",), ("pinned_beside", "of", "is_world")),
    Target("recon.release.remediation.thresholds", VERDICT, ("_limit", "outcomes", "_entry_of")),
    Target("recon.report.results", VERDICT, ("_outcome_of",)),
    Target("solvers.kernel.claims", KERNEL, everything=True),
    Target("solvers.kernel.proof_format", PROOFS, everything=True),
    Target("solvers.kernel.checker", PROOFS, everything=True),
    Target("solvers.kernel.removals", REMOVALS, everything=True),
    Target("solvers.kernel.located", REMOVALS, everything=True),
    Target("solvers.statements.row_problem", REMOVALS),
    Target("solvers.statements.boxes", REMOVALS, ("runs_of", "masks_of")),
    Target("solvers.kernel.cells", (*KERNEL, "test_fingerprint.py"), everything=True),
    Target("solvers.kernel.rup", KERNEL, everything=True),
    Target("solvers.cells.cutting", KERNEL, everything=True),
    Target("solvers.statements.observations", KERNEL, everything=True),
    Target("solvers.programs.dual_bounds", PROGRAMS),
    Target("solvers.programs.linear_program", PROGRAMS, ("bound", "refutation", "refutes")),
    Target("solvers.programs.linear_program", PROGRAMS, ("_by_program",)),
    Target("solvers.foundation.exact", PROGRAMS, ("exact_dot", "magnitude")),
    Target("solvers.programs.columns.master", DUALS, ("proof",)),
    Target("solvers.programs.concave.terms", DUALS),
    Target("solvers.programs.concave.local_search", DUALS, ("_outwards", "_summit")),
    Target("solvers.programs.cpsat", DUALS, ("rounded_bound",)),
    Target("solvers.programs.quickxplain", DUALS, ("_without_idle", "conflict_of")),
    Target("solvers.statements.questions.answers", ("test_guards_answers.py",)),
    Target("solvers.statements.noise.tails", ("test_noise.py",)),
    Target(
        "solvers.programs.interval.lagrangian_dual",
        COUNTS,
        ("bound_of", "_outward", "project", "_log_weights", "_prefix_sums", "_prefix"),
    ),
    Target("solvers.programs.interval.lagrangian_dual", COUNTS, ("whole_share", "pivot")),
    Target(
        "solvers.statements.regions.capture_bounds",
        COUNTS,
        ("_odds", "_fixed_point", "_share", "_space", "bound_plain"),
    ),
    Target("solvers.programs.interval.bracket", COUNTS, ("weight", "high", "low", "improve", "start")),
    Target("solvers.programs.interval.neighbourhoods", COUNTS, ("log2_ratio", "log2")),
    Target("solvers.programs.interval.bracket", COUNTS, ("_meets",)),
    Target("solvers.engines.cells", COUNTS, ("_add_logs",)),
    Target("solvers.tables.distances", ("test_distances.py",), ("even", "rounded", "bound_of")),
    Target("solvers.tables.widths", ("test_distances.py",), ("with_pair", "_fits", "_closed_width", "_searched")),
    Target("encoders.domain.bands", ("test_bands.py",)),
    Target("solvers.suppression.linked_cells", ("test_linked_cells.py",)),
    Target("solvers.suppression.intervals", ("test_linked_cells.py",)),
    Target(
        "solvers.suppression.patterns", ("test_suppression_patterns.py",), ("ends", "attackable", "cheapest_pattern")
    ),
    Target("solvers.suppression.rounding", ("test_suppression_patterns.py",), ("_audited",)),
    Target("encoders.models.related", RELATED, guards=True),
    Target("encoders.encode.typed_rows", RELATED, guards=True),
    Target("recon.queries.versions.difference", RELATED, guards=True),
    Target("solvers.kernel.alignment", ALIGNED),
    Target("recon.queries.certificates.aligning", ALIGNED, guards=True),
    Target("recon.queries.versions.positions", ALIGNED, guards=True),
    Target("recon.release.remediation.hiding", ("test_suppression_patterns.py",)),
)


PIPELINES = (
    "test_compositions.py", "test_prepared.py", "test_domain_ends.py", "test_missing.py", "test_sklearn_files.py",
)  # fmt: skip
BOOSTED = (
    "test_boosters.py", "test_boosted_lightgbm.py", "test_boosted_xgboost.py", "test_boosted_catboost.py",
    "test_boosted_sklearn.py", "test_catboost.py", "test_boosted_oracle.py", "test_boosting_release_file.py",
    "test_boosted_directions.py",
)  # fmt: skip
FACED = (
    "test_damaged_files.py",
    "test_refusals_of_files.py",
    "test_readers_cases.py",
    "test_reader_corpus.py",
)  # readers by what users see
FORMATS = "recon.readers.formats"
AUDITS = ("test_guards_audits.py", *VERDICT, "test_audit_facts.py", "test_reports.py", "test_review.py")
ROOMS = {  # room -> the tests that must notice what is changed in the guards of its modules
    f"{FORMATS}.boosters": (
        "test_guards_boosters.py", "test_yggdrasil.py", "test_ranger.py", "test_spark.py", "test_treelite.py",
        "test_h2o.py",
        *BOOSTED, *FACED
    ),
    f"{FORMATS}.drafts": (
        "test_guards_drafts.py", "test_guards_pmml.py", "test_guards_fitted.py", *FACED, *PIPELINES,
        "test_suggestions.py", "test_text_readers.py",
    ),
    f"{FORMATS}.pmml": ("test_guards_pmml.py", "test_pmml.py", *FACED),
    f"{FORMATS}.printed": (
        "test_guards_printed.py",
        "test_text_readers.py", "test_rpart_rds.py", "test_tree_solvers.py", "test_attaching.py", "test_ledger.py",
        "test_optimal_rule.py", "test_inspect.py", "test_suppression_patterns.py", "test_bands.py",
        "test_line_patterns.py", "test_console_tables.py", "test_rule_readers.py", "test_tables.py",
        "test_hierarchies.py", "test_true_reasons.py", *FACED
    ),
    f"{FORMATS}.release": (
        "test_guards_release_file.py",
        "test_converting.py", "test_boosting_release_file.py", "test_bad_input.py", "test_kinds.py", "test_missing.py",
        "test_learner_settings.py", "test_tree_arrays.py", "test_bags.py", "test_domain_ends.py", "test_versions.py",
        "test_known_columns.py", *FACED
    ),
    f"{FORMATS}.rules": (
        "test_guards_rules.py", "test_rule_readers.py", "test_attaching.py", "test_tree_solvers.py",
        "test_optimal_rule.py", "test_stored.py", *FACED
    ),
    f"{FORMATS}.sklearn": (
        "test_guards_sklearn.py", "test_guards_fitted.py", "test_guards_learners.py", "test_bags.py",
        "test_learner_settings.py", "test_generalised_models.py", *PIPELINES, "test_scikit_learn.py",
        "test_boosted_sklearn.py",
        "test_survival_trees.py", "test_stored_targets.py", "test_versions_folds.py", *FACED
    ),
    f"{FORMATS}.statistics": (
        "test_additive_models.py", "test_binning_tables.py", "test_naive_bayes.py", "test_itemsets.py",
        "test_survival_curves.py", "test_target_encoders.py", "test_guards_statistics.py", "test_model_cards.py",
        "test_prepared.py", "test_marginals.py", *FACED
    ),
    f"{FORMATS}.regressions": (
        "test_guards_statistics.py", "test_guards_regressions.py", "test_regressions.py", "test_generalised_models.py",
        "test_discriminants.py",
        *FACED
    ),
    f"{FORMATS}.tables": (
        "test_table_guards.py", "test_tables.py", "test_hierarchies.py", "test_status_tables.py", "test_magnitudes.py",
        "test_line_patterns.py",
        "test_published_tables.py", "test_linked_cells.py", "test_suppression_patterns.py"
    ),
    f"{FORMATS}.detection": (
        "test_guards_detection.py", *FACED, "test_text_readers.py", "test_bad_input.py", "test_boosters.py"
    ),
    "encoders.kinds": (
        "test_guards_kinds.py", "test_kinds.py", "test_bags.py", "test_noisy_oracle.py", "test_known_columns.py",
        "test_boosted_oracle.py", "test_midpoints.py", "test_against_oracle.py", "test_learner_facts.py",
        "test_properties.py", "test_bad_input.py", "test_damaged_files.py", "test_adversary.py",
    ),
    "recon.release.auditing": (
        *AUDITS, "test_people.py", "test_groups_audited.py", "test_exposed_rows.py", "test_facts.py",
        "test_position_groups.py",
        "test_converting.py", "test_not_understood.py", "test_groups_by_leaf_values.py", "test_headline.py",
        "test_noisy_commands.py", "test_stored_report.py", "test_commands.py", "test_infer.py", "test_reading_limits.py"
    ),
    "recon.release.policies": (
        *VERDICT, "test_output_checks.py", "test_magnitudes.py", "test_gate.py", "test_not_understood.py"
    ),
    "recon.release.registers": (
        "test_registers.py", "test_register_writers.py", "test_register_versions.py", "test_decision_log.py",
        "test_guards_releasing.py"
    ),
    "recon.release.remediation": (
        "test_guards_remedies.py", "test_remedies.py", "test_merging.py", "test_merged_copies.py",
        "test_magnitudes.py", "test_huge_counts.py", "test_suppression_patterns.py", "test_register_versions.py",
        *VERDICT
    ),
}  # fmt: skip


def targets() -> list[Target]:
    """Return the table and, of the modules of the rooms that it does not have, the guards."""
    known = {target.module for target in TARGETS}
    out = list(TARGETS)
    for room, tests in ROOMS.items():
        path = ROOT.joinpath(*room.split("."))
        files = sorted(path.rglob("*.py")) if path.is_dir() else [path_of(room)]
        modules = [".".join(file.relative_to(ROOT).with_suffix("").parts) for file in files if file.stem != "__init__"]
        out += [Target(module, tests, guards=True) for module in modules if module not in known]
    return out


# ---------------------------------------------------------------- mutations


@dataclass(frozen=True)
class Mutant:
    """A change of node `node` (in the order of `ast.walk`): its place and what becomes of it."""

    target: Target
    node: int
    option: int
    line: int
    end: int
    function: str
    before: str
    after: str
    rank: int = 0  # 0: what refuses, or a change that a target lists; 1: part of its condition; 2: another comparison

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


def gives_up(body: list[ast.stmt]) -> bool:
    """Tell whether statements end in a refusal, in nothing, in None or in "unknown"."""
    return any(
        isinstance(s, ast.Raise | ast.Continue) or (isinstance(s, ast.Return) and is_open(s.value)) for s in body
    )


def is_open(value: ast.expr | None) -> bool:
    """Tell whether a value says that something is not known."""
    return value is None or bool(re.search(r"\bNone\b|unknown", ast.unparse(value), re.IGNORECASE))


def guard_nodes(tree: ast.Module) -> dict[int, int]:
    """Return the id of every node of a guard and how it is one; see `Mutant.rank`."""
    out = {id(node): 2 for node in ast.walk(tree) if isinstance(node, ast.Compare)}
    for node in ast.walk(tree):
        if (isinstance(node, ast.If) and (gives_up(node.body) or gives_up(node.orelse))) or (
            isinstance(node, ast.IfExp) and (is_open(node.body) or is_open(node.orelse))
        ):
            out |= dict.fromkeys(map(id, ast.walk(node.test)), 1) | {id(node): 0}
    return out


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
    ranks = guard_nodes(tree) if target.guards else {}
    out = []
    for i, node, function in places(tree):
        wanted = not target.functions or set(function.split(".")) & set(target.functions)
        wanted = wanted and (not target.guards or id(node) in ranks)
        for k, made in enumerate(options(node)) if wanted and function else ():
            if not target.everything and not of_the_guard(node, made):
                continue
            words = [" ".join(ast.unparse(ast.fix_missing_locations(x)).split())[:90] for x in (node, made)]
            line = getattr(node, "lineno", 0) or getattr(getattr(node, "iter", None), "lineno", 0)
            end = getattr(node, "end_lineno", 0) or line
            if isinstance(node, ast.If) and isinstance(made, ast.If) and ast.unparse(made.test) == "False":
                line, end = (
                    node.body[0].lineno,
                    node.body[-1].end_lineno or line,
                )  # what does not come here sees nothing
            out.append(Mutant(target, i, k, line, end, function, *words, rank=ranks.get(id(node), 0)))
    return sorted(out, key=lambda m: m.line)


def keyed(mutants: Iterable[Mutant]) -> dict[str, Mutant]:
    """Return mutants by what they are called, those called alike with a number behind; no line is part of it."""
    seen, out = Counter[str](), {}
    for mutant in mutants:
        seen[str(mutant)] += 1
        out[f"{mutant} ({seen[str(mutant)]})" if seen[str(mutant)] > 1 else str(mutant)] = mutant
    return out


def path_of(module: str) -> Path:
    """Return the file of a module."""
    return ROOT.joinpath(*module.split(".")).with_suffix(".py")


def changed(mutant: Mutant) -> dict[str, Any]:
    """Return the names of a module that was made anew with the change."""
    path = path_of(mutant.target.module)
    tree = ast.parse(path.read_text(encoding="utf-8"))
    wanted = list(ast.walk(tree))[mutant.node]
    made = list(options(wanted))[mutant.option]

    class Change(ast.NodeTransformer):
        def visit(self, node: ast.AST) -> Any:
            return ast.copy_location(made, node) if node is wanted else self.generic_visit(node)

    module = types.ModuleType(mutant.target.module)
    sys.modules["mutated"] = module  # where dataclasses look for the names in their annotations
    module.__dict__.update(__name__="mutated", __file__=str(path))
    exec(compile(ast.fix_missing_locations(Change().visit(tree)), str(path), "exec"), module.__dict__)
    return module.__dict__


def functions_of(names: Mapping[str, Any], module: str, prefix: str = "") -> Iterator[tuple[str, types.FunctionType]]:
    """Yield (name, function) of all functions and methods that a module defines; forget what they remember."""
    for name, value in names.items():
        if isinstance(value, type) and value.__module__ == module:
            yield from functions_of(vars(value), module, f"{prefix}{name}.")
            continue
        if hasattr(value, "cache_clear"):
            value.cache_clear()
        for kind, inner in getattr(value, "registry", {}).items() if callable(value) else ():
            if inner.__module__ == module:  # of a function that goes by the type of its argument
                yield f"{prefix}{name}[{kind.__name__}]", inner
        inner = value
        for wrapper in ("fget", "func", "__func__", "__wrapped__"):
            inner = getattr(inner, wrapper, inner) if not isinstance(inner, types.FunctionType) else inner
        inner = inspect.unwrap(inner) if isinstance(inner, types.FunctionType) else inner  # of context managers
        if isinstance(inner, types.FunctionType) and inner.__module__ == module:
            yield prefix + name, inner


def give(mutant: Mutant) -> None:
    """Give the live functions of a module the changed code."""
    live = dict(functions_of(vars(sys.modules[mutant.target.module]), mutant.target.module))
    for name, made in functions_of(changed(mutant), "mutated"):
        if name in live:
            live[name].__code__, live[name].__defaults__ = made.__code__, made.__defaults__
            live[name].__kwdefaults__ = made.__kwdefaults__


# ---------------------------------------------------------------- runs


def reports_of(item: pytest.Item) -> list[pytest.TestReport]:
    """Run a test under its own filters of warnings, and return the reports of its parts."""
    with catch_warnings_for_item(config=item.config, ihook=item.ihook, when="runtest", item=item):
        return runtestprotocol(item, log=False, nextitem=None)


def traced(item: pytest.Item, paths: set[str]) -> tuple[bool, float, dict[str, list[int]]]:
    """Run a test; return whether it passed, its seconds of CPU, and the lines of some files that it ran."""
    lines: dict[str, set[int]] = {}

    def local(frame: Any, event: str, argument: Any) -> Any:
        lines[frame.f_code.co_filename].add(frame.f_lineno)
        return local

    def called(frame: Any, event: str, argument: Any) -> Any:
        path = frame.f_code.co_filename
        if path not in paths:
            return None
        lines.setdefault(path, set()).add(frame.f_lineno)
        return local

    begun = time.process_time()
    sys.settrace(called)
    try:
        passed = not any(r.failed for r in reports_of(item))
    finally:
        sys.settrace(None)
    return passed, time.process_time() - begun, {path: sorted(ran) for path, ran in lines.items()}


def forked(work: Callable[[], int], seconds: float) -> int:
    """Run in a fork without output; return the exit code, below 0 where it was killed (by a limit, say)."""
    sys.stdout.flush()
    if pid := os.fork():
        return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
    try:
        null = os.open(os.devnull, os.O_RDWR)
        for stream in (0, 1, 2) if not os.environ.get("MUTANTS_SHOW") else ():
            os.dup2(null, stream)
        resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
        resource.setrlimit(resource.RLIMIT_CPU, (math.ceil(seconds), math.ceil(seconds) + 1))
        signal.alarm(math.ceil(20 * seconds))  # asleep, or on a busy machine
        os._exit(work())
    except BaseException:  # also where the interpreter's own memory ends
        traceback.print_exc()
        os._exit(99)


class Runs:
    """A plugin of pytest: runs mutants where pytest would run its tests."""

    def __init__(self, chosen: Mapping[str, Mutant], found: dict[str, str], minutes: float, out: Path) -> None:
        self.chosen, self.found, self.until, self.out = chosen, found, time.monotonic() + 60 * minutes, out
        self.known: dict[tuple[str, ...], dict[str, tuple[float, dict[str, set[int]]]]] = {}
        self.run = list[str]()

    def pytest_runtestloop(self, session: pytest.Session) -> bool:
        """Run every mutant against the tests of its module."""
        items = {item.nodeid: item for item in session.items}
        reasons = explained()
        for name, mutant in self.chosen.items():
            if time.monotonic() > self.until:
                break
            tests = mutant.target.tests
            if tests not in self.known:
                self.known[tests] = self.baseline(tests, items)
            survives = self.survives(mutant, items)
            self.found[name] = "killed" if not survives else "explained" if why(mutant, reasons) else "open"
            self.run.append(name)
            if self.found[name] == "open":
                print(f"SURVIVED line {mutant.line}: {mutant}", flush=True)
            if len(self.run) % 20 == 0:
                self.save()
        self.save()
        return True

    def baseline(self, tests: tuple[str, ...], items: Mapping[str, pytest.Item]) -> dict[str, Any]:
        """Return, per test, its seconds and its lines of each module that it must notice; without those that fail."""
        mine = [item for item in items.values() if item.path.name in tests]
        modules = {m.target.module: path_of(m.target.module) for m in self.chosen.values() if m.target.tests == tests}
        for module in modules:
            importlib.import_module(module)
        digest = hashlib.sha256(repr((sorted(modules), [item.nodeid for item in mine])).encode())
        for path in (*modules.values(), *sorted({item.path for item in mine}), Path(__file__)):
            digest.update(path.read_bytes())
        self.out.parent.mkdir(exist_ok=True)
        out = self.out.parent / f"lines-{digest.hexdigest()[:16]}.json"

        def work() -> int:
            found = {item.nodeid: traced(item, set(map(str, modules.values()))) for item in mine}
            out.write_text(json.dumps(found))
            return 0

        if not out.exists() and forked(work, 1800):
            raise SystemExit(f"{', '.join(tests)} did not end")
        found = json.loads(out.read_text())
        failed = [name for name, (passed, _, _) in found.items() if not passed]
        if failed:
            print(f"without any change fail {', '.join(failed)}", flush=True)
        return {
            name: (cost, {path: set(lines) for path, lines in reached.items()})
            for name, (passed, cost, reached) in found.items()
            if passed and reached and name in items
        }

    def survives(self, mutant: Mutant, items: Mapping[str, pytest.Item]) -> bool:
        """Tell whether no test notices a mutant; of a room's tests the quickest that take `ENOUGH` together are run."""
        known, path = self.known[mutant.target.tests], str(path_of(mutant.target.module))
        lines = set(range(mutant.line, mutant.end + 1))
        reached = sorted(
            (name for name in known if known[name][1].get(path, set()) & lines), key=lambda name: known[name][0]
        )
        if mutant.target.guards:
            spent = itertools.accumulate(known[name][0] for name in reached)
            reached = [name for name, so_far in zip(reached, spent, strict=True) if so_far <= ENOUGH]

        def work() -> int:
            give(mutant)
            for name in reached:
                if any(r.failed for r in reports_of(items[name])):
                    return 1
            return 0

        return not reached or not forked(work, 5 + 5 * sum(known[name][0] for name in reached))

    def save(self) -> None:
        """Write what was found so far."""
        self.out.parent.mkdir(exist_ok=True)
        self.out.write_text(json.dumps(self.found, indent=1))


def sums(every: Mapping[str, Mutant], found: Mapping[str, str]) -> dict[str, Any]:
    """Return, per module, how many mutants there are, were run, killed and explained, and which are open."""
    reasons, out = explained(), dict[str, dict[str, Any]]()
    for name, mutant in every.items():
        one = out.setdefault(mutant.target.module, {"mutants": 0, "run": 0, "killed": 0, "explained": 0, "open": []})
        became = "explained" if found.get(name) == "open" and why(mutant, reasons) else found.get(name)
        one["mutants"] += 1
        one["run"] += became is not None
        if became == "open":
            one["open"].append(name.partition(": ")[2])
        elif became:
            one[became] += 1
    return {module: one for module, one in sorted(out.items()) if one["run"] or one["mutants"]}


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


def main() -> int:
    """Run all mutants, or those asked for, print what survives and return 1 where something is open."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--only", default="", help="a regular expression found in `module: function: change`")
    parser.add_argument("--again", action="store_true", help="only those that are open in --out")
    parser.add_argument("--resume", action="store_true", help="only those that are not in --out")
    parser.add_argument("--minutes", type=float, default=60.0)
    parser.add_argument("--share", default="1/1", help="i/n: every n-th mutant, from the i-th on")
    parser.add_argument("--rank", type=int, default=2, help="0: what refuses alone, 1: its conditions, 2: comparisons")
    parser.add_argument("-k", dest="tests", default="", help="ask these tests alone, as pytest names them")
    parser.add_argument("--list", action="store_true", help="print the mutants and run none")
    parser.add_argument("--write", action="store_true", help=f"put modules of --out into {RESULTS.name}, run none")
    parser.add_argument("--out", type=Path, default=ROOT / "build" / "mutants.json")
    given = parser.parse_args()
    found = json.loads(given.out.read_text(encoding="utf-8")) if given.out.exists() else {}
    named = [t for t in targets() if t.module.startswith(given.only) or not re.fullmatch(r"[\w.]*", given.only)]
    every = keyed(m for t in (targets() if given.write else named) for m in mutants_of(t))
    if given.write:
        found = {name: became for name, became in found.items() if name in every}
        before = json.loads(RESULTS.read_text(encoding="utf-8")) if RESULTS.exists() else {}
        before |= {module: one for module, one in sums(every, found).items() if one["run"]}
        text = json.dumps(dict(sorted(before.items())), indent=1, ensure_ascii=False)
        RESULTS.write_text(text + "\n", encoding="utf-8")
        return 0
    first, step = map(int, given.share.split("/"))
    names = [name for name, m in every.items() if re.search(given.only, name) and m.rank <= given.rank]
    names.sort(key=lambda name: every[name].rank)
    names = [
        name
        for name in names[first - 1 :: step]
        if not (given.again and found.get(name) != "open") and not (given.resume and name in found)
    ]
    if given.list:
        print(*names, sep="\n")
        return 0
    chosen = {name: every[name] for name in names}
    return run_mutants(chosen, found, given.minutes, given.out.resolve(), given.tests)


def run_mutants(chosen: dict[str, Mutant], found: dict[str, str], minutes: float, out: Path, asked: str = "") -> int:
    """Run mutants, print what survives and how many of each module; return 1 where something is open or left."""
    os.chdir(ROOT)
    sys.path.insert(0, str(ROOT))
    hypothesis.settings.register_profile("mutants", deadline=None, derandomize=True, database=None)
    hypothesis.settings.load_profile("mutants")
    runs, begun = Runs(chosen, found, minutes, out), time.monotonic()
    tests = sorted({f"tests/{name}" for m in chosen.values() for name in m.target.tests})
    flags = ["-m", "not long", "-q", "-p", "no:cacheprovider", "-p", "no:randomly", "--assert=plain", "--no-header"]
    flags += ["-k", asked] if asked else []
    pytest.main([*flags, *tests], plugins=[runs])
    for module, one in sums({name: chosen[name] for name in runs.run}, found).items():
        print(f"{module}: {one['run']} mutants, {one['killed']} killed, {one['explained']} explained, "
              f"{len(one['open'])} open")  # fmt: skip
    left = [name for name in runs.run if found[name] == "open"]
    minutes = (time.monotonic() - begun) / 60
    print(f"{len(runs.run)} of {len(chosen)} mutants tried in {minutes:.1f} minutes, {len(left)} open")
    return int(bool(left) or len(runs.run) < len(chosen))


if __name__ == "__main__":
    raise SystemExit(main())
