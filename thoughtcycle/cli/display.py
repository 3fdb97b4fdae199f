"""Displays of a chat: on a terminal, through a pipe, as JSON lines."""

import sys
from collections.abc import Sequence
from typing import Protocol

from thoughtcycle.cli.options import one_line, print_json, printable
from thoughtcycle.nodes.base.envelope import Wire


class Display(Protocol):
    """Shows the messages of a turn in wire form."""

    def show(self, message: Wire) -> None:
        """One message or piece of one."""

    def end(self, note: str = "") -> None:
        """The turn is over; `note` says why when it was stopped."""

    def line(self, text: str) -> None:
        """A text of the program itself."""

    def refuse(self, text: str) -> None:
        """A failure in one line."""


def print_table(columns: str, rows: Sequence[Sequence[str]], nothing: str = "") -> None:
    """Prints a table with these comma-separated columns, or `nothing` without rows."""
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    if not rows:
        sys.stdout.write(f"{nothing}\n")
        return
    table = Table(*columns.split(", "), box=None, pad_edge=False)
    for row in rows:
        table.add_row(*map(Text, row))
    Console().print(table)


def is_refusal(message: Wire) -> bool:
    """Whether the message gives the reason of a run that is about to fail."""
    return (message["role"], message["modal"]) == ("system", "text")


class TerminalDisplay:
    """Streams replies; a status line is replaced by whatever comes next."""

    def __init__(self) -> None:
        from rich.console import Console

        self.console = Console(highlight=False, soft_wrap=True)
        self.status = self.console.status("", spinner="dots")
        self.open: str | None = None
        """Id of the reply whose pieces are being printed."""
        self.printed: set[str] = set()
        """Ids of replies of which pieces were printed: a status may stand between them."""

    def show(self, message: Wire) -> None:
        from rich.text import Text

        if is_refusal(message):
            return  # the failure that follows says it
        if message["modal"] == "text-for-replace":
            self._close()
            self.status.update(Text(printable(message["content"]), style="dim"))
            self.status.start()
            return
        self.status.stop()
        if message["modal"] == "memory":
            self._close()
            self._print(f"  · {one_line(str(message['content']))}", style="cyan")
        elif message.get("delta"):
            if self.open != message["id"]:
                self._close()
                self.open = message["id"]
                self.printed.add(message["id"])
            self._print(message["content"], end="")
        else:
            self._close()
            if message["id"] not in self.printed:
                self._print(message["content"])

    def _print(self, text: str, style: str = "", end: str = "\n") -> None:
        from rich.text import Text

        self.console.print(Text(printable(text), style=style), end=end)

    def _close(self) -> None:
        if self.open is not None:
            self.console.print()
            self.open = None

    def end(self, note: str = "") -> None:
        self.status.stop()
        self._close()
        if note:
            self.line(note)
        self.console.print()

    def line(self, text: str) -> None:
        self._print(text, style="dim")

    def refuse(self, text: str) -> None:
        self.end()
        self._print(text, style="red")


class PipeDisplay:
    """One reply per line on stdout, statuses on stderr."""

    def __init__(self) -> None:
        self.replies: list[str] = []

    def show(self, message: Wire) -> None:
        if message["modal"] == "text-for-replace":
            sys.stderr.write(f"{one_line(message['content'])}\n")
        elif message["modal"] == "text" and not message.get("delta") and not is_refusal(message):
            self.replies.append(one_line(message["content"]))

    def end(self, note: str = "") -> None:
        if self.replies:
            self.line(" ".join(self.replies))
            self.replies = []
        if note:
            sys.stderr.write(f"{note}\n")

    def line(self, text: str) -> None:
        sys.stdout.write(f"{one_line(text)}\n")
        sys.stdout.flush()

    def refuse(self, text: str) -> None:
        self.line(text)


class JsonDisplay:
    """Every message in wire form, one JSON object per line."""

    def show(self, message: Wire) -> None:
        print_json(message)

    def end(self, note: str = "") -> None:
        if note:
            sys.stderr.write(f"{note}\n")

    def line(self, text: str) -> None:
        from thoughtcycle.nodes.base.envelope import wire

        print_json(wire(text, role="system"))

    def refuse(self, text: str) -> None:
        self.line(text)
