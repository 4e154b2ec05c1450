"""Lines of mdoc, in which macros follow one another: `.Op Fl a Ar file` is "[-a file]"."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

_AROUND = dict(Op="[]", Pq="()", Bq="[]", Brq="{}", Aq="<>", Dq="“”", Sq="‘’", Qq='""', Ql="‘’")
_MARKS = dict(Oo="[", Po="(", Bo="[", Do="“", So="‘", Qo='"', Oc="]", Pc=")", Bc="]", Dc="”", Sc="’", Qc='"', Nd="—")
_WORDS = dict(Ap="'", Ux="UNIX", Bx="BSD", Fx="FreeBSD", Nx="NetBSD", Ox="OpenBSD")
_PLAIN = "Ar Cm Ic Li Pa Ev Va Vt Fa Ft Em Sy No Er Dv An Ad Mt Tn Cd Xo Xc Fd Me Ms Lb St Fl Nm Xr Fn In Lk Ns"
MACROS = frozenset((*_AROUND, *_MARKS, *_WORDS, *_PLAIN.split()))
"""Macros whose arguments are text."""
_CLOSING = re.compile(r"[.,;:)\]?!}”’]+")


def line_text(tokens: Sequence[str], page: str) -> str:
    """Return the text of a macro and its arguments; `page`: the name that a bare `Nm` stands for.

    >>> line_text("Op Fl a Ar file".split(), ""), line_text("Nm Fl v , Xr ls 1 .".split(), "cat")
    ('[-a file]', 'cat -v, ls(1).')
    """
    text = ""
    for part, joined in _parts(tokens, page):
        glued = joined or not text or text[-1] in "([“‘{<" or bool(_CLOSING.fullmatch(part))
        text += part if glued else f" {part}"
    return text


def _parts(tokens: Sequence[str], page: str) -> Iterator[tuple[str, bool]]:
    """Yield the parts of a text, each with whether it follows without a space."""
    macro, joined, after, closing = "", False, 0, ""
    for at, token in enumerate(tokens):
        if token in MACROS:
            macro, after = token, 0
            bare = at + 1 == len(tokens) or tokens[at + 1] in MACROS
            joined = joined or token in ("Ns", "Ap")
            text = _of_macro(token, page, bare)
            closing = (_AROUND[token][1] if token in _AROUND else "") + closing
        else:
            after += 1
            text = _of_argument(macro, token, after)
            joined = joined or (macro == "Xr" and after == 2)
        if text:
            yield text, joined
            joined = False
    if closing:
        yield closing, True


def _of_macro(macro: str, page: str, bare: bool) -> str:
    if macro in _AROUND:
        return _AROUND[macro][0]
    if bare and macro in ("Fl", "Nm", "Ar"):
        return {"Fl": "-", "Nm": page, "Ar": "file ..."}[macro]
    return _WORDS.get(macro) or _MARKS.get(macro, "")


def _of_argument(macro: str, token: str, number: int) -> str:
    if _CLOSING.fullmatch(token) or token == "|":
        return token
    if macro == "Fl":
        return f"-{token}"
    return f"({token})" if macro == "Xr" and number == 2 else token
