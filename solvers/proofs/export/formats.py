"""Files that other solvers read: an integer program as MPS, pseudo-Boolean (OPB) or CP-SAT model, clauses as DIMACS.

Every writer yields text line by line (CP-SAT: a model), in the same bytes for the same release. `about` are the
lines of the header, one line each.

Source: free MPS as HiGHS reads it (documentation of HiGHS, "MPS"); Roussel and Manquinho, "Input/output format and
solver requirements for the competitions of pseudo-Boolean solvers", 2016; cp_model.proto of OR-Tools 9.15; the model
counting competition's data format (Fichte, Hecher, Hamiti, JEA 26, 2021), whose projection lines are `c p show`.
"""

from __future__ import annotations

import tempfile
from array import array
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from solvers.cells.clauses.lowering import Lowered
from solvers.foundation.array_types import Ints
from solvers.foundation.displayed import escape_text
from solvers.foundation.errors import EngineError, Unsupported
from solvers.foundation.exact import DOUBLE
from solvers.proofs.export.integer_program import Constraint, IntegerProgram

if TYPE_CHECKING:
    import highspy
    from ortools.sat.python import cp_model

    from solvers.statements.observations import Observation

SHOWN = 10  # variables on a line of projection
CHUNK = 1 << 16  # entries looked at together
PIECE, DIGIT_BYTES = 1 << 10, 32  # terms of a line written together; a binary digit of a cell as text


def _one_line(text: str) -> str:
    """Return text that stays on its line, control and hidden characters as people see them everywhere."""
    return escape_text(text)


# ---------------------------------------------------------------- MPS


def mps_lines(program: IntegerProgram, about: Sequence[str]) -> Iterator[str]:
    """Yield free MPS: integer columns with both ends, two-sided rows by RANGES, no objective (the row "obj" is empty).

    Cost: the entries, held once as machine numbers because MPS goes by columns.
    """
    rows, row, column, coef = [], array("q"), array("q"), array("q")
    for i, one in enumerate(program.linear()):
        rows.append((one.name, one.low, one.high))
        row.extend([i] * len(one.columns))
        column.extend(one.columns)
        coef.extend(one.coefs)
    exact = all(-DOUBLE <= x <= DOUBLE for _, low, high in rows for x in (low, high) if x is not None)
    if not exact or any(not -DOUBLE <= x <= DOUBLE for x in coef):
        about = [*about, "Some numbers are beyond 2^53: exact here, rounded by solvers in double precision."]
    yield from (f"* {_one_line(line)}\n" for line in about)
    yield "NAME recon\nROWS\n N obj\n"
    for name, low, high in rows:
        kind = "E" if low == high else "L" if low is None else "G"
        yield f" {kind} {name}\n"
    yield "COLUMNS\n MARKER 'MARKER' 'INTORG'\n"
    entries = (np.frombuffer(x, dtype=np.int64) if len(x) else np.zeros(0, dtype=np.int64) for x in (row, column, coef))
    yield from _column_lines([name for name, _, _ in rows], program.names, *entries)
    yield " MARKER 'MARKER' 'INTEND'\nRHS\n"
    for name, low, high in rows:
        yield f" RHS {name} {high if low is None else low}\n"
    yield "RANGES\n"
    for name, low, high in rows:
        if low is not None and high is not None and low != high:
            yield f" RNG {name} {high - low}\n"
    yield "BOUNDS\n"
    for i, name in enumerate(program.names):
        upper = program.upper(i)
        yield f" UP BND {name} {upper}\n" if upper else f" FX BND {name} 0\n"
    yield "ENDATA\n"


def _column_lines(rows: Sequence[str], names: Sequence[str], row: Ints, column: Ints, coef: Ints) -> Iterator[str]:
    """Yield the entries column by column, rows in order."""
    order = np.argsort(column, kind="stable")
    for i in range(0, len(order), CHUNK):
        at = order[i : i + CHUNK]
        for r, c, a in zip(row[at].tolist(), column[at].tolist(), coef[at].tolist(), strict=True):
            yield f" {names[c]} {rows[r]} {a}\n"


# ---------------------------------------------------------------- OPB


def _digits_of(program: IntegerProgram) -> int:
    """Return how many binary digits stand for a cell's number of rows, at least one."""
    return max(1, program.maximum.bit_length())


def opb_variables(program: IntegerProgram, column: int) -> list[tuple[int, int]]:
    """Return what a variable of the program is: pairs (weight, number of the binary variable), the least digit first.

    Selectors are binary themselves and come behind the digits of all cells.
    """
    width = _digits_of(program)
    if column >= program.cells:
        return [(1, program.cells * width + column - program.cells + 1)]
    return [(1 << b, column * width + b + 1) for b in range(width)]


def opb_lines(program: IntegerProgram, about: Sequence[str]) -> Iterator[str]:
    """Yield a pseudo-Boolean problem without objective: binary digits per cell, every constraint with its source.

    Long lines come in pieces. Raises `TooLarge` before the digits are written.

    A cell's digits are at most the number of rows, so that solutions and histograms correspond one to one.
    """
    width, names = _digits_of(program), len(program.names)
    program.hold(program.cells * width * DIGIT_BYTES)
    bounded = program.maximum < (1 << width) - 1
    number, variables = bounded * program.cells, program.cells * width + names - program.cells
    for one in program.linear():
        number += one.sides if one.columns else int(_fails(one))
        variables = max(variables, int(not one.columns and _fails(one)))
    yield f"* #variable= {variables} #constraint= {number}\n"
    yield from (f"* {_one_line(line)}\n" for line in about)
    units = [_term(program, c, 1) for c in range(names)]  # most coefficients are 1
    for c in range(program.cells if bounded else 0):
        yield _term(program, c, -1) + f">= {-program.maximum} ;\n"
    source_of = program.sources()
    for one in program.linear():
        if one.statement is not None:
            yield f"* {one.name}: {_one_line(source_of(one.statement))}\n"
        if not one.columns:
            if _fails(one):
                yield "+1 x1 >= 2 ;\n"  # no live cell is left to meet the statement: the format wants a variable
            continue
        if one.low is not None:
            yield from _terms(program, one, 1, units)
            yield f"= {one.low} ;\n" if one.low == one.high else f">= {one.low} ;\n"
        if one.high is not None and one.low != one.high:
            yield from _terms(program, one, -1, units)
            yield f">= {-one.high} ;\n"


def _term(program: IntegerProgram, column: int, coef: int) -> str:
    """Return a variable with its coefficient, in binary digits."""
    return "".join(f"{coef * w:+} x{x} " for w, x in opb_variables(program, column))


def _terms(program: IntegerProgram, one: Constraint, sign: int, units: Sequence[str]) -> Iterator[str]:
    """Yield the sum of a constraint piece by piece."""
    for i in range(0, len(one.columns), PIECE):
        pairs = zip(one.columns[i : i + PIECE], one.coefs[i : i + PIECE], strict=True)
        yield "".join(units[c] if sign * a == 1 else _term(program, c, sign * a) for c, a in pairs)


def _fails(one: Constraint) -> bool:
    """Return whether a constraint on no variable fails: 0 is not between its ends."""
    return (one.low is not None and one.low > 0) or (one.high is not None and one.high < 0)


# ---------------------------------------------------------------- CP-SAT


def cpsat_model(program: IntegerProgram, about: Sequence[str]) -> cp_model.CpModel:
    """Return a CP-SAT model with named variables; alternatives are enforced by their selectors, without big-M.

    The header is the model's name. Raises `Unsupported` where sums are too large for CP-SAT.
    """
    from ortools.sat.python import cp_model

    from solvers.programs.cpsat import state

    model = cp_model.CpModel()
    model.proto.name = "\n".join(_one_line(line) for line in about)
    for i, name in enumerate(program.names):
        model.new_int_var(0, program.upper(i), name)
    for one in program.constraints():
        state(model, one.columns, one.coefs, (one.low, one.high), one.selector, one.name)
    if wrong := model.validate():
        raise Unsupported(f"CP-SAT refuses the model: {_one_line(wrong)}")
    return model


def cpsat_bytes(program: IntegerProgram, about: Sequence[str], *, text: bool) -> Iterator[bytes]:
    """Yield a CP-SAT model (CpModelProto), binary or as text."""
    model = cpsat_model(program, about)
    if text:
        yield f"{model.proto}\n".encode()
        return
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "model.pb"  # OR-Tools writes to a path only
        if not model.export_to_file(str(path)):
            raise EngineError("CP-SAT could not write its model")
        yield path.read_bytes()


# ---------------------------------------------------------------- HiGHS


def highs_model(program: IntegerProgram, about: Sequence[str], seen: Sequence[Observation] = ()) -> highspy.Highs:
    """Return the linear relaxation as a HiGHS model: no variable is whole, alternatives are stated by big-M.

    `seen`: noisy figures, each with two columns, n<statement>_over and _under, for what was published above and below
    the count; least is the sum of both over the scale of the noise, 0 cost otherwise.
    """
    import highspy

    lines = list(program.linear())
    rows: list[tuple[str, float | None, float | None, list[int], list[int]]] = [
        (one.name, one.low, one.high, list(one.columns), list(one.coefs)) for one in lines
    ]
    names, upper = list(program.names), [float(program.upper(i)) for i in range(len(program.names))]
    cost = [0.0] * len(names)
    linear = program.system.linear
    for o in seen:
        span = slice(int(linear.start[o.statement]), int(linear.start[o.statement + 1]))
        columns, at = linear.col[span].tolist(), len(names)
        names += [f"n{o.statement}_over", f"n{o.statement}_under"]
        upper += [highspy.kHighsInf] * 2
        cost += [1.0 / float(o.law.scale)] * 2
        published = float(o.published)
        coefs = [*linear.coef[span].tolist(), 1, -1]
        rows.append((f"n{o.statement}", published, published, [*columns, at, at + 1], coefs))
    lp = highspy.HighsLp()
    lp.model_name_ = "; ".join(map(_one_line, about))
    lp.num_col_, lp.num_row_ = len(names), len(rows)
    lp.col_names_, lp.row_names_ = names, [row[0] for row in rows]
    lp.col_cost_, lp.col_lower_, lp.col_upper_ = np.array(cost), np.zeros(len(names)), np.array(upper)
    lp.row_lower_ = np.array([-highspy.kHighsInf if low is None else float(low) for _, low, _, _, _ in rows])
    lp.row_upper_ = np.array([highspy.kHighsInf if high is None else float(high) for _, _, high, _, _ in rows])
    lp.a_matrix_.format_ = highspy.MatrixFormat.kRowwise
    lp.a_matrix_.start_ = np.cumsum([0, *(len(row[3]) for row in rows)]).astype(np.int32)
    lp.a_matrix_.index_ = np.array([c for row in rows for c in row[3]], dtype=np.int32)
    lp.a_matrix_.value_ = np.array([a for row in rows for a in row[4]], dtype=np.float64)
    model = highspy.Highs()
    model.silent()
    if model.passModel(lp) == highspy.HighsStatus.kError:
        raise Unsupported("HiGHS refuses the model")
    return model


# ---------------------------------------------------------------- DIMACS


def clause_comments(lowered: Lowered, about: Sequence[str]) -> Iterator[str]:
    """Yield comments for model counters: projections in both spellings, then what each variable means."""
    yield from (f"c {_one_line(line)}\n" for line in about)
    shown = lowered.projection()
    yield "c t mc\n"
    yield "c p show " + "".join(f"{x} " for x in shown) + "0\n"
    for i in range(0, len(shown), SHOWN):
        yield "c ind " + "".join(f"{x} " for x in shown[i : i + SHOWN]) + "0\n"
    yield from (f"c map {_one_line(line)}\n" for line in lowered.comments())


def dimacs_lines(lowered: Lowered, about: Sequence[str]) -> Iterator[str]:
    """Yield DIMACS: comments for model counters, then clauses."""
    yield from clause_comments(lowered, about)
    yield f"p cnf {lowered.variables} {len(lowered.clauses)}\n"
    for clause in lowered.clauses:
        yield " ".join(map(str, clause)) + " 0\n"


# ---------------------------------------------------------------- files


def as_utf8(lines: Iterable[str]) -> Iterator[bytes]:
    """Yield text as UTF-8."""
    return (line.encode() for line in lines)
