"""Rows revised against the trees that changed, compiled: what `propagation.vectorised.revise` does, on packed words."""

from __future__ import annotations

import numpy as np

from solvers.foundation.array_types import Bits, Ints
from solvers.positions.assignments.compiled.bits import NONE, ONE, compiled, has_any, lowest
from solvers.positions.assignments.propagation.state import DomainState
from solvers.positions.assignments.propagation.tables import ProblemTables
from solvers.statements.meetings import Words

CHECKED = 8  # values taken together before it is looked whether all is met


@compiled
def met_by(tables: ProblemTables, row: Words, s: int, met: Words) -> bool:
    """Store in `met` what the values left in tree s meet; return whether that misses something of the row."""
    met[:] = NONE
    taken = 0
    for w in range(tables.word[s], tables.word[s + 1]):
        bits = row[w]
        while bits != NONE:
            v = tables.value[s] + (w - tables.word[s]) * 64 + lowest(bits)
            bits &= bits - ONE
            met |= tables.meet[v]
            taken += 1
            if taken % CHECKED == 0:
                missing = False
                for x in range(len(row)):
                    if row[x] & ~met[x] != NONE:
                        missing = True
                        break
                if not missing:
                    return False
    return True


@compiled
def miss_common_parts(tables: ProblemTables, row: Words, pending: Bits) -> bool:
    """Remove the values that miss, in some attribute, the parts that all trees leave; note the trees that lost."""
    width = tables.parts.shape[1]
    common, own = np.empty(width, dtype=np.uint64), np.empty(width, dtype=np.uint64)
    common[:] = ~NONE
    for t in range(len(tables.most)):
        own[:] = NONE
        some = False
        for w in range(tables.word[t], tables.word[t + 1]):
            bits = row[w]
            while bits != NONE:
                own |= tables.parts[tables.value[t] + (w - tables.word[t]) * 64 + lowest(bits)]
                bits &= bits - ONE
                some = True
        if some:
            common &= own
    lost = False
    for t in range(len(tables.most)):
        for w in range(tables.word[t], tables.word[t + 1]):
            bits = row[w]
            while bits != NONE:
                low = bits & (~bits + ONE)
                v = tables.value[t] + (w - tables.word[t]) * 64 + lowest(bits)
                bits &= bits - ONE
                for k in range(len(tables.part) - 1):
                    shared = NONE
                    for x in range(tables.part[k], tables.part[k + 1]):
                        shared |= tables.parts[v, x] & common[x]
                    if shared == NONE:
                        row[w] &= ~low
                        pending[t] = lost = True
                        break
    return lost


@compiled
def revised_row(tables: ProblemTables, state: DomainState, i: int, met: Words) -> bool:
    """Revise a row to its fixpoint; return whether every tree that saw it has a value left."""
    if len(tables.meet) == 0:
        return True
    row, trees = state.words[i], len(tables.most)
    pending = state.changed[i].copy()
    while True:
        while pending.any():
            for s in range(trees):
                if not pending[s]:
                    continue
                pending[s] = False
                if not met_by(tables, row, s, met):
                    continue
                for t in range(trees):
                    lost = False
                    for w in range(tables.word[t], tables.word[t + 1]):
                        if row[w] & ~met[w] != NONE:
                            row[w] &= met[w]
                            lost = True
                    if lost:
                        pending[t] = state.counts[t] = state.flows[t] = True
                        if not has_any(row, tables.word[t], tables.word[t + 1]):
                            return False
        if tables.parts.shape[1] == 0 or not miss_common_parts(tables, row, pending):
            return True
        for t in range(trees):
            if pending[t]:
                state.counts[t] = state.flows[t] = True
                if not has_any(row, tables.word[t], tables.word[t + 1]):
                    return False


@compiled
def revise_rows(tables: ProblemTables, state: DomainState, rows: Ints) -> tuple[Ints, bool]:
    """Revise rows; see `vectorised.revise`."""
    found, count = np.empty(len(rows), dtype=np.int64), 0
    met, before = np.empty(state.words.shape[1], dtype=np.uint64), np.empty(state.words.shape[1], dtype=np.uint64)
    for i in rows:
        before[:] = state.words[i]
        alive = revised_row(tables, state, i, met)
        state.changed[i, :] = False
        for w in range(len(before)):
            if before[w] != state.words[i, w]:
                found[count] = i
                count += 1
                break
        if not alive:
            return found[:count], True
    return found[:count], False
