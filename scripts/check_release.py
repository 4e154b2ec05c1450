"""Build the wheel and the source distribution, and check that they can be released.

    python scripts/check_release.py [--out dist]

Needs `pip install -e ".[release]"`. Checks, in this order: the metadata (twine) and what the wheel contains; that the
versions of pyproject.toml, the package, CITATION.cff and CHANGELOG.md agree; that the wheel installs into a fresh
environment without a compiler, and answers a question there; that its dependencies have wheels for Python 3.12 and 3.13
(resolved, not run); the licences of all dependencies; known vulnerabilities, if the database can be reached. Prints the
installed size of each dependency, and writes the bill of materials, `sbom.json`, beside the distributions. Returns 1 if
a check fails.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import subprocess
import sys
import tomllib
import venv
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory

ROOT = Path(__file__).parents[1]
OTHER_PYTHONS = ("3.12", "3.13")
FREE = ("mit", "bsd", "apache", "isc", "psf", "python software", "mozilla public", "mpl", "unlicense", "0bsd", "zlib")
BOUND = ("gpl", "affero", "proprietary", "commercial")  # licences that would bind users of the core
SMOKE = """
from graphwright import Index
index = Index("rivers")
index.add([{"id": "mur", "text": "The Mur rises in Salzburg. It flows into the Drava at Legrad."}])
state = index.ask("Where does the Mur rise?")
assert state.answer.citations, state.answer
print(state.answer.text)
"""
SIZES = """
from importlib.metadata import distributions
sizes = {}
for package in distributions():
    files = [path for path in map(package.locate_file, package.files or ()) if path.is_file()]
    sizes[package.name] = sum(path.stat().st_size for path in files) / 1e6
parts = [f"{name} {sizes[name]:.1f}" for name in sorted(sizes, key=str.lower)]
print(*parts, f"all {sum(sizes.values()):.0f}", sep=", ")
"""


def main() -> int:
    """Build and check; print one line for each check."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--out", type=Path, default=ROOT / "dist", help="folder of the distributions")
    out = parser.parse_args().out.resolve()
    run([sys.executable, "-m", "build", "--outdir", str(out)], cwd=ROOT)
    version = project()["version"]
    wheel, source = next(out.glob(f"*-{version}-*.whl")), next(out.glob(f"*-{version}.tar.gz"))
    problems = [f"versions: {problem}" for problem in different_versions(version)]
    with TemporaryDirectory() as folder:
        checks: dict[str, Callable[[], object]] = {
            "metadata": lambda: run([sys.executable, "-m", "twine", "check", "--strict", str(wheel), str(source)]),
            "contents": lambda: run(
                [
                    sys.executable,
                    "-m",
                    "check_wheel_contents",
                    "--toplevel",
                    "graphwright",
                    "--ignore",
                    "W002",
                    str(wheel),
                ]
            ),
            "install and ask": lambda: install(wheel, Path(folder)),
            **{f"wheels for Python {python}": partial(resolve, wheel, python) for python in OTHER_PYTHONS},
            "licences": lambda: licences(Path(folder)),
            "bill of materials": lambda: bill(Path(folder), out / "sbom.json"),
        }
        for name, check in checks.items():
            try:
                check()
                print(f"{name}: good", flush=True)
            except (subprocess.CalledProcessError, ValueError) as error:
                problems.append(f"{name}: {getattr(error, 'stderr', None) or getattr(error, 'output', None) or error}")
        print(f"vulnerabilities: {audit(Path(folder))}")
        print("installed size, MB:", run([python_of(Path(folder)), "-c", SIZES]).strip())
    print(*problems, sep="\n", file=sys.stderr)
    return int(bool(problems))


def run(command: Sequence[str], **more: object) -> str:
    """Run a command and return what it printed. Raises CalledProcessError if it fails."""
    done = subprocess.run(command, check=True, capture_output=True, text=True, **more)  # type: ignore[call-overload]
    return str(done.stdout)


def project() -> dict[str, str]:
    """Return the table [project] of pyproject.toml."""
    return dict(tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"])


def different_versions(version: str) -> Iterator[str]:
    """Yield the files that name another version."""
    for file, pattern in {
        "src/graphwright/__init__.py": r'__version__ = "(.+)"',
        "CITATION.cff": r"^version: (.+)$",
        "CHANGELOG.md": r"^## (\d\S*)",
    }.items():
        match = re.search(pattern, (ROOT / file).read_text(encoding="utf-8"), re.M)
        if match is None or match[1] != version:
            yield f"{file} has {match and match[1]}, pyproject.toml {version}"


def python_of(folder: Path) -> str:
    """Return the interpreter of the environment in a folder."""
    return str(folder / "environment" / "bin" / "python")


def install(wheel: Path, folder: Path) -> None:
    """Install the wheel into a fresh environment in which no compiler can run, and ask a question."""
    venv.create(folder / "environment", with_pip=True)
    without = {**os.environ, "CC": "false", "CXX": "false", "PYTHONPATH": ""}
    run([python_of(folder), "-m", "pip", "install", "--quiet", "--only-binary", ":all:", str(wheel)], env=without)
    run([python_of(folder), "-c", SMOKE], cwd=folder, env=without)


def resolve(wheel: Path, python: str) -> None:
    """Resolve all dependencies for another version of Python, from wheels only."""
    command = [sys.executable, "-m", "pip", "install", "--quiet", "--dry-run", "--ignore-installed", "--target", "none"]
    run([*command, "--only-binary", ":all:", "--python-version", python, str(wheel)])


def licences(folder: Path) -> None:
    """Raise ValueError for a dependency whose licence is unknown, or binds those who use it."""
    listed = json.loads(
        run([sys.executable, "-m", "piplicenses", "--python", python_of(folder), "--format", "json", "--from", "mixed"])
    )
    unfit = []
    for package in listed:
        licence = package["License"].lower()
        bound = any(word in licence for word in BOUND) and not any(word in licence for word in FREE)
        if bound or not any(word in licence for word in FREE):
            unfit.append(f"{package['Name']} ({package['License']})")
    if unfit:
        raise ValueError("check by hand: " + ", ".join(unfit))


def bill(folder: Path, target: Path) -> None:
    """Write the bill of materials of the installed environment."""
    run([sys.executable, "-m", "cyclonedx_py", "environment", python_of(folder), "-o", str(target), "--of", "JSON"])


def audit(folder: Path) -> str:
    """Return what is known about vulnerabilities of the installed packages."""
    frozen = run([python_of(folder), "-m", "pip", "freeze", "--exclude", "graphwright"])
    requirements = folder / "requirements.txt"
    requirements.write_text("\n".join(line for line in frozen.splitlines() if "==" in line), encoding="utf-8")
    command = [
        sys.executable,
        "-m",
        "pip_audit",
        "--requirement",
        str(requirements),
        "--no-deps",
        "--disable-pip",
        "--format",
        "json",
    ]
    done = subprocess.run(command, capture_output=True, text=True)
    try:
        packages = json.loads(done.stdout)["dependencies"]
    except ValueError:
        return "not checked, the database cannot be reached"
    known = [f"{package['name']} ({len(package['vulns'])})" for package in packages if package.get("vulns")]
    return ", ".join(known) or f"none known in {len(packages)} packages"


if __name__ == "__main__":
    raise SystemExit(main())
