"""Print figures of the source: size by room, function length, public names, and vague names of variables.

    python benchmarks/code_size.py [--root FOLDER] [--against FOLDER]

A FOLDER is a checkout; --against prints the same figures of another one beside those of the first. The length of a
function is counted in lines from `def` to its end, its docstring left out; statements and variables by the syntax tree.
"""

from __future__ import annotations

import ast
from argparse import ArgumentParser
from collections import Counter
from pathlib import Path
from statistics import median, quantiles

from harness import table

WORDS = ("What", "How", "That", "Where", "Which", "Who")  # that no docstring should begin with
VARIABLES = ("found", "held", "said", "told", "kept", "one")
LONGEST = 5


def public_names(package: Path) -> set[str]:
    """Return the names that the package exports: those its stub imports, or `__init__.py` where there is no stub."""
    path = package / "__init__.pyi"
    tree = ast.parse((path if path.exists() else package / "__init__.py").read_text("utf-8"))
    return {alias.asname or alias.name for n in ast.walk(tree) if isinstance(n, ast.ImportFrom) for alias in n.names}


def bound_names(tree: ast.Module) -> Counter[str]:
    """Return how often each variable is bound: by assignments, loops and arguments."""
    names = [n.id for n in ast.walk(tree) if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store)]
    return Counter([*names, *(n.arg for n in ast.walk(tree) if isinstance(n, ast.arg))])


def length(function: ast.FunctionDef | ast.AsyncFunctionDef) -> int:
    """Return the number of lines of a function without its docstring."""
    first = function.body[0]
    documented = ast.get_docstring(function) is not None
    documentation = (first.end_lineno or first.lineno) - first.lineno + 1 if documented else 0
    return (function.end_lineno or function.lineno) - function.lineno + 1 - documentation


def figures_of(checkout: Path) -> dict[str, str]:
    """Return all figures of a checkout, as text."""
    package = checkout / "src" / "graphwright"
    rooms: dict[str, Counter[str]] = {}
    lengths, variables, openings = list[tuple[int, str]](), Counter[str](), 0
    for path in sorted(package.rglob("*.py")):
        place, source = path.relative_to(package), path.read_text("utf-8")
        tree = ast.parse(source)
        room = place.parts[0] if len(place.parts) > 1 else "(top)"
        statements = sum(isinstance(node, ast.stmt) for node in ast.walk(tree))
        rooms.setdefault(room, Counter()).update(modules=1, lines=len(source.splitlines()), statements=statements)
        functions = [n for n in ast.walk(tree) if isinstance(n, ast.FunctionDef | ast.AsyncFunctionDef)]
        lengths += [(length(n), f"{place}: {n.name}") for n in functions]
        variables += bound_names(tree)
        openings += (ast.get_docstring(tree) or "").split(" ")[0] in WORDS
    rooms["all"] = sum(rooms.values(), Counter())
    figures = {
        f"{room}: modules, lines, statements": f"{size['modules']:,}, {size['lines']:,}, {size['statements']:,}"
        for room, size in sorted(rooms.items())
    }
    lines = [count for count, _ in lengths]
    figures["functions, median, p90 lines"] = f"{len(lines):,}, {median(lines):g}, {quantiles(lines, n=10)[-1]:g}"
    longest = sorted(lengths, reverse=True)[:LONGEST]
    figures |= {f"function of rank {at}": f"{count} lines, {name}" for at, (count, name) in enumerate(longest, 1)}
    figures["public names"] = str(len(public_names(package)))
    figures[f"module docstrings that begin with {'/'.join(WORDS)}"] = str(openings)
    return figures | {f"variables called {name}": f"{variables[name]:,}" for name in VARIABLES}


def main() -> None:
    """Print the figures."""
    parser = ArgumentParser(description=__doc__)
    parser.add_argument("--root", type=Path, default=Path(__file__).parents[1], help="checkout (default: this one)")
    parser.add_argument("--against", type=Path, metavar="FOLDER", help="another checkout to compare with")
    options = parser.parse_args()
    checkouts = [options.root, *([options.against] if options.against else [])]
    columns = [figures_of(checkout) for checkout in checkouts]
    names = dict.fromkeys(name for column in columns for name in column)
    print(table(["", *checkouts], [[name, *(column.get(name, "") for column in columns)] for name in names]), end="")


if __name__ == "__main__":
    main()
