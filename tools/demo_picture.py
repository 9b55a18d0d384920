"""Draws the demonstration as a terminal shows it: `python tools/demo_picture.py docs/images/demo.svg`.

Runs `sortkey up` in a folder of its own, as `make run` does, and asks it. What the picture shows is what was printed
and answered, with the default ports.
"""

from __future__ import annotations

import re
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Final
from urllib.request import Request, urlopen
from xml.sax.saxutils import escape

UP: Final = ("-m", "sortkey", "up", "--port", "0", "--db-port", "0", "--access-log", "off")
ASKED: Final = (
    (
        "boosts/de/lookup",
        '{"district": "BER-01", "partnerIds": ["10740321", "10740322", "10740324"], "at": "2026-08-24T12:30:00+02:00"}',
    ),
    ("social/leaderboards/chess/top?limit=3", None),
    ("favourites/ada/r0007", None),
)
"""Paths, and the bodies that are posted to them."""

COLUMNS: Final = 106
WIDTH: Final = 900
LINE: Final = 18
TOP: Final = 44
MARGIN: Final = 20
STYLE: Final = """
  .screen { fill: #0d1117 } .dot { fill: #3d444d }
  text { font: 13px ui-monospace, SFMono-Regular, Menlo, Consolas, monospace; fill: #c9d1d9; white-space: pre }
  .command { fill: #4493f8 } .note { fill: #8b949e }
"""


def main(picture: Path) -> None:
    with tempfile.TemporaryDirectory() as folder:
        command = [sys.executable, *UP]
        with subprocess.Popen(command, cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True) as up:
            try:
                picture.write_text(drawn(list(shown(up))), encoding="utf-8")
            finally:
                up.terminate()


def shown(up: subprocess.Popen[str]) -> Iterator[tuple[str, str]]:
    """The lines of the terminal, each with its class."""
    assert up.stdout is not None
    yield "command", "$ make run"
    for line in up.stdout:
        if line.startswith("ready "):
            url = line.split()[1]
            yield "answer", "ready http://127.0.0.1:8080"
            break
        if ": done in " in line:
            yield "note", line.rstrip()
    else:
        raise SystemExit("sortkey up has not become ready")
    for path, body in ASKED:
        data = f" -d '{body}'" if body else ""
        yield "answer", ""
        yield from wrapped("command", f"$ curl -s 'localhost:8080/{path}'{data}")
        with urlopen(Request(f"{url}/{path}", None if body is None else body.encode())) as answer:
            yield from wrapped("answer", answer.read().decode())


def wrapped(kind: str, text: str) -> Iterator[tuple[str, str]]:
    """Lines end after a comma, so that no word is broken."""
    line = ""
    for piece in re.findall(r"[^,]*,|[^,]+$", text):
        if len(line) + len(piece) > COLUMNS:
            yield kind, line
            line = ""
        line += piece
    yield kind, line


def drawn(lines: list[tuple[str, str]]) -> str:
    height = TOP + LINE * len(lines) + MARGIN
    return "\n".join(
        [
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height}" width="{WIDTH}">',
            f"<style>{STYLE}</style>",
            f'<rect class="screen" width="{WIDTH}" height="{height}" rx="8"/>',
            *(f'<circle class="dot" cx="{MARGIN + 16 * each}" cy="20" r="5"/>' for each in range(3)),
            *(
                f'<text class="{kind}" x="{MARGIN}" y="{TOP + LINE * number + 12}">{escape(text)}</text>'
                for number, (kind, text) in enumerate(lines)
                if text
            ),
            "</svg>\n",
        ]
    )


if __name__ == "__main__":
    main(Path(sys.argv[1]))
