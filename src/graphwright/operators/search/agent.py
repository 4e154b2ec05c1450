"""Retrieval by a language model that calls operators as tools, one after the other."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Annotated, Any

from graphwright.constraints import AtLeast, Checked, Has
from graphwright.errors import OptionError
from graphwright.graph.evidence import Evidence, Ints
from graphwright.graph.graph import Graph, Kind
from graphwright.models.protocols import LLM
from graphwright.operators.operator import Operator
from graphwright.operators.run import Run
from graphwright.operators.state import Anchor, State
from graphwright.prompts.templates import data_line

_READ = "read_passage"
_BEGINNING = 300  # characters of a passage in the results of a search
_WHOLE = 2_000  # characters of a passage that is read
_RECENT = 2  # calls whose results are shown whole; of earlier calls only the passages that are kept


@dataclass(frozen=True, repr=False)
class Tool(Checked):
    """An operator that a language model may call by name.

    `about`: its purpose, in one line for the model. Its argument is a text that replaces the question; or, with
    `names`, that many names of entities, which become the anchors.

    >>> from graphwright.operators.operator import Keep
    >>> Tool("keep", "Change nothing.", Keep()).signature
    'keep(text): Change nothing.'
    """

    name: str
    about: str
    step: Operator
    names: Annotated[int, AtLeast(0)] = 0

    @property
    def signature(self) -> str:
        """The line that describes it in a prompt."""
        arguments = ", ".join(f"entity {number}" if self.names > 1 else "entity" for number in range(1, self.names + 1))
        return f"{self.name}({arguments or 'text'}): {self.about}"

    def call(self, state: State, run: Run, arguments: list[str], k: int) -> Evidence:
        """Return the k best items for these arguments."""
        if self.names:
            called = state.with_(anchors=tuple(Anchor(text) for text in arguments[: self.names]), evidence=None)
        else:
            question = replace(state.question, text=" ".join(arguments))
            called = state.with_(question=question, anchors=None, evidence=None)
        return self.step.execute(called.with_(trace=()), run, k).items.top(k)


@dataclass
class _Notebook:
    """Record of an agent: the passages shown, by number, those it keeps, and the lines that its calls returned."""

    graph: Graph
    numbers: dict[int, int] = field(default_factory=dict)
    kept: list[int] = field(default_factory=list)
    calls: list[tuple[str, list[str]]] = field(default_factory=list)

    def number(self, passage: int) -> int:
        """Return the number of a passage; a new passage gets the next number."""
        return self.numbers.setdefault(passage, len(self.numbers) + 1)

    def line(self, passage: int, characters: int) -> str:
        """Return the line that shows a passage."""
        text, title = self.graph.passage(passage), self.graph.title_of(passage)
        shown = text if len(text) <= characters else f"{text[:characters]} ..."
        return data_line({"passage": self.number(passage), "title": title, "text": shown})

    def keep(self, numbers: list[int]) -> None:
        """Keep the passages of these numbers; unknown numbers are ignored."""
        passages = {number: passage for passage, number in self.numbers.items()}
        self.kept = list(dict.fromkeys(passages[number] for number in numbers if number in passages))

    def results(self) -> str:
        """Return the lines of recent calls, after the kept passages if there are older calls."""
        parts = list[str]()
        if self.kept and len(self.calls) > _RECENT:
            parts += ["Passages kept from earlier calls:", *(self.line(passage, _WHOLE) for passage in self.kept)]
        for call, lines in self.calls[-_RECENT:]:
            parts += [call, *(lines or ["nothing"])]
        return "\n".join(parts) or "nothing yet"

    def ranking(self) -> Evidence:
        """Return the kept passages, then all others in the order in which they were shown."""
        return Evidence.of_nodes(list(dict.fromkeys([*self.kept, *self.numbers])))


@dataclass(frozen=True, repr=False)
class Agent(Operator):
    """Let a language model call operators as tools, until it can answer the question.

    In each step the model reads the question, the tools and their results. It replies with the passages to keep, and
    with the next call, or that the passages are enough. It may also read a whole passage. The evidence is the kept
    passages, best first, then the others that were shown. It is empty after an unusable first reply, so that another
    search can follow: `Agent(...) >> If(HasEvidence(), Keep(), other)`.

    The search ends after `steps` calls, `max_tokens` of prompts, or `passages` distinct passages. `shown`: items that a
    call returns. A call of an unknown tool, or a repeated call, returns an error message.

    Ours; reasoning and acting in turns is from ReAct (Yao et al., 2023).

    >>> from graphwright import start; from graphwright.models import ScriptedLLM
    >>> from graphwright.operators import WordSearch; from graphwright.search.bm25_postings import WordIndex
    >>> graph = Graph.from_triples([("Graz", "lies on", "Mur"), ("Lyon", "lies on", "Rhône")])
    >>> tools = (Tool("keyword_search", "Find texts.", WordSearch(WordIndex.of(list(graph.names), graph.nodes))),)
    >>> call = '{"keep": [], "enough": false, "tool": "keyword_search", "arguments": ["Lyon"]}'
    >>> model = ScriptedLLM([call, '{"keep": [1], "enough": true}'])
    >>> graph.names.take(Agent(model, tools)(start("?", graph)).evidence.nodes)
    ['Lyon']
    """

    model: Annotated[LLM, Has("a language model, with complete", "complete")]
    tools: tuple[Tool, ...]
    steps: Annotated[int, AtLeast(1)] = 8
    shown: Annotated[int, AtLeast(1)] = 5
    passages: Annotated[int, AtLeast(1)] = 30
    max_tokens: Annotated[int, AtLeast(1)] = 40_000
    gives = ("evidence",)

    def __post_init__(self) -> None:
        super().__post_init__()
        names = [tool.name for tool in self.tools if isinstance(tool, Tool)]
        if not names or len(names) < len(self.tools) or len({*names, _READ}) <= len(names):
            raise OptionError(f"Agent: tools is {self.tools!r}; give tools with different names, none {_READ!r}.")

    def apply(self, state: State, run: Run) -> State:
        notebook = _Notebook(state.graph)
        for step in range(self.steps + 1):
            reply = self._reply(state, run, notebook, self.steps - step)
            if reply is None:
                break
            notebook.keep(reply.keep)
            if reply.enough or not reply.tool or step == self.steps:
                break
            self._call(state, run, notebook, reply.tool, [text for text in reply.arguments if text.strip()])
            if len(notebook.numbers) >= self.passages or run.usage.prompt_tokens >= self.max_tokens:
                run.note("the budget is spent")
                break
        return state.with_(evidence=notebook.ranking().top(self.passages))

    def _reply(self, state: State, run: Run, notebook: _Notebook, left: int) -> Any | None:
        read = f"{_READ}(number): Read a passage as a whole."
        return run.reply(
            self.model,
            "agent",
            question=data_line({"question": state.question.text}),
            tools="\n".join([*(tool.signature for tool in self.tools), read]),
            left=str(left),
            results=notebook.results(),
        )

    def _call(self, state: State, run: Run, notebook: _Notebook, name: str, arguments: list[str]) -> None:
        """Call a tool, and write its results into the notebook."""
        call = data_line({"tool": name, "arguments": arguments})
        run.note(f"{name}({', '.join(arguments)})")
        tool = next((tool for tool in self.tools if tool.name == name), None)
        if any(call == earlier for earlier, _ in notebook.calls):
            lines = ["this call was made before; make another"]
        elif name == _READ:
            lines = _read(notebook, arguments)
        elif tool is None or len(arguments) < max(tool.names, 1):
            lines = ["there is no such tool, or an argument is missing"]
        else:
            lines = _lines(notebook, tool.call(state, run, arguments, self.shown))
        notebook.calls.append((call, lines))


def _read(notebook: _Notebook, arguments: list[str]) -> list[str]:
    """Return the line of a passage given by number, as a whole."""
    by_number = {str(number): passage for passage, number in notebook.numbers.items()}
    passage = by_number.get(arguments[0].strip()) if arguments else None
    return ["no passage has this number"] if passage is None else [notebook.line(passage, _WHOLE)]


def _lines(notebook: _Notebook, items: Evidence) -> list[str]:
    """Return a line for each item: a passage by its beginning, a statement or path with the passage that states it."""
    graph, lines = notebook.graph, list[str]()
    for (nodes, edges), text in zip(items, items.texts(graph), strict=True):
        if len(edges):
            stated = [notebook.number(passage) for passage in _stating(graph, edges)]
            lines.append(data_line({"statement": text, "passages": stated}))
        elif graph.passages is None or graph.columns.kinds[nodes[0]] == Kind.CHUNK:
            lines.append(notebook.line(int(nodes[0]), _BEGINNING))
    return lines


def _stating(graph: Graph, edges: Ints) -> list[int]:
    """Return the first passage that states each edge; on a graph without passages the nodes at its ends."""
    chunks = graph.columns.edge_chunks
    if graph.passages is None or chunks is None:
        return list(dict.fromkeys(graph.ends(edges).tolist()))
    return list(dict.fromkeys(int(chunks.row(edge)[0]) for edge in edges.tolist() if len(chunks.row(edge))))
