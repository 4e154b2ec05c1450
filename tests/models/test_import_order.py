"""The order of the modules of `graphwright.models`: each imports only those before it."""

import ast
from pathlib import Path

import pytest

import graphwright.models

ROOT = Path(graphwright.models.__file__).parent
# fmt: off
ORDER = [
    "protocols", "structured", "budget", "constrained",
    "openai.errors", "openai.http", "openai.model", "openai.llm", "fake", "cache", "multilingual",
    "embedded.wordpiece", "embedded.encoder", "embedded.mentions", "embedded.cross_encoder", "embedded.amounts",
    "embedded.reader_answers", "embedded.reader",
    "sentence_transformers", "settings", "registry",
]
# fmt: on


def imported(module: str) -> list[str]:
    """Return the modules of this package that one imports, inside functions too."""
    tree = ast.parse((ROOT / f"{module.replace('.', '/')}.py").read_text(encoding="utf-8"))
    names = [node.module or "" for node in ast.walk(tree) if isinstance(node, ast.ImportFrom)]
    names += [alias.name for node in ast.walk(tree) if isinstance(node, ast.Import) for alias in node.names]
    return [name.removeprefix("graphwright.models.") for name in names if name.startswith("graphwright.models.")]


def test_order_names_every_module() -> None:
    files = [file.relative_to(ROOT) for file in ROOT.rglob("*.py") if file.name != "__init__.py"]
    assert sorted(ORDER) == sorted(".".join(file.with_suffix("").parts) for file in files)


@pytest.mark.parametrize("module", ORDER)
def test_module_of_models_imports_only_earlier_ones(module: str) -> None:
    later = set(imported(module)) - set(ORDER[: ORDER.index(module)])
    assert not later, f"{module} imports {later}, which come later"
