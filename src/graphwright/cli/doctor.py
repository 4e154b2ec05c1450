"""Checks of the installation, an index and a language model, with a remedy for each failure.

Nothing is changed. The checks import packages themselves, to report a package that cannot be imported.
"""

from __future__ import annotations

import importlib
import os
import platform
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from enum import StrEnum
from itertools import chain
from pathlib import Path
from typing import Annotated

import graphwright
from graphwright import models
from graphwright.cli.options import AsJson, BaseUrl, ModelOptions
from graphwright.cli.terminal import console, print_json
from graphwright.errors import GraphwrightError, counted

_PACKAGES = ("numpy", "onnxruntime", "httpx", "pydantic")
_KEY = "OPENAI_API_KEY"
_TIMEOUT = 60.0  # seconds for a reply: a server may have to load the model first
_REINDEX = "Index the documents again."


class Status(StrEnum):
    """Result of a check; NOTE is for a restriction, such as a read-only folder."""

    OK = "ok"
    NOTE = "note"
    FAILED = "failed"


_COLOURS = {Status.OK: "green", Status.NOTE: "yellow", Status.FAILED: "red"}


@dataclass(frozen=True)
class Check:
    """One check: its name, its status, the finding, and the remedy."""

    name: str
    status: Status
    detail: str
    remedy: str = ""


def doctor(
    index: Annotated[Path | None, "Index folder to check."] = None,
    llm: Annotated[str | None, "Language model to check (default: the index's)."] = None,
    base_url: BaseUrl = None,
    as_json: AsJson = False,
) -> None:
    """Check the installation, an index and a language model.

    Exits with 1 if a check fails.
    """
    from rich.text import Text

    ModelOptions(llm=llm, base_url=base_url).settings(None)  # wrong options are reported before anything runs
    of_index = iter(()) if index is None else check_index(index)
    output, results = console(quiet=as_json), list[Check]()
    for check in chain(check_machine(), of_index, check_llm(index, llm, base_url)):
        colour = _COLOURS[check.status]
        line = Text.assemble((f"{check.status:<8}", f"bold {colour}"), f"{check.name:<10}", check.detail)
        output.print(line.append(f"\n{'':<18}{check.remedy}" if check.remedy else "", colour))
        results.append(check)
    failed = [check.name for check in results if check.status is Status.FAILED]
    if as_json:
        print_json({"ok": not failed, "checks": [vars(check) for check in results]})
    summary = f"Failed: {', '.join(failed)}." if failed else "Everything works."
    output.print(Text(summary, "bold red" if failed else "bold green"))
    if failed:
        raise SystemExit(1)


def check_machine() -> Iterator[Check]:
    """Check Python, the packages, the kernels and the encoder."""
    yield Check("python", Status.OK, f"{platform.python_version()} on {platform.platform(terse=True)}")
    yield _checked("packages", check_packages, "Reinstall graphwright.")
    yield _checked("kernels", check_kernels, "Run: pip install --force-reinstall graphwright")
    yield _checked("encoder", check_encoder, "Run: pip install --force-reinstall graphwright onnxruntime")


def check_packages() -> Check:
    """Import the required packages and report their versions."""
    from importlib.metadata import version

    import graphwright

    versions, broken = [f"graphwright {graphwright.__version__}"], []
    for name in _PACKAGES:
        try:
            if name == "onnxruntime":
                from graphwright.models.embedded.encoder import import_runtime  # after the packages that it needs

                import_runtime()
            else:
                importlib.import_module(name)
            versions.append(f"{name} {version(name)}")
        except Exception as error:  # a damaged package may raise anything
            versions.append(f"{name}: {_first_line(error)}")
            broken.append(name)
    remedy = f"Run: pip install --force-reinstall {' '.join(broken)}" if broken else ""
    return Check("packages", Status.FAILED if broken else Status.OK, ", ".join(versions), remedy)


def check_kernels() -> Check:
    """Run a kernel, and report whether it was compiled with the installation or now, by numba."""
    from graphwright.kernels import compiled, csr

    _, neighbours = csr.undirected(3, [0, 1], [1, 2])
    if neighbours.tolist() != [1, 0, 2, 1]:
        return Check("kernels", Status.FAILED, "results are wrong", "Run: pip install --force-reinstall graphwright")
    return Check("kernels", Status.OK, "compiled" if compiled.library() else "compiled by numba at first use")


def check_encoder() -> Check:
    """Load the embedded encoder and encode some texts."""
    model, start = models.MiniLM(), time.perf_counter()
    cat, kitten, stocks = model.encode(["a small cat", "a little kitten", "stock prices"])
    loaded = time.perf_counter()
    if not float(cat @ kitten) > 0.5 > float(cat @ stocks):
        return Check("encoder", Status.FAILED, f"{model.id} returns wrong vectors", "Reinstall onnxruntime.")
    texts = [f"Sentence {i} is about as long as one in a document about rivers and towns." for i in range(32)]
    model.encode(texts)
    milliseconds = 1000 * (time.perf_counter() - loaded) / len(texts)
    return Check(
        "encoder", Status.OK, f"{model.id}, loaded in {loaded - start:.1f} s, {milliseconds:.1f} ms a sentence"
    )


def check_index(folder: Path) -> Iterator[Check]:
    """Check that an index opens, is up to date, and can be written."""
    try:
        from graphwright.store.tables import SCHEMA

        index = graphwright.Index.open(folder)
        detail = f"{counted(index.documents, 'document')}, schema {SCHEMA}, vectors of {index.encoder}"
    except Exception as error:
        yield _failure("opens", error, _REINDEX)
        return
    with index:
        yield Check("opens", Status.OK, detail)
        yield _checked("snapshot", lambda: _check_snapshot(index), _REINDEX)
    if _is_writable(folder):
        yield Check("writable", Status.OK, "documents can be added and removed")
    else:
        yield Check("writable", Status.NOTE, f"{folder} is read-only", "To add documents, change its permissions.")


def _check_snapshot(index: graphwright.Index) -> Check:
    info = index.info()
    detail = f"{counted(info['nodes'], 'node')}, {counted(info['edges'], 'edge')}, {info['bytes'] / 1e6:,.1f} MB"
    if info["current"]:
        return Check("snapshot", Status.OK, f"up to date, {detail}")
    if index.is_being_written:
        return Check("snapshot", Status.NOTE, f"{detail}; indexing is running, and adds documents when it ends")
    remedy = (
        f"A change was interrupted. Run the same command again to resume it, or: "
        f"graphwright verify --index {index.path} --repair"
    )
    return Check("snapshot", Status.FAILED, f"{detail}, without the newest documents", remedy)


def check_llm(folder: Path | None, llm: str | None, base_url: str | None) -> Iterator[Check]:
    """Check a language model, by default that of the index: its key, a reply, and a JSON schema."""
    try:
        settings = ModelOptions(llm=llm, base_url=base_url).settings(folder)
    except Exception as error:
        yield _failure("settings", error, "Correct the file, or delete it.")
        return
    if settings is None:
        yield Check("model", Status.NOTE, "none is set, and none is needed; to check one: --llm MODEL --base-url URL")
        return
    server, has_key = settings.base_url or os.environ.get("OPENAI_BASE_URL"), bool(os.environ.get(_KEY))
    if server is None and not has_key:
        remedy = f"Set {_KEY}, or name a server: --base-url"
        yield Check("key", Status.FAILED, "none, but OpenAI needs one", remedy)
        return
    yield Check("key", Status.OK, f"from {_KEY}" if has_key else "none")  # never the key itself

    def client() -> models.LLM:
        return replace(settings.llm(), timeout=min(settings.timeout, _TIMEOUT), retries=1)

    name = f"{settings.model} at {server or 'OpenAI'}"
    remedy = "Check the model's name, the server's address and the key."
    yield (reply := _checked("answers", lambda: _check_reply(client(), name), remedy))
    if reply.status is not Status.FAILED:
        yield _checked("schema", lambda: _check_schema(client()), "Use another model.")


def _check_reply(client: models.LLM, name: str) -> Check:
    """Check that the model replies to a short prompt, and that its server reports token counts."""
    from graphwright.models.budget import estimated_tokens

    prompt = ("Answer with one word.", "Say: ready")
    start = time.perf_counter()
    completion = client.complete(*prompt)
    detail = f"{name}, in {time.perf_counter() - start:.1f} s"
    tokens = completion.usage.prompt_tokens, completion.usage.completion_tokens
    # Counts equal to the client's estimate mean that the server reports none. Real counts include the chat template.
    if tokens == (sum(map(estimated_tokens, prompt)), estimated_tokens(completion.text)):
        remedy = "No action needed; tokens, costs and budgets are estimates with this server."
        return Check("answers", Status.NOTE, f"{detail}; reports no tokens", remedy)
    return Check("answers", Status.OK, f"{detail}, {tokens[0]} + {tokens[1]} tokens")


def _check_schema(client: models.LLM) -> Check:
    """Ask for a reply that follows a JSON schema, as extraction does for each chunk."""
    from pydantic import BaseModel

    class River(BaseModel):
        name: str
        length_km: int

    start = time.perf_counter()
    client.complete("Extract the river.", "The Mur is 464 km long.", schema=River)
    return Check("schema", Status.OK, f"replies follow a JSON schema, in {time.perf_counter() - start:.1f} s")


def _checked(name: str, check: Callable[[], Check], remedy: str) -> Check:
    """Run a check and return its result; an exception is a failure."""
    try:
        return check()
    except Exception as error:
        return _failure(name, error, remedy)


def _failure(name: str, error: Exception, remedy: str) -> Check:
    """Return a failed check. The message of a GraphwrightError has a remedy of its own."""
    detail, remedy = (str(error), "") if isinstance(error, GraphwrightError) else (_first_line(error), remedy)
    return Check(name, Status.FAILED, _redacted(detail), _redacted(remedy))


def _first_line(error: Exception) -> str:
    return f"{type(error).__name__}: {(str(error).strip().splitlines() or [''])[0]}"


def _redacted(text: str) -> str:
    """Return a text without the key, which a server may repeat in its message."""
    secret = os.environ.get(_KEY, "").strip()
    # A short value such as "none" or "ollama" is not a secret, and may occur in the message.
    return text.replace(secret, f"<{_KEY}>") if len(secret) >= 8 else text


def _is_writable(folder: Path) -> bool:
    from tempfile import TemporaryFile

    try:
        with TemporaryFile(dir=folder):
            return True
    except OSError:
        return False
