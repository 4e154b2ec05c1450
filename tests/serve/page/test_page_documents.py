"""Documents: uploads with their progress, what was read and what was not, removal."""

from __future__ import annotations

import io
import json
import re
import shutil
import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.llm_server import LLMServer
from tests.serve.conftest import Running, serving
from tests.serve.page.conftest import ATTACK, Opener, Screen, expect

from graphwright.models.settings import LLMSettings
from graphwright.serve.settings import SyncSource

pytestmark = pytest.mark.slow


@pytest.fixture
def own(library: Path, tmp_path: Path) -> Iterator[Running]:
    """A server over a copy of the library."""
    shutil.copytree(library, tmp_path / "copy")
    with serving(tmp_path / "copy", data=tmp_path / "data") as running:
        yield running


def ended(screen: Screen) -> None:
    """Wait until the newest job has ended."""
    expect(screen.tab.locator(".jobs .job").first).to_have_class(re.compile("done|failed"))


def test_upload_is_read_and_answers(opener: Opener, own: Running) -> None:
    screen = opener(own)
    tab = screen.open("documents", index="cities")
    total = own.client.get("/v1/indexes/cities").json()["documents"]
    archive = io.BytesIO()
    with zipfile.ZipFile(archive, "w") as packed:
        packed.writestr("salzburg.md", "# Salzburg\n\nSalzburg lies on the Salzach.")
        packed.writestr("picture.bin", bytes(range(256)))
    files = [
        {"name": "Bregenz.txt", "mimeType": "text/plain", "buffer": "Bregenz lies on Lake Constance 🏞️.".encode()},
        {"name": "more.zip", "mimeType": "application/zip", "buffer": archive.getvalue()},
    ]
    tab.get_by_label("Choose files").set_input_files(files)
    ended(screen)
    job = tab.locator(".job.done").first
    expect(job.locator(".job-changes")).to_contain_text("2 added")
    job.locator("summary").click()
    expect(job.locator(".failed")).to_contain_text("picture.bin", use_inner_text=True)
    tab.get_by_role("heading", name=f"{total + 2} documents").wait_for()
    tab.get_by_label("Search documents").fill("bregenz")
    tab.get_by_role("heading", name="1 document found").wait_for()
    tab.locator(".document-list a").click()
    tab.locator(".text .entity", has_text="Bregenz").click()
    expect(tab.get_by_role("heading", name="Bregenz", level=2)).to_be_visible()
    screen.open(index="cities", q="On which lake does Bregenz lie?")
    expect(tab.locator(".answer")).to_contain_text("Lake Constance 🏞️")


def test_many_changes_leave_connections_for_questions(opener: Opener, own: Running) -> None:
    tab = opener(own).open("documents", index="cities")
    open_requests, most = set[Any](), 0

    def begun(request: Any) -> None:
        nonlocal most
        open_requests.add(request)
        most = max(most, len(open_requests))

    tab.on("request", begun)
    for event in ("requestfinished", "requestfailed"):
        tab.on(event, lambda request: open_requests.discard(request))
    files = [{"name": f"{at}.txt", "mimeType": "text/plain", "buffer": b"Steyr lies on the Enns."} for at in range(32)]
    tab.get_by_label("Choose files").set_input_files(files)
    tab.get_by_role("button", name="Show all 8").wait_for()
    expect(tab.locator(".jobs .state")).to_have_text(["done"] * 4)
    assert most < 6, "a browser has six connections to a server for all tabs"


def test_pasted_text_is_added_and_removed(opener: Opener, own: Running) -> None:
    screen = opener(own)
    tab = screen.open("documents", index="cities")
    tab.get_by_text("Or paste a text").click()
    tab.get_by_label("Title", exact=True).fill(f"Villach {ATTACK}")
    tab.get_by_label("Text", exact=True).fill(f"Villach lies on the Drava. {ATTACK}")
    tab.get_by_role("button", name="Add this text").click()
    ended(screen)
    row = tab.locator(".document-row", has_text="Villach")
    row.wait_for()
    row.get_by_role("button", name="Remove Villach").click()
    expect(row.get_by_role("button", name="Remove", exact=True)).to_be_focused()
    tab.keyboard.press("Escape")
    expect(row.get_by_role("button", name="Remove Villach")).to_be_focused()
    tab.keyboard.press("Enter")
    row.get_by_role("button", name="Keep").click()
    row.get_by_role("button", name="Remove Villach").click()
    row.get_by_role("button", name="Remove", exact=True).click()
    tab.locator(".jobs li").nth(1).wait_for()
    expect(row).to_have_count(0)
    expect(tab.locator("main img, main script")).to_have_count(0)


def test_documents_are_sorted(opener: Opener, own: Running) -> None:
    screen = opener(own)
    tab = screen.open("documents", index="cities")
    tab.get_by_role("link", name="Longest").press("Enter")
    expect(tab.locator(".document-list a").first).to_have_text("Annals")
    expect(tab).to_have_url(re.compile("sort=size"))
    tab.set_viewport_size({"width": 360, "height": 800})
    screen.check()


def test_chosen_documents_are_removed_together(opener: Opener, own: Running) -> None:
    screen = opener(own)
    tab = screen.open("documents", index="cities")
    total = own.client.get("/v1/indexes/cities").json()["documents"]
    for title in ("Survey", "Vienna"):
        box = tab.get_by_label(f"Choose {title}", exact=True)
        box.press("Space")
        expect(box).to_be_checked()
    tab.get_by_role("button", name="Remove 2 documents").press("Enter")
    tab.get_by_role("button", name="Keep").wait_for()
    screen.check()
    tab.get_by_role("button", name="Keep").press("Enter")
    tab.get_by_role("button", name="Remove 2 documents").press("Enter")
    expect(tab.locator(".confirm .danger")).to_be_focused()
    tab.keyboard.press("Enter")
    tab.get_by_role("heading", name=f"{total - 2} documents").wait_for()
    tab.get_by_label("Choose all shown").check()
    tab.get_by_role("button", name=f"Remove {total - 2} documents").wait_for()
    tab.set_viewport_size({"width": 360, "height": 800})
    screen.check()


def test_model_cost_is_shown_before_reading(opener: Opener, library: Path, tmp_path: Path) -> None:
    shutil.copytree(library, tmp_path / "copy")
    with LLMServer([json.dumps({"entities": [], "relations": []})]) as model:
        llm = LLMSettings("priced", model.url, prompt_price=10.0, completion_price=20.0)
        with serving(tmp_path / "copy", data=tmp_path / "data", llm=llm, extract=True) as running:
            screen = opener(running)
            tab = screen.open("documents", index="cities")
            file = {"name": "Bregenz.txt", "mimeType": "text/plain", "buffer": b"Bregenz lies on Lake Constance."}
            tab.get_by_label("Choose files").set_input_files([file])
            offer = tab.locator(".estimate")
            expect(offer).to_contain_text("priced")
            expect(offer).to_contain_text("$0.0")
            screen.check()
            offer.get_by_role("button", name="Cancel").click()
            expect(offer).to_have_count(0)
            expect(tab.locator(".jobs")).to_have_count(0)
            assert model.requests == []
            tab.get_by_label("Choose files").set_input_files([file])
            offer.get_by_role("button", name="Add documents").click()
            ended(screen)
            expect(tab.locator(".job.done .job-changes").first).to_contain_text("1 added")
            assert model.requests


def test_unreadable_upload_is_reported(opener: Opener, own: Running) -> None:
    screen = opener(own)
    tab = screen.open("documents", index="cities")
    name = f"{ATTACK.replace('/', '')}.bin"
    tab.get_by_label("Choose files").set_input_files(
        [{"name": name, "mimeType": "application/octet-stream", "buffer": bytes(range(256)) * 8}]
    )
    ended(screen)
    expect(tab.locator(".job.failed .job-message, .job details.failed").first).to_have_text(re.compile(r"\S"))
    expect(tab.locator("main img, main script")).to_have_count(0)
    expect(tab).to_have_title("Documents · graphwright")


def test_sources_show_their_last_sync(opener: Opener, library: Path, tmp_path: Path) -> None:
    shutil.copytree(library, tmp_path / "copy")
    (tmp_path / "reports").mkdir()
    (tmp_path / "reports" / "bruck.txt").write_text("Bruck lies on the Mur.")
    sources = {
        "reports": SyncSource(tmp_path / "reports"),
        "mails": SyncSource(f"mbox:{tmp_path}/team.mbox", 3_600),
    }
    with serving(tmp_path / "copy", data=tmp_path / "data", folders={"cities": sources}) as running:
        screen = opener(running)
        tab = screen.open("documents", index="cities")
        mails, reports = (tab.get_by_role("article").filter(has_text=name) for name in ("mails mbox", "reports folder"))
        mails.get_by_text("is no mbox file").wait_for()
        expect(mails).to_contain_text("every 1 h, next in a minute")
        expect(reports).to_contain_text("on request")
        expect(reports).to_contain_text("not synced")
        reports.get_by_role("button", name="Sync reports now").click()
        reports.get_by_text("just now").wait_for()
        tab.locator(".job.done .job-changes", has_text="1 added").wait_for()
