"""What is looked at to see whether everything works; nothing is changed, and what is written is temporary.

Imports stand inside the checks, because a package that cannot be imported is one of the things to be found.
"""

from __future__ import annotations

import importlib
import importlib.metadata
import importlib.util
import os
import platform
import shutil
import tempfile
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Any

from graphwright.cli.printable import counted
from graphwright.errors import GraphwrightError

if TYPE_CHECKING:
    from graphwright.index_folder import Index
    from graphwright.models.protocols import LLM
    from graphwright.models.settings import LLMSettings

__all__ = ["Check", "Health", "index_folder", "language_model", "machine"]

_PACKAGES = ("numpy", "numba", "onnxruntime", "tokenizers", "openai", "pydantic")
_EXTRAS = ("sentence-transformers", "torch")
_KEY = "OPENAI_API_KEY"
_PATIENCE = 60.0  # seconds for a model's reply, one retry: what is down is said soon, but loading a model takes time
_CHECK = "Check the model's name, the server's address and the key."
_GB = 1e9


class Health(StrEnum):
    """How something is: well; worth a note, such as an option that is not installed; or broken."""

    WELL = "well"
    NOTE = "note"
    BROKEN = "broken"


@dataclass(frozen=True)
class Check:
    """One thing that was looked at: what was found, and what to do where it is not well."""

    name: str
    state: Health
    found: str
    remedy: str = ""


def machine(folder: Path) -> Iterator[Check]:
    """Look at Python, the packages, the kernels, the encoder, and the disk that holds `folder`."""
    yield python()
    yield _tried("packages", packages, "Reinstall graphwright.")
    yield _tried("extras", extras, "Reinstall them, or take them away.")
    yield _tried("kernels", kernels, "Set NUMBA_CACHE_DIR to a folder that can be written; else reinstall numba.")
    yield _tried("encoder", encoder, "Reinstall: pip install --force-reinstall graphwright onnxruntime tokenizers")
    yield _tried("disk", lambda: disk(folder), "Check the folder and its permissions.")


def python() -> Check:
    """Return the version of Python and what it runs on."""
    return Check("python", Health.WELL, f"{platform.python_version()} on {platform.platform(terse=True)}")


def packages() -> Check:
    """Import the packages that everything needs, and return their versions."""
    import graphwright

    found, broken = [f"graphwright {graphwright.__version__}"], []
    for name in _PACKAGES:
        try:
            importlib.import_module(name)
            found.append(f"{name} {importlib.metadata.version(name)}")
        except Exception as error:  # a package that is there but damaged may raise anything
            found.append(f"{name}: {_line(error)}")
            broken.append(name)
    remedy = f"pip install --force-reinstall {' '.join(broken)}" if broken else ""
    return Check("packages", Health.BROKEN if broken else Health.WELL, ", ".join(found), remedy)


def extras() -> Check:
    """Return which packages are there that only some models need."""
    missing = [name for name in _EXTRAS if importlib.util.find_spec(name.replace("-", "_")) is None]
    found = [f"{name} {importlib.metadata.version(name)}" for name in _EXTRAS if name not in missing]
    if missing:
        found.append(f"not installed, and only some models need them: {', '.join(missing)}")
    return Check("extras", Health.NOTE if missing else Health.WELL, "; ".join(found))


def kernels() -> Check:
    """Compile a kernel or load it, run it, and say where machine code is kept."""
    begun = time.perf_counter()
    from graphwright.kernels import csr

    _, neighbours = csr.undirected(3, [0, 1], [1, 2])
    found = f"ready in {time.perf_counter() - begun:.1f} s"
    if neighbours.tolist() != [1, 0, 2, 1]:
        return Check("kernels", Health.BROKEN, f"{found}, and compute wrongly", "Reinstall numba and numpy.")
    compiled: Any = next(value for value in vars(csr).values() if hasattr(value, "py_func"))
    place = Path(compiled.stats.cache_path)
    if not _can_write(place):
        remedy = "Every process compiles anew; set NUMBA_CACHE_DIR to a folder that can be written."
        return Check("kernels", Health.NOTE, f"{found}; {place} cannot be written", remedy)
    return Check("kernels", Health.WELL, f"{found}, kept in {place}")


def encoder() -> Check:
    """Load the embedded encoder and encode some texts."""
    from graphwright.models.minilm import MiniLM

    model, begun = MiniLM(), time.perf_counter()
    cat, kitten, stocks = model.encode(["a small cat", "a little kitten", "stock prices"])
    loaded = time.perf_counter()
    if not float(cat @ kitten) > 0.5 > float(cat @ stocks):
        return Check("encoder", Health.BROKEN, f"{model.id} gives wrong vectors", "Reinstall onnxruntime.")
    texts = [f"Sentence {i} is about as long as one in a document about rivers and towns." for i in range(32)]
    model.encode(texts)
    each = 1000 * (time.perf_counter() - loaded) / len(texts)
    return Check("encoder", Health.WELL, f"{model.id}, loaded in {loaded - begun:.1f} s, {each:.1f} ms a sentence")


def disk(folder: Path) -> Check:
    """Return how much space there is; a new snapshot is written beside the one before."""
    place = next(p for p in (folder.absolute(), *folder.absolute().parents) if p.is_dir())
    held = place.rglob("*") if (place / "index.sqlite").is_file() else ()
    free, wanted = shutil.disk_usage(place).free, max(_GB, sum(f.stat().st_size for f in held if f.is_file()))
    found = f"{free / _GB:,.1f} GB free at {place}"
    if free >= wanted:
        return Check("disk", Health.WELL, found)
    state = Health.NOTE if free > wanted / 10 else Health.BROKEN
    return Check("disk", state, found, f"Make room: indexing may need {wanted / _GB:,.1f} GB.")


def index_folder(folder: Path) -> Iterator[Check]:
    """Look at an index: whether it opens, is current, and can be written."""
    try:
        from graphwright.index_folder import Index

        index = Index.open(folder)
    except Exception as error:
        yield _failed("opens", error, "Index the documents again.")
        return
    with index:
        yield _tried("opens", lambda: opens(index), "Index the documents again.")
        yield _tried("snapshot", lambda: snapshot(index), "Index the documents again.")
        yield writable(folder)


def opens(index: Index) -> Check:
    """Say what an index that opened holds: its schema and its encoder are those of this version."""
    from graphwright.index.store import SCHEMA

    found = f"{counted(index.documents, 'document')}, schema {SCHEMA}, vectors of {index.encoder}"
    return Check("opens", Health.WELL, found)


def snapshot(index: Index) -> Check:
    """Open the snapshot that questions are answered from; it should hold all that the documents give."""
    held = index.info()
    found = f"{counted(held['nodes'], 'node')}, {counted(held['edges'], 'edge')}, {held['bytes'] / 1e6:,.1f} MB in all"
    if not held["current"]:
        if index.busy:
            return Check(
                "snapshot", Health.NOTE, f"{found}; a process is indexing, and what it reads is shown at its end"
            )
        remedy = "Indexing was interrupted; run the same graphwright index command again, and it goes on."
        return Check("snapshot", Health.BROKEN, f"{found}, but without the documents that came last", remedy)
    return Check("snapshot", Health.WELL, f"current, {found}")


def writable(folder: Path) -> Check:
    """Return whether documents can be added."""
    if _can_write(folder):
        return Check("writable", Health.WELL, "documents can be added and removed")
    found = f"{folder} cannot be written: it can be asked, but not changed"
    return Check("writable", Health.NOTE, found, "To add documents, change its permissions.")


def language_model(folder: Path | None, llm: str | None, base_url: str | None) -> Iterator[Check]:
    """Look at the language model that is named, else the one of the index: its key, a reply, and a schema."""
    try:
        settings = _settings(folder, llm, base_url)
    except Exception as error:
        yield _failed("settings", error, "Mend the file, or delete it.")
        return
    if settings is None:
        yield Check("model", Health.NOTE, "none set, and none is needed; to look at one: --llm MODEL --base-url URL")
        return
    yield (keyed := key(settings))
    if keyed.state is Health.BROKEN:
        return
    try:
        client = replace(settings.endpoint(), timeout=min(settings.timeout, _PATIENCE), retries=1)
    except Exception as error:
        yield _failed("answers", error, _CHECK)
        return
    what = f"{settings.model} at {_server(settings)}"
    yield (asked := _tried("answers", lambda: answers(client, what), _CHECK))
    if asked.state is not Health.BROKEN:
        yield _tried("schema", lambda: follows_schema(client), "Take another model.")


def _settings(folder: Path | None, llm: str | None, base_url: str | None) -> LLMSettings | None:
    from graphwright.models.settings import SETTINGS, LLMSettings, read_settings

    kept = None if folder is None else read_settings(folder / SETTINGS)
    if llm is None:
        return kept
    kept = kept or LLMSettings(llm)
    return replace(kept, model=llm, base_url=base_url or kept.base_url)


def _server(settings: LLMSettings) -> str:
    return settings.base_url or os.environ.get("OPENAI_BASE_URL") or "OpenAI"


def key(settings: LLMSettings) -> Check:
    """Return where the key comes from, never the key."""
    if os.environ.get(_KEY):
        return Check("key", Health.WELL, f"from {_KEY}")
    if _server(settings) == "OpenAI":
        return Check("key", Health.BROKEN, "none, and OpenAI wants one", f"Set {_KEY}, or name a server: --base-url")
    return Check("key", Health.WELL, "none")


def answers(client: LLM, what: str) -> Check:
    """Ask for a word: whether the model answers, how soon, and whether its tokens are counted."""
    from graphwright.models.budget import estimated_tokens

    prompt = ("Answer with one word.", "Say: ready")
    begun = time.perf_counter()
    reply = client.complete(*prompt)
    found = f"{what}, in {time.perf_counter() - begun:.1f} s"
    tokens = reply.prompt_tokens, reply.completion_tokens
    # The client estimates what a server does not report. A true count is higher: chat templates have tokens, too.
    if tokens == (sum(map(estimated_tokens, prompt)), estimated_tokens(reply.text)):
        remedy = "Nothing to do; but tokens, costs and budgets are estimates with this server."
        return Check("answers", Health.NOTE, f"{found}, and reports no tokens", remedy)
    return Check("answers", Health.WELL, f"{found}, {tokens[0]} + {tokens[1]} tokens")


def follows_schema(client: LLM) -> Check:
    """Ask for a reply of a given shape, as extraction does for each chunk."""
    from pydantic import BaseModel

    class River(BaseModel):
        name: str
        length_km: int

    begun = time.perf_counter()
    client.complete("Extract the river.", "The Mur is 464 km long.", schema=River)
    return Check("schema", Health.WELL, f"replies in the shape asked for, in {time.perf_counter() - begun:.1f} s")


def _tried(name: str, check: Callable[[], Check], remedy: str) -> Check:
    """Return what a check finds; what it raises is what was found."""
    try:
        return check()
    except Exception as error:
        return _failed(name, error, remedy)


def _failed(name: str, error: Exception, remedy: str) -> Check:
    """Return the check that ended with an error; our messages say what to do after what was found."""
    found, advice = _parted(str(error)) if isinstance(error, GraphwrightError) else (_line(error), "")
    return Check(name, Health.BROKEN, _redacted(found), _redacted(advice or remedy))


def _parted(said: str) -> tuple[str, str]:
    """Part a message after its first sentence; a foreign message in brackets may have several."""
    depth = 0
    for at, letter in enumerate(said):
        depth += (letter == "(") - (letter == ")")
        if not depth and said.startswith(". ", at):
            return said[:at], said[at + 2 :]
    return said, ""


def _line(error: Exception) -> str:
    return f"{type(error).__name__}: {(str(error).strip().splitlines() or [''])[0]}"


def _redacted(text: str) -> str:
    """Return a text without the key, which a server may have sent back in its message."""
    secret = os.environ.get(_KEY, "").strip()
    # "none" or "ollama" is no secret, and perhaps a word of the message.
    return text.replace(secret, f"<{_KEY}>") if len(secret) >= 8 else text


def _can_write(folder: Path) -> bool:
    try:
        with tempfile.TemporaryFile(dir=folder):
            return True
    except OSError:
        return False
