"""Make the pictures of the server's page that the docs show: docs/images/*.png, of the demo's documents.

    pip install -e ".[dev]" && python scripts/page_images.py

Needs Debian's Chromium (`apt-get install chromium`).
"""

import json
import socket
import tempfile
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from urllib.parse import quote_plus

import uvicorn
from playwright.sync_api import Page, sync_playwright

from graphwright import Index
from graphwright.serve.app import create_app
from graphwright.serve.catalog import Catalog
from graphwright.serve.settings import ServeSettings

ROOT = Path(__file__).parent.parent
OUT = ROOT / "docs/images"
CORPUS = ROOT / "src/graphwright/cli/demo_corpus/corpus.jsonl"
OPTIONS = ["--no-sandbox", "--disable-gpu", "--no-first-run", "--disable-background-networking"]
QUESTION = "In what county is the city where Harris W. Fawell was born?"
MAX_BYTES = 150_000


@contextmanager
def serving(folder: Path) -> Iterator[str]:
    """Serve an index folder on a free port, and give the address."""
    app = create_app(Catalog.open([folder]), ServeSettings(data=folder.parent / "data"))
    listening = socket.create_server(("127.0.0.1", 0))
    server = uvicorn.Server(uvicorn.Config(app, log_level="warning", timeout_graceful_shutdown=2))
    thread = threading.Thread(target=server.run, kwargs={"sockets": [listening]}, daemon=True)
    thread.start()
    while not server.started:
        time.sleep(0.05)
    yield f"http://127.0.0.1:{listening.getsockname()[1]}/"
    server.should_exit = True
    thread.join(10)


def picture(page: Page, name: str) -> None:
    """Write what the page shows. Raises SystemExit for a picture that is too large for the docs."""
    page.wait_for_timeout(300)
    file = OUT / f"{name}.png"
    page.screenshot(path=file)
    if file.stat().st_size > MAX_BYTES:
        raise SystemExit(f"{file} has {file.stat().st_size:,} bytes; the docs take {MAX_BYTES:,}.")
    print(f"{file.relative_to(ROOT)}  {file.stat().st_size:,} bytes")


def pictures(browser: Any, url: str) -> None:
    """Take all pictures."""
    wide = browser.new_context(viewport={"width": 1180, "height": 660}).new_page()
    asked = f"index=demo&q={quote_plus(QUESTION)}"
    wide.goto(f"{url}#/ask?{asked}")
    wide.locator(".marker").first.click()
    wide.locator("mark").wait_for()
    picture(wide, "page-ask")
    wide.goto(f"{url}#/evidence?{asked}")
    wide.locator(".node.sentence").first.wait_for()
    picture(wide, "page-evidence")
    dark = browser.new_context(viewport={"width": 1180, "height": 760}, color_scheme="dark").new_page()
    dark.goto(f"{url}#/trace?{asked}")
    dark.locator(".badge").nth(1).wait_for()
    picture(dark, "page-trace-dark")
    narrow = browser.new_context(viewport={"width": 360, "height": 720}, device_scale_factor=2).new_page()
    narrow.goto(f"{url}#/ask?index=demo&q={quote_plus('Who painted the ceiling of the Sistine Chapel?')}")
    narrow.locator(".absent, .answer-foot").first.wait_for()
    picture(narrow, "page-narrow")


def main() -> None:
    OUT.mkdir(exist_ok=True)
    with tempfile.TemporaryDirectory() as folder:
        with Index.create(Path(folder) / "demo") as index:
            rows = map(json.loads, CORPUS.read_text(encoding="utf-8").splitlines())
            index.add([{name: row[name] for name in ("id", "title", "text")} for row in rows])
        with serving(Path(folder) / "demo") as url, sync_playwright() as playwright:
            browser = playwright.chromium.launch(executable_path="/usr/bin/chromium", args=OPTIONS)
            pictures(browser, url)
            browser.close()


if __name__ == "__main__":
    main()
