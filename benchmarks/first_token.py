"""Time that the first token of a reply spends in our process, from the model's chunk to the line on stdout."""

import json
import os
import statistics
import subprocess
import tempfile
import time

from benchmarks.command import COMMAND
from benchmarks.machine import quantile, table
from support.dialogue import HEAVY, TALK, environment
from support.fake_openai import FakeOpenAI, Reply

TURNS = 30


def run() -> str:
    """p50 and p95 over 30 turns of `thoughtcycle chat --json`; goal 15 ms. Both clocks are the system's."""
    with FakeOpenAI() as server, tempfile.TemporaryDirectory() as folder:
        env = os.environ | environment(server)
        chat = subprocess.Popen(
            [COMMAND, "chat", "--json", "--db", f"sqlite:///{folder}/m.db", "--user", "bench"],
            env=env,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        taken = [_turn(chat, server) for _ in range(TURNS)][2:]
        assert chat.stdin
        chat.stdin.close()
        chat.wait(30)
    ms = [seconds * 1000 for seconds in taken]
    return table(
        ("what", "p50", "p95", "goal"),
        [
            (
                "model's first chunk to our line",
                f"{statistics.median(ms):.1f} ms",
                f"{quantile(ms, 0.95):.1f} ms",
                "< 15 ms",
            )
        ],
    )


def _turn(chat: "subprocess.Popen[str]", server: FakeOpenAI) -> float:
    server.say("Finish", model=HEAVY)
    server.say(Reply("Uma resposta de algumas palavras.", per_token=0.02), model=TALK)
    assert chat.stdin and chat.stdout
    chat.stdin.write("Bom dia, tudo bem por aí?\n")
    chat.stdin.flush()
    arrived = 0.0
    for line in chat.stdout:
        message = json.loads(line)
        if message.get("delta"):
            arrived = arrived or time.monotonic()
        elif message["modal"] == "text":
            break
    sent = next(r.first_chunk_at for r in reversed(server.requests) if r.model == TALK)
    assert sent is not None
    return arrived - sent
