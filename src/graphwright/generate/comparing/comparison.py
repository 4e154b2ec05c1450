"""What a question compares, read from its words: which things, what of them, and which end is asked for."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple

from graphwright.text.words import words

__all__ = ["ROLES", "Comparison", "comparison", "role_of"]

ROLES = {
    "director": r"direct(?:ed|ion)",
    "performer": r"(?:performed|recorded|sung|released)",
    "composer": r"(?:composed|music|score)",
    "writer": r"(?:written|wrote)",
    "author": r"(?:written|wrote|novel|book)",
    "producer": r"produced",
    "founder": r"founded",
    "creator": r"created",
}
"""Whose attribute may be asked for, and the words that come before "by" and that one's name."""


class Comparison(NamedTuple):
    """What a question compares.

    `listed`: the things as written, joined by `joined` ("or", "and"); `attribute`: what of them is compared ("born",
    "died", "lived", "age", "started", "counted", "measured", "country", "said" or "has"), with its `detail` (what is
    counted, the adjective, what is said or had); `least`: whether the least is asked for; `same`: whether it is asked
    if all are alike; `role`: whose attribute it is, as the things' director's, else empty.
    """

    listed: str
    joined: str
    attribute: str
    detail: str = ""
    least: bool = False
    same: bool = False
    role: str = ""


_ROLE = rf"(?:{'|'.join(ROLES)})"
_LEAST = re.compile(r"\b(?:first|earlier|earliest|before|older|oldest|elder|eldest)\b")
_MOST = re.compile(r"\b(?:later|latest|last|recent|recently|newer|newest|younger|youngest|after|second)\b")
# The first of these that the words hold is what a direction is asked of.
_EVENTS = {
    "born": re.compile(r"\b(?:born|birth)\b"),
    "died": re.compile(r"\b(?:died?|dead|death|passed away)\b"),
    "started": re.compile(
        r"\b(?:releas|publish|found|establish|form|open|start|built|build|creat|launch|premier|produc|beg[aiu]n|introduc|"
        r"construct|air|complet|record|incorporat)(?:e|ed|ing|ation)?\b|\bc[oa]me out\b|\bmade\b|\bpublication\b"
    ),
    "age": re.compile(r"\b(?:older|oldest|elder|eldest|younger|youngest|newer|newest)\b"),
}
_LIVED = re.compile(r"\blived? (?:for )?(?:longer|longest|shorter)\b|\b(?:longer|shorter) (?:life|lifespan)\b")
_COUNTED = re.compile(
    r"\b(?P<much>more|most|fewer|fewest|less|least|(?:greater|larger|higher|greatest|largest|highest|smaller|lower|smallest|"
    r"lowest) number of) (?P<noun>[\w -]+)$"
)
_MEASURED = re.compile(
    r"\b(?P<word>tall|high|long|short|larg|bigg|small)(?:er|est)\b(?P<rest>.*)|\b(?:more|most) populous\b"
)
_FEW = re.compile(r"few|less|least|small|low|short")
# A comparison that none of the above is: no description either.
_COMPARES = re.compile(
    r"\b(?:number of|more|most|less|least|first|last|than|better|best|worse|closer|f[au]rther|\w+i(?:er|est))\b"
)
_AUXILIARY = r"(?:are|were|is|was|do|did|does|have|has)"
_SAME = re.compile(
    rf"^{_AUXILIARY} (?P<listed>.+?),?(?P<between>(?: both| all| each)?(?: (?:have|has|had|shares?|shared|sharing|"
    r"come|comes|coming|came|originated?|originally|located|situated|found|based|born|die|died|from|of|in|at|directors?|that|who|with|"
    r"published|released|founded|formed|established|hails?|are|is|were|was|made|produced|set|the|a))*)"
    r" (?:same (?P<what>[a-z ]+?)(?: (?:as|with) (?P<other>.+))?|(?P<only>nationality))$"
)
_QUALITY = re.compile(r"\b(?:country|nationality|citizenship|nation)\b")


def comparison(question: str) -> Comparison | None:
    """Return what a question compares, None where it is not seen to compare.

    >>> comparison("Which film has the director who died first, The Prairie King or Devotion (1929 Film)?")
    Comparison(listed='The Prairie King or Devotion (1929 Film)', joined='or', attribute='died', detail='', \
least=True, same=False, role='director')
    >>> found = comparison("Were Scott Derrickson and Ed Wood of the same nationality?")
    >>> found.listed, found.attribute, found.same
    ('Scott Derrickson and Ed Wood', 'country', True)
    """
    text = " ".join(question.split()).rstrip("?:. ")
    text = text[:1].lower() + text[1:]
    found = [one for one in (_sameness(text), *map(_choice, _choices(text))) if one]
    # A description may have commas of its own, so the last way to part it is taken.
    return next((one for one in found if one.attribute != "has"), found[-1] if found else None)


def role_of(text: str) -> tuple[str, str]:
    """Part "the director of film A" into the role and the name; the role is empty where none is named.

    >>> role_of("the director of film Das Boot"), role_of("Das Boot")
    (('director', 'Das Boot'), ('', 'Das Boot'))
    """
    match = re.match(rf"(?:both )?(?:the )?(?P<role>{_ROLE})s? of (?:[a-z]+ )*", text)
    return (match["role"], text[match.end() :]) if match else ("", text)


def _sameness(text: str) -> Comparison | None:
    """Read a question whether things are alike: "Are A and B from the same country?"."""
    match = _SAME.match(text)
    if match is None:
        return None
    what, listed, between = match["what"] or match["only"], match["listed"], match["between"]
    if match["other"]:
        listed = f"{listed} and {match['other']}"
    # What is written small before the first name is no part of it: "the directors of both films".
    lead = re.match(r"(?:[a-z][\w'-]*[,:]* )*", listed)
    before = lead[0] if lead else ""
    role = re.search(rf"\b(?P<role>{_ROLE})s?\b", before + between)
    attribute, detail = "said", what
    if _QUALITY.search(what):
        attribute = "country"
    elif event := next((name for name, words_of in _EVENTS.items() if words_of.search(between)), ""):
        if re.search(r"\byear\b", what):
            attribute = event
        elif event == "born":
            detail = f"{what} of birth"
    return Comparison(listed[len(before) :], "and", attribute, detail, same=True, role=role["role"] if role else "")


def _choices(text: str) -> Iterator[tuple[str, str, str]]:
    """Yield the ways to part what a question asks from the things it names: (asked, listed, how they are joined)."""
    for form, joined in (
        (r"(?:out of|between|of|among) (?P<listed>.+? and .+?), (?P<asked>(?:who|which|what)\b.+)", "and"),
        (r"(?P<asked>\w+ .+?) (?:out of|between|among) (?P<listed>.+ and .+)", "and"),
        (r"who of (?P<listed>.+ and .+?) (?P<asked>(?:is|was) .+)", "and"),
        (
            rf"{_AUXILIARY} (?P<listed>.+ or .+?) (?P<asked>[a-z]+ (?:[a-z]+ )?(?:first|earlier|later|last|recently))",
            "or",
        ),
        (r"(?P<asked>(?:who|which|what)[^,]*?), (?P<listed>[^,]+ or [^,]+?), (?P<more>.+)", "or"),
    ):
        match = re.fullmatch(form, text)
        if match:
            yield f"{match['asked']} {match.groupdict().get('more') or ''}".strip(), match["listed"], joined
    if re.match(r"(?:who|which|what|whose|when|of|in|on)\b", text) and " or " in text:
        # After a comma or a colon, else where the first name begins.
        for comma in re.finditer(r"[,:] ", text[: text.rindex(" or ")]):
            yield text[: comma.start()], text[comma.end() :], "or"
        match = re.match(r"(\w+ [^A-Z0-9]*?) ((?:the )?[^\sa-z].* or .+)$", text)
        if match:
            yield match[1], match[2], "or"


def _choice(parts: tuple[str, str, str]) -> Comparison | None:
    """Read what is asked of the things: which is the first, the longest, the one that is so."""
    asked, listed, joined = parts[0].lower().rstrip(", "), *parts[1:]
    role = re.search(rf"\b(?:whose|has (?:the|a)|the|with the) (?P<role>{_ROLE})\b", asked)
    attribute, detail, least = _asked(asked)
    if attribute == "has" and role:
        return None
    return (
        Comparison(listed, joined, attribute, detail, least, role=role["role"] if role else "") if attribute else None
    )


def _asked(asked: str) -> tuple[str, str, bool]:
    """Return the attribute, its detail, and whether the least is asked for; no attribute where none is known."""
    least = bool(_LEAST.search(asked))
    if _LIVED.search(asked):
        return "lived", "", "shorter" in asked
    if least or _MOST.search(asked):
        return next((name for name, words_of in _EVENTS.items() if words_of.search(asked)), ""), "", least
    measured = _MEASURED.search(asked)
    if measured and not (measured["rest"] or "").startswith(" number of"):
        people = measured["word"] is None or "population" in asked
        return "measured", "populous" if people else measured["word"], bool(_FEW.match(measured["word"] or ""))
    counted = _COUNTED.search(asked)
    if counted:
        return "counted", counted["noun"], bool(_FEW.match(counted["much"]))
    said = re.sub(r"^\W*(?:who|which|what)\b(?: (?:of the following|one))?", "", asked).strip()
    return ("", "", False) if _COMPARES.search(asked) or not words(said) else ("has", said, False)
