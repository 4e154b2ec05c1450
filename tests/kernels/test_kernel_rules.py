"""Rules that all kernels keep: how they are compiled, and that numba's cache notices every change of what they call."""

from __future__ import annotations

from importlib import import_module
from pathlib import Path
from types import ModuleType

import pytest
from numba.core.registry import CPUDispatcher

import graphwright
from graphwright import kernels

SOURCE = Path(graphwright.__file__).parent
MODULES = [import_module(f"{kernels.__name__}.{path.stem}") for path in Path(kernels.__file__).parent.glob("[a-z]*.py")]


def compiled(module: ModuleType) -> list[CPUDispatcher]:
    own = (value for value in vars(module).values() if isinstance(value, CPUDispatcher))
    return [value for value in own if value.py_func.__module__ == module.__name__]


@pytest.mark.parametrize("module", MODULES, ids=lambda module: module.__name__.rpartition(".")[2])
def test_kernel_is_cached_and_calls_only_its_own_file(module: ModuleType) -> None:
    # The cache of a kernel is keyed by its own file: a change of another one would go unnoticed.
    for function in compiled(module):
        options = {name: function.targetoptions.get(name) for name in ("nogil", "fastmath", "parallel")}
        assert options == {"nogil": True, "fastmath": None, "parallel": None}, function
        names = (function.py_func.__globals__.get(name) for name in function.py_func.__code__.co_names)
        for value in names:
            if isinstance(value, CPUDispatcher):
                assert value.py_func.__module__ == module.__name__, f"{function} calls {value}"


def test_only_decorator_of_kernels_compiles() -> None:
    texts = {path.relative_to(SOURCE).as_posix(): path.read_text(encoding="utf-8") for path in SOURCE.rglob("*.py")}
    assert [name for name, text in texts.items() if "njit(" in text or "jit(" in text] == ["kernels/compiled.py"]
    assert any(map(compiled, MODULES))
