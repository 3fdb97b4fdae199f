"""Makes the pictures (`make picture`): a real session on a terminal, and the drawings of the graphs."""

import io
import re
import sys
import tempfile
from pathlib import Path

import pexpect
import pyte
from rich.console import Console
from rich.style import Style
from rich.text import Text

from thoughtcycle.runtime.drawing import NAMES, Name, drawing

COLUMNS, ROWS = 88, 30
SAID = (
    "Meu nome é Pedro, sou vegetariano e odeio coentro.",
    "O que você sabe sobre minha alimentação?",
    "Na verdade agora eu como peixe, não sou mais vegetariano.",
    "Esqueça meu nome.",
    "Qual é o meu nome?",
)


def main() -> None:
    """Draws all anew."""
    session()
    docs = Path(__file__).parent
    draw(docs.parent / "README.md", "thought_cycle", "thoughtcycle graph")
    for name in NAMES:
        draw(docs / "graphs.md", name, f"thoughtcycle graph {name}")


def draw(file: Path, name: Name, command: str) -> None:
    """Puts the drawing of a graph between its marks in `file`."""
    block = re.compile(
        rf"(?<=<!-- drawing: made by `{command}` -->\n).*?(?=<!-- end of drawing -->)", re.DOTALL
    )
    file.write_text(block.sub(f"```mermaid\n{drawing(name)}```\n", file.read_text(), count=1))


def session() -> None:
    """Talks, then draws the screen."""
    screen = pyte.Screen(COLUMNS, ROWS)
    stream = pyte.Stream(screen)
    command = str(Path(sys.executable).parent / "thoughtcycle")
    with tempfile.TemporaryDirectory() as folder:
        chat = pexpect.spawn(
            command,
            ["chat", "--db", f"sqlite:///{folder}/m.db", "--user", "pedro"],
            encoding="utf-8",
            dimensions=(ROWS, COLUMNS),
            timeout=30,
        )
        for said in (*SAID, None):
            chat.expect("você> ")
            stream.feed(chat.before + chat.after)
            if said:
                chat.sendline(said)
        chat.sendline("/quit")
        chat.expect(pexpect.EOF)
    console = Console(record=True, width=COLUMNS, file=io.StringIO())
    for row in range(ROWS):
        console.print(_line(screen, row), no_wrap=True)
    svg = console.export_svg(title="make chat")
    without_web_fonts = re.sub(r"@font-face \{.*?\}\s*", "", svg, flags=re.DOTALL)
    (Path(__file__).parent / "session.svg").write_text(without_web_fonts)


def _line(screen: pyte.Screen, row: int) -> Text:
    line = Text()
    for column in range(COLUMNS):
        cell = screen.buffer[row][column]
        color = None if cell.fg == "default" else cell.fg
        line.append(cell.data, Style(color=color, bold=cell.bold))
    line.rstrip()
    return line


main()
