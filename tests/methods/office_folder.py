"""A folder of files of several kinds, whose values are known: of a glass workshop."""

from __future__ import annotations

import datetime
import json
from pathlib import Path

from openpyxl import Workbook
from tests.data.formats.made import written

DELIVERIES = (
    "Lieferung;Lieferant;Eingang;Menge;Betrag\n"
    "L-01;Müller GmbH;03.02.2024;120;1.234,50\n"
    "L-02;Kern & Co;17.03.2024;80;990,00\n"
    "L-03;Müller GmbH;28.11.2023;45;-120,25\n"
    "L-04;Überland;02.05.2024;300;12.400,00\n"
)
RETURNS = 'Lieferung,Eingang,Betrag\nL-01,03/29/2024,"1,234.50"\nL-04,05/06/2024,2.125\n'
MAILBOX = """\
From ida@example.org Mon Mar  4 09:00:00 2024
From: Ida Berg <ida@example.org>
To: Udo Kern <udo@example.org>
Subject: Kiln repair
Date: Mon, 04 Mar 2024 09:00:00 +0100
Message-ID: <1@example.org>

The kiln stops at 900 degrees. Can you come?

From udo@example.org Tue Mar  5 10:30:00 2024
From: Udo Kern <udo@example.org>
To: Ida Berg <ida@example.org>
Subject: Re: Kiln repair
Date: Tue, 05 Mar 2024 10:30:00 +0100
Message-ID: <2@example.org>
In-Reply-To: <1@example.org>

On Thursday, with a new sensor.

On Mon, 4 Mar 2024 at 09:00, Ida Berg <ida@example.org> wrote:
> The kiln stops at 900 degrees. Can you come?

From ida@example.org Fri Mar  8 08:15:00 2024
From: Ida Berg <ida@example.org>
To: Udo Kern <udo@example.org>
Subject: Re: Kiln repair
Date: Fri, 08 Mar 2024 08:15:00 +0100
Message-ID: <3@example.org>
In-Reply-To: <2@example.org>

It works again, thank you.

> On Thursday, with a new sensor.
"""
CHAT = """\
01/03/2024, 09:12 - Mara: Who fetches the sand?
01/03/2024, 09:15 - Tom: I do, at noon.
Keep the gate open.
02/03/2024, 18:40 - Mara: Thanks!
04/03/2024, 07:55 - Lea: The gate is still open.
"""
FURNACES = {
    "workshop": "Glass Lane",
    "furnaces": [
        {"name": "Alba", "limits": {"temperature": 1150, "gas": True}, "glass": ["clear", "amber"]},
        {"name": "Boreas", "limits": {"temperature": 1320, "gas": False}, "glass": ["cobalt"]},
        {"name": "Cinder", "limits": {"temperature": 980, "gas": True}, "glass": ["clear"]},
    ],
}
POLICY = "---\ntitle: Visitor policy\nversion: {}\ndate: {}\n---\n# Visitor policy\n\nGroups may have {} visitors.\n"


def orders_book() -> bytes:
    """Return an Excel file of two sheets: one with a merged title above its header, both with a total row."""
    book = Workbook()
    orders = book.active
    assert orders is not None
    orders.title = "Orders"
    orders.append(["Orders of the spring", None, None, None])
    orders.merge_cells("A1:D1")
    orders.append(["Order", "Customer", "Due", "Price"])
    for order, customer, due, price in (
        ("O-7", "Town Hall", datetime.date(2024, 4, 2), 2100),
        ("O-8", "Abbey", datetime.date(2024, 6, 15), 8400.5),
        ("O-9", "Town Hall", datetime.date(2024, 5, 20), 640),
    ):
        orders.append([order, customer, due, price])
    orders.append(["Total", None, None, 11140.5])
    staff = book.create_sheet("Staff")
    for row in (["Person", "Hours"], ["Mara", 30], ["Tom", 38.5], ["Lea", 12]):
        staff.append(row)
    return written(book)


def write_folder(folder: Path) -> None:
    """Write the files."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "deliveries.csv").write_bytes(DELIVERIES.encode("cp1252"))
    (folder / "returns.csv").write_text(RETURNS, "utf-8")
    (folder / "orders.xlsx").write_bytes(orders_book())
    (folder / "kiln.mbox").write_text(MAILBOX, "utf-8")
    (folder / "WhatsApp Chat with Sand.txt").write_text(CHAT, "utf-8")
    (folder / "furnaces.json").write_text(json.dumps(FURNACES, indent=1), "utf-8")
    for version, date, visitors in (("1", "2022-01-10", "ten"), ("2", "2024-02-01", "six")):
        (folder / f"visitors-v{version}.md").write_text(POLICY.format(version, date, visitors), "utf-8")
