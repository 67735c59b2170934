"""The models that exist inside, handed out: CP-SAT by cells or by rows, clauses, the linear relaxation, the graph.

Source: Ferry et al., SaTML 2024 and ICML 2024 (x[row, attribute], clauses, relaxations); docs/own-solver.md.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from encoders.encode.encoder import EncodedRelease
from recon.models.graphs import interaction_graph
from recon.models.mapping import Mapping, about_cells, about_rows, title
from recon.queries.answers.counting import convention_of
from recon.queries.noisy.denoising import certain_release
from recon.readers.loading.loading import Released, release_of
from recon.readers.loading.settled import strengthened_release
from solvers.foundation.errors import ReleaseError, TooLarge, Unsupported
from solvers.foundation.limits import Limits
from solvers.proofs.export.formats import clause_comments, cpsat_model, highs_model
from solvers.proofs.export.integer_program import IntegerProgram, row_sizes
from solvers.proofs.export.world_rows import ClauseForm
from solvers.statements.gradients.linear_sums import with_stated_sums
from solvers.statements.observations import observations
from solvers.statements.release import Release

if TYPE_CHECKING:
    import highspy
    from networkx import Graph
    from ortools.sat.python import cp_model
    from pysat.formula import CNF


def cpsat(
    release: Released, by: str = "cells", convention: str | None = None, limits: Limits | None = None
) -> tuple[cp_model.CpModel, Mapping]:
    """Return a CP-SAT model whose solutions are the possible worlds, and what they mean.

    By "cells" a solution is a histogram, and `Mapping.weight` says for how many worlds it stands in each convention. By
    "rows" x[row, attribute] is the number of a value (0: the first of the domain), and the number of solutions is the
    number of worlds in the convention (by default as `recon.count` has it): `multiset` sorts rows, `assigned` fixes
    them to their leaves. Raises `ReleaseError` for another `by`, `Unsupported` where the model cannot be stated
    (`TooLarge`, with its size, before it is built), `Inconclusive` when time is up. Cost: linear in the entries; by
    rows, rows times regions.
    """
    release, limits = _with_settled_partition(release, limits), limits or Limits()
    if by not in ("cells", "rows"):
        raise ReleaseError(f"there is no model by '{by}': choose cells or rows")
    chosen = None if by == "cells" and convention is None else convention_of(release, convention)
    if by == "cells":
        mapping = mapping_of(release, "cpsat", None, limits)
        assert isinstance(mapping.form, IntegerProgram)
        return cpsat_model(mapping.form, mapping.about), mapping
    from solvers.proofs.export.integer_program import RowProgram

    rows = RowProgram(release.statements, chosen or "ordered", limits)
    mapping = Mapping(release, rows, (*title(release, "cpsat by rows"), *about_rows(release, rows.worlds)))
    rows.model.proto.name = "\n".join(mapping.about)
    if wrong := rows.model.validate():
        raise Unsupported(f"CP-SAT refuses the model: {wrong.splitlines()[0]}")
    return rows.model, mapping


def cnf(release: Released, convention: str = "ordered", limits: Limits | None = None) -> tuple[CNF, Mapping]:
    """Return clauses as a CNF of python-sat, one model per world of the convention, and what they mean.

    `Mapping.projection` names the variables that a model is determined by; all others are functions of them, so that
    counts with and without projection agree. Each is in some clause: SAT solvers leave others out of their models. The
    CNF's comments say the same to counters that read files. Raises `Unsupported` where rows cannot be written out
    (`TooLarge`, with the size, before they are). Cost: rows times boxes.
    """
    from pysat.formula import CNF

    release, limits = _with_settled_partition(release, limits), limits or Limits()
    mapping = mapping_of(release, "dimacs", convention, limits)
    form = mapping.form
    assert isinstance(form, ClauseForm)
    made = CNF()
    made.nv, made.clauses = form.lowered.variables, [list(clause) for clause in form.lowered.clauses]
    made.comments = [line.rstrip("\n") for line in clause_comments(form.lowered, mapping.about)]
    return made, mapping


def lp(release: Released, noise: str = "intervals", limits: Limits | None = None) -> tuple[highspy.Highs, Mapping]:
    """Return the linear relaxation over cells as a HiGHS model, and what its variables mean.

    Noisy counts stand in their joint "intervals", or, with "slacks", anywhere at a cost: each has one column for what
    was published above its count and one for what was below, and least is their sum over the scale of the noise (of
    Laplace noise the negative log-likelihood but for a constant). Exact releases have no costs: set some and maximise.
    Raises `ReleaseError` for another `noise`, `Unsupported` and `Inconclusive` as `cpsat`.
    """
    release, limits = _with_settled_partition(release, limits), limits or Limits()
    if noise not in ("intervals", "slacks"):
        raise ReleaseError(f"noise is not modelled by '{noise}': choose intervals or slacks")
    if noise == "slacks":
        if not release.noisy:
            raise ReleaseError("no count of the release carries noise: there are no slacks")
        release = replace(release, statements=certain_release(release, limits))
    release = _with_sums(release, limits)
    program = IntegerProgram.of(release.statements, limits)
    seen = observations(release.statements) if noise == "slacks" else ()
    about = (*title(release, "lp"), *about_cells(release, program, relaxed=True))
    model = highs_model(program, about, seen)
    return model, Mapping(
        release,
        program,
        about,
        relaxed=True,
        further=tuple(f"n{o.statement}_{side}" for o in seen for side in ("over", "under")),
    )


def graph(release: Released, nodes: str = "attributes", limits: Limits | None = None) -> Graph[str]:
    """Return the interaction graph of the attributes or of the cells of a release; its `about` says what is drawn.

    It is that of what was published: what leaf values prove beside is not in it. Raises `ReleaseError` for other
    nodes, `TooLarge` where the graph does not fit, `ContradictionError` where no cell is left.
    """
    release, limits = release_of(release, limits), limits or Limits()
    return interaction_graph(release, nodes, title(release, "graphml"), limits).graph


def mapping_of(release: EncodedRelease, to: str, convention: str | None, limits: Limits) -> Mapping:
    """Return what the variables of an exported file mean: clauses of a convention for dimacs, else a program of cells.

    Raises `Unsupported` and `Inconclusive` as `cpsat` and `cnf`.
    """
    try:
        if to == "dimacs":
            form = ClauseForm.of(release.statements, convention_of(release, convention or "ordered"), limits)
            return Mapping(release, form, (*title(release, to), *about_rows(release, form.rows)))
        release = _with_sums(release, limits)
        program = IntegerProgram.of(release.statements, limits)
        return Mapping(release, program, (*title(release, to), *about_cells(release, program)))
    except TooLarge as error:
        raise TooLarge(f"{error}{_row_models(release.statements, to)}") from None


def _row_models(release: Release, to: str) -> str:
    """Return how large the models row by row are, which need no cells, as the end of a refusal."""
    if release.rows.high is None or release.coarse:
        return ""
    if release.domain.relative:
        return "; row by row no cells are needed, but a declared domain is (--domain)"
    clauses, literals = (f"{size / (1 << 30):,.1f} GB" for size in row_sizes(release))
    other = "" if to == "dimacs" else f"--to dimacs takes at most about {clauses} (--memory), "
    return f"; row by row {other}recon.models.cpsat(release, by='rows') about {literals}"


def _with_settled_partition(release: Released, limits: Limits | None) -> EncodedRelease:
    """Return the release with what its leaf values prove: the settled partition is one of its statements."""
    return strengthened_release(release_of(release, limits), limits)


def _with_sums(release: EncodedRelease, limits: Limits) -> EncodedRelease:
    """Return the release with the sums of gradients that nothing was proved from as statements, where these are few."""
    if not release.statements.boosted or release.noisy:
        return release
    return replace(release, statements=with_stated_sums(release.statements, limits))
