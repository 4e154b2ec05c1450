"""Each layer imports only from lower layers, and importing the package loads nothing heavy."""

import ast
import subprocess
import sys
from pathlib import Path

import pytest

import graphwright

ROOT = Path(graphwright.__file__).parent
ORDER = [
    "errors",
    "files",
    "constraints",
    "engines",
    "prompts",
    "text",
    "kernels",
    "graph",
    "models",
    "data",
    "extract",
    "store",
    "search",
    "build",
    "remote",
    "operators",
    "learn",
    "generate",
    "methods",
    "streaming",
    "index_folder",
    "evaluate",
    "adapters",
    "serve",
    "cli",
    "__main__",
]
# Not a strict order: these do not see each other.
APART = {
    ("graph", "models"),
    ("graph", "data"),
    ("models", "graph"),
    ("models", "kernels"),
    ("models", "data"),
    ("data", "graph"),
    ("data", "kernels"),
    ("data", "models"),
}


def modules() -> list[Path]:
    return [p for p in sorted(ROOT.rglob("*.py")) if p.name != "__init__.py"]


def layer(path: Path) -> str:
    return path.relative_to(ROOT).parts[0].removesuffix(".py")


def imported(path: Path) -> list[str]:
    result = []
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        names = (
            [node.module or ""]
            if isinstance(node, ast.ImportFrom)
            else [a.name for a in node.names]
            if isinstance(node, ast.Import)
            else []
        )
        result += [n.split(".")[1] for n in names if n.startswith("graphwright.")]
    return result


@pytest.mark.parametrize("path", modules(), ids=lambda p: str(p.relative_to(ROOT)))
def test_module_imports_only_earlier_layers(path: Path) -> None:
    own = layer(path)
    for other in imported(path):
        assert ORDER.index(other) <= ORDER.index(own), f"{own} imports {other}, which comes later"
        assert (own, other) not in APART, f"{own} must not see {other}"


def test_kernels_and_model_protocols_import_nothing_of_ours_but_errors() -> None:
    kernels = [name for path in (ROOT / "kernels").glob("*.py") for name in imported(path)]
    assert set(kernels) <= {"errors", "kernels"}
    assert set(imported(ROOT / "models" / "protocols.py")) == {"errors"}
    assert set(imported(ROOT / "models" / "constrained.py")) == {"errors", "models"}


def test_retrieval_sees_model_protocols_but_no_adapter() -> None:
    for path in (ROOT / "operators").rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("graphwright.models"):
                assert (node.module or "").rpartition(".")[2] in ("protocols", "sparse", "constrained"), path.name


def test_importing_the_package_loads_nothing_heavy() -> None:
    heavy = ["numpy", "numba", "onnxruntime", "tokenizers", "torch", "httpx", "httpx2", "openai", "pydantic"]
    code = f"import sys, graphwright; print([m for m in {heavy} if m in sys.modules])"
    out = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert out.stdout.strip() == "[]"
