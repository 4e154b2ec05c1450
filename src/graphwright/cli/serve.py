"""Commands of the server: serve, over HTTP; mcp, over stdio; and its keys."""

from __future__ import annotations

import os
import re
import time
from contextlib import ExitStack, closing, suppress
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from graphwright import models
from graphwright.cli.options import AsJson, BaseUrl, Commands, found_index, served_folders, user_name
from graphwright.cli.terminal import console, note, plain_table, print_json, say
from graphwright.errors import DataError, OptionError, counted

if TYPE_CHECKING:
    import socket

    from graphwright.serve.keys import Key, Keys
    from graphwright.serve.settings import ServeSettings

keys = Commands(help="Create, list and revoke keys of the server.")
Data = Annotated[Path | None, "Folder of keys, jobs and feedback (default: the platform's data folder)."]
_COLUMNS = ("id", "name", "scope", "indexes", "state", "expires", "used")
_TIME = re.compile(r"\d{4}-\d\d-\d\dT")
_HEADER = "Authorization: Bearer KEY"


@keys.command()
def create(
    name: Annotated[str, typer.Argument(help="Name of the holder, for lists and the audit log.")],
    scope: Annotated[str, "Rights: read, write (documents too) or admin."] = "read",
    index: Annotated[list[str] | None, "Name of an index that the key sees (default: all). Repeatable."] = None,
    expires: Annotated[str | None, "Expiry of the key: 12h, 90d, 2w, 1y or a date (default: never)."] = None,
    data: Data = None,
    as_json: AsJson = False,
) -> None:
    """Create a key and print it.

    The key is shown only once. From then on a running server requires a key.
    """
    from graphwright.serve.keys import expiry

    now = time.time()
    with _opened(data) as opened:
        token, key = opened.create(name, scope, index, None if expires is None else expiry(expires, now))
        if as_json:
            print_json({"key": token, **_facts(key, now)})
        else:
            say(token)
            note(f"Key {key.id} with scope {key.scope}. It is shown only now; clients send it as {_HEADER}.")
        if index:
            note("Names of indexes are not checked here; the server logs a warning for unknown ones.")
        opened.audit("keys create", user_name(), key)  # last, because an error must not prevent that the key is shown


@keys.command("list")
def list_(data: Data = None, as_json: AsJson = False) -> None:
    """List the keys, without their secrets."""
    from graphwright.serve.authentication import create_command
    from graphwright.serve.settings import default_data_folder

    now = time.time()
    with _opened(data) as opened:
        rows = [_facts(key, now) for key in opened.all()]
    if as_json:
        print_json(rows)
    elif not rows:
        note(f"There are no keys. Make one: {create_command(data or default_data_folder())}")
    else:
        table = plain_table("", *_COLUMNS)
        for row in rows:
            table.add_row(*(_cell(row[name]) for name in _COLUMNS))
        console().print(table)


@keys.command()
def revoke(
    ids: Annotated[list[str], typer.Argument(metavar="ID...", help="Ids of keys, see 'graphwright keys list'.")],
    data: Data = None,
) -> None:
    """Revoke keys at once, and end their sessions."""
    with _opened(data) as opened:
        for id in ids:
            key = opened.revoke(id)
            opened.audit("keys revoke", user_name(), key)
            note(f"Key {key.id} ({key.name}) is revoked.")


def _opened(data: Path | None) -> closing[Keys]:
    from graphwright.serve.keys import Keys
    from graphwright.serve.settings import default_data_folder

    return closing(Keys(data or default_data_folder()))


def _facts(key: Key, now: float) -> dict[str, Any]:
    return {**key.to_dict(now), "indexes": ["all"] if key.indexes is None else list(key.indexes)}


def _cell(value: Any) -> str:
    """Return a value for the table; for a time only its date."""
    text = ", ".join(value) if isinstance(value, list) else str(value or "")
    return text[:10] if _TIME.match(text) else text


_EXTRA = 'The server needs packages that are not installed ({}): pip install "graphwright[serve]"'
_GRACE = 5  # seconds for running requests at shutdown; two seconds earlier they get an error reply

_Folders = Annotated[
    list[str] | None,
    typer.Argument(
        metavar="[DIR]...",
        help="Index folders, or URLs of pushed indexes; NAME=DIR sets the name of an index (default: its folder's "
        "name, or for the default index, that of this folder). New ones are made in an empty folder, or below --data.",
    ),
]
_SettingsFile = Annotated[Path | None, "TOML file with settings, see docs/deploy.md."]
_AnsweringModel = Annotated[str | None, "Language model that answers (default: answers are quotations)."]


def serve(
    folders: _Folders = None,
    host: Annotated[str | None, "Address to bind (default: 127.0.0.1, this machine only)."] = None,
    port: Annotated[int | None, typer.Option(min=0, max=65_535, help="Port (default: 8000; 0: a free one).")] = None,
    settings: _SettingsFile = None,
    data: Data = None,
    processes: Annotated[
        int | None, typer.Option(min=1, max=256, help="Processes that answer questions (default: 1, the server's own).")
    ] = None,
    root_path: Annotated[str | None, "Path below which a reverse proxy shows the server, such as /wiki."] = None,
    llm: _AnsweringModel = None,
    base_url: BaseUrl = None,
    allow_write: Annotated[bool, "Let MCP clients add and remove documents."] = False,
) -> None:
    """Serve indexes over HTTP.

    Offers a page, a JSON interface and OpenAI's interface. Only this machine can connect unless --host says otherwise.
    """
    _compute_in_single_threads()
    try:
        from graphwright.serve.app import create_app
    except ImportError as error:
        raise DataError(_EXTRA.format(error.name)) from error
    from graphwright.serve.app import DrainingServer, server_config
    from graphwright.serve.catalog import Catalog, is_home
    from graphwright.serve.logs import configure_logging, log

    options = {"host": host, "port": port, "data": data, "processes": processes, "root_path": root_path}
    options["allow_write"] = allow_write or None
    chosen = server_settings(settings, llm, base_url, options)
    configure_logging(chosen.log_format)
    _raise_descriptor_limit()
    home = next((Path(folder) for folder in folders or () if is_home(Path(folder))), None)
    places = [folder for folder in folders or () if Path(folder) != home]
    if not folders:
        home, places = chosen.data / "indexes", served_folders(None) if found_index() else []
    catalog = Catalog.open(places, remote_encoders=chosen.encoders, data=chosen.data, home=home)
    app = create_app(catalog, chosen)
    listening = _listen(chosen.host, chosen.port)
    address = f"http://{_shown(chosen.host)}:{listening.getsockname()[1]}{chosen.root_path}/"
    start = f"Serving {counted(len(catalog), 'index') if len(catalog) == 1 else f'{len(catalog)} indexes'} at {address}"
    log.info(start) if chosen.log_format == "json" else note(start)
    proxies = list(chosen.trusted_proxies)
    config = server_config(app, _GRACE, proxy_headers=bool(proxies), forwarded_allow_ips=proxies)
    with suppress(KeyboardInterrupt):
        DrainingServer(config, app.state.server.workers.end, _GRACE - 2).run(sockets=[listening])


def server_settings(file: Path | None, llm: str | None, base_url: str | None, options: dict[str, Any]) -> ServeSettings:
    """Return the settings of the file, overridden by the options."""
    from graphwright.serve.settings import ServeSettings, read_server_file

    given = {name: value for name, value in options.items() if value is not None}
    chosen = ServeSettings(**given) if file is None else read_server_file(file, **given)
    if llm is None and base_url is None:
        return chosen
    if llm is None and chosen.llm is None:
        raise OptionError(f"--base-url {base_url} names a server but no model; add --llm MODEL.")
    if chosen.llm is None or llm not in (None, chosen.llm.model):
        model = models.LLMSettings(str(llm), base_url)
    else:
        model = replace(chosen.llm, base_url=base_url or chosen.llm.base_url)
    return replace(chosen, llm=model)


def _compute_in_single_threads() -> None:
    """Limit matrix products to one thread each, before numpy is loaded, as several questions are computed at a time."""
    for name in ("OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "VECLIB_MAXIMUM_THREADS"):
        os.environ.setdefault(name, "1")


def _listen(host: str, port: int) -> socket.socket:
    """Return a listening socket. Raises OptionError if the address cannot be bound."""
    import socket

    try:
        family = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)[0][0]
        both = family == socket.AF_INET6 and socket.has_dualstack_ipv6()
        listening = socket.create_server((host, port), family=family, backlog=2048, dualstack_ipv6=both)
    except OSError as error:
        raise OptionError(
            f"{host} port {port} cannot be used ({error.strerror or error}). Give another one with --host or --port."
        ) from error
    listening.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)  # for the connections, which inherit it
    return listening


def _shown(host: str) -> str:
    return f"[{host}]" if ":" in host else host


def _raise_descriptor_limit() -> None:
    """Raise the soft limit of open files to the hard limit, because each connection needs a descriptor."""
    with suppress(ImportError, ValueError, OSError):
        import resource

        _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
        resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))


def mcp(
    folders: _Folders = None,
    settings: _SettingsFile = None,
    data: Data = None,
    llm: _AnsweringModel = None,
    base_url: BaseUrl = None,
    allow_write: Annotated[bool, "Let the assistant add and remove documents."] = False,
) -> None:
    """Serve indexes to an assistant on this machine (MCP over stdio).

    The assistant starts this command itself; docs/mcp.md has the configuration of the common ones. Over HTTP,
    'graphwright serve' answers at /mcp.
    """
    try:
        from graphwright.serve.catalog import Catalog
        from graphwright.serve.mcp.server import create_mcp
        from graphwright.serve.server import Library
    except ImportError as error:
        raise DataError(_EXTRA.format(error.name)) from error
    chosen = server_settings(
        settings, llm, base_url, {"data": data, "processes": 1, "allow_write": allow_write or None}
    )
    with ExitStack() as stack, suppress(KeyboardInterrupt):
        catalog = Catalog.open(served_folders(folders), remote_encoders=chosen.encoders, data=chosen.data)
        stack.callback(catalog.close)
        library = Library.of(catalog, chosen)
        stack.callback(library.workers.close)
        if chosen.allow_write:
            library.jobs.start()
            stack.callback(library.jobs.close)
        note(f"Serving {', '.join(catalog)} over stdio; stop with Ctrl-C.")  # stdout is for the protocol
        stack.enter_context(catalog.refreshing(chosen.poll_seconds))
        create_mcp(library, writing=chosen.allow_write).run("stdio")
