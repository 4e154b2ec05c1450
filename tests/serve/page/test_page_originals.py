"""Originals: a citation of a PDF opens its page with the text marked; pages are turned, and the file is saved."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.data.formats.made import CHAPTERS, rivers_pdf
from tests.serve.conftest import Running
from tests.serve.page.conftest import Opener
from tests.serve.page.test_page_documents import ended, own

__all__ = ["own"]  # a fixture
pytestmark = pytest.mark.slow


def test_citation_of_pdf_opens_its_page_with_the_text_marked(opener: Opener, own: Running, tmp_path: Path) -> None:
    screen, data = opener(own), rivers_pdf()
    tab = screen.open("documents", index="cities")
    tab.get_by_label("Choose files").set_input_files(
        [{"name": "rivers.pdf", "mimeType": "application/pdf", "buffer": data}]
    )
    ended(screen)
    screen.open(index="cities", q="Near which town does the Enns rise?")
    tab.locator(".marker").first.click()
    page = tab.locator(".panel .page")
    page.locator("mark").first.wait_for()
    tab.wait_for_function("() => document.querySelector('.panel .page img').naturalWidth > 500")
    assert tab.locator(".panel .turn-pages span").inner_text() == f"Page 2 of {len(CHAPTERS)}"
    whole, mark = page.bounding_box(), page.locator("mark").first.bounding_box()
    assert whole and mark and whole["x"] < mark["x"] and whole["y"] < mark["y"] < whole["y"] + whole["height"] / 3
    tab.locator(".panel .pages").press("ArrowRight")
    tab.locator(".panel .turn-pages span", has_text="Page 3").wait_for()
    assert page.locator("mark").count() == 0 and tab.get_by_role("button", name="Next").is_disabled()
    tab.get_by_role("button", name="Text", exact=True).click()
    assert "Radstadt" in tab.locator(".panel mark").first.inner_text()
    with tab.expect_download() as download:
        tab.get_by_role("link", name="Download").click()
    assert Path(download.value.path()).read_bytes() == data
