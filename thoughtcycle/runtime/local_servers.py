"""Looks for model servers on this computer, to name them; none is used unless the settings say so."""

import asyncio
import json
import re
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass

LOOK_SECONDS = 0.2
"""How long all servers together may take to answer."""
PORTS = (11434, 1234, 8080)
"""Where Ollama, LM Studio and llama.cpp listen by default."""
_NAMES: dict[int, str] = dict(zip(PORTS, ("Ollama", "LM Studio", "llama.cpp"), strict=True))
_LONGEST = 262_144
"""Bytes of an answer that are read."""
_MODEL = re.compile(r"[\w.:/@+-]{1,120}", re.ASCII)
_MODELS = 50


@dataclass(frozen=True)
class LocalServer:
    """A server that speaks OpenAI's protocol, and its models."""

    port: int
    models: tuple[str, ...]

    @property
    def name(self) -> str:
        """The program that listens there by default, with its port."""
        return f"{_NAMES.get(self.port, '127.0.0.1')}:{self.port}"

    @property
    def settings(self) -> tuple[str, str]:
        """The two lines of .env that use its first model, one for embeddings only where there is no other."""
        chat = next((model for model in self.models if "embed" not in model.casefold()), self.models[0])
        return f"OPENAI_BASE_URL=http://127.0.0.1:{self.port}/v1", f"THOUGHTCYCLE_MODEL={chat}"


async def find_local_servers(ports: Sequence[int] = PORTS) -> list[LocalServer]:
    """The servers with models at these ports of the loopback interface, in their order; asks all at once."""
    asking = [asyncio.create_task(_models(port)) for port in ports]
    if not asking:
        return []
    done, late = await asyncio.wait(asking, timeout=LOOK_SECONDS)
    for task in late:
        task.cancel()
    answers = zip(ports, asking, strict=True)
    return [LocalServer(port, task.result()) for port, task in answers if task in done and task.result()]


async def _models(port: int) -> tuple[str, ...]:
    """The models that the server at `port` lists; () where there is none, or another kind of server."""
    with suppress(OSError, ValueError, EOFError, asyncio.LimitOverrunError, RecursionError):
        reader, writer = await asyncio.open_connection("127.0.0.1", port, limit=_LONGEST)
        try:
            writer.write(f"GET /v1/models HTTP/1.0\r\nHost: 127.0.0.1:{port}\r\n\r\n".encode())
            head = await reader.readuntil(b"\r\n\r\n")
            if head.split(None, 2)[1:2] != [b"200"]:
                return ()
            body = b""
            while len(body) < _LONGEST and (part := await reader.read(_LONGEST)):
                body += part
            listed = json.loads(body)["data"]
            names = [str(one["id"]) for one in listed[:_MODELS]]
            return tuple(name for name in names if _MODEL.fullmatch(name))
        except (KeyError, TypeError):
            return ()
        finally:
            writer.close()
    return ()
