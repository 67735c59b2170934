"""Files and fitted models in, one encoded release out."""

from __future__ import annotations

import os
import pickle
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import TYPE_CHECKING, Any, Protocol, TypeAlias

from encoders.domain.domain import Domain
from encoders.encode.encoder import CONFIDENCE, EncodedRelease, confidence_level
from encoders.encode.encoder import encode as encode_models
from encoders.models.models import AnyModel, Provenance, Tree
from encoders.models.related import RelatedDataSets
from recon.io.files.opening import (
    MEMORY,
    TableOptions,
    budget_within,
    current,
    file_and_number,
    read_bytes,
    table_options,
    table_read_as,
)
from recon.io.files.sheets import is_table
from recon.readers.formats.detection import draft_of_object, read_draft
from recon.readers.formats.drafts.binding import Binder
from recon.readers.formats.drafts.drafts import (
    OTHERS,
    SUBSET,
    Draft,
    guess_domain,
    with_class_columns,
    with_classes,
    with_own_names,
)
from recon.readers.formats.release import reading
from recon.readers.stored.pickled.stored_files import gunzip, open_stored
from solvers.foundation.displayed import quote
from solvers.foundation.errors import ContradictionError, Inconclusive, ReleaseError, Unsupported
from solvers.foundation.limits import Limits, collector_paused
from solvers.foundation.parallel.pieces import STARTING, completed

if TYPE_CHECKING:
    from encoders.encode.joining import PublishedFile
    from recon.readers.loading.known_positions import Table


BY_NAME = (
    "files were joined by the names of attributes and label: what is called differently counts as different (--domain)"
)
NODE = 500  # bytes of a node and of what is encoded of it: conditions, cells, counts


@collector_paused()
def load(
    *paths: str | os.PathLike[str],
    domain: Domain | str | None = None,
    confidence: float | Fraction = CONFIDENCE,
    memory: int | None = None,
    limits: Limits | None = None,
    known_columns: Table | None = None,
    label: str | None = None,
    from_forest: bool = False,
    rows: int | None = None,
    related: RelatedDataSets | None = None,
    table: TableOptions | None = None,
) -> EncodedRelease:
    """Return the release in a file of any supported format, recognised by its content; nothing in it is run.

    `domain` (or a file with one) replaces the file's own; without it, that of a model file is guessed from what the
    model tests, and every answer says so. `confidence` in (0, 1] is that of the joint intervals around noisy counts (no
    effect on exact ones). `limits`: memory that reading may take (1 GB, or the least of it and `memory` in bytes) and
    time. Several files (`paths`) are one joined release of the same rows. `known_columns`: a table (or its path) with
    the features of everybody, which an adversary knows; `label` is its name for the label: see
    `recon.readers.loading.known_positions.with_known_columns`. `from_forest`: what scikit-learn's export_text printed
    is one tree of a bootstrap forest. `rows`: how many there are, for files of shares that do not say it (the declared
    number stays what the files say). `related`: the data sets that the files are of, in their order, where no file says
    them (`recon.versions`). `table`: what is said of tables of counts (`recon.TableOptions`). Raises `ReleaseError` for
    malformed files, naming file, place and value, and for files that are too large, `Unsupported` for models that are
    not read, `ContradictionError` where no number of rows fits all of them, `Inconclusive` where the time is up.

    >>> import json
    >>> import tempfile
    >>> from pathlib import Path
    >>> import recon
    >>> domain = {"attributes": [{"name": "old", "values": [0, 1]}], "label": {"name": "ill", "values": [0, 1]}}
    >>> nodes = [{"if": {"old": 0}, "then": 1, "else": 2}, {"counts": [2, 0]}, {"counts": [0, 1]}]
    >>> models = [{"kind": "tree", "nodes": nodes}]
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = Path(folder, "tree.json")
    ...     size = path.write_text(json.dumps({"recon": 1, "domain": domain, "models": models}))
    ...     release = recon.load(path)
    >>> release
    <EncodedRelease: tree of 3 nodes, 3 rows, 1 attribute, label 'ill'>
    """
    said = table or TableOptions()
    if table is table_options() and said.sheet is not None:  # of a command, whose other tables may be spreadsheets
        said = replace(said, sheet=None)
    with budget_within(memory, limits) as budget, table_read_as(table):
        before = budget.own
        if known_columns is None:
            release = _loaded(paths, domain, confidence, from_forest, rows, related, said)
        else:
            release = _loaded_beside(known_columns, label, paths, domain, confidence, from_forest, rows, related, said)
        taken, trees = before - budget.own, [tree.nodes for tree in _trees(release.models)]
        if trees:  # what is large lasts as long as the first tree
            budget.keep(trees[0], taken if known_columns is not None else NODE * sum(map(len, trees)), taken)
        return release


def _loaded_beside(
    known_columns: Table, label: str | None, paths: tuple[str | os.PathLike[str], ...], domain: Domain | str | None,
    confidence: float | Fraction, from_forest: bool, rows: int | None, related: RelatedDataSets | None,
    said: TableOptions,
) -> EncodedRelease:  # fmt: skip
    """Return the release of files beside what is known of everybody; see `load`."""
    from recon.readers.loading.known_positions import known_table, widened, with_known_columns  # with pandas

    known = known_table(known_columns)
    release = _loaded(paths, domain, confidence, from_forest, rows, related, said, (known, label))
    wider = widened(release, known, label)
    if wider is not release.domain:
        if "-" in paths:
            raise ReleaseError("standard input (-) can be read once: save the model, or declare a domain")
        release = _loaded(paths, wider, confidence, from_forest, rows, known=(known, label))
    return with_known_columns(release, known, label)


def _trees(models: Iterable[AnyModel]) -> Iterator[Tree]:
    """Yield the trees of models."""
    return (tree for model in models for tree in model.members())


def _take_nodes(models: Iterable[AnyModel]) -> None:
    """Take the bytes that the nodes of models need, encoded."""
    current().bytes(NODE * sum(len(tree.nodes) for tree in _trees(models)), "what its models publish")


def _loaded(
    paths: tuple[str | os.PathLike[str], ...], domain: Domain | str | None, confidence: float | Fraction,
    from_forest: bool = False, rows: int | None = None, related: RelatedDataSets | None = None,
    said: TableOptions | None = None, known: tuple[Any, str | None] | None = None,
) -> EncodedRelease:  # fmt: skip
    if not paths:
        raise ReleaseError("no file was given")
    if odd := [type(path).__name__ for path in paths if not isinstance(path, (str, os.PathLike))]:
        raise ReleaseError(f"a path is needed, not a {odd[0]}")
    declared = read_domain(domain) if isinstance(domain, str) else domain
    if declared is not None and not isinstance(declared, Domain):
        raise ReleaseError(f"domain is a Domain or a path, not a {type(declared).__name__}: see Domain.from_frame")
    files = [os.fspath(path) for path in paths]
    if related is not None and len(related.datasets) != len(files):
        raise ReleaseError(f"{len(files)} files for {len(related.datasets)} data sets: one each is needed")
    if len(files) > 1:
        if from_forest:
            raise Unsupported("--from-forest is for one text of one tree: convert each to a release file first")
        return _load_several(files, declared, confidence, rows, related, said, known)
    found = (read_file(files[0]).of_forest() if from_forest else read_file(files[0])).of_rows(rows, known)
    refuse_unheeded([found], said)
    part, notes = found.published(declared), found.reader_notes
    del found  # what was parsed of a large file is larger than its models
    _take_nodes(part.models)
    try:
        release = encode_models(part.domain, part.models, part.rows, part.file, confidence, part.related)
    except ReleaseError as error:
        raise error.at(file=part.file) from None
    except ContradictionError as error:
        raise ContradictionError(f"{part.file}: {error}", error.conflict) from None
    return replace(release, sha256=part.sha256, files=(part.file,), hashes=(part.sha256,), reader_notes=notes)


def _load_several(
    files: Sequence[str],
    declared: Domain | None,
    confidence: float | Fraction,
    rows: int | None,
    related: RelatedDataSets | None = None,
    said: TableOptions | None = None,
    known: tuple[Any, str | None] | None = None,
) -> EncodedRelease:
    """Return the release that several files make together, all of the same rows; see `encoders.encode.joining.join`.

    With `related` file i is of data set i. Models without a name are numbered over all files.
    """
    from encoders.encode.joining import join
    from recon.readers.formats.statistics.model_card import CardDraft

    if files.count("-") > 1:
        raise ReleaseError("standard input (-) can be read once, not twice")
    every = [one.of_rows(rows, known) for one in _read_files(files)]
    cards = [(one.content, one.path, one.sha256) for one in every if isinstance(one.content, CardDraft)]
    read = [one for one in every if not isinstance(one.content, CardDraft)]
    refuse_unheeded(read, said)
    several, first, parts = sum(one.models for one in read) > 1, 0, []
    for one in read:
        parts.append(one.published(declared, first, several))
        first += one.models
    _refuse_subsets(parts)
    if related is not None:
        if cards:
            raise Unsupported(f"{cards[0][1]}: a model card is not taken beside files of several data sets")
        parts = [_of_dataset(part, one.name) for part, one in zip(parts, related.datasets, strict=True)]
    parts += [card.published(parts, declared, rows, path, sha256) for card, path, sha256 in cards]
    if declared is None and any(isinstance(one.content, Draft) for one in read):
        parts[0] = replace(parts[0], domain=replace(parts[0].domain, notes=(*parts[0].domain.notes, BY_NAME)))
    if declared is not None:  # what was matched by names stands in the parts' notes
        declared = replace(declared, notes=tuple(dict.fromkeys(n for part in parts for n in part.domain.notes)))
    for part in parts:
        _take_nodes(part.models)
    release = join(parts, declared, confidence_level(confidence), related)
    return replace(release, reader_notes=tuple(dict.fromkeys(s for one in read for s in one.reader_notes)))


def versions(
    releases: Sequence[Released] | Mapping[str, Released],
    relations: RelatedDataSets | Mapping[str, Any],
    limits: Limits | None = None,
) -> EncodedRelease:
    """Return the joint release of models of related data sets: release (or file) i is about data set i.

    `releases`: one for each data set in their order, or by the names of those that have one. `relations`: `{"datasets":
    [...], "relations": [...]}` as in a release file. Every question is then about rows of all data sets, or of those
    named by `of` ("removed", a name). Raises `ReleaseError` for relations that cannot hold, `ContradictionError` where
    the numbers of rows do not fit them.

    >>> import pandas as pd
    >>> import recon
    >>> rows = pd.DataFrame({"smoker": [0, 0, 1, 1], "old": [0, 1, 0, 1], "ill": [0, 0, 0, 1]})
    >>> domain, learner = recon.Domain.from_frame(rows, "ill"), recon.GreedyRuleListClassifier
    >>> fitted = [learner().fit(r[["smoker", "old"]], r["ill"]) for r in (rows, rows.head(3))]
    >>> some = [recon.encode(one, domain) for one in fitted]
    >>> datasets = [{"name": "march"}, {"name": "april", "from": "march", "removed": 1, "added": 0}]
    >>> both = recon.versions(some, {"datasets": datasets})
    >>> recon.certify(both, [{"ill": 1}], of="removed")["verdict"].tolist()
    ['certain']
    """
    from encoders.encode.joining import PublishedFile, join

    related = relations if isinstance(relations, RelatedDataSets) else reading.related_of(dict(relations))
    if isinstance(releases, Mapping):
        if strange := [name for name in releases if name not in related.number]:
            raise ReleaseError(f"there is no data set '{strange[0]}': declared are {', '.join(related.number)}")
        named = {one.name: releases[one.name] for one in related.datasets if one.name in releases}
    elif len(releases) == len(related.datasets):
        named = {one.name: release for one, release in zip(related.datasets, releases, strict=True)}
    else:
        raise ReleaseError(f"{len(releases)} releases for {len(related.datasets)} data sets: one each is needed")
    opened, parts = [release_of(one, limits) for one in named.values()], []
    for i, (release, name) in enumerate(zip(opened, named, strict=True)):
        if release.known is not None or release.facts is not None or release.beside is not None:
            raise Unsupported("what is known of everybody, or of the learner, is not taken beside related data sets")
        part = PublishedFile(
            release.file or f"release {i}", release.sha256, release.domain, release.models, release.declared,
            release.related,
        )  # fmt: skip
        parts.append(_of_dataset(part, name))
    with budget_within(limits=limits):
        level = max(release.statements.confidence or CONFIDENCE for release in opened)
        found = join(parts, None, level, replace(related, stated=True))
    return replace(found, reader_notes=tuple(dict.fromkeys(s for one in opened for s in one.reader_notes)))


def _of_dataset(part: PublishedFile, name: str) -> PublishedFile:
    """Return a file whose models are all of one data set; `ReleaseError` where it says otherwise itself."""
    if part.related is not None or any(model.dataset not in ("", name) for model in part.models):
        raise ReleaseError("says itself which data sets it is of: ask about it alone", file=part.file)
    named = (model.name if name in model.name else f"{name}: {model.name}" for model in part.models)
    models = (replace(model, dataset=name, name=own) for model, own in zip(part.models, named, strict=True))
    return replace(part, models=tuple(models))


def _read_files(files: Sequence[str]) -> list[ReadFile]:
    """Return what files publish, read on several processes where there are some: those of the budget's limits.

    Each then takes its part of the budget's memory; what it took is taken from the budget too.
    """
    budget = current()
    if budget.time is None or budget.time.workers <= 1 or "-" in files:
        return [read_file(path) for path in files]
    limits = replace(budget.time, memory=budget.left, cluster=None)
    found = {}
    asked = [(path, table_options()) for path in files]
    for k, (one, took) in completed(read_apart, asked, limits, what="files", alone=STARTING):
        budget.bytes(took, files[k])
        found[k] = one
    return [found[k] if k in found else read_file(path) for k, path in enumerate(files)]


def read_apart(asked: tuple[str, TableOptions], limits: Limits) -> tuple[ReadFile, int]:
    """Return what a file publishes, and the bytes that it took where no other budget knows of them."""
    path, options = asked
    with budget_within(limits=limits) as budget, table_read_as(options):
        return read_file(path), budget.limit - budget.own if budget.above is None else 0


def refuse_unheeded(read: Sequence[ReadFile], said: TableOptions | None) -> None:
    """Refuse what is said of tables (None: nothing is) where none of the files is the table that it is about."""
    if said is None or said == TableOptions():
        return
    drafts = [one.content for one in read if isinstance(one.content, Draft)]
    tables = [draft for draft in drafts if draft.origin.understood]
    if not tables:
        many = f"{read[0].path} is none" if len(read) == 1 else "none of the files is one"
        raise ReleaseError(f"what is said of a table of counts has no effect: {many}: leave the option out")
    columns = dict.fromkeys(feature.name for draft in tables for feature in draft.features)
    if why := said.without_effect(frozenset().union(*(draft.heeded for draft in tables)), list(columns)):
        raise ReleaseError(why, file=read[0].path if len(read) == 1 else "")


def _refuse_subsets(parts: Sequence[PublishedFile]) -> None:
    """Refuse to join what is about a part of the rows (folds), or other rows: others are not about the same rows."""
    for part in parts:
        notes = [note for m in part.models if m.origin is not None for note in m.origin.notes]
        for begin, said in ((SUBSET, "an unknown part of the training rows"), (OTHERS, "other rows")):
            if any(note.startswith(begin) for note in notes):
                raise Unsupported(f"{part.file}: about {said}: it is joined with nothing")


@dataclass(frozen=True)
class ReadFile:
    """One file as it was read: a release file's parts, or the draft of anything else."""

    path: str
    sha256: str
    content: reading.ReleasePart | Draft

    @property
    def models(self) -> int:
        """Return how many models it publishes (a draft: one, whatever it becomes)."""
        return 1 if isinstance(self.content, Draft) else len(self.content.models)

    @property
    def reader_notes(self) -> tuple[str, ...]:
        """Return what its reader has to say about it."""
        return self.content.reader_notes if isinstance(self.content, Draft) else ()

    @property
    def understood(self) -> tuple[str, ...]:
        """Return how a table of counts was understood, a line per thing; () of anything else."""
        if not isinstance(self.content, Draft) or not self.content.origin.understood:
            return ()
        told = self.content.origin.understood
        return (*told, *(note for note in self.content.reader_notes if note not in told))

    def of_forest(self) -> ReadFile:
        """Return the file as one tree of a bootstrap forest; `Unsupported` where it is not text of one tree."""
        draft = self.content if isinstance(self.content, Draft) else Draft(Provenance("", ()), ())
        try:
            return replace(self, content=draft.of_forest())
        except Unsupported as error:
            raise Unsupported(f"{self.path}: {error}") from None

    def of_rows(self, rows: int | None, known: tuple[Any, str | None] | None = None) -> ReadFile:
        """Return the file where the number of rows is said, or everybody's columns are (a table, its label's name)."""
        if not isinstance(self.content, Draft):
            return self
        try:
            content = self.content if rows is None else self.content.of_rows(rows)
            if known is not None:
                content = content.of_known(known[0], known[1] or content.label)
            return replace(self, content=content)
        except ReleaseError as error:
            raise error.at(file=self.path) from None
        except ContradictionError as error:
            raise ContradictionError(f"{self.path}: {error}", error.conflict) from None

    def published(self, declared: Domain | None, first: int = 0, several: bool | None = None) -> PublishedFile:
        """Return the models over the declared domain, else the file's own or a guessed one."""
        from encoders.encode.joining import PublishedFile

        try:
            if isinstance(self.content, Draft):
                domain, models = bind_draft(self.content, declared)
                related = related_of(self.content)
                return PublishedFile(self.path, self.sha256, domain, models, self.content.rows, related)
            part = self.content
            own = declared if declared is not None else reading.to_domain(part.domain)
            found = tuple(reading.to_models(part, first, several))
            related = reading.to_related(part)
            return PublishedFile(self.path, self.sha256, own, found, reading.to_rows(part), related)
        except ReleaseError as error:
            raise error.at(file=self.path) from None
        except ContradictionError as error:
            raise ContradictionError(f"{self.path}: {error}", error.conflict) from None


def read_file(path: str, memory: int | None = None, limits: Limits | None = None) -> ReadFile:
    """Return what a file publishes ("-": standard input); `ReleaseError` naming it where it cannot be read.

    `memory` (bytes) and `limits` bound it beside the budget that it draws on: see `recon.io.files.opening`.
    """
    number = None
    try:
        with budget_within(memory, limits) as budget:
            file, number = file_and_number(path)
            data, sha256 = read_bytes(file, once=True)
            draft = read_draft(data, budget.left)
            if draft is not None:
                return ReadFile(path, sha256, draft.chosen(number, path))
            if number is not None:
                raise Unsupported(f"holds one release: give it without #{number}")
            data = gunzip(data, budget.left)
            return ReadFile(path, sha256, reading.parse(data, path))
    except ReleaseError as error:
        raise error.at(file=path) from None
    except Unsupported as error:
        raise Unsupported(f"{path}: {error}") from None
    except Inconclusive as error:
        raise Inconclusive(f"{path}: {error}") from None


def related_of(draft: Draft) -> RelatedDataSets | None:
    """Return the data sets that the models of a draft are of, None for those of one."""
    from recon.readers.formats.sklearn.pipelines.pipeline import SeveralDraft

    return draft.related if isinstance(draft, SeveralDraft) else None


def bind_draft(draft: Draft, declared: Domain | None) -> tuple[Domain, tuple[AnyModel, ...]]:
    """Return the domain of a draft (guessed where none is declared), and its models over it."""
    draft.refuse_alone()
    draft = draft if declared is None else draft.over(declared)
    domain = guess_domain(draft) if declared is None else with_class_columns(draft, declared)
    draft, domain = with_own_names(draft, domain)
    known = {*domain.place, *domain.columns}
    cannot = tuple(one for one in draft.impossible if known.issuperset(name for name, _ in one))
    domain = replace(domain, impossible=tuple(dict.fromkeys((*domain.impossible, *cannot)))) if cannot else domain
    with collector_paused():
        binder = Binder(draft, domain)
        return domain, with_classes(draft.bound(binder), draft, binder)


def encode(model: Any, domain: Domain) -> EncodedRelease:
    """Return the release of a fitted model in memory: scikit-learn, imodels, CORELS, LightGBM or a list of ours.

    `domain` says which rows can exist; with a domain read off the training data every figure says so. The model is
    pickled and then read like a file. Raises as `load`.

    >>> import pandas as pd
    >>> import recon
    >>> rows = pd.DataFrame({"smoker": [0, 0, 1, 1], "old": [0, 1, 0, 1], "ill": [0, 0, 0, 1]})
    >>> model = recon.GreedyRuleListClassifier(max_length=2).fit(rows[["smoker", "old"]], rows["ill"])
    >>> release = recon.encode(model, recon.Domain.from_frame(rows, "ill"))
    >>> release
    <EncodedRelease: rule list of 2 rules, 4 rows, 2 attributes, label 'ill'>
    """
    if not isinstance(domain, Domain):
        raise ReleaseError(f"domain is a Domain, not a {type(domain).__name__}: see Domain.from_frame")
    if hasattr(model, "to_model"):
        if domain.label is None:
            raise ReleaseError("a classifier needs a domain with a label")
        values = [domain.label.value_at(i) for i in range(domain.label.known[1])]
        return encode_models(domain, [model.to_model(label_values=values)])
    draft = draft_of(model)
    found, models = bind_draft(draft, domain)
    release = encode_models(found, models, draft.rows, related=related_of(draft))
    return replace(release, reader_notes=draft.reader_notes)


def _is_streed(model: object) -> bool:
    """Return whether an object looks like a fitted classifier of pystreed."""
    return type(model).__module__.startswith("pystreed") and type(model).__name__ == "STreeDClassifier"


def models_of(model: Any, domain: Domain) -> tuple[AnyModel, ...]:
    """Return what a fitted model in memory publishes, over the domain."""
    return bind_draft(draft_of(model), domain)[1]


def draft_of(model: Any) -> Draft:
    """Return what a fitted model in memory publishes; `Unsupported` for what is not read."""
    if isinstance(model, Draft):
        return model
    if _is_streed(model):  # cannot be pickled
        from recon.readers.formats.rules.streed import of_model

        return of_model(model)
    try:
        data = pickle.dumps(model, protocol=5)
    except Exception as error:  # whatever a foreign class raises when it cannot be pickled
        raise Unsupported(f"a {type(model).__name__} is not read: it cannot be pickled ({error})") from None
    stored = open_stored(data, max(4 * len(data), MEMORY))  # it is in memory already
    if stored is None:
        raise Unsupported(f"a {type(model).__name__} is not read")
    return draft_of_object(stored.root, "in memory")


def read_domain(
    path: str,
    label: str | None = None,
    independent: bool = False,
    limits: Limits | None = None,
    lenient: bool = False,
    grid: bool = False,
) -> Domain:
    """Return the domain of a release or model file, or read one off data (.csv, .csv.gz, .parquet).

    `label`: the name of the label column of data; by default the last column, which it is as well for data without
    that column if `lenient`. `independent`: binary columns are bits of their own. `limits`: memory and time of reading.
    `grid`: columns of few numbers that are far apart can be any number between, too.
    """
    with budget_within(limits=limits):
        return _read_domain(path, label, independent, lenient, grid)


def _read_domain(path: str, label: str | None, independent: bool, lenient: bool, grid: bool) -> Domain:
    if not is_table(path):
        content = read_file(path).content
        try:
            found = guess_domain(content) if isinstance(content, Draft) else reading.to_domain(content.domain)
            return found.as_columns() if independent else found
        except ReleaseError as error:
            raise error.at(file=path) from None
    from recon.readers.frames.selections import numbers_of, read_table

    table = read_table(path)
    frame, said = numbers_of(table), table.attrs.get("note")
    try:
        if not len(frame.columns):
            raise ReleaseError("the file is empty")
        last = str(frame.columns[-1])
        named = last if label is None or (lenient and label not in frame.columns) else label
        found = Domain.from_frame(frame, label=named, independent=independent, grid=grid)
        return found if said is None else replace(found, notes=(*found.notes, f"{os.path.basename(path)}: {said}"))
    except ReleaseError as error:
        raise error.at(file=path) from None


WITH_DOMAIN = "recon.encode(model, domain), with domain = recon.Domain.from_frame(df, label=...) or a declared one"
NEEDED = "give a release (recon.load, recon.encode), the path of a file or a fitted model"
DATA = {"pandas", "numpy", "polars", "pyarrow", "scipy"}  # libraries whose objects hold rows
NAME = 60  # characters of a type's name
OURS = {"recon", "encoders", "solvers"}


class FittedModel(Protocol):
    """A fitted model of any library: something that predicts."""

    @property
    def predict(self) -> Any:
        """Return what predicts."""


Released: TypeAlias = EncodedRelease | str | os.PathLike[str] | FittedModel


def release_of(thing: Released, limits: Limits | None = None) -> EncodedRelease:
    """Return the release that a question is asked about: itself, a file's (`recon.load`) or a fitted model's.

    The domain of files without one, and of models in memory, is guessed from what the model tests; every answer says
    so. Nothing is kept: for several questions about one file or model, load or encode it once. `limits`: time and
    memory of reading, out of those of the question. Raises `ReleaseError` or `Unsupported`, saying what to do, for what
    is not a release, and what `recon.load` raises. Cost: none for a release, else that of loading.
    """
    if isinstance(thing, EncodedRelease):
        return thing
    if isinstance(thing, (str, os.PathLike)):
        return load(thing, limits=limits)
    if why := _no_model(thing):
        raise Unsupported(f"{why}: {NEEDED}")
    with budget_within(limits=limits):
        return _model_release(thing)


def of_one_data_set(release: EncodedRelease, whole: bool = False) -> EncodedRelease:
    """Return the release; `Unsupported` where its models are of several data sets, which few questions know.

    `whole`: whether the question takes models of parts of one data set too (folds, sites and their union).
    """
    if release.related is not None and not (whole and release.related.whole):
        names = ", ".join(release.related.number)
        raise Unsupported(
            f"the models are of several data sets ({names}): ask this of the models of each by themselves, and compare "
            "two versions with recon difference"
        )
    return release


def single_release_of(thing: Released, limits: Limits | None = None, whole: bool = False) -> EncodedRelease:
    """Return the release that a question is asked about that is of one data set: see `release_of`."""
    return of_one_data_set(release_of(thing, limits), whole)


def _no_model(thing: object) -> str:
    """Return why something cannot be a fitted model, in words; "" where it may be one."""
    if isinstance(thing, type):
        return f"{quote(thing.__name__, NAME)} is a class, not a fitted model"
    if isinstance(thing, Draft) or hasattr(thing, "predict") or hasattr(thing, "to_model") or _is_streed(thing):
        return ""
    name, package = _kind_of(thing), type(thing).__module__.partition(".")[0]
    if isinstance(thing, (list, tuple, set)) and thing and all(isinstance(x, (str, os.PathLike)) for x in thing):
        return f"{name} of paths is not a release (recon.load(*paths) makes one of several files)"
    if package in DATA:
        return f"{name} holds data, not what was released about them"
    return f"{name} is not a release" if package in {*OURS, "builtins"} else ""


def _kind_of(thing: object) -> str:
    """Return the name of a value's type, with its article."""
    name = quote(type(thing).__name__, NAME)
    return f"{'an' if name[:1] in 'AEIOUaeio' else 'a'} {name}"


def _model_release(model: Any) -> EncodedRelease:
    """Return the release of a fitted model, read as its file would be, over the domain that it says or lets guess."""
    if hasattr(model, "to_model"):
        raise ReleaseError(f"{_kind_of(model)} does not say which values its columns have: ask about {WITH_DOMAIN}")
    try:
        draft = draft_of(model)
        domain, models = bind_draft(draft, None)
        found = encode_models(domain, models, draft.rows, related=related_of(draft))
    except ReleaseError as error:
        if "--domain" in str(error):
            raise ReleaseError(f"{error}; of a model in memory ask about {WITH_DOMAIN}") from None
        raise error.at(file=_kind_of(model)) from None
    return replace(found, reader_notes=draft.reader_notes)
