"""A client of a language server over stdin and stdout: finds the uses of a name."""

import json
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Self
from urllib.parse import unquote, urlsplit


class LanguageServer:
    """A server for one folder; ends with the block."""

    def __init__(self, command: list[str], root: Path) -> None:
        pipe = subprocess.PIPE
        self._process = subprocess.Popen(command, cwd=root, stdin=pipe, stdout=pipe)
        self._root = root
        self._last = 0

    def __enter__(self) -> Self:
        folder = {"uri": self._root.as_uri(), "name": self._root.name}
        capabilities = {"workspace": {"configuration": True, "workspaceFolders": True}}
        self._ask(
            "initialize",
            {
                "processId": None,
                "rootUri": folder["uri"],
                "workspaceFolders": [folder],
                "capabilities": capabilities,
            },
        )
        self._tell("initialized", {})
        return self

    def __exit__(self, *_: object) -> None:
        self._ask("shutdown", None)
        self._tell("exit", None)
        self._process.communicate()

    def references(self, path: Path, line: int, column: int) -> list[str]:
        """The file of each use of the name there, its definition aside; lines and columns count from 0."""
        opened = {"uri": path.as_uri(), "languageId": "python", "version": 1, "text": path.read_text("utf-8")}
        self._tell("textDocument/didOpen", {"textDocument": opened})
        next(told for told in self._received() if "ource files" in str(told.get("params", {}).get("message")))
        where = {"textDocument": {"uri": path.as_uri()}, "position": {"line": line, "character": column}}
        found = self._ask("textDocument/references", {**where, "context": {"includeDeclaration": False}})
        return [unquote(urlsplit(place["uri"]).path) for place in found or ()]

    def _ask(self, method: str, params: Any) -> Any:
        self._last += 1
        self._send({"id": self._last, "method": method, "params": params})
        answer = next(
            told for told in self._received() if told.get("id") == self._last and "method" not in told
        )
        return answer["result"]

    def _tell(self, method: str, params: Any) -> None:
        self._send({"method": method, "params": params})

    def _received(self) -> Iterator[dict[str, Any]]:
        """Yields the server's messages; answers its requests on the way with empty results."""
        while told := self._read():
            if "id" in told and "method" in told:
                items = (
                    told.get("params", {}).get("items", ())
                    if told["method"] == "workspace/configuration"
                    else None
                )
                self._send({"id": told["id"], "result": items if items is None else [{} for _ in items]})
            yield told
        raise ConnectionError("the language server ended")

    def _send(self, message: dict[str, Any]) -> None:
        body = json.dumps({"jsonrpc": "2.0", **message}).encode()
        assert self._process.stdin
        self._process.stdin.write(b"Content-Length: %d\r\n\r\n%b" % (len(body), body))
        self._process.stdin.flush()

    def _read(self) -> dict[str, Any]:
        assert self._process.stdout
        length = 0
        while (line := self._process.stdout.readline()) not in (b"\r\n", b""):
            name, _, value = line.partition(b":")
            length = int(value) if name.lower() == b"content-length" else length
        told: dict[str, Any] = json.loads(self._process.stdout.read(length) or b"{}")
        return told
