"""Record what commands print on a terminal, as the docs show it: docs/images/terminal-*.svg.

    pip install -e . && python scripts/terminal_images.py

Each picture is a session in a folder of its own: its commands, with what they print. Progress bars are left out.
"""

from __future__ import annotations

import fcntl
import os
import pty
import re
import shlex
import struct
import subprocess
import sys
import tempfile
import termios
from collections.abc import Sequence
from pathlib import Path

from rich._export_format import CONSOLE_SVG_FORMAT
from rich.console import Console
from rich.text import Text

OUT = Path(__file__).parent.parent / "docs" / "images"
COLUMNS = 92
NOTES = {
    "notes/graz.txt": "Graz lies on the Mur. The clock tower of Graz was built in 1560.\n",
    "notes/mur.txt": "The Mur rises in Salzburg. It flows into the Drava at Legrad.\n",
    "films.tsv": "Heat\tdirected_by\tMichael Mann\nHeat\tstarred_actors\tAl Pacino\nHeat\thas_genre\tCrime\n"
    "Ali\tdirected_by\tMichael Mann\nAli\thas_genre\tDrama\n"
    "The Insider\tdirected_by\tMichael Mann\nThe Insider\tstarred_actors\tAl Pacino\n",
}
QUESTION = "Where does the river that Graz lies on flow to?"
SESSIONS = {
    "documents": [
        "graphwright sync notes --into my-index",
        f'graphwright ask "{QUESTION}" --index my-index',
        "graphwright show mur.txt --index my-index --characters 0-61",
    ],
    "explain": [f'graphwright ask "{QUESTION}" --index my-index --explain'],
    "graph": [
        "graphwright import films.tsv --into films",
        'graphwright ask "Which films did Michael Mann direct?" --index films',
    ],
}
"""Commands by picture; all sessions share a folder, in this order."""


def printed(command: str, folder: Path) -> str:
    """Return what a command prints on a terminal. Raises SystemExit where it fails."""
    ours, theirs = pty.openpty()
    fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 50, COLUMNS, 0, 0))
    arguments = [sys.executable, "-m", *shlex.split(command)]
    environment = os.environ | {"TERM": "xterm-256color", "COLUMNS": str(COLUMNS)}
    process = subprocess.Popen(arguments, cwd=folder, stdout=theirs, stderr=subprocess.DEVNULL, env=environment)
    os.close(theirs)
    parts = []
    while True:
        try:
            part = os.read(ours, 1 << 16)
        except OSError:  # how Linux says that nobody has the terminal open any more
            break
        parts.append(part)
        if not part:
            break
    if process.wait():
        raise SystemExit(f"{command} ended with {process.returncode}; run it in {folder} to see why.")
    return b"".join(parts).decode().replace("\r\n", "\n")


def picture(name: str, commands: Sequence[str], folder: Path) -> None:
    """Write the picture of a session."""
    with open(os.devnull, "w") as nowhere:
        console = Console(record=True, width=COLUMNS, file=nowhere, force_terminal=True, color_system="truecolor")
        for command in commands:
            console.print(Text.assemble(("$ ", "bold green"), (command, "bold")))
            console.print(Text.from_ansi(printed(command, folder).rstrip("\n")))
    look = re.sub(r"@font-face \{\{.*?\}\}", "", CONSOLE_SVG_FORMAT, flags=re.DOTALL)  # no fonts from elsewhere
    svg = console.export_svg(title="graphwright", code_format=look, unique_id=name)
    lines = (line.rstrip() for line in svg.splitlines())
    (OUT / f"terminal-{name}.svg").write_text("\n".join(lines) + "\n", encoding="utf-8")


def main() -> None:
    """Write all pictures."""
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place)
        for name, text in NOTES.items():
            (folder / name).parent.mkdir(exist_ok=True)
            (folder / name).write_text(text, encoding="utf-8")
        for name, commands in SESSIONS.items():
            picture(name, commands, folder)


if __name__ == "__main__":
    main()
