"""The table of docs/readers.md: each row has files that are read as it says, or refused with advice that works."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pandas as pd
import pytest
from sklearn.datasets import load_iris

import recon
from recon.frames.true_rows import violations
from solvers.foundation.errors import ReconError

HERE = Path(__file__).parent
CORPUS = HERE / "corpus"
IRIS = ("part.txt", "partykit.txt", "rtree.txt", "c50_rules.txt", "plot_tree.txt")  # printed of Fisher's 150 flowers


def corpus(name: str, *changes: tuple[str, str]) -> bytes:
    """Return a file of the corpus, with texts replaced."""
    content = (CORPUS / name).read_bytes()
    for old, new in changes:
        assert old.encode() in content
        content = content.replace(old.encode(), new.encode())
    return content


@dataclass(frozen=True)
class Case:
    """A file of a row: what it is read as (format, kind, rows), or why it is refused and what follows the advice."""

    row: str
    file: str | Callable[[], bytes]
    form: str = ""
    kind: str = ""
    rows: int | None = None
    refused: str = ""
    instead: Callable[[], bytes] | None = None

    @property
    def id(self) -> str:
        """Return the row and the file."""
        return f"{self.row}: {self.file if isinstance(self.file, str) else self.kind or self.refused}"

    @property
    def content(self) -> bytes:
        """Return the bytes of the file."""
        return corpus(self.file) if isinstance(self.file, str) else self.file()


C50_TREE, J48_TREE, PARTY = "C5.0, printed tree", "Weka J48, printed tree", "R partykit, printed tree"
CASES = (
    Case("Weka J48, PART", "j48_nominal.txt", J48_TREE, "exact", 14),
    Case("Weka J48, PART", "part.txt", "Weka PART, printed rules", "size", 150),
    Case("Weka J48, PART", lambda: corpus("part.txt", ("/1.0", ""), ("/3.0", "")),
         "Weka PART, printed rules", "exact", 150),
    Case("Weka J48, PART", "j48_held_out.txt", refused="150 cases and its leaves have 100",
         instead=lambda: corpus("j48_held_out.txt", ("34.0", "50.0"), ("66.0/32.0", "100.0/50.0"))),
    Case("Weka J48, PART", lambda: corpus("part.txt", ("48.0/1.0", "47.6/1.0")), refused="fractions of rows",
         instead=lambda: corpus("part.txt")),
    Case("C5.0", "c50_apart.txt", C50_TREE, "size", 74),
    Case("C5.0", "c50_boost.txt", C50_TREE, "size", 150),
    Case("C5.0", "c50_rules.txt", "C5.0, printed rules", "size", 150),
    Case("C5.0", "c50_sets.txt", refused="some levels of an ordered factor",
         instead=lambda: corpus("c50_sets.txt", ("Pclass in [2-1]", "Pclass in {2,1}"))),
    Case("R partykit", "partykit.txt", PARTY, "size", 150),
    Case("R partykit", "partykit_mean.txt", PARTY, "size", 192),
    Case("R partykit", "partykit_weighted.txt", refused="counts weights, no rows: fit it without weights",
         instead=lambda: corpus("partykit_weighted.txt", ("(w =", "(n ="))),
    Case("R tree", "rtree.txt", "R tree, printed text", "exact", 150),
    Case("R tree", "rtree_reprex.txt", "R tree, printed text", "exact", 150),
    Case("scikit-learn, printed or drawn", "plot_tree.txt", "scikit-learn, plot_tree", "exact", 150),
    Case("scikit-learn, printed or drawn", "graphviz_0.14.dot", "scikit-learn, export_graphviz", "exact", 150),
)  # fmt: skip


def loaded(content: bytes, folder: Path, **options: object) -> recon.Release:
    """Return the release that a file with this content is read as."""
    path = folder / "file"
    path.write_bytes(content)
    return recon.load(path, **options)


@pytest.mark.parametrize("case", CASES, ids=[case.id for case in CASES])
def test_a_row_of_the_table_is_read_or_refused_as_it_says(case, tmp_path):
    if case.refused:
        with pytest.raises(ReconError) as error:
            loaded(case.content, tmp_path)
        assert case.refused in str(error.value)
        assert case.instead is None or loaded(case.instead(), tmp_path).models
        return
    release = loaded(case.content, tmp_path)
    origin = release.models[0].origin
    assert (origin.format, origin.counts[0]) == (case.form, case.kind)
    assert release.rows.low == case.rows


@pytest.mark.parametrize("file", IRIS)
def test_the_flowers_that_a_text_was_printed_of_are_among_its_worlds(file, tmp_path):
    flowers = load_iris(as_frame=True)
    columns = ["Sepal.Length", "Sepal.Width", "Petal.Length", "Petal.Width"]
    frame = flowers.data.set_axis(columns, axis=1)
    names = flowers.target_names[flowers.target]
    frame["label"] = flowers.target if file == "plot_tree.txt" else names
    domain = recon.Domain.from_frame(frame, label="label")
    release = loaded(corpus(file), tmp_path, domain=domain)
    assert not list(violations(release, frame))
    assert recon.bound(release, {"label": domain.all[-1].value(0)}).min <= 50


def test_lines_that_do_not_fit_are_no_end_of_a_tree(tmp_path):
    with pytest.raises(recon.ReleaseError, match="no branch of a printed tree"):
        loaded(corpus("j48_nominal.txt", ("outlook = overcast: yes (4.0)", "outlook: overcast yes")), tmp_path)
    with pytest.raises(recon.ReleaseError, match="SubTree"):
        loaded(corpus("c50_apart.txt", ("SubTree [S1]", "SubTree [S2]")), tmp_path)


def test_a_class_that_no_leaf_predicts_may_have_the_rows_of_others(tmp_path):
    frame = pd.DataFrame({"x": [1] * 50 + [2] * 100, "label": ["a"] * 50 + ["b"] * 50 + ["c"] * 50})
    domain = recon.Domain.from_frame(frame, label="label")
    tree = b"J48 pruned tree\n------------------\n\nx <= 1: a (50.0)\nx > 1: b (100.0/50.0)\n\n"
    rules = b"PART decision list\n------------------\n\nx <= 1: a (50.0)\n\n: b (100.0/50.0)\n"
    for content in (tree, rules):
        release = loaded(content, tmp_path, domain=domain)
        assert not list(violations(release, frame))
        assert (recon.bound(release, {"label": "c"}).max, recon.bound(release, {"label": "a"}).min) == (50, 50)
