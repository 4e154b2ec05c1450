"""Input lines of roff and mdoc: without comments, definitions and branches for printers; macros in a row."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

_ACCENTS = {":": "\u0308", "'": "\u0301", "`": "\u0300", "^": "\u0302", "~": "\u0303", ",": "\u0327"}
_GLYPHS = {
    "em": "—", "en": "–", "hy": "-", "bu": "•", "aq": "'", "dq": '"', "lq": "“", "rq": "”", "oq": "‘", "cq": "’",
    "co": "©", "rg": "®", "tm": "™", "rs": "\\", "ha": "^", "ti": "~", "ga": "`", "aa": "´", "at": "@", "sh": "#",
    "Do": "$", "Eu": "€", "Po": "£", "Fo": "«", "Fc": "»", "->": "→", "<-": "←", "mu": "×", "di": "÷", "+-": "±",
    "de": "°", "ss": "ß", "AE": "Æ", "ae": "æ", "/o": "ø", "/O": "Ø", "oa": "å", "la": "<", "ra": ">", "<=": "≤",
    ">=": "≥", "!=": "≠", "mi": "−", "pl": "+", "sc": "§", "ba": "|", "or": "|", "sl": "/", "ul": "_", "*W": "Ω",
    "*m": "μ", "12": "½", "14": "¼", "34": "¾", "lB": "[", "rB": "]", "lC": "{", "rC": "}", "Bq": "„", "sq": "□",
}  # fmt: skip
_ESCAPE = re.compile(
    r"""\\(?:
    f(?:\[[^\]]*\]|\(..|.) | s(?:\[[^\]]*\]|\(..|'[^']*'|[+-]?\d) | [mMFVgkn](?:\[[^\]]*\]|\(..|[+-]?.)
    | [hvwlLoDSHxXAbBZR]'[^']*' | N'(?P<code>\d+)'
    | \*(?:\[(?P<long>[^\]]*)\]|\((?P<two>..)|(?P<one>.)) | \[(?P<glyph>[^\]]*)\] | \((?P<pair>..)
    | (?P<comment>["\#].*) | (?P<sign>.?)
    )""",
    re.VERBOSE,
)
_SIGNS = {"-": "-", "e": "\\", "\\": "\\", " ": " ", "~": " ", "0": " ", "t": "\t", "'": "'", "`": "`", ".": "."}
_REQUEST = re.compile(r"[.'][ \t]*(?P<name>[^\s\\]{1,20}|\\\}|)[ \t]*(?P<rest>.*)")
_CONDITION = re.compile(
    r"(?P<not>!?)[ \t]*(?P<test>'[^']*'[^']*'|[^\s\\]+|(?:\\n(?:\[[^\]]*\]|\(..|.)[^\s]*)+)[ \t]*(?P<rest>.*)"
)
_ARGUMENT = re.compile(r'"((?:[^"]|"")*)"?|((?:\\.|[^\s\\])(?:\\.|[^\s\\])*)')

_CONDITIONS = ("if", "ie", "el")


class Roff:
    """The lines of a page, as requests with arguments or as text."""

    def __init__(self, text: str) -> None:
        """Take the text of a file."""
        self.strings = {"lq": "“", "rq": "”", "Tm": "™", "R": "®", "Aq": "'"}
        self._lines = text.replace("\\\n", "").split("\n")
        self._skipped = 0  # open brackets of a branch that is skipped
        self._until = ""  # end of a definition, which is skipped
        self._holds = True  # whether the last condition held, for `el`

    def lines(self) -> Iterator[tuple[str, str]]:
        """Yield the name of each request with its arguments as written; "" with a line of text."""
        for line in self._lines:
            if self._until:
                self._until = "" if "".join(line.split()) == self._until else self._until
            elif self._skipped:
                self._skipped += line.count("\\{") - line.count("\\}")
            elif (kept := self._branch(line)) is not None:
                yield from self._parsed(kept.replace("\\}", ""))

    def _branch(self, line: str) -> str | None:
        """Return a line without the conditions before it, None if one of them does not hold or nothing follows."""
        while (match := _REQUEST.fullmatch(line)) and match["name"] in _CONDITIONS:
            rest = match["rest"]
            if match["name"] == "el":
                self._holds = not self._holds
            elif condition := _CONDITION.fullmatch(rest):
                self._holds, rest = _holds(condition["test"]) != bool(condition["not"]), condition["rest"]
            if not self._holds:
                self._skipped = max(0, rest.count("\\{") - rest.count("\\}"))
                return None
            line = rest.replace("\\{", "", 1).strip()
            if not line:
                return None
        return line

    def _parsed(self, line: str) -> Iterator[tuple[str, str]]:
        match = _REQUEST.fullmatch(line)
        if match is None:
            yield "", line
        elif match["name"] in ("de", "de1", "am", "ig"):
            names = match["rest"].split()[match["name"] != "ig" :]
            self._until = f".{(names or ['.'])[0]}"
        elif match["name"] == "ds":
            key, _, value = match["rest"].partition(" ")
            self.strings[key] = self.plain(value.lstrip().removeprefix('"'))
        elif match["name"]:
            yield match["name"], match["rest"]

    def plain(self, text: str) -> str:
        """Return a text with its escapes replaced."""
        return _ESCAPE.sub(self._replacement, text) if "\\" in text else text

    def arguments(self, rest: str) -> list[str]:
        """Return the arguments of a request."""
        rest = re.sub(r'\\".*', "", rest)
        return [self.plain(quoted.replace('""', '"') or word) for quoted, word in _ARGUMENT.findall(rest)]

    def _replacement(self, match: re.Match[str]) -> str:
        if match["code"]:
            return chr(int(match["code"]) % 0x110000)
        if name := match["long"] or match["two"] or match["one"]:
            return self.strings.get(name, "")
        if name := match["glyph"] or match["pair"]:
            return _glyph(name)
        return _SIGNS.get(match["sign"] or "", "")


def _glyph(name: str) -> str:
    if re.fullmatch(r"u[0-9A-Fa-f]{4,6}(?:_[0-9A-Fa-f]{4,6})*", name):
        return "".join(chr(min(int(code, 16), 0x10FFFF)) for code in name[1:].split("_"))
    if len(name) == 2 and name[0] in _ACCENTS and name[1].isalpha():
        return name[1] + _ACCENTS[name[0]]
    return _GLYPHS.get(name, "")


def _holds(test: str) -> bool:
    """Return whether a condition holds on a terminal."""
    if test in ("n", "o") or test.startswith(("\\n(.g", "\\n[.g")):
        return True
    return test[:1].isdigit() and test[:1] != "0"


_AROUND = dict(Op="[]", Pq="()", Bq="[]", Brq="{}", Aq="<>", Dq="“”", Sq="‘’", Qq='""', Ql="‘’")
_MARKS = dict(Oo="[", Po="(", Bo="[", Do="“", So="‘", Qo='"', Oc="]", Pc=")", Bc="]", Dc="”", Sc="’", Qc='"', Nd="—")
_WORDS = dict(Ap="'", Ux="UNIX", Bx="BSD", Fx="FreeBSD", Nx="NetBSD", Ox="OpenBSD")
_PLAIN = "Ar Cm Ic Li Pa Ev Va Vt Fa Ft Em Sy No Er Dv An Ad Mt Tn Cd Xo Xc Fd Me Ms Lb St Fl Nm Xr Fn In Lk Ns"
MACROS = frozenset((*_AROUND, *_MARKS, *_WORDS, *_PLAIN.split()))  # macros whose arguments are text
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
