"""Build the documentation site, and check it.

    python scripts/build_site.py [--out build/site] [--llms]

Needs `pip install -e ".[docs]"`. The pages of `docs/`, those at the root of the repository that `zensical.toml` names,
and the results in `benchmarks/results` are gathered with a reference that is made from docstrings and from the command
line; links to other files of the repository lead to it on the web. Zensical builds the site; then every link inside it
is followed, and nothing may be loaded from elsewhere. `--llms` writes `docs/llms.txt`, the list of pages for language
models, and does nothing else.
"""

from __future__ import annotations

import argparse
import doctest
import importlib
import inspect
import os
import posixpath
import re
import shutil
import subprocess
import sys
import textwrap
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urljoin, urlsplit

from selectolax.lexbor import LexborHTMLParser

ROOT = Path(__file__).parents[1]
CONFIG = ROOT / "zensical.toml"
PAGES = ROOT / "build" / "site-pages"
REPOSITORY = "https://github.com/graphwright/graphwright/blob/main/"
RAW = "https://raw.githubusercontent.com/graphwright/graphwright/main/"
ROOMS = (
    "operators", "generate", "models", "data", "extract", "store", "search", "remote", "graph", "learn", "evaluate",
    "errors",
)  # fmt: skip
LINK = re.compile(r"(?P<before>!?\[(?:[^\]]|\](?!\())*\]\()(?P<target>[^)\s]+)(?P<after>\))")
LOADED = {
    "script": "src",
    "img": "src",
    "iframe": "src",
    "link": "href",
    "source": "src",
}  # attributes that load a file
STYLES = {"stylesheet", "icon", "preload", "modulepreload", "manifest"}


def main() -> int:
    """Write the list of pages, or build the site; return 1 if a link leads nowhere."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--out", type=Path, default=ROOT / "build" / "site", help="folder of the site")
    parser.add_argument("--llms", action="store_true", help="only write docs/llms.txt")
    options = parser.parse_args()
    if options.llms:
        (ROOT / "docs" / "llms.txt").write_text(llms(), encoding="utf-8")
        return 0
    gather(PAGES)
    subprocess.run(
        [sys.executable, "-c", "from zensical.main import cli; cli()", "build", "--clean", "--strict"],
        cwd=ROOT,
        check=True,
    )
    built = ROOT / "build" / "site"
    problems = list(broken(built))
    print(*problems, sep="\n")
    if options.out.resolve() != built:
        shutil.copytree(built, options.out, dirs_exist_ok=True)
    print(f"{len(list(built.rglob('*.html')))} pages in {options.out}, {len(problems)} problems")
    return int(bool(problems))


# --- The pages


def project() -> dict[str, Any]:
    """Return the settings of the site."""
    return dict(tomllib.loads(CONFIG.read_text(encoding="utf-8"))["project"])


def navigation() -> list[tuple[str, list[str]]]:
    """Return the sections of the site, each with its pages."""
    return [(title, pages) for section in project()["nav"] for title, pages in section.items()]


def text_of(page: Path) -> str:
    """Return the text of a page; the head of a notebook is left out."""
    return re.sub(r"\A---\n.*?^---\n\n?", "", page.read_text(encoding="utf-8"), flags=re.S | re.M)


def placed() -> dict[str, str]:
    """Return the pages and pictures of the repository that the site has: their paths in either."""
    files = [path for path in (ROOT / "docs").rglob("*") if path.is_file()]
    pages = {path.relative_to(ROOT).as_posix(): path.relative_to(ROOT / "docs").as_posix() for path in files}
    named = [page for _, section in navigation() for page in section]
    pages |= {page: page for page in named if (ROOT / page).is_file()}
    results = ROOT / "benchmarks" / "results"
    shown = [path for path in results.rglob("*") if path.suffix in (".md", ".png")]
    return pages | {path.relative_to(ROOT).as_posix(): f"results/{path.relative_to(results)}" for path in shown}


def gather(target: Path) -> None:
    """Write all pages and pictures below a new folder, links adapted."""
    shutil.rmtree(target, ignore_errors=True)
    places = placed()
    for source, place in places.items():
        (target / place).parent.mkdir(parents=True, exist_ok=True)
        if place.endswith(".md"):
            text = adapted(text_of(ROOT / source), source, places)
            (target / place).write_text(text, encoding="utf-8")
        else:
            shutil.copy(ROOT / source, target / place)
    (target / "reference").mkdir()
    for name, text in reference().items():
        (target / "reference" / f"{name}.md").write_text(text, encoding="utf-8")
    (target / "llms-full.txt").write_text(
        "\n\n".join((target / page).read_text(encoding="utf-8") for _, pages in navigation() for page in pages),
        encoding="utf-8",
    )


def adapted(text: str, source: str, places: dict[str, str]) -> str:
    """Return a page with links of the site and without comments for tests; code is left as it is."""

    def linked(match: re.Match[str]) -> str:
        target = match["target"]
        if urlsplit(target).scheme or target.startswith("#"):
            return match[0]
        name, _, anchor = target.partition("#")
        path = posixpath.normpath(posixpath.join(posixpath.dirname(source), name))
        if path in places:
            name = posixpath.relpath(places[path], posixpath.dirname(places[source]) or ".")
        else:
            name = (RAW if match["before"].startswith("!") else REPOSITORY) + path
        return match["before"] + name + ("#" + anchor if anchor else "") + match["after"]

    parts = re.split(r"(^```.*?^```$)", text, flags=re.S | re.M)
    parts[::2] = [re.sub(r"^<!-- .*? -->\n", "", LINK.sub(linked, part), flags=re.M) for part in parts[::2]]
    return "".join(parts)


def llms() -> str:
    """Return the list of pages with what each is about, in the form of llmstxt.org."""
    site = project()
    lines = [f"# {site['site_name']}", "", f"> {site['site_description']}"]
    for title, pages in navigation():
        lines += ["", f"## {title}", ""]
        for page in pages:
            path = ROOT / "docs" / page if (ROOT / "docs" / page).is_file() else ROOT / page
            name, about = head_of(path) if path.is_file() else (f"Reference: {Path(page).stem}", "")
            lines.append(f"- [{name}]({site['site_url']}{address(page)})" + (f": {about}" if about else ""))
    return "\n".join(lines) + "\n"


def address(page: str) -> str:
    """Return where the site has a page."""
    return page.removesuffix("index.md") if page.endswith("index.md") else page.removesuffix(".md") + "/"


def head_of(page: Path) -> tuple[str, str]:
    """Return the title of a page and its first sentence, without markup."""
    text = re.sub(r"^(```.*?^```|<!--.*?-->|!\[.*?\]\(.*?\)|\|.*)$", "", text_of(page), flags=re.S | re.M)
    title, _, rest = text.partition("\n")
    paragraph = next((p for p in re.split(r"\n\s*\n", rest) if p.strip() and not p.lstrip().startswith("#")), "")
    plain = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", " ".join(paragraph.split())).replace("**", "")
    return title.lstrip("# "), re.split(r"(?<=[.:])\s", plain)[0].rstrip(":")


# --- The reference


def reference() -> dict[str, str]:
    """Return the pages of the reference, by name: the rooms of the package, and the command line."""
    rooms = ("graphwright", *(f"graphwright.{room}" for room in ROOMS))
    return {room: room_page(room) for room in rooms} | {"commands": commands()}


def room_page(name: str) -> str:
    """Return the page of the public names of a module."""
    module = importlib.import_module(name)
    parts = [f"# {name}\n", prose(inspect.getdoc(module) or "")]
    own = [key for key, value in vars(module).items() if getattr(value, "__module__", None) == name]
    for public in sorted(getattr(module, "__all__", own), key=str.lower):
        value = getattr(module, public)
        if not (public.startswith("_") or inspect.ismodule(value)):
            parts.append(entry(public, value))
    return "\n".join(parts)


def entry(name: str, value: Any) -> str:
    """Return the heading, signature, documentation and methods of a public name."""
    parts = [f"## {name}\n"]
    if callable(value):
        parts.append(f"```python\n{signature(name, value)}\n```\n")
    if inspect.isclass(value) or inspect.isroutine(value):
        parts.append(prose(inspect.getdoc(value) or ""))
    if inspect.isclass(value):
        inherited = {key for base in value.__mro__[1:] for key in vars(base)}
        own = {key: member for key, member in vars(value).items() if not key.startswith("_") and key not in inherited}
        for key, member in own.items():
            if (text := inspect.getdoc(getattr(value, key))) and documented(member):
                shown = (
                    f"{name}.{key}" if isinstance(member, property) else signature(f"{name}.{key}", getattr(value, key))
                )
                parts.append(f"### `{key}` {{ #{name}.{key} }}\n\n```python\n{shown}\n```\n\n{prose(text)}")
    return "\n".join(parts)


def documented(member: Any) -> bool:
    """Return whether a member of a class is a method or a property, with a text of its own."""
    return isinstance(member, (property, classmethod, staticmethod)) or inspect.isfunction(member)


def signature(name: str, value: Any) -> str:
    """Return a call of a function or class with its arguments, on lines of their own where they are long."""
    try:
        shown = inspect.signature(value)
    except (TypeError, ValueError):
        return name
    returns = "" if shown.return_annotation is shown.empty or inspect.isclass(value) else " -> "
    returns += plain_types(str(shown.return_annotation)) if returns else ""
    line = name + plain_types(str(shown.replace(return_annotation=shown.empty))) + returns
    if len(line) <= 100:
        return line
    arguments = "".join(f"    {plain_types(str(parameter))},\n" for parameter in shown.parameters.values())
    return f"{name}(\n{arguments}){returns}"


def plain_types(text: str) -> str:
    """Return annotations without quotes, modules and declared constraints.

    >>> plain_types("(k: 'Annotated[int, AtLeast(1)]' = 8, graph: 'graphwright.graph.graph.Graph')")
    '(k: int = 8, graph: Graph)'
    """
    text = re.sub(r"""(: |-> |^)(?:'([^']*)'|"([^"]*)")""", lambda match: match[1] + (match[2] or match[3] or ""), text)
    text = re.sub(r"\b(?:[a-z_]+\.)+(?=[A-Z])", "", text)
    while (start := text.find("Annotated[")) >= 0:
        depth, comma, at = 0, -1, start + len("Annotated[")
        while depth >= 0:
            depth += {"[": 1, "(": 1, "]": -1, ")": -1}.get(text[at], 0)
            comma = at if text[at] == "," and depth == 0 and comma < 0 else comma
            at += 1
        text = text[:start] + text[start + len("Annotated[") : comma] + text[at:]
    return text


def prose(doc: str) -> str:
    """Return a docstring as Markdown, with its examples as code."""
    parts = []
    for part in doctest.DocTestParser().parse(doc):
        if isinstance(part, doctest.Example):
            more = textwrap.indent(part.source.rstrip("\n"), "... ").removeprefix("... ")
            parts.append(f"```pycon\n>>> {more}\n{part.want}```\n")
        elif part.strip():
            parts.append(part.strip("\n") + "\n")
    return "\n".join(parts).replace("```\n\n```pycon\n", "")


def commands() -> str:
    """Return the page of all commands with their options."""
    text = subprocess.run(
        [sys.executable, "-m", "typer", "graphwright.cli.app", "utils", "docs", "--name", "graphwright"],
        check=True,
        capture_output=True,
        text=True,
        env={**os.environ, "COLUMNS": "120", "TERM": "dumb"},
    ).stdout
    return text.replace("# `graphwright`", "# Commands and options", 1)


# --- The check


def broken(site: Path) -> Iterator[str]:
    """Yield the links of a built site that lead nowhere, and the files that a page would load from elsewhere."""
    base = urlsplit(project()["site_url"]).path
    pages = {path: LexborHTMLParser(path.read_text(encoding="utf-8")) for path in sorted(site.rglob("*.html"))}
    anchors = {path: anchors_of(page) for path, page in pages.items()}
    for path, page in pages.items():
        where = path.relative_to(site).as_posix()
        yield from (f"{where}: loads {address}" for address in loaded(page) if urlsplit(address).netloc)
        for address in {node.attributes.get("href") or "" for node in page.css("a[href]")} | set(loaded(page)):
            target = urlsplit(urljoin(f"http://site/{where}", address))
            if urlsplit(address).scheme or urlsplit(address).netloc or address.startswith(("javascript:", "data:")):
                continue
            file = site / unquote(target.path).removeprefix(base).lstrip("/")
            file = file / "index.html" if file.is_dir() else file
            if not file.is_file():
                yield f"{where}: {address} leads nowhere"
            elif target.fragment and file in anchors and unquote(target.fragment) not in anchors[file]:
                yield f"{where}: {address} has no such heading"


def loaded(page: LexborHTMLParser) -> list[str]:
    """Return the addresses that a browser loads with a page."""
    found = []
    for tag, attribute in LOADED.items():
        for node in page.css(f"{tag}[{attribute}]"):
            if tag != "link" or STYLES & set((node.attributes.get("rel") or "").split()):
                found.append(node.attributes[attribute] or "")
    return [address for address in found if not address.startswith("data:")]


def anchors_of(page: LexborHTMLParser) -> set[str]:
    """Return the names that links into a page may have."""
    return {node.attributes.get(key) or "" for key in ("id", "name") for node in page.css(f"[{key}]")}


if __name__ == "__main__":
    raise SystemExit(main())
