"""Originals: a citation of a PDF opens its page with the text marked; pages are turned, and the file is saved."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.data.formats.made import CHAPTERS, rivers_pdf
from tests.serve.conftest import Running
from tests.serve.page.conftest import Opener, eventually, expect
from tests.serve.page.test_page_documents import ended, own

__all__ = ["own"]  # a fixture
pytestmark = pytest.mark.slow
# Whether the mark is in the upper third of the page; both are read at once, as the panel may scroll.
MARKED_ABOVE = """(page) => {
    const [whole, mark] = [page, page.querySelector("mark")].map((element) => element.getBoundingClientRect());
    return whole.x < mark.x && whole.y < mark.y && mark.y < whole.y + whole.height / 3;
}"""


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
    eventually(tab, lambda: page.locator("img").evaluate("(image) => image.naturalWidth > 500"))
    expect(tab.locator(".panel .turn-pages span")).to_have_text(f"Page 2 of {len(CHAPTERS)}")
    eventually(tab, lambda: page.evaluate(MARKED_ABOVE))
    tab.locator(".panel .pages").press("ArrowRight")
    expect(tab.locator(".panel .turn-pages span")).to_have_text(f"Page 3 of {len(CHAPTERS)}")
    expect(page.locator("mark")).to_have_count(0)
    expect(tab.get_by_role("button", name="Next")).to_be_disabled()
    tab.get_by_role("button", name="Text", exact=True).click()
    expect(tab.locator(".panel mark").first).to_contain_text("Radstadt")
    with tab.expect_download() as download:
        tab.get_by_role("link", name="Download").click()
    assert Path(download.value.path()).read_bytes() == data
