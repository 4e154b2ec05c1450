"""Options that several commands share: single ones, and groups of them as dataclasses."""

from __future__ import annotations

import getpass
import inspect
import json
import os
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass, is_dataclass, replace
from functools import cached_property, partialmethod
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, get_args

import typer.core
from typer.main import get_command_from_info
from typer.models import CommandInfo

import graphwright
from graphwright import data, evaluate, models, search, store
from graphwright.cli.terminal import note, progress_text
from graphwright.errors import OptionError, counted

if TYPE_CHECKING:
    from graphwright.engines import Engine
    from graphwright.search.filter import Range

DEFAULT_FOLDER = ".graphwright"  # default name of the index folder
STDOUT = Path("-")  # the file that stands for stdout, or stdin
_VARIABLE = "GRAPHWRIGHT_INDEX"


def found_index() -> Path | None:
    """Return the index of GRAPHWRIGHT_INDEX, else the nearest one in this folder or above it; None if there is none.

    The index of a folder is the folder itself, or `.graphwright` in it.
    """
    if value := os.environ.get(_VARIABLE):
        return Path(value)
    here = Path.cwd()
    candidates = (place for folder in (here, *here.parents) for place in (folder, folder / DEFAULT_FOLDER))
    return next((place for place in candidates if (place / "index.sqlite").is_file()), None)


def index_folder() -> Path:
    """Return the default index. Raises OptionError if there is none."""
    if (path := found_index()) is None:
        if "_GRAPHWRIGHT_COMPLETE" in os.environ:  # for shell completion, which does not run the command
            return Path(DEFAULT_FOLDER)
        raise OptionError(
            f"no index is named, and none is in {Path.cwd()} or above it. Name one by --index DIR or {_VARIABLE}, or "
            f"make one: graphwright index PATH"
        )
    return path


def user_name() -> str:
    """Return the name of the user, or the uid if it has no name, as in a container."""
    try:
        return getpass.getuser()
    except (KeyError, OSError):
        return f"uid {os.getuid()}" if hasattr(os, "getuid") else "unknown"


def one_folder(argument: Path | None, option: Path | None) -> Path:
    """Return the index given as an argument or by --index, else the default. Raises OptionError for two indexes."""
    if argument is not None and option is not None and argument.resolve() != option.resolve():
        raise OptionError(f"two indexes are named, {argument} and --index {option}; leave one of them out.")
    return argument or option or index_folder()


def open_index(folder: Path) -> graphwright.Index:
    """Open an index for questions; print a note to stderr if some documents cannot be searched yet."""
    index = graphwright.Index.open(folder)
    if index.imported is not None and not index.documents:
        return index
    if index.is_being_written:
        documents = counted(len(index.list_documents()), "document")
        progress = "" if (state := index.progress) is None else f" ({progress_text(*state)})"
        note(f"note: {folder} is being indexed{progress}; {documents} can be searched now, others will follow.")
    elif not index.documents:
        note(f"note: {folder} contains no documents. Add some: graphwright index PATH --into {folder}")
    elif not index.is_current:
        note(
            f"note: a change of {folder} was interrupted; the newest documents cannot be searched yet, and removed or "
            f"replaced documents are hidden. Run the same command again, or: graphwright verify --repair --index "
            f"{folder}"
        )
    return index


def served_folders(folders: list[str] | None) -> list[str]:
    """Return the index folders of a server, by default the default index with the name of the folder around it."""
    if folders:
        return folders
    path = index_folder()
    return [f"{path.resolve().parent.name}={path}" if path.name == DEFAULT_FOLDER else str(path)]


_DEFAULT = f"{_VARIABLE}, else {DEFAULT_FOLDER} in this folder or the nearest above"
IndexFolder = Annotated[
    Path,
    typer.Option(
        "--index", help=f"Index folder (default: {_DEFAULT}).", default_factory=index_folder, show_default=False
    ),
]
Into = Annotated[
    Path,
    typer.Option(
        "--into",
        "--index",
        help=f"Index folder; created if it does not exist (default: {_DEFAULT}).",
        default_factory=lambda: found_index() or Path(DEFAULT_FOLDER),
        show_default=False,
    ),
]
References = Annotated[
    str | None,
    "Join documents with those of the same command that their texts cite: rules (identifiers, titles, authors with "
    "years), or llm (the language model lists what a text cites).",
]
Vision = Annotated[
    str | None,
    "Vision model that describes the pictures in files, as MODEL@URL of an OpenAI-compatible server; without @URL, on "
    "the server of --base-url.",
]
Confidence = Annotated[
    float | None,
    typer.Option(
        min=0, max=1, help="Least probability of a short or computed answer without a language model (default: 0.5)."
    ),
]
SchemaFile = Annotated[
    str | None, "File of the types of entities and relations to find: TOML (see 'graphwright schema'), OWL or SHACL."
]
AsJson = Annotated[bool, typer.Option("--json", help="Print JSON.")]
Estimate = Annotated[bool, "Print the estimated cost, and change nothing."]


def method_names(beginning: str) -> list[str]:
    """Return the names of methods for shell completion."""
    from graphwright.methods.registry import METHODS

    return [name for name in METHODS if name.startswith(beginning)]


Method = Annotated[
    str | None,
    typer.Option(
        "--method",
        "-m",
        help="Method, see 'graphwright methods' (default: multihop; over a graph: graph): a name, as pathrag, or with "
        "options, as 'pathrag(k=3)'.",
        autocompletion=method_names,
    ),
]
MethodFile = Annotated[
    Path | None, "Python file with a function method(ix) that returns an operator or a Method; the file is run."
]
BaseUrl = Annotated[str | None, "OpenAI-compatible server (default: OpenAI), as http://localhost:11434/v1."]
Encoder = Annotated[
    str | None, "Encoder of a new index: minilm (embedded, default), multilingual, sbert:NAME or openai:MODEL@URL."
]


@dataclass(frozen=True)
class ModelOptions:
    """The language model of a command, and its budget."""

    llm: Annotated[str | None, "Language model, by its name on the server."] = None
    base_url: BaseUrl = None
    prices: Annotated[str | None, "Price of a million input and output tokens, such as 0.15,0.60."] = None
    max_tokens: Annotated[int | None, typer.Option(min=0, help="Maximum number of LLM tokens.")] = None
    max_cost: Annotated[float | None, typer.Option(min=0, help="Maximum cost of the LLM.")] = None
    timeout: Annotated[float | None, typer.Option(min=0.001, help="Seconds for one reply of the LLM.")] = None
    max_completion_tokens: Annotated[
        int | None, typer.Option(min=1, help="Tokens of one reply of the LLM, reasoning included.")
    ] = None
    reasoning_effort: Annotated[str | None, "Effort of a reasoning model, such as low."] = None
    llm_seed: Annotated[int | None, "Random seed of the LLM."] = None
    extra_body: Annotated[str | None, "More fields of each LLM request, as JSON."] = None

    def settings(self, folder: Path | None) -> models.LLMSettings | None:
        """Return the settings of the options, else of settings.toml of the index folder; None if there is none."""
        from graphwright.models.settings import SETTINGS, read_settings

        settings = None if folder is None else read_settings(folder / SETTINGS)
        if settings is None and self.llm is None:
            if self.base_url:
                raise OptionError(f"--base-url {self.base_url} names a server but no model; add --llm MODEL.")
            return None
        if settings is None:
            settings = models.LLMSettings(str(self.llm), self.base_url)
        elif self.llm not in (None, settings.model):  # prices and rates are for another model
            settings = replace(
                settings, prompt_price=None, completion_price=None, prompt_rate=None, completion_rate=None
            )
        changes = {
            field: value for name, field in _FIELDS.items() if (value := getattr(self, name, None)) not in (None, "")
        }
        if self.extra_body is not None:
            changes["extra_body"] = _object(self.extra_body)
        for option, (names, unit) in _PAIRS.items():
            if (text := getattr(self, option, None)) is not None:
                changes |= zip(names, _two_numbers(f"--{option}", text, unit), strict=True)
        return replace(settings, **changes)

    def client(self, settings: models.LLMSettings, folder: Path) -> models.LLM:
        """Return a client of the language model that keeps to the budget and caches replies in the index folder."""
        if self.max_cost is not None and settings.prices is None:
            raise OptionError(f"--max-cost {self.max_cost:g} needs the prices of the model; add --prices 0.15,0.60.")
        model: models.LLM = settings.llm()
        if self.max_tokens is not None or self.max_cost is not None:
            model = models.BudgetedLLM(model, self.max_tokens, self.max_cost)
        writable = os.access(folder, os.W_OK) or not folder.exists()  # the command will create a missing folder
        return models.CachedLLM(model, store.IndexLayout(folder).replies) if writable else model


_SAME = ("base_url", "timeout", "max_completion_tokens", "reasoning_effort", "deadline", "instruction")
_FIELDS = {"llm": "model", "llm_seed": "seed", **{name: name for name in (*_SAME, "extraction", "gleanings")}}
"""Settings of a language model by the options that change them."""
_PAIRS = {  # options of two numbers, with the settings that they change and their unit
    "prices": (("prompt_price", "completion_price"), "a million tokens: 0.15,0.60"),
    "rate": (("prompt_rate", "completion_rate"), "tokens a second: 2000,100"),
}


def _two_numbers(option: str, text: str, unit: str) -> tuple[float, float]:
    try:
        first, second = map(float, text.split(","))
    except ValueError:
        raise OptionError(f"{option} is {text!r}; give two numbers, for input and output, in {unit}") from None
    return first, second


def _object(text: str) -> dict[str, Any]:
    try:
        value = json.loads(text)
    except (ValueError, RecursionError):
        value = None
    if not isinstance(value, dict):
        raise OptionError(f"--extra-body is {text!r}; give a JSON object, such as '{{\"top_p\": 0.9}}'.")
    return value


@dataclass(frozen=True)
class AnswerModelOptions(ModelOptions):
    """The language model of a command, with an option to use none."""

    offline: Annotated[bool, "Use no language model, even if settings.toml names one."] = False

    def settings(self, folder: Path | None) -> models.LLMSettings | None:
        """Return the settings of the language model; None if there is none, or with --offline."""
        if not self.offline:
            return super().settings(folder)
        if self.llm or self.base_url:
            raise OptionError("--offline uses no language model; leave out --llm and --base-url.")
        return None


@dataclass(frozen=True)
class AskModelOptions(AnswerModelOptions):
    """The language model that answers a question."""

    deadline: Annotated[
        float | None,
        typer.Option(min=0.001, help="Seconds after which a question is answered without the LLM (default: none)."),
    ] = None
    instruction: Annotated[
        str | None,
        'How the LLM is to write the answer, such as "for customers, in German, at most 80 words" (default: in the '
        "language of the question).",
    ] = None


@dataclass(frozen=True)
class ExtractionOptions(AnswerModelOptions):
    """The language model that extracts entities and relations."""

    extraction: Annotated[
        str | None,
        "Extraction by the language model: full (default), or triples, which is names and triples only, for about a "
        "third of the tokens.",
    ] = None
    gleanings: Annotated[
        int | None, typer.Option(min=0, help="Extra extraction passes, to find what was missed (default: 0).")
    ] = None

    extractor: Annotated[
        str | None,
        "Extraction without a language model: mentions (default with the embedded encoder; a name detector), or rules.",
    ] = None
    rate: Annotated[
        str | None, "Tokens a second that the server reads and writes, such as 2000,100; for the hours of an estimate."
    ] = None


@dataclass(frozen=True)
class FileOptions:
    """The files to read, and the columns of tables."""

    include: Annotated[
        list[str] | None, "Read only files of a folder that match this pattern, as in a .gitignore. Repeatable."
    ] = None
    exclude: Annotated[list[str] | None, "Leave out files and folders that match this pattern. Repeatable."] = None
    no_ignore: Annotated[
        bool, "Read also what .gitignore files name, build folders, style sheets and scripts of pages."
    ] = False
    text_columns: Annotated[
        str | None, "Columns of tables and JSON rows that are the text, such as title,body (default: detected)."
    ] = None
    id_column: Annotated[str | None, "Column of tables and JSON rows whose values are the ids."] = None

    def read_options(self) -> data.ReadOptions:
        """Return the options for `Index.add` and `Index.sync`."""
        include, exclude = tuple(self.include or ()), tuple(self.exclude or ())
        columns = names_in(self.text_columns) or ()
        return data.ReadOptions(include, exclude, not self.no_ignore, columns, self.id_column or "")


@dataclass(frozen=True)
class NewIndexOptions:
    """The settings of a new index."""

    embed: Annotated[str | None, "Texts with vectors, in a new index: passages, names, triples (default: all)."] = None
    resolve: Annotated[
        str | None,
        "Ways to merge entities with different names, in a new index: aliases, vectors (needs vectors of names), "
        "llm (a language model decides about these pairs).",
    ] = None
    description_tokens: Annotated[
        int | None,
        typer.Option(min=1, help="Tokens of an entity's descriptions above which they are summarised (default: 300)."),
    ] = None
    chunk_tokens: Annotated[
        int | None, typer.Option(min=16, help="Maximum tokens of a chunk, in a new index (default: 200).")
    ] = None
    overlap: Annotated[
        int | None, typer.Option(min=0, help="Tokens that neighbouring chunks share, in a new index (default: 40).")
    ] = None

    def settings(self) -> dict[str, Any]:
        """Return the settings that are given, as arguments of `Settings`."""
        settings = {**vars(self), "embed": names_in(self.embed), "resolve": names_in(self.resolve)}
        return {name: value for name, value in settings.items() if value is not None}


@dataclass(frozen=True)
class TripleFileOptions:
    """The form of files of triples; by default it is detected."""

    columns: Annotated[str | None, "Columns of head, relation and tail, by name or number, such as 1,2,3."] = None
    delimiter: Annotated[str | None, "Field delimiter (default: detected)."] = None
    header: Annotated[
        bool | None, typer.Option("--header/--no-header", help="The first line names the columns (default: detected).")
    ] = None
    named_graph: Annotated[str | None, "IRI of the graph to read in RDF (default: all graphs)."] = None

    def table(self) -> dict[str, Any]:
        """Return the options of tables that are given, as arguments of `dump_of`."""
        table = {"columns": self.columns and self.columns.split(","), "mark": self.delimiter, "header": self.header}
        return {name: value for name, value in table.items() if value is not None}


@dataclass(frozen=True)
class DatabaseOptions:
    """The graph database at an address."""

    database: Annotated[str | None, "Name of the database at bolt:// or neo4j:// (default: the server's own)."] = None
    user: Annotated[str | None, "Its user (default: NEO4J_USERNAME); the password is NEO4J_PASSWORD."] = None

    def at(self, source: str) -> data.GraphDatabase | None:
        """Return the database at an address; None for a path. Raises OptionError for options that a path has not."""
        if data.is_database(source):
            return data.GraphDatabase(source, self.database, self.user)
        if self != DatabaseOptions():
            raise OptionError(f"--database and --user are for a graph database, such as bolt://HOST, not for {source}.")
        return None


@dataclass(frozen=True)
class EngineOptions:
    """The engine that extracts from chunks and encodes texts."""

    engine: Annotated[
        str | None, "Extract and encode in processes (local) or on a Ray cluster (ray); the result is the same."
    ] = None
    address: Annotated[str | None, "Address of the Ray cluster (default: start Ray on this machine)."] = None
    workers: Annotated[int | None, typer.Option(min=1, help="Processes or tasks at a time (default: all).")] = None

    @contextmanager
    def started(self) -> Iterator[Engine | None]:
        """Yield the engine, which is closed after the block, or None."""
        if self.engine is None:
            if self.address is not None or self.workers is not None:
                raise OptionError("--address and --workers are for an engine; add --engine local or --engine ray.")
            yield None
            return
        from graphwright.engines import engine_of  # imported only when it is used

        with closing(engine_of(self.engine, self.address, self.workers)) as engine:
            yield engine


def read_method(text: str | None) -> evaluate.ComparedMethod | None:
    """Return the method of --method; None if it is not given. Raises OptionError as `entry_of`."""
    from graphwright.evaluate.entries import entry_of

    return None if text is None else entry_of(text)


@dataclass(frozen=True)
class FilterOptions:
    """The documents to search."""

    document: Annotated[list[str] | None, "Search only the document with this id. Repeatable."] = None
    folder: Annotated[str | None, "Search only documents whose id lies in this folder."] = None
    where: Annotated[
        list[str] | None,
        "Search only documents with this metadata: NAME=VALUE, NAME=LOW..HIGH, or with >=, >, <=, < for numbers and "
        "dates. Repeatable.",
    ] = None
    as_of: Annotated[
        str | None,
        "Leave out documents that are dated later, and statements that do not hold then: 2024-03-31, 2024-03 or 2024.",
    ] = None

    def filter(self) -> search.Filter | None:
        """Return the filter of --document, --folder, --where and --as-of; None if none is given."""
        if self.document is None and self.folder is None and not self.where and self.as_of is None:
            return None
        return search.Filter(self.document, self.folder, _conditions(self.where or ()), self.as_of)


@dataclass(frozen=True)
class QueryOptions(FilterOptions):
    """A method, its number of passages, and the documents to search."""

    method: Method = None
    method_file: MethodFile = None
    entity: Annotated[
        list[str] | None, "Name of a node that the question is about, instead of linking. Repeatable."
    ] = None
    top_k: Annotated[int | None, typer.Option("--top-k", "-k", min=1, help="Number of passages.")] = None
    retriever: Annotated[Path | None, "Trained retriever for --method reg; see 'graphwright train'."] = None
    confidence: Confidence = None
    as_json: AsJson = False
    explain: Annotated[bool, "Show the result, time and tokens of each step."] = False

    @property
    def named(self) -> str | None:
        """The name of the method in output: the value of --method, or the name of its file; None if not given."""
        return self.method if self.method_file is None else self.method_file.stem

    def index_options(self) -> dict[str, Any]:
        """Return the options that are given, as arguments of `Index.ask` and `Index.retrieve`."""
        entry = read_method(self.method)
        if self.retriever is not None and (entry is None or entry.method != "reg"):
            raise OptionError(f"--retriever is for --method reg; the method is {self.method or 'not given'}.")
        filter = self.filter()
        options = {"top_k": self.top_k, "filter": filter, "retriever": self.retriever, "confidence": self.confidence}
        return {name: value for name, value in options.items() if value is not None}


_CONDITION = re.compile(r"([^<>=]+?)\s*(>=|<=|=|>|<)\s*(.*)", re.DOTALL)
_BOUNDS = {">=": "at_least", ">": "more_than", "<=": "at_most", "<": "less_than"}


def _conditions(texts: Sequence[str]) -> dict[str, str | Range]:
    """Return the conditions of --where by name. Bounds of the same name are combined into one range.

    Two dots next to a number or a date separate the bounds of a range; otherwise they are part of the value.

    >>> _conditions(["kind=memo", "year=2020..2024", "date>=2024-03", "date<2024-06"])["date"]
    Range(at_least='2024-03', more_than=None, at_most=None, less_than='2024-06')
    """
    from graphwright.search.filter import Range, is_bound

    values, bounds = dict[str, str | Range](), dict[str, dict[str, str]]()
    for text in texts:
        match = _CONDITION.fullmatch(text)
        if match is None:
            raise OptionError(
                f"--where is {text!r}; give NAME=VALUE, such as year=2024, year=2020..2024 or 'date>=2024-03'."
            )
        name, sign, value = match.groups()
        low, _, high = value.partition("..") if ".." in value else ("", "", "")
        given = {_BOUNDS[sign]: value} if sign in _BOUNDS else {}
        if not given and (is_bound(low) or is_bound(high)):
            given = {bound: limit for bound, limit in (("at_least", low), ("at_most", high)) if limit}
        if name in values or bounds.get(name, {}).keys() & given.keys() or (name in bounds and not given):
            raise OptionError(f"--where names {name!r} twice; a document has one value for it. Give it once.")
        if not given:
            values[name] = value
            continue
        bounds.setdefault(name, {}).update(given)
    try:
        return values | {name: Range.of(given) for name, given in bounds.items()}
    except OptionError as error:
        raise OptionError(f"--where {' '.join(texts)}: {error}") from None


def names_in(text: str | None) -> tuple[str, ...] | None:
    """Return the names in a list separated by commas; None if the option was not given.

    >>> names_in("passages, names"), names_in(None)
    (('passages', 'names'), None)
    """
    return None if text is None else tuple(name for name in map(str.strip, text.split(",")) if name)


@dataclass(frozen=True)
class ReadingOptions:
    """What reads documents into an index: files, models, and where these compute."""

    encoder: Encoder = None
    references: References = None
    files: FileOptions = FileOptions()
    vision: Vision = None
    where: EngineOptions = EngineOptions()
    as_json: AsJson = False
    model: ExtractionOptions = ExtractionOptions()


def expanded(command: Callable[..., None]) -> Callable[..., None]:
    """Convert a command with short declarations of options for typer.

    `Annotated[type, "help"]` declares an option, or a flag for a bool. Each field of a dataclass parameter becomes an
    option, and so does each field of a dataclass in it.

    >>> @expanded
    ... def ask(question: Annotated[str, "Question."], query: QueryOptions) -> None:
    ...     print(question, query.top_k)
    >>> ask(question="Who?", **vars(QueryOptions(top_k=3)))
    Who? 3
    """
    parameters = list(map(_declared, _flat(command)))

    def run(**values: Any) -> None:
        _call(command, values)

    run.__doc__, run.__name__ = command.__doc__, command.__name__
    run.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
    run.__annotations__ = {parameter.name: parameter.annotation for parameter in parameters}
    return run


class Command(typer.core.TyperCommand):
    """A command that reads its options from its function when it is used: all commands' would take 0.04 s."""

    def __init__(self, *arguments: Any, **named: Any) -> None:
        super().__init__(*arguments, **named)
        self._function = getattr(self.callback, "function", lambda: None)
        del self.params, self.callback

    @cached_property
    def _expanded(self) -> Any:
        declared = CommandInfo(callback=expanded(self._function))
        return get_command_from_info(declared, pretty_exceptions_short=False, rich_markup_mode=None)

    @cached_property
    def params(self) -> Any:  # type: ignore[override]
        """Its options and arguments."""
        return self._expanded.params

    @cached_property
    def callback(self) -> Any:  # type: ignore[override]
        """What runs it with their values."""
        return self._expanded.callback


class Commands(typer.Typer):
    """A group of commands, which declare their options as `expanded` describes."""

    def __init__(self, **options: Any) -> None:
        super().__init__(no_args_is_help=True, rich_markup_mode=None, **options)

    def command(self, name: str | None = None, **options: Any) -> Callable[..., Any]:
        """Return a decorator that adds a command."""
        add = super().command(name, **{"cls": Command, **options})

        def added(function: Callable[..., None]) -> Callable[..., None]:
            def unread() -> None: ...

            unread.__doc__, unread.__name__ = function.__doc__, function.__name__
            unread.function = function  # type: ignore[attr-defined]
            add(unread)
            return function

        return added


def _flat(command: Any) -> Iterator[inspect.Parameter]:
    """Yield the parameters of a command, of a dataclass its fields."""
    for parameter in inspect.signature(command, eval_str=True).parameters.values():
        yield from _flat(parameter.annotation) if is_dataclass(parameter.annotation) else (parameter,)


def _call(command: Any, values: Mapping[str, Any]) -> Any:
    """Call a command with the values of its flat parameters."""
    parameters = inspect.signature(command, eval_str=True).parameters.values()
    return command(
        **{p.name: _call(p.annotation, values) if is_dataclass(p.annotation) else values[p.name] for p in parameters}
    )


def _declared(parameter: inspect.Parameter) -> inspect.Parameter:
    """Return a keyword-only parameter in the form that typer needs."""
    kind, *metadata = get_args(parameter.annotation)
    if isinstance(metadata[0], str):
        flag = [f"--{parameter.name.replace('_', '-')}"] if kind is bool else []
        metadata = [typer.Option(*flag, help=metadata[0])]
    annotation = Annotated[kind, metadata[0]]  # type: ignore[valid-type]
    return parameter.replace(annotation=annotation, kind=inspect.Parameter.KEYWORD_ONLY)


def take_plain_values() -> None:
    """Have typer read text, paths and options that are not given without pydantic, whose import takes 0.1 s."""
    for kind in (typer.core.TyperOption, typer.core.TyperArgument):
        kind.process_value = partialmethod(_processed, kind.process_value)  # type: ignore[assignment, method-assign]


def _processed(parameter: Any, process: Callable[..., Any], context: Any, value: Any) -> Any:
    """Return the value of a parameter, as its `process_value` does, which is called for what needs a conversion."""
    if value is None and not parameter.required:
        nothing = () if parameter.multiple or parameter.nargs == -1 else None
        return nothing if parameter.callback is None else parameter.callback(context, parameter, nothing)
    kind: Any = getattr(getattr(parameter, "type_descriptor", None), "annotation", None)
    is_plain = kind in (str, Path) and isinstance(value, str) and parameter.callback is None
    if not is_plain or (kind is Path and os.path.exists(value) and not os.access(value, os.R_OK)):
        return process(parameter, context, value)
    return kind(value)
