"""A release in a file that other solvers read, with the map back: what every variable and constraint means.

Whoever doubts an answer asks a solver of his own: `export` writes the integer program over the cells (MPS, OPB,
CP-SAT) or the clauses row by row (DIMACS), `restored` turns a solution of the file into rows.

Source: docs/mathematics.md, "Cells and histograms"; docs/own-solver.md.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from recon.io.files.pieces import write_all
from recon.models.constraint_models import mapping_of
from recon.models.exporting.maps import demand_same, map_lines, read_map
from recon.models.exporting.solutions import from_digits, read_solution
from recon.models.graphs import interaction_graph
from recon.models.meaning import title
from recon.readers.frames.world import World
from recon.readers.loading.asking import Released, release_of
from recon.readers.loading.settled import settled_release
from solvers.foundation.errors import ReleaseError
from solvers.foundation.limits import Limits
from solvers.proofs.export.clauses import ClauseForm
from solvers.proofs.export.formats import cpsat_bytes, dimacs_lines, encoded, mps_lines, opb_lines
from solvers.proofs.export.integer_program import IntegerProgram

FORMATS = ("mps", "opb", "cpsat", "dimacs")
GRAPH = "graphml"
UNITS = {False: ("variables", "constraints"), True: ("nodes", "edges")}  # of what is written; is it a graph?
TEXT = (".pbtxt", ".txt")


@dataclass(frozen=True, slots=True)
class Exported:
    """What was written: the file and its map (None where there is none), how large, and what to know about it.

    Of a graph, `variables` are its nodes and `constraints` its edges.
    """

    path: str
    map: str | None
    variables: int
    constraints: int
    about: tuple[str, ...]


def export(
    release: Released,
    to: str,
    out: str,
    limits: Limits | None = None,
    nodes: str = "attributes",
    convention: str | None = None,
) -> Exported:
    """Write a release for other programs: `to` is mps, opb, cpsat, dimacs or graphml, `out` a path or - for stdout.

    Beside a file stands `OUT.map.json`, but for graphml, which says itself what it shows: the interaction graph of the
    `nodes`, attributes or cells. A name ending in .gz is compressed; CP-SAT models are binary, or text where the name
    ends in .pbtxt or .txt, and need a file. `convention`: of dimacs, `ordered` unless said otherwise. What leaf values
    prove is stated too. The same release gives the same bytes. Raises `ReleaseError` for an unknown format or an
    unwritable path, `Unsupported` where the format cannot hold the release (`TooLarge`: --max-cells, --memory),
    `Inconclusive` when time is up; then nothing is written. Cost: linear in the entries.

    >>> import pandas as pd
    >>> import recon
    >>> rows = pd.DataFrame({"smoker": [0, 0, 1, 1], "old": [0, 1, 0, 1], "ill": [0, 0, 0, 1]})
    >>> model = recon.GreedyRuleListClassifier(max_length=2).fit(rows[["smoker", "old"]], rows["ill"])
    >>> release = recon.encode(model, recon.Domain.from_frame(rows, "ill"))
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     found = recon.export(release, "mps", f"{folder}/release.mps")
    >>> found.variables, found.constraints
    (3, 4)
    """
    limits = limits or Limits()
    release = release_of(release, limits)
    if to not in (*FORMATS, GRAPH):
        raise ReleaseError(f"there is no format '{to}': choose {', '.join((*FORMATS, GRAPH))}")
    if out == "-" and to == "cpsat":
        raise ReleaseError("a CP-SAT model is not printed: give a file that ends in .pb or .pbtxt")
    if convention is not None and to != "dimacs":
        raise ReleaseError(f"a file of format '{to}' is the same in every convention: leave 'convention' out")
    if to == GRAPH:
        drawn = interaction_graph(release, nodes, title(release, to), limits)
        size, about = (drawn.graph.number_of_nodes(), drawn.graph.number_of_edges()), drawn.about
        body, beside_it = encoded(drawn.lines()), None
    else:
        mapping = mapping_of(settled_release(release, limits), to, convention, limits)
        about = (*mapping.about, beside(out))
        if isinstance(mapping.form, ClauseForm):
            lowered = mapping.form.lowered
            size, body = (lowered.variables, len(lowered.clauses)), encoded(dimacs_lines(lowered, about))
        else:
            assert isinstance(mapping.form, IntegerProgram)
            size = len(mapping.form.names), mapping.form.number
            body = program_bytes(mapping.form, to, out, about)
        beside_it = encoded(map_lines(mapping, to, about))
    limits.report(f"writing {size[0]:,} {UNITS[to == GRAPH][0]}, {size[1]:,} {UNITS[to == GRAPH][1]} to {out}")
    if out == "-":
        sys.stdout.writelines(line.decode() for line in body)
        return Exported(out, None, *size, about)
    beside_file = {} if beside_it is None else {f"{out}.map.json": beside_it}
    write_all({out: body, **beside_file}, limits)
    return Exported(out, next(iter(beside_file), None), *size, about)


def restored(release: Released, map_path: str, solution_path: str, limits: Limits | None = None) -> World:
    """Return the rows that a solution of an exported file stands for.

    The solution is a file of what solvers print (docs/own-solver.md). Raises `ReleaseError` where
    the map is none or that of another release, and where the solution is none or breaks a statement, which it names.
    """
    limits = limits or Limits()
    release = settled_release(release_of(release, limits), limits)
    found = read_map(map_path)
    to, convention = found.get("format"), found.get("convention")
    if to not in FORMATS or not isinstance(convention, str | None):
        raise ReleaseError(f"is no map of an export: its format is {to!r}", file=map_path)
    mapping = mapping_of(release, to, convention, limits)
    demand_same(mapping, found, to, map_path)
    solution = read_solution(solution_path, mapping, to)
    if to == "opb":
        assert isinstance(mapping.form, IntegerProgram)
        solution = from_digits(mapping.form, solution)
    try:
        return mapping.world(solution)
    except ReleaseError as error:
        raise error.at(file=solution_path) from None


def program_bytes(program: IntegerProgram, to: str, out: str, about: Sequence[str]) -> Iterator[bytes]:
    """Return an integer program in a format, piece by piece."""
    if to == "cpsat":
        return cpsat_bytes(program, about, text=out.removesuffix(".gz").endswith(TEXT))
    return encoded((mps_lines if to == "mps" else opb_lines)(program, about))


def beside(out: str) -> str:
    """Return the header's line on the map."""
    if out == "-":
        return "without a map: it is written beside files only"
    return "the map, what variables and constraints mean, stands beside this file: its name and .map.json"
