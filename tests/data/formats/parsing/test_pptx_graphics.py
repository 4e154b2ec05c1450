"""Charts and diagrams of PowerPoint presentations."""

from __future__ import annotations

import io
import zipfile
from datetime import date
from itertools import starmap
from typing import Any

import pytest
from tests.data.formats.made import edited, extracted, written


def slides(*charts: tuple[str, Any]) -> Any:
    """A presentation of one slide, with charts of a kind and data each."""
    pptx = pytest.importorskip("pptx")
    from pptx.enum.chart import XL_CHART_TYPE

    presentation = pptx.Presentation()
    slide = presentation.slides.add_slide(presentation.slide_layouts[6])
    for kind, data in charts:
        slide.shapes.add_chart(XL_CHART_TYPE[kind], 0, 0, 100, 100, data)
    return presentation


def categories(*names: Any, **series: tuple[float | None, ...]) -> Any:
    """Data of a chart, by category."""
    data = pytest.importorskip("pptx.chart.data").CategoryChartData()
    data.categories = names
    for name, values in series.items():
        data.add_series(name, values)
    return data


def chart_member(saved: bytes) -> str:
    """The part of a presentation that is its only chart."""
    names = zipfile.ZipFile(io.BytesIO(saved)).namelist()
    return next(name for name in names if "charts/chart" in name and "rels" not in name)


def test_pptx_chart_becomes_sentence_for_each_category() -> None:
    presentation = slides(("COLUMN_CLUSTERED", categories("2024", "2025", Visitors=(120, 130.5), Guides=(7, None))))
    chart = presentation.slides[0].shapes[0].chart
    chart.chart_title.text_frame.text = "The clock tower"
    chart.value_axis.axis_title.text_frame.text = "Persons a day"
    saved = written(presentation)
    expected = "The clock tower\nPersons a day\n\n2024; Visitors: 120; Guides: 7.\n2025; Visitors: 130.5."
    assert extracted("a.pptx", saved).text == expected
    for kind in ("bar3DChart", "area3DChart"):  # which python-pptx does not know, the second by another error
        changed = edited(saved, "c:barChart>", f"c:{kind}>", chart_member(saved))
        assert extracted("a.pptx", changed).text == expected


def test_pptx_nested_categories_are_named_with_outer_one() -> None:
    data = categories(Bridges=(9, 4))
    styria = data.add_category("Styria")
    for town in ("Graz", "Leoben"):
        styria.add_sub_category(town)
    lines = "Styria, Graz; Bridges: 9.\nStyria, Leoben; Bridges: 4."
    saved = written(slides(("COLUMN_CLUSTERED", data), ("PIE", data)))
    assert extracted("a.pptx", saved).text == f"{lines}\n\n{lines}"


def test_pptx_points_have_both_values_and_size() -> None:
    data = pytest.importorskip("pptx.chart.data")
    points = data.XyChartData()
    for name, shift in (("Mur", 0), ("Enns", 0), ("Drava", 1)):
        series = points.add_series(name)
        series.add_data_point(0.5 + shift, 2.1 + 0.3)
        series.add_data_point(1.5 + shift, 4)
    lines = ["0.5; Mur: 2.4; Enns: 2.4.", "1.5; Mur: 4; Enns: 4.", "", "1.5; Drava: 2.4.", "2.5; Drava: 4."]
    assert extracted("a.pptx", written(slides(("XY_SCATTER", points)))).text.splitlines() == lines
    bubbles = data.BubbleChartData()
    bubbles.add_series("Lakes").add_data_point(1, 2, 30)
    assert extracted("a.pptx", written(slides(("BUBBLE", bubbles)))).text == "1; Lakes: 2; Lakes size: 30."


def test_pptx_chart_dates_and_labels_are_as_shown() -> None:
    saved = written(slides(("LINE", categories(date(2024, 2, 29), date(2025, 3, 1), Visitors=(120, 130)))))
    lines = ["2024-02-29; Visitors: 120.", "2025-03-01; Visitors: 130."]
    assert extracted("a.pptx", saved).text.splitlines() == lines
    label = """<c:dLbls><c:dLbl><c:idx val="1"/><c:tx><c:rich><a:p><a:r><a:t>the flood</a:t></a:r></a:p></c:rich></c:tx>
</c:dLbl></c:dLbls><c:cat>"""
    lines[1] = "2025-03-01; Visitors: 130 (the flood)."
    assert extracted("a.pptx", edited(saved, "<c:cat>", label, chart_member(saved))).text.splitlines() == lines


DRAWN = "http://schemas.openxmlformats.org/drawingml/2006"
POINT = "<dgm:pt modelId='{}'><dgm:t><a:p><a:r><a:t>{}</a:t></a:r></a:p></dgm:t></dgm:pt>"
LINK = "<dgm:cxn modelId='l{0}{1}' srcId='{0}' destId='{1}' srcOrd='{2}' destOrd='0'/>"


def test_pptx_diagram_is_read_in_tree_order() -> None:
    presentation = slides()
    from pptx.opc.package import Part
    from pptx.opc.packuri import PackURI
    from pptx.oxml import parse_xml

    points = "<dgm:pt modelId='0' type='doc'/>" + "".join(starmap(POINT.format, ["4d", "3c", "1a", "2b"]))
    links = "".join(starmap(LINK.format, [("0", "3", 1), ("0", "1", 0), ("1", "2", 1), ("1", "4", 0), ("2", "1", 0)]))
    model = f"""<dgm:dataModel xmlns:dgm="{DRAWN}/diagram" xmlns:a="{DRAWN}/main"><dgm:ptLst>{points}</dgm:ptLst>
<dgm:cxnLst>{links}</dgm:cxnLst></dgm:dataModel>"""
    slide = presentation.slides[0]
    part = Part(PackURI("/ppt/diagrams/data1.xml"), "application/xml", presentation.part.package, model.encode())
    name = slide.part.relate_to(part, "http://schemas.openxmlformats.org/officeDocument/2006/relationships/diagramData")
    frame = """<p:graphicFrame xmlns:p="http://schemas.openxmlformats.org/presentationml/2006/main" xmlns:a="{0}/main"
xmlns:r="http://schemas.openxmlformats.org/officeDocument/2006/relationships"><p:nvGraphicFramePr><p:cNvPr id="9"
name="d"/><p:cNvGraphicFramePr/><p:nvPr/></p:nvGraphicFramePr><p:xfrm><a:off x="0" y="0"/><a:ext cx="9" cy="9"/>
</p:xfrm><a:graphic><a:graphicData uri="{0}/diagram"><dgm:relIds xmlns:dgm="{0}/diagram" r:dm="{1}"/></a:graphicData>
</a:graphic></p:graphicFrame>"""
    slide.shapes.element.append(parse_xml(frame.format(DRAWN, name)))
    assert extracted("a.pptx", written(presentation)).text == "a\n- d\n- b\nc"


def test_pptx_shape_for_newer_programs_is_read_once() -> None:
    presentation = slides()
    presentation.slides[0].shapes.add_textbox(0, 0, 9, 9).text_frame.text = "The area is"
    body = f"""<p:txBody xmlns:a="{DRAWN}/main"><a:p><a:r><a:t>%s</a:t></a:r></a:p></p:txBody>"""
    newer = f"""</p:sp><mc:AlternateContent xmlns:mc="http://schemas.openxmlformats.org/markup-compatibility/2006">
<mc:Choice Requires="a14"><p:sp>{body % "πr²"}</p:sp></mc:Choice>
<mc:Fallback><p:sp>{body % "a picture"}</p:sp></mc:Fallback></mc:AlternateContent></p:spTree>"""
    saved = edited(written(presentation), "</p:sp></p:spTree>", newer, "ppt/slides/slide1.xml")
    assert extracted("a.pptx", saved).text == "The area is\n\nπr²"
