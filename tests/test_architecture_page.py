"""docs/architecture.md is true: its rooms, their order, and every module, file and command that it names."""

import ast
import re
from pathlib import Path

import pytest

import recon.cli.app
from solvers.engines.chain import iter_statuses

ROOT = Path(__file__).parent.parent
PAGE = "\n".join((ROOT / "docs" / page).read_text(encoding="utf-8") for page in ("architecture.md", "extending.md"))
PACKAGES = ("solvers", "encoders", "recon")
QUOTED = re.findall(r"`([^`\n]+)`", re.sub(r"^```.*?^```", "", PAGE, flags=re.DOTALL | re.MULTILINE))
DRAWN = re.findall(
    r"\b(?:solvers|encoders|recon)(?:\.\w+)+", " ".join(re.findall(r"```mermaid(.*?)```", PAGE, re.DOTALL))
)


def rooms(package):
    """Return the rooms of a package, modules at its top among them, each with its purpose."""
    found = {f"{package}.{path.parent.name}": path for path in sorted((ROOT / package).glob("*/__init__.py"))}
    for path in sorted((ROOT / package).glob("*.py")):
        if not path.stem.startswith("__"):
            found[f"{package}.{path.stem}"] = path
    return {name: purpose(path) for name, path in found.items()}


def purpose(path):
    text = ast.get_docstring(ast.parse(path.read_text(encoding="utf-8"))) or ""
    return text.split("\n\n")[0].replace("\n", " ")


def table(package):
    """Return the rooms that the page lists for a package, in its order, each with its purpose."""
    part = PAGE.split(f"<!-- rooms of {package} -->")[1].split("\n\n")[0]
    return dict(re.findall(r"^\| `([\w.]+)` \| (.*) \|$", part, re.MULTILINE))


@pytest.mark.parametrize("package", PACKAGES)
def test_every_room_is_listed_with_its_purpose(package):
    assert table(package) == rooms(package)


@pytest.mark.parametrize("package", PACKAGES)
def test_rooms_stand_in_an_order_that_imports_obey(package):
    grimp = pytest.importorskip("grimp")
    graph = grimp.build_graph(package, exclude_type_checking_imports=False, cache_dir=None)
    order = [name for name in table(package) if name.count(".") == 1]
    for i, low in enumerate(order):
        for high in order[:i]:
            upward = graph.find_shortest_chains(importer=low, imported=high, as_packages=True)
            assert not upward, f"{low} stands below {high} and imports it: {upward}"


def exists(name):
    """Return whether a dotted name is a module or room, or something that a module defines at its top."""
    path = ROOT.joinpath(*name.split("."))
    if path.is_dir() or path.with_suffix(".py").exists():
        return True
    module = path.parent / "__init__.py" if path.parent.is_dir() else path.parent.with_suffix(".py")
    if not module.exists():
        return False
    tree = ast.parse(module.read_text(encoding="utf-8"))
    names = {getattr(node, "name", "") for node in tree.body}
    names |= {
        t.id for node in tree.body if isinstance(node, ast.Assign) for t in node.targets if isinstance(t, ast.Name)
    }
    return path.name in names


def test_modules_and_files_exist():
    dotted = [name for name in QUOTED if re.fullmatch(r"(solvers|encoders|recon)(\.\w+)+", name)]
    assert len(dotted) > 60
    missing = [name for name in {*dotted, *DRAWN} if not exists(name)]
    assert not missing
    files = [name for name in QUOTED if "/" in name and not re.search(r"[A-Z]{2,}|\s", name)]
    assert len(files) > 15
    assert not [name for name in files if not (ROOT / name).exists()]


def test_the_page_of_engines_lists_them_in_the_order_of_the_chain():
    text = (ROOT / "docs" / "engines.md").read_text(encoding="utf-8")
    cells = re.findall(r"^\| (`[^|]+) \|", text, re.MULTILINE)
    listed = [name for cell in cells for name in re.findall(r"`(\w+)`", cell)]
    assert listed == [name for name, _, _ in iter_statuses()]


def test_commands_exist():
    known = {(c.name or c.callback.__name__).replace("_", "-") for c in recon.cli.app.app.registered_commands}
    known |= {group.name for group in recon.cli.app.app.registered_groups}
    named = {name.split()[1] for name in QUOTED if re.match(r"recon [a-z]", name)}
    named |= set(re.findall(r"\"recon ([a-z]+)\"", PAGE))
    assert {"plan", "verify"} <= named
    assert named - {"--help"} <= known
