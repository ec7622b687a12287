"""Which package may import which (docs/architecture.md draws the map)."""

from __future__ import annotations

import ast
import subprocess
import sys
from pathlib import Path

import pytest

SOURCE = Path(__file__).parents[1] / "src" / "likewise"
_BASE = {"errors", "tables", "runtime"}
_MODELS = {*_BASE, "weights", "models"}
MAY_IMPORT: dict[str, set[str]] = {
    "errors": set(),
    "tables": {"errors"},
    "stats": {"errors"},
    "runtime": {"errors", "tables"},
    "plugins": {"runtime"},  # the former path of the registry, for plugins of other packages
    "weights": _BASE,
    "models": _MODELS,
    "services": _BASE,
    "data": _MODELS,
    "latents": {*_MODELS, "data"},
    "counterfactuals": {*_MODELS, "data", "latents"},
    "rating": {*_MODELS, "data"},
    "generation": {*_MODELS, "services", "data", "analysis", "report"},
    "design": {*_BASE, "stats"},
    "analysis": {"errors", "tables", "stats"},
    "study": _BASE,
    "simulation": _BASE,
    "report": {"errors", "tables", "runtime"},
    "reproduce": {"errors", "tables", "stats", "design", "analysis", "data"},
    "audit": {
        *_MODELS, "stats", "services", "data", "latents", "counterfactuals", "rating", "design", "analysis", "study",
        "report", "simulation",
    },
    "demo": {
        *_MODELS, "audit", "stats", "data", "latents", "counterfactuals", "rating", "design", "analysis", "simulation",
    },
}  # fmt: skip
"""``cli`` may import everything and is imported by nothing; the package's own names (``__version__``) are free."""
ONLY_IN = {
    "torch": {"weights", "models", "latents", "counterfactuals", "data", "rating"},
    "starlette": {"study"},
    "fastapi": {"study"},
    "sqlalchemy": {"study"},
    "itsdangerous": {"study"},
    "markdown_it": {"study", "report"},
    "httpx2": {"weights", "services"},
    "boto3": {"services"},
    "matplotlib": {"report"},
    "jinja2": {"report", "study"},
    "click": {"cli"},
    "rich": {"runtime", "cli"},
    "tomlkit": {"audit", "study", "cli"},
    "scipy": {"design", "analysis", "models", "reproduce", "stats", "latents", "data", "counterfactuals"},
    "sklearn": {"design", "analysis", "stats", "latents", "data"},
    "statsmodels": {"analysis", "stats"},
    "faiss": {"design"},
}


def package_of(path: Path) -> str:
    return path.relative_to(SOURCE).parts[0].removesuffix(".py")


def imports(tree: ast.AST) -> set[str]:
    """Every module that is imported anywhere in a file, ``TYPE_CHECKING`` included."""
    found = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, "imports name the whole path"
            found |= {f"{node.module}.{alias.name}" for alias in node.names}
    return found


FILES = sorted(path for path in SOURCE.rglob("*.py") if path.parent != SOURCE or not path.name.startswith("__"))


@pytest.mark.parametrize("path", FILES, ids=lambda path: str(path.relative_to(SOURCE)))
def test_a_package_imports_only_what_it_may(path: Path):
    package, found = package_of(path), imports(ast.parse(path.read_text()))
    ours = {name.split(".")[1] for name in found if name.startswith("likewise.")} - {package, "__version__"}
    if package == "cli":
        return
    assert ours <= MAY_IMPORT[package], f"{package} may not import {sorted(ours - MAY_IMPORT[package])}"
    foreign = {name.split(".")[0] for name in found} & set(ONLY_IN)
    strangers = {name for name in foreign if package not in ONLY_IN[name]}
    assert not strangers, f"{package} may not import {sorted(strangers)}"


@pytest.mark.parametrize("path", sorted((SOURCE / "design").rglob("*.py")), ids=lambda path: path.name)
def test_design_cannot_see_answers(path: Path):
    names = {node.id for node in ast.walk(ast.parse(path.read_text())) if isinstance(node, ast.Name)}
    imported = {name.rsplit(".", 1)[-1] for name in imports(ast.parse(path.read_text()))}
    assert "Ratings" not in names | imported


def test_importing_likewise_is_light():
    heavy = ("torch", "pandas", "numpy", "scipy", "starlette", "click")
    code = f"import sys, likewise; print([name for name in {heavy} if name in sys.modules])"
    shown = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert shown.stdout.strip() == "[]"


def test_no_import_goes_in_a_circle():
    edges: dict[str, set[str]] = {}
    for path in FILES:
        name = "likewise." + ".".join(path.relative_to(SOURCE).with_suffix("").parts).removesuffix(".__init__")
        edges[name] = {found for found in imports(ast.parse(path.read_text())) if found.startswith("likewise.")}
    modules = set(edges)
    graph = {
        name: {m for f in found for m in (f, f.rsplit(".", 1)[0]) if m in modules} for name, found in edges.items()
    }
    done: set[str] = set()

    def visit(name: str, above: tuple[str, ...]) -> None:
        assert name not in above, " -> ".join((*above, name))
        if name not in done:
            for below in graph[name] - {name}:
                if not above or not name.startswith(below + "."):  # a package may import its own modules
                    visit(below, (*above, name))
            done.add(name)

    for name in graph:
        visit(name, ())


@pytest.mark.parametrize("folder", sorted({path.parent for path in FILES}), ids=lambda p: str(p.relative_to(SOURCE)))
def test_a_folder_has_at_most_14_modules(folder: Path):
    modules = [path.name for path in folder.glob("*.py") if path.name != "__init__.py"]
    assert len(modules) <= 14, f"{len(modules)} modules in {folder.relative_to(SOURCE)}: group them by idea"
