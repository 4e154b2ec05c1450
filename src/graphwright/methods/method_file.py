"""Methods in Python files of users, for the command line."""

from __future__ import annotations

import runpy
from pathlib import Path

from graphwright.errors import GraphwrightError, OptionError
from graphwright.methods.method import Builder

_NAME = "method"


def read_method_file(path: str | Path) -> Builder:
    """Return the function of a Python file that makes a method: `method`, or the only public one that it defines.

    The file is run. The function takes the snapshot of an index and returns an operator or a Method; it gets the name
    of the file. Raises OptionError for a file that cannot be run, or that defines no such function.
    """
    path = Path(path)
    try:
        names = runpy.run_path(str(path), run_name=path.stem)
    except GraphwrightError:
        raise
    except (Exception, SystemExit) as error:
        raise OptionError(f"{path} cannot be run: {type(error).__name__}: {error}. Mend the file.") from error
    functions = {
        name: value
        for name, value in names.items()
        if callable(value) and not name.startswith("_") and getattr(value, "__module__", None) == path.stem
    }
    function = functions.get(_NAME) or (next(iter(functions.values())) if len(functions) == 1 else None)
    if function is None:
        names_defined = ", ".join(sorted(functions)) or "no function"
        raise OptionError(
            f"{path} has no function named {_NAME}: it defines {names_defined}. Write def {_NAME}(ix): return an "
            f"operator, such as VectorSearch(ix.passages) % 10 >> ToPassages()."
        )
    function.__name__ = path.stem
    return function  # type: ignore[no-any-return]
