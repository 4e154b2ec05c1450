"""Manual pages: what a reader sees, without requests and escapes, from the macros of man, mdoc and generators."""

import gzip
from pathlib import Path

import pytest

from graphwright.data.document import Document, Skipped
from graphwright.data.documents import read_documents
from graphwright.data.formats.format import File
from graphwright.data.formats.registry import format_of

MAN = r""".\" A comment
.TH HARBOUR 1 "May 2024" "Kestrel 2.1"
.SH NAME
harbour \- book berths
.SH SYNOPSIS
.B harbour
[\fIOPTION\fR]... \fIBERTH\fR
.SH OPTIONS
.TP
\fB\-n\fR, \fB\-\-nights\fR=\fIN\fR
stay N nights; the default is 2,
.BR not 3
.TP
.B \-q
.TQ
.B \-\-quiet
print nothing
.PP
Steps:
.IP \(bu 2
lower the \(lqflag\(rq
.IP 2. 3
Caf\('e opens at 9
.SH EXAMPLES
.nf
harbour \-n 3 \e
  berth12
.fi
.TS
tab(|);
l l.
Berth|Fee
12|T{
42 euros
T}
.TE
"""
MDOC = r""".Dd May 3, 2024
.Dt HARBOUR 8
.Os
.Sh NAME
.Nm harbour
.Nd book berths
.Sh SYNOPSIS
.Nm
.Op Fl n Ar nights
.Op Fl aq
.Ar
.Sh DESCRIPTION
See
.Xr quay 5 .
.Bl -tag -width Ds
.It Fl n Ar nights , Fl -nights Ns = Ns Ar N
Stay
.Ar nights
nights.
.El
.Bd -literal
harbour -n 3
.Ed
.Ex -std
"""
GENERATED = r"""'\" t
.TH "HARBOUR" "1"
.ie \n(.g .ds Aq \(aq
.el       .ds Aq '
.de URL
\fI\\$2\fP
..
.if \n[.g] \{\
.  am URL
.    ad l
.  .
.\}
.SH "OPTIONS"
.sp
\fB\-n\fP
.RS 4
Don\*(Aqt wait\&.
.RE
.sp
.RS 4
.ie n \{\
\h'-04'\(bu\h'+03'\c
.\}
.el \{\
.IP \(bu 2.3
.\}
.if t .ds x printer only
lower the flag
.RE
"""


def text_of(page: str, name: str = "harbour.1") -> tuple[str, str]:
    file = File(name, content=page.encode())
    (part,) = format_of(file).read(file)
    return part.title, part.text  # type: ignore[union-attr]


def test_read_man_macros_give_options_as_items() -> None:
    title, text = text_of(MAN)
    assert title == "harbour(1)" and "comment" not in text
    assert "harbour - book berths" in text and "harbour [OPTION]... BERTH" in text
    assert "-n, --nights=N: stay N nights; the default is 2, not3" in text and "-q, --quiet: print nothing" in text
    assert "- lower the “flag”\n2. Café opens at 9" in text
    assert "harbour -n 3 \\\n  berth12" in text and "Berth; Fee\n12; 42 euros" in text


def test_read_mdoc_macros_give_the_same_form() -> None:
    title, text = text_of(MDOC, "harbour.8")
    assert title == "harbour(8)"
    assert "harbour — book berths" in text and "harbour [-n nights] [-aq] file ..." in text
    assert "See quay(5)." in text and "-n nights, --nights=N: Stay nights nights." in text
    assert "\n\nharbour -n 3\n\n" in text and "harbour exits 0 on success" in text


def test_read_generated_page_keeps_the_branch_of_terminals() -> None:
    _, text = text_of(GENERATED)
    assert "-n: Don't wait." in text and "- lower the flag" in text
    assert not any(mark in text for mark in ("printer only", "\\", ".ad", "URL"))


@pytest.mark.parametrize("name", ["harbour.1", "harbour.1.gz", "harbour.8ssl", "harbour"])
def test_read_documents_page_is_known_by_its_requests(tmp_path: Path, name: str) -> None:
    data = MAN.encode()
    (tmp_path / name).write_bytes(gzip.compress(data) if name.endswith(".gz") else data)
    (document,) = read_documents([tmp_path], pytest.fail)
    assert isinstance(document, Document) and "harbour - book berths" in document.text


def test_read_documents_what_is_no_text_is_named(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("A note.")
    (tmp_path / "harbor.1").write_text(".so man1/harbour.1\n")
    (tmp_path / "paper.ps.gz").write_bytes(gzip.compress(b"%!PS-Adobe-3.0\n" + b"0 0 moveto (x) show\n" * 99))
    (tmp_path / "list.txt").write_text(".hidden files\n.profile\n")
    skipped = list[Skipped]()
    documents = {document.id for document in read_documents([tmp_path], skipped.append)}
    assert documents == {"a.txt", "list.txt"}
    assert [(Path(s.path).name, s.reason.split(",")[0]) for s in skipped] == [
        ("harbor.1", "it only refers to the manual page man1/harbour.1"),
        ("paper.ps.gz", "PostScript"),
    ]
