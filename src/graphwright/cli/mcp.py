"""Serve indexes to an assistant over stdio, by the Model Context Protocol."""

from __future__ import annotations

from contextlib import ExitStack, suppress
from typing import Annotated

from graphwright.cli.options import BaseUrl, expanded, served_folders
from graphwright.cli.serve import EXTRA, AnsweringModel, DataFolder, Folders, SettingsFile, server_settings
from graphwright.cli.terminal import note
from graphwright.errors import DataError


@expanded
def mcp(
    folders: Folders = None,
    settings: SettingsFile = None,
    data: DataFolder = None,
    llm: AnsweringModel = None,
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
        raise DataError(EXTRA.format(error.name)) from error
    chosen = server_settings(settings, llm, base_url, {"data": data, "allow_write": allow_write or None})
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
