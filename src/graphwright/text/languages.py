"""Questions in German, French and Spanish: their function words in English, and words of one origin."""

from __future__ import annotations

import re
from collections.abc import Sequence

from graphwright.text.words import STOP_WORDS


def _words(text: str) -> dict[str, str]:
    """Return the pairs of "word=translation" in a text."""
    pairs = (part.split("=") for part in text.split())
    return {word: english.replace("_", " ") for words, english in pairs for word in words.split("/")}


_INTERROGATIVES = {
    "de": _words(
        "wer=who wen/wem=whom wessen=whose was=what wann=when wo/wohin/woher=where wie=how warum/wieso=why"
        " welche/welcher/welches/welchen/welchem=which wieviel=how_much wieviele=how_many"
    ),
    "fr": _words(
        "qui=who que/quoi/qu=what quel/quelle/quels/quelles=which quand=when où=where comment=how pourquoi=why"
        " combien=how_many"
    ),
    "es": _words(
        "quien/quienes=who que=what cual/cuales=which cuando=when donde/adonde=where como=how cuantos/cuantas=how_many"
        " cuanto/cuanta=how_much"
    ),
}
_AUXILIARIES = {
    "de": _words(
        "ist=is sind=are war=was waren=were hat=has haben=have hatte/hatten=had wird=is werden=are wurde=was"
        " wurden=were kann/konnen=can konnte/konnten=could"
    ),
    "fr": _words("est=is sont=are etait/fut=was etaient/furent=were ont=have avait/avaient=had peut/peuvent=can"),
    "es": _words("es/esta=is son/estan=are fue/era=was fueron/eran=were ha=has han=have puede/pueden=can hay=are"),
}
_OTHERS = {
    "de": _words(
        "der/die/das/den/dem/des=the ein/eine/einen/einem/einer/eines=a von/vom=of in/im=in an/am/auf=on aus=from"
        " bei/beim=at mit=with zu/zum/zur=to fur=for nach=after vor=before seit=since durch=by uber=about unter=under"
        " und=and oder=or nicht=not kein/keine/keinen/keiner/keinem=no ohne=without mehr=more weniger=less als=than"
        " auch=also sein/seine/seiner/seinen=his ihr/ihre/ihrer/ihren=her er=he sie=she es=it gibt=are dort/da=there"
        " alle/aller/allen=all jede/jeder/jedes=every beide/beiden=both viele/vielen=many viel=much worden=been"
        " gleiche/gleichen/selben/derselbe/dieselbe=same meisten/meiste=most erste/erster/ersten/zuerst=first"
        " letzte/letzter/letzten=last langste/langster/langsten=longest kurzeste/kurzester/kurzesten=shortest"
        " grosste/grosster/grossten/grosstes=largest kleinste/kleinster/kleinsten/kleinstes=smallest"
        " hochste/hochster/hochsten=highest alteste/altester/altesten=oldest jungste/jungster/jungsten=youngest"
        " neueste/neuester/neuesten/neuste=newest"
    ),
    "fr": _words(
        "le/la/les/l=the un/une=a de/du/des/d=of dans/en=in à/au/aux/chez=at par=by pour=for avec=with sur=on"
        " sous=under depuis=since avant=before après/apres=after et=and ou=or ne/n/pas=not sans=without aucun/aucune=no"
        " moins=less"
        " il/elle/on=it ils/elles=they ce/cet/cette/ces/c=this son/sa/ses=his leur/leurs=their se/s=itself y=there"
        " tous/toutes/tout=all chaque=every aussi=also même/memes/mêmes=same ete=been grand/grande=large"
        " petit/petite=small long/longue=long haut/haute=high vieux/vieille/ancien/ancienne=old jeune=young"
        " recent/recente=recent premier/première/premiere=first dernier/dernière/derniere=last"
    ),
    "es": _words(
        "el/la/los/las/lo=the un/una/unos/unas=a de/del=of en=in a/al=to por=by para=for con=with sin=without"
        " desde=since hasta=until antes=before despues=after entre=between y/e=and o/u=or no=not ningun/ninguna=no"
        " menos=less su/sus=his se=itself todos/todas=all cada=every tambien=also mismo/misma/mismos/mismas=same"
        " sido=been largo/larga=long grande=large pequeño/pequena=small alto/alta=high antiguo/antigua/viejo/vieja=old"
        " joven=young reciente=recent primero/primera/primer=first ultimo/ultima=last"
    ),
}
_MORE = {"fr": "plus", "es": "mas"}
"""Words that mean "most", and "more" before "que"."""


def in_english(words: Sequence[str], raw: Sequence[str]) -> list[str] | None:
    """Return the words of a question with its function words in English; None for a question in English.

    A question is in another language if it has an interrogative of it, or begins with an auxiliary, and more of its
    function words than of the English ones. `words` are folded; `raw`: the same in lower case, with accents.

    >>> in_english("wer war die mutter von anna".split(), "wer war die mutter von anna".split())
    ['who', 'was', 'the', 'mutter', 'of', 'anna']
    >>> in_english("who wrote die hard".split(), "who wrote die hard".split()) is None
    True
    """
    english = sum(word in STOP_WORDS for word in raw)
    best, most = None, english
    for language, others in _OTHERS.items():
        asking, helping = _INTERROGATIVES[language], _AUXILIARIES[language]
        known = {**others, **helping, **asking}
        found = [known.get(own, known.get(word)) for word, own in zip(words, raw, strict=True)]
        is_question = any(word in asking or own in asking for word, own in zip(words, raw, strict=True))
        is_question = is_question or (len(words) > 0 and words[0] in helping)
        count = sum(word is not None for word in found)
        if is_question and count > most:
            best, most = [word if own is None else own for own, word in zip(found, words, strict=True)], count
            if (more := _MORE.get(language)) and more in words:
                at = words.index(more)
                best[at] = "more" if "que" in words[at:] else "most"
    return best


_SOUNDS = tuple(
    (re.compile(pattern), sound)
    for pattern, sound in (
        ("tion|cion|zion", "sn"), ("gn", "n"), ("sch|ch|gh|ck|qu", "k"), ("ph|pf", "p"), ("th", "t"), ("[bfpv]", "p"),
        ("[dt]", "t"), ("[cgjkqx]", "k"), ("[sz]", "s"), ("[aeiouyhw]", ""), (r"(.)\1+", r"\1"),
    )
)  # fmt: skip
_ENDING = re.compile(r"(?<=\w{4})(?:ed|er|ers|or|ors|ing|ion|s|es)$")
_LEAST = 3  # consonants of a word that may be compared; one less where the words begin alike


def are_cognates(foreign: str, english: str) -> bool:
    """Return whether two words of two languages have the same consonants, sounds of one class counting as equal.

    Consonants are what words of one origin keep; their classes are those that sound changes stay in (consonant class
    matching: Dolgopolsky 1964; Turchin et al. 2010).

    >>> are_cognates("mutter", "mother"), are_cognates("diseno", "designed"), are_cognates("acteurs", "actor")
    (True, True, True)
    >>> are_cognates("jouent", "country"), are_cognates("vater", "mother")
    (False, False)
    """
    own = {_consonants(foreign), _consonants(_ENDING.sub("", foreign))}
    other = {_consonants(english), _consonants(_ENDING.sub("", english))}
    least = _LEAST - (foreign[:3] == english[:3])
    return any(len(consonants) >= least for consonants in own & other)


def _consonants(word: str) -> str:
    for pattern, sound in _SOUNDS:
        word = pattern.sub(sound, word)
    return word
