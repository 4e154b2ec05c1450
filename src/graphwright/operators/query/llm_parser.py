"""Parser of questions with a language model, which writes a query over the relations and values near the question."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

from graphwright.constraints import Between, Has
from graphwright.models.protocols import LLM
from graphwright.operators.operator import Operator
from graphwright.operators.query.asked import CERTAIN, SURE, AskedQuery
from graphwright.operators.query.checks import check
from graphwright.operators.query.shown_facts import shown_facts
from graphwright.operators.query.steps_of_reply import StepError, query_of
from graphwright.operators.run import Run
from graphwright.operators.state import State
from graphwright.prompts.templates import data_line
from graphwright.search.facts import Facts


@dataclass(frozen=True, repr=False)
class LLMQueryParser(Operator):
    """Have a language model write the query that a question asks, or say that it asks none.

    The model sees the types, relations and values of the facts that are near the question. A name that the facts lack
    is replaced by one that is written almost as it; else the model is asked once more, with what is wrong. If its reply
    is unusable then, the next operator of a Fallback parses the question. `probability`: of its queries to be right; of
    one that still compares with a text that no value has, at most SURE.

    >>> from graphwright import Graph, start; from graphwright.models import ScriptedLLM
    >>> steps = '[{"do": "named", "name": "Graz"}, {"do": "follow", "of": 1, "path": ["lies on"]}]'
    >>> model = ScriptedLLM([f'{{"computable": true, "steps": {steps}}}'])
    >>> state = start("Which river runs through Graz?", Graph.from_triples([("Graz", "lies on", "Mur")]))
    >>> LLMQueryParser(model)(state).query.query
    Follow(things=Named(name='Graz'), step=Step(relation='lies on', inverse=False, times=1, at=''))
    """

    model: Annotated[LLM, Has("a language model, with complete", "complete")]
    probability: Annotated[float, Between(0, 1)] = CERTAIN
    gives = ("query",)

    def apply(self, state: State, run: Run) -> State:
        """Set the query, or leave the state unchanged."""
        facts, question = Facts.of(state.graph), state.question.text
        shown = shown_facts(question, facts)
        problem = ""
        for _ in range(2):
            reply = run.reply(self.model, "query", question=data_line({"question": question}), problem=problem, **shown)
            if reply is None:
                break
            if not reply.computable:
                run.note("the model finds nothing to compute")
                return state
            try:
                query = query_of(reply, facts)
                unknown = check(query, facts)
            except StepError as error:
                query, unknown = None, (str(error),)
            if query is not None and (problem or not unknown):
                return state.with_(
                    query=AskedQuery(query, min(self.probability, SURE) if unknown else self.probability)
                )
            run.note(f"the model's query does not fit: {' '.join(unknown)}")
            problem = f"Your earlier query did not fit. What is wrong with it:\n{data_line(' '.join(unknown))}"
        run.fail()
        return state
