"""Compile the kernels into the wheel, so that an installation needs neither numba nor LLVM, and never waits for them.

The build environment has numba, which writes an object file for each kernel, and a linker: the C compiler of the
machine, or that of ziglang where there is none. The wheel depends on the platform, and not on the version of Python.
An editable installation gets no library: numba compiles its kernels when they change.
"""

from __future__ import annotations

import importlib
import os
import re
import shutil
import subprocess
import sys
import sysconfig
import tempfile
from concurrent.futures import ProcessPoolExecutor
from itertools import islice
from pathlib import Path
from typing import Any, get_type_hints

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

NUMBA = "numba>=0.60"
UNWRAPPED = {"no_cpython_wrapper": True, "no_cfunc_wrapper": True}
"""Options of numba that leave out what Python and C would call."""


class KernelHook(BuildHookInterface[Any]):
    """Add the compiled kernels to a wheel."""

    def dependencies(self) -> list[str]:
        """Return what the build environment needs for this."""
        return [NUMBA, "numpy>=1.26", "lazy-loader>=0.6", *([] if c_compiler() else ["ziglang>=0.13"])]

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Compile, before the wheel is written."""
        if version == "editable":
            build_data["dependencies"].append(NUMBA)
        else:
            self.folder = tempfile.TemporaryDirectory()
            library = build_library(Path(self.root), Path(self.folder.name))
            build_data["force_include"][str(library)] = f"graphwright/kernels/{library.name}"
            build_data["pure_python"] = False
            build_data["tag"] = f"py3-none-{re.sub('[-.]', '_', sysconfig.get_platform())}"

    def finalize(self, version: str, build_data: dict[str, Any], artifact_path: str) -> None:
        """Remove the library that the wheel has a copy of."""
        if version != "editable":
            self.folder.cleanup()


def c_compiler() -> str | None:
    """Return the C compiler of this machine, if it has one that links without more ado."""
    return None if sys.platform == "win32" else shutil.which("cc")


def build_library(root: Path, folder: Path) -> Path:
    """Compile the kernels of a clone for any processor of this platform, in an empty folder; return the library."""
    library, path = folder / "library.bin", os.pathsep.join([str(root / "src"), os.environ.get("PYTHONPATH", "")])
    target = {"NUMBA_CPU_NAME": "generic", "NUMBA_CPU_FEATURES": "", "NUMBA_CACHE_DIR": str(folder / "cache")}
    command = [sys.executable, __file__, str(folder)]
    subprocess.run(command, check=True, env={**os.environ, **target, "PYTHONPATH": path})
    linker = [c_compiler() or "", "-lm"] if c_compiler() else [sys.executable, "-m", "ziglang", "cc"]
    flags = ["-undefined", "dynamic_lookup"] if sys.platform == "darwin" else ["-s"]
    objects = sorted(map(str, folder.glob("*.o")))
    subprocess.run([*linker, "-shared", *flags, "-o", str(library), *objects], check=True, cwd=folder)
    return library


def write_objects(module: str, folder: Path) -> None:
    """Write an object file for each interface of each kernel of a module."""
    from llvmlite import binding

    from graphwright.kernels.compiled import KERNELS, interfaces, symbol

    for value in vars(importlib.import_module(module)).values():
        if hasattr(value, "targetoptions"):
            value.targetoptions |= UNWRAPPED
    triple = binding.Target.from_default_triple()
    machine = triple.create_target_machine("generic", opt=3, reloc="pic", codemodel="small")
    for kernel in KERNELS:
        if kernel.__module__ == module:
            for variant, interface in enumerate(interfaces(kernel)):
                name = symbol(kernel, variant)
                (folder / f"{name}.o").write_bytes(machine.emit_object(final_module(kernel, interface, name)))


def final_module(kernel: Any, interface: Any, name: str) -> Any:
    """Return the optimised LLVM module of a function that takes the address of a call's words."""
    from numba import njit
    from numba.core import types

    names, source = entry(kernel, interface)
    exec(source, names)
    function = njit(_nrt=False, **UNWRAPPED)(names["entry"])
    function.compile((types.int64,))
    compiled = function.overloads[(types.int64,)]
    module = compiled.library._final_module
    for part in module.functions:
        if part.name == compiled.fndesc.llvm_func_name:
            part.name = name
        elif not part.is_declaration:
            part.linkage = "internal"
    return module


def entry(kernel: Any, interface: Any) -> tuple[dict[str, Any], str]:
    """Return the source of a function that reads a kernel's arguments, calls it and writes its results."""
    import numpy as np

    names: dict[str, Any] = {"kernel": kernel, "words_at": array_at(np.dtype(np.int64), 1), "np": np}
    values, at = [], 0
    for part in interface.arguments:
        if isinstance(part, tuple):
            names[f"array_at_{at}"] = array_at(*part)
            shape = "".join(f"words[{at + 1 + dimension}], " for dimension in range(part[1]))
            values.append(f"array_at_{at}(words[{at}], ({shape}))")
            at += part[1]
        else:
            read = {float: "floats[{}]", bool: "words[{}] != 0", int: "words[{}]", np.uint64: "np.uint64(words[{}])"}
            values.append(read[part].format(at))
        at += 1
    flat, arguments = iter(values), []
    for hint in list(get_type_hints(kernel).values())[:-1]:
        if isinstance(hint, type) and issubclass(hint, tuple):
            names[hint.__name__] = hint
            arguments.append(f"{hint.__name__}({', '.join(islice(flat, len(hint._fields)))})")
        else:
            arguments.append(next(flat))
    count = len(interface.results)
    lines = [f"words = words_at(address, ({at + count},))", "floats = words.view(np.float64)"]
    lines.append(f"{'result = ' if count else ''}kernel({', '.join(arguments)})")
    for place, kind in enumerate(interface.results):
        value = f"result[{place}]" if count > 1 else "result"
        lines.append(f"{'floats' if kind is float else 'words'}[{at + place}] = {value}")
    return names, "def entry(address):\n" + "".join(f"    {line}\n" for line in lines)


def array_at(dtype: Any, dimensions: int) -> Any:
    """Return a function, for numba, from an address and a shape to the array there."""
    from numba import from_dtype
    from numba.core import cgutils, types
    from numba.extending import intrinsic
    from numba.np.arrayobj import populate_array

    kind = types.Array(from_dtype(dtype), dimensions, "C")

    def read(context: Any, address: Any, shape: Any) -> Any:
        def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
            array = context.make_array(kind)(context, builder)
            sizes, step = cgutils.unpack_tuple(builder, arguments[1]), context.get_constant(types.intp, dtype.itemsize)
            strides = [step]
            for size in reversed(sizes[1:]):
                strides.insert(0, builder.mul(strides[0], size))
            data = builder.inttoptr(arguments[0], array.data.type)
            populate_array(array, data=data, shape=sizes, strides=strides, itemsize=step, meminfo=None)
            return array._getvalue()

        return kind(address, shape), generate

    return intrinsic(read)


if __name__ == "__main__":
    from graphwright import kernels

    names = [f"graphwright.kernels.{path.stem}" for path in Path(kernels.__path__[0]).glob("[a-z]*.py")]
    with ProcessPoolExecutor() as pool:
        list(pool.map(write_objects, names, [Path(sys.argv[1])] * len(names)))
