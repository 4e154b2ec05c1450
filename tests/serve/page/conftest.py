"""A browser, and a real server over a small real index, for the tests of the page."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any, NoReturn
from urllib.parse import quote, urlencode

import pytest
from tests.llm_server import DONE, Handler, LLMServer, event, events
from tests.serve.conftest import Running, serving

from graphwright import Index
from graphwright.models.fake import HashEncoder
from graphwright.models.settings import LLMSettings

CHROMIUM = Path("/usr/bin/chromium")
AXE = Path(__file__).parents[3] / "ui" / "node_modules" / "axe-core" / "axe.min.js"
OPTIONS = [
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
]
ATTACK = "<img src=x onerror=\"document.title='owned'\"><script>document.title='owned'</script>"
HEBREW = "גרץ היא עיר באוסטריה, והמור זורם דרכה 🏞️."
GRAZ = f"🏔️🏔️ Graz lies on the Mur in Styria. 😀 The Mur flows into the Drava.\n\n{HEBREW}\n\nGraz has a clock tower."
LONG = "".join(f"Paragraph {number} of the annals speaks of the year {1500 + number}.\n\n" for number in range(300))
WRAPPED = """\
    The rivers of Styria were surveyed in 1881 by the office of Graz, whose
    report gives the depth of the Mur as two metres[2]. Its author, Otto Kern,
    walked all of them.

    Mur      2 m     from the report
    Enns     3 m     from the report
"""
DOCUMENTS = [
    {"id": "survey.txt", "title": "Survey", "text": WRAPPED},
    {"id": "notes/graz.md", "title": "Graz", "text": GRAZ, "year": 2024},
    {"id": "a/b#c?.md", "title": "Linz", "text": "Linz lies on the Danube. Ida Pfeiffer visited Linz in 1842."},
    {"id": "pfeiffer", "title": "Ida Pfeiffer", "text": "Ida Pfeiffer was born in Vienna. Ida Pfeiffer travelled."},
    {"id": "vienna", "title": "Vienna", "text": "Vienna lies on the Danube. Vienna is the capital of Austria."},
    {
        "id": f"{ATTACK}.md",
        "title": f"Attack {ATTACK}",
        "text": f"Mallory lives in Hackville. {ATTACK}",
    },
    {"id": "annals", "title": "Annals", "text": LONG},
]


def unavailable(reason: str) -> NoReturn:
    """Skip the test; where browser tests are required, as CI has it, fail."""
    if os.environ.get("GRAPHWRIGHT_BROWSER") == "required":
        pytest.fail(f"GRAPHWRIGHT_BROWSER=required, but {reason}")
    pytest.skip(reason)


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    """Debian's Chromium; an event loop runs while it does, so it ends before tests that start one."""
    try:
        from playwright.sync_api import sync_playwright
    except ImportError:
        unavailable("playwright is not installed")
    if not CHROMIUM.exists():
        unavailable(f"there is no {CHROMIUM}")
    with sync_playwright() as playwright:
        chromium = playwright.chromium.launch(executable_path=str(CHROMIUM), args=OPTIONS)
        yield chromium
        chromium.close()


@pytest.fixture(scope="session")
def library(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of an index with emoji, two directions of writing, odd ids, and an attack."""
    folder = tmp_path_factory.mktemp("page") / "library"
    with Index.create(folder, encoder=HashEncoder()) as index:
        index.add(DOCUMENTS)
    return folder


@pytest.fixture(scope="session")
def shared(library: Path) -> Iterator[Running]:
    """A server that nobody changes."""
    with serving(library) as running:
        yield running


class Screen:
    """A tab of the browser, and the errors that the page reported in it."""

    def __init__(self, browser: Any, url: str, **options: Any) -> None:
        self.url = url
        self.context = browser.new_context(accept_downloads=True, **options)
        self.tab = self.context.new_page()
        self.tab.set_default_timeout(60_000)
        self.errors: list[str] = []
        self.tab.on("pageerror", lambda error: self.errors.append(str(error)))
        self.tab.on("console", self._note)
        self.tab.on("dialog", lambda dialog: self.errors.append(f"dialog {dialog.message}") or dialog.dismiss())

    def _note(self, message: Any) -> None:
        if message.type == "error" and "Failed to load resource" not in message.text:  # a 404 or 401 is an answer
            self.errors.append(message.text)

    def open(self, screen: str = "ask", rest: str = "", **query: Any) -> Any:
        """Open a screen by its address, in a page that is loaded anew, and wait until nothing loads."""
        address = f"{self.url}/#/{screen}{'/' + quote(rest, safe='') if rest else ''}?{urlencode(query)}"
        self.tab.goto("about:blank")
        self.tab.goto(address)
        self.settle()
        return self.tab

    def settle(self) -> None:
        """Wait until the page shows what it has loaded."""
        self.tab.locator("h1, h2").first.wait_for(state="attached")
        for busy in (".loading", ".progress .spinner", ".answer.writing"):
            self.tab.locator(busy).first.wait_for(state="detached")

    def violations(self) -> list[str]:
        """Return what axe-core finds wrong with the page as it is shown."""
        if not AXE.exists():
            unavailable(f"{AXE} is missing; run: cd ui && npm ci")
        self.tab.evaluate(AXE.read_text(encoding="utf-8"))
        found = self.tab.evaluate("() => axe.run().then((result) => result.violations)")
        return [f"{item['id']}: {item['nodes'][0]['html']} {item['nodes'][0]['failureSummary']}" for item in found]

    def overflow(self) -> int:
        """Return by how many pixels the page is wider than its window."""
        return self.tab.evaluate("() => document.documentElement.scrollWidth - innerWidth")

    def close(self) -> None:
        self.context.close()
        assert self.errors == []


Opener = Callable[..., Screen]


@pytest.fixture
def opener(browser: Any) -> Iterator[Opener]:
    """Open tabs on a server; at the end none of them has reported an error."""
    screens: list[Screen] = []

    def open_screen(running: Running, **options: Any) -> Screen:
        screens.append(Screen(browser, running.url, **options))
        return screens[-1]

    yield open_screen
    for screen in screens:
        screen.close()


@pytest.fixture
def screen(opener: Opener, shared: Running) -> Screen:
    """A tab on the server that nobody changes."""
    return opener(shared)


class SlowModel:
    """A language model that writes the first half of a reply, and the rest when `go_on` is set."""

    def __init__(self, reply: str) -> None:
        self.reply, self.go_on = reply, threading.Event()

    def __call__(self, handler: Handler) -> None:
        parts = events(self.reply)
        half = len(parts) // 2
        handler.begin(200, {"Transfer-Encoding": "chunked", "Content-Type": "text/event-stream"})
        for part in parts[:half]:
            handler.chunk(part)
        self.go_on.wait(20)
        usage = event({"choices": [], "usage": {"prompt_tokens": 7, "completion_tokens": 3, "total_tokens": 10}})
        for part in (*parts[half:], usage, DONE):
            handler.chunk(part)
        handler.write("0\r\n\r\n")


@pytest.fixture
def serve_model(library: Path, tmp_path: Path) -> Iterator[Callable[[Any], Running]]:
    """Serve the library with a language model that replies as told."""
    with ExitStack() as stack:

        def serve(reply: Any) -> Running:
            model = stack.enter_context(LLMServer([reply]))
            return stack.enter_context(serving(library, llm=LLMSettings("any", model.url), data=tmp_path / "data"))

        yield serve
