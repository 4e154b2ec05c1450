"""English stop words, and the words that begin sentences without naming anything."""

from __future__ import annotations

__all__ = ["FIRST_WORDS", "NOT_NAMES", "STOP_WORDS"]

STOP_WORDS = frozenset(
    (
        "a about above after again against all also am an and any are as at be because been before being below"
        " between both but by can could did do does doing down during each few for from further had has have having"
        " he her hers him himself his how i if in into is it its itself just me more most my no nor not now of off on"
        " once only or other our out over own s same she should so some such t than that the their them then there"
        " these they this those through to too under until up us very was we were what when where which while who"
        " whom whose why will with would you your"
    ).split()
)
"""Words that say nothing about a passage; `graphwright.text.words` drops them."""

NOT_NAMES = STOP_WORDS - frozenset("doing down himself itself me s same t".split()) | frozenset(
    (
        "according along although among another around back based besides beyond born despite directed dr early"
        " either elsewhere even eventually every finally first following former formerly founded hence here however"
        " including initially inside instead known last late later latter like located many may meanwhile moreover mr"
        " mrs ms much named near nearly neither nevertheless none often one onto originally others outside part"
        " people per perhaps previously produced rather recently released second several similarly since sir"
        " sometimes soon still subsequently therefore third though three throughout thus today together toward"
        " towards two unlike upon used usually well whereas whether within without written yet"
    ).split()
)
"""Words that are no name, though a sentence may begin with them and so write them with a capital."""

FIRST_WORDS = tuple(
    (
        "A An And Although After As At Before Both But By During Each For From He Her Here His How However I If In"
        " It Its Later Many Most My No On One Other Our She Since So Some Such That The Their Then There These They"
        " This Those Though Thus To Until We What When Where Which While Who Why With You Your"
    ).split()
)
"""Common first words of sentences: before one of them, even the full stop of an abbreviation ends a sentence."""
