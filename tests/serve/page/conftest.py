"""A browser, and a real server over a small real index, for the tests of the page."""

from __future__ import annotations

import os
import threading
import time
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
PATIENCE = 60.0  # seconds that a test waits for what the page is to show
OPTIONS = [
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
]
SETTLED = """() => {
    const [path, query] = location.hash.slice(2).split("?");
    const asks = new URLSearchParams(query).has("q");
    const shown = { ask: ".turn", evidence: ".turn", passages: ".turn", trace: ".turn", compare: ".side" };
    const wanted = (asks && shown[path]) || "h1, h2";
    const busy = document.querySelector(".loading, .progress .spinner, .answer.writing, [aria-label=Stop]");
    return !busy && document.querySelector(`${wanted}, [role=alert], .empty`) !== null;
}"""
EFFECTS = "() => new Promise((done) => requestAnimationFrame(() => setTimeout(done)))"
# The page does without the browser's database where that takes two seconds, as it may on a busy machine.
PATIENT = """{
    const usual = window.setTimeout;
    window.setTimeout = (then, wait, ...more) => usual(then, wait === 2000 ? 60_000 : wait, ...more);
}"""
TURNS_KEPT = """() => new Promise((resolve, reject) => {
    const opening = indexedDB.open("graphwright:/");
    opening.onerror = () => reject(opening.error);
    opening.onsuccess = () => {
        const all = opening.result.transaction("threads").objectStore("threads").getAll();
        all.onerror = () => reject(all.error);
        all.onsuccess = () => resolve(all.result.reduce((sum, { turns }) => sum + turns.length, 0));
        opening.result.close();
    };
})"""
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


def pytest_itemcollected(item: pytest.Item) -> None:
    """Give these tests time for a browser on a busy machine; each wait has a limit of its own."""
    item.add_marker(pytest.mark.timeout(600))


def unavailable(reason: str) -> NoReturn:
    """Skip the test; where browser tests are required, as CI has it, fail."""
    if os.environ.get("GRAPHWRIGHT_BROWSER") == "required":
        pytest.fail(f"GRAPHWRIGHT_BROWSER=required, but {reason}")
    pytest.skip(reason)


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    """Debian's Chromium; an event loop runs while it does, so it ends before tests that start one."""
    try:
        from playwright.sync_api import expect, sync_playwright
    except ImportError:
        unavailable("playwright is not installed")
    if not CHROMIUM.exists():
        unavailable(f"there is no {CHROMIUM}")
    expect.set_options(timeout=PATIENCE * 1000)
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


def expect(shown: Any, message: str | None = None) -> Any:
    """Return Playwright's assertions on a locator or a tab, which wait until they hold. `message`: what should be."""
    from playwright.sync_api import expect

    return expect(shown, message)


def eventually(tab: Any, read: Callable[[], Any], wanted: Any = True) -> None:
    """Wait until `read` returns what is wanted, where `expect` has no form for it.

    The events of the tab are handled meanwhile. Raises AssertionError with what was read at last.
    """
    end = time.monotonic() + PATIENCE
    while (found := read()) != wanted:
        assert time.monotonic() < end, f"{found!r} after {PATIENCE} s, not {wanted!r}"
        tab.wait_for_timeout(50)


def wait_kept(tab: Any, turns: int) -> None:
    """Wait until the browser keeps so many turns; the page shows an answer before it is kept."""
    eventually(tab, lambda: tab.evaluate(TURNS_KEPT), turns)


class Screen:
    """A tab of the browser, and the errors that the page reported in it."""

    def __init__(self, browser: Any, url: str, **options: Any) -> None:
        self.url = url
        self.context = browser.new_context(accept_downloads=True, **options)
        self.tab = self.context.new_page()
        self.tab.set_default_timeout(PATIENCE * 1000)
        self.tab.add_init_script(PATIENT)
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
        """Wait until the page shows what it has loaded, and the whole answer where its address asks a question.

        What the page does when it has shown that, such as moving the focus, is done then, too.
        """
        self.tab.wait_for_function(SETTLED, polling=50)
        self.tab.evaluate(EFFECTS)

    def check(self, name: str = "") -> None:
        """Check that the page as it is shown is accessible and fits.

        A picture of it is kept by this name in the folder GRAPHWRIGHT_PICTURES, where that is set.
        """
        eventually(self.tab, self.faults, [])
        if (folder := os.environ.get("GRAPHWRIGHT_PICTURES")) and name:
            self.tab.screenshot(path=f"{folder}/{name}.png", full_page=True)

    def check_looks(self, name: str = "") -> None:
        """Check the page wide, narrow and dark."""
        for width, colours in ((1280, "light"), (360, "light"), (360, "dark")):
            self.tab.set_viewport_size({"width": width, "height": 800})
            self.tab.emulate_media(color_scheme=colours)
            self.check(name and f"{name}-{width}-{colours}")
        self.tab.set_viewport_size({"width": 1280, "height": 800})
        self.tab.emulate_media(color_scheme="light")

    def faults(self) -> list[str]:
        """Return what axe-core finds wrong with the page as it is shown, and whether it is wider than its window."""
        if not AXE.exists():
            unavailable(f"{AXE} is missing; run: cd ui && npm ci")
        if not self.tab.evaluate("() => 'axe' in window"):
            self.tab.evaluate(AXE.read_text(encoding="utf-8"))
        found = self.tab.evaluate("() => axe.run().then((result) => result.violations)")
        faults = [f"{item['id']}: {item['nodes'][0]['html']} {item['nodes'][0]['failureSummary']}" for item in found]
        over = self.tab.evaluate("() => document.documentElement.scrollWidth - innerWidth")
        return [*faults, f"{over} px too wide"] if over > 0 else faults

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
        while not self.go_on.wait(0.05):
            if handler.server.closing.is_set():  # the test has ended
                return
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
