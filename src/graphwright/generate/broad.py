"""Broad questions: those that ask for no fact but for what a whole is about, known by their form."""

from __future__ import annotations

import re
from dataclasses import dataclass

from graphwright.operators.operator import Operator, top_of
from graphwright.operators.run import Run
from graphwright.operators.state import State
from graphwright.text.words import words

__all__ = ["Broad", "is_broad", "names_nothing"]

_KINDS = (
    "theme themes topic topics motif motifs idea ideas point points argument arguments finding findings takeaway "
    "takeaways message messages subject subjects issue issues conclusion conclusions lesson lessons event events "
    "trend trends concept concepts insight insights thread threads"
)
_WHOLES = (
    "text texts document documents doc docs documentation corpus corpora collection collections book books novel story "
    "stories tale article articles paper papers report reports file files passage passages notes data dataset index "
    "material materials content contents narrative library archive source sources"
)
_KIND, _WHOLE = (f"({names.replace(' ', '|')})" for names in (_KINDS, _WHOLES))
_CHIEF = "main key central major principal overall overarching core recurring common essential"
_FORM = re.compile(
    rf"""
    \b ({_CHIEF.replace(" ", "|")}) \s+ (\w+ \s+ (and|or) \s+)? {_KIND} \b
    | \b (themes | topics | motifs | takeaways) \b
    | (^ \s* | \b (a|an|brief|short|quick|concise|please|you|me|us) \s+)
      (summar(y|i[sz]e) | synopsis | overview | gist | recap | outline | nutshell) \b
    | \b the \s+ (gist | plot \s+ of \s+ (this|these|the) \s+ {_WHOLE}) \b
    | \b what \s+ (is|are|was|were) \s+ (this|these|it|they|(this|these|the) (\s+\w+)? \s+ {_WHOLE}) \s+
      (all \s+)? about \b
    | \b what \s+ do(es)? \s+ (this|these|the) \s+ {_WHOLE} \s+ (say|discuss|cover|describe|deal|contain|have) \b
    | \b (across|throughout) \s+ (all \s+)? (of \s+)? (this|these|the|my|our) (\s+\w+)? \s+ {_WHOLE} \b
    | \b (describe|explain|tell \s+ (me|us) \s+ about) \s+ (this|these|the|my|our) \s+ {_WHOLE} \s* ([.?!] | $)
    """,
    re.IGNORECASE | re.VERBOSE,
)
# These ask for one person, time, place, number, or for yes or no, whatever else they say.
_ORDINARY = re.compile(
    r"""\s* (who | whom | whose | when | where | how \s+ (many|much|old|long|far|often)
    | (in|on|at|to|from|by|of|for) \s+ (which|what|whom) | is | are | was | were | did | does | has | have | had) \b""",
    re.IGNORECASE | re.VERBOSE,
)
# What words() may leave of a question that names nothing.
_UNNAMED = frozenset(
    words(
        f"""{_KINDS} {_WHOLES} {_CHIEF} summary summaries summarize summarise summarized summarised summarizing
        summarising synopsis synopses overview gist recap outline nutshell plot most important biggest general across
        throughout all what which give provide write list name tell describe explain discuss discussed identify show
        present find make create say cover covered contain deal described run running treated addressed mentioned
        emerge appear found read brief briefly short concise quick detailed please can could would you me us my our
        your whole entire full complete sentence paragraph word one two three four five six seven several some about"""
    )
)


def is_broad(question: str) -> bool:
    """Return whether a question asks for themes, a summary, or what something is about, by its form (in English).

    >>> [is_broad(q) for q in ("What are the main themes?", "Summarise the trial of Waldrada.", "Who wrote it?")]
    [True, True, False]
    """
    return _FORM.search(question) is not None and _ORDINARY.match(question) is None


def names_nothing(question: str) -> bool:
    """Return whether a question has no words but those that every broad question has, and so is about everything.

    >>> names_nothing("What are the main themes?"), names_nothing("What are the main themes of Faust?")
    (True, False)
    """
    return _UNNAMED.issuperset(words(question))


@dataclass(frozen=True, repr=False)
class Broad(Operator):
    """Run a step where the question is broad, and leave the state as it is where it is not.

    `unnamed`: only where the question names nothing besides, so that no search for its words helps.

    >>> from graphwright import Keep
    >>> Broad(Keep(), unnamed=True)
    Broad(Keep(), unnamed=True)
    """

    step: Operator
    unnamed: bool = False

    @property
    def needs(self) -> tuple[str, ...]:  # type: ignore[override]
        """What the step needs."""
        return self.step.needs

    @property
    def gives(self) -> tuple[str, ...]:  # type: ignore[override]
        """What the step gives, where it runs."""
        return self.step.gives

    def apply(self, state: State, run: Run) -> State:
        """Run the step, or not."""
        return self.execute(state, run)

    def execute(self, state: State, run: Run, k: int | None = None) -> State:
        """Run the step, or not, and keep the k best."""
        asked = state.question.text
        if state.answer is not None:
            return state
        if is_broad(asked) and (not self.unnamed or names_nothing(asked)):
            return self.step.execute(state, run, k)
        return top_of(state, self.gives, k)

    def after(self, have: frozenset[str]) -> frozenset[str]:
        """Return what is set either way."""
        return have & self.step.after(have)

    def capped(self, cap: int) -> Operator:
        """Hand the cap on."""
        return Broad(self.step.capped(cap), self.unnamed)
