from __future__ import annotations

import importlib.util
import subprocess
import sys
from pathlib import Path
from types import ModuleType
from typing import Any, NamedTuple

import numpy as np
import pytest
from numpy.typing import NDArray

from graphwright.kernels import bubble_kernels, compiled, csr, strings
from graphwright.kernels.compiled import KERNELS, CompiledKernel, interfaces, symbol

ROOT = Path(__file__).parents[2]


class Pair(NamedTuple):
    left: NDArray[np.int32]
    right: np.ndarray[tuple[int, int], np.dtype[np.float64]] | NDArray[np.uint16]


def example(pair: Pair, size: int, code: np.uint64, share: float) -> tuple[int, float]:
    return size, share


def test_interfaces_list_fields_and_alternatives() -> None:
    first, second = interfaces(example)
    assert (first.arrays, second.arrays) == ("<i4[1] <f8[2]", "<i4[1] <u2[1]")
    assert first.arguments[2:] == (int, np.uint64, float) and first.results == (int, float)
    assert symbol(example, 1) == "test_compiled_example_1"


@pytest.mark.parametrize("module", [bubble_kernels, csr, strings])
def test_every_kernel_has_an_interface_of_words(module: ModuleType) -> None:
    own: list[Any] = [kernel for kernel in KERNELS if kernel.__module__ == module.__name__]
    assert own
    for kernel in own:
        for interface in interfaces(kernel):
            numbers = [part for part in interface.arguments if not isinstance(part, compiled.ArrayType)]
            assert {*numbers, *interface.results} <= {int, bool, float, np.uint64}


def test_compiled_kernel_refuses_other_arrays() -> None:
    kernel = CompiledKernel(csr._scatter.py_func)  # type: ignore[attr-defined]
    ids, wide = np.zeros(2, np.int32), np.zeros(2)
    with pytest.raises(TypeError, match=r"_scatter got the arrays <i4\[1\] <f8\[1\] .*Pass <i4\[1\]"):
        kernel(ids, wide, wide, wide)
    with pytest.raises(TypeError, match="not contiguous"):
        kernel(ids[::2], np.zeros(4, np.int32)[::2], wide, wide)


def test_without_library_and_numba_import_names_remedy() -> None:
    code = "import sys; sys.modules['numba'] = None; import graphwright.kernels.csr"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert "no compiled kernels" in done.stderr and "pip install numba" in done.stderr


WITH_LIBRARY = """
import ctypes, sys, pytest
from graphwright.kernels import compiled
library = ctypes.CDLL(sys.argv[1])
compiled.library = lambda: library
sys.exit(pytest.main(sys.argv[2:]))
"""


@pytest.mark.slow
@pytest.mark.timeout(900)
def test_library_passes_tests_of_kernels(tmp_path: Path) -> None:
    spec = importlib.util.spec_from_file_location("hatch_build", ROOT / "hatch_build.py")
    assert spec and spec.loader
    build = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(build)
    library = build.build_library(ROOT, tmp_path)
    left_out = ["--ignore", __file__, "--ignore", str(Path(__file__).with_name("test_kernel_rules.py"))]
    left_out += ["--deselect", "tests/kernels/test_hops.py::test_random_generator_is_splitmix64"]  # calls a subkernel
    command = [sys.executable, "-c", WITH_LIBRARY, str(library), "-n", "0", *left_out, str(Path(__file__).parent)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
    assert not done.returncode, done.stdout
