"""The push and pull commands."""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import Annotated

import typer

from graphwright.cli.options import AsJson, expanded
from graphwright.cli.progress import progress
from graphwright.cli.terminal import note, print_json, say
from graphwright.errors import counted

_URL = "Address, as s3://BUCKET/PATH, gs://BUCKET/PATH, az://CONTAINER/PATH or file:///FOLDER."


@expanded
def push(
    folder: Annotated[Path, typer.Argument(metavar="DIR", help="Index folder.")],
    url: Annotated[str, typer.Argument(help=_URL)],
    force: Annotated[bool, "Replace pushes of others since this folder was last pushed or pulled."] = False,
    full: Annotated[bool, "Send all files again, for example if objects are damaged."] = False,
    prune: Annotated[bool, "Delete objects that only earlier pushes need."] = False,
    as_json: AsJson = False,
) -> None:
    """Push an index to object storage.

    Only missing pieces are sent. Of two pushes at the same time, one succeeds. Credentials are read from the
    environment.
    """
    from rich.filesize import decimal

    from graphwright.remote.pushing import push as push_folder

    with progress() as show:
        pushed = push_folder(folder, url, force=force, full=full, prune=prune, progress=show)
    if as_json:
        print_json(vars(pushed))
        return
    if pushed.pieces:
        say(f"sent {decimal(pushed.sent)} of {decimal(pushed.bytes)} to {url}")
    else:
        say(f"{url} has all of {folder} already ({decimal(pushed.bytes)})")
    if pushed.pruned:
        say(f"deleted {counted(pushed.pruned, 'object')} of earlier pushes")


@expanded
def pull(
    url: Annotated[str, typer.Argument(help=_URL)],
    folder: Annotated[Path, typer.Argument(metavar="DIR", help="New folder, or one that was pulled or pushed before.")],
    force: Annotated[bool, "Discard changes of the folder that were not pushed."] = False,
    as_json: AsJson = False,
) -> None:
    """Pull an index from object storage.

    Only missing pieces are fetched, and every file is verified. Run it again after an interruption. Credentials are
    read from the environment.
    """
    from rich.filesize import decimal

    from graphwright.remote.pulling import pull as pull_folder

    with progress() as show:
        pulled = pull_folder(url, folder, force=force, progress=show)
    if as_json:
        print_json(vars(pulled))
        return
    if not pulled.changed:
        say(f"{folder} has all of {url} already ({decimal(pulled.bytes)})")
        return
    say(f"fetched {decimal(pulled.fetched)} of {decimal(pulled.bytes)} into {folder}")
    note(f'Next: graphwright ask "…" --index {shlex.quote(str(folder))}')
