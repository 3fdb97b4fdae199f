"""Starts the command in processes of their own without waiting a second for its imports each time.

A server that has imported what takes long, but nothing of the command itself, forks once per run. The child has the
arguments, environment, folder and streams of its caller, imports the command and runs it. Run as
`python -m support.warm SOCKET`, it is that server; it ends with whoever started it.
"""

import atexit
import contextlib
import gc
import importlib
import json
import os
import signal
import socket
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path

HEAVY = (
    "faiss",
    "langchain_openai",
    "langgraph.checkpoint.sqlite.aio",
    "pymongo",
    "rich.console",
    "rich.progress",
    "rich.table",
    "thoughtcycle.evals.memory_metrics",
    "thoughtcycle.checkpoints.mongodb",
    "thoughtcycle.runtime.opening",
    "thoughtcycle.runtime.resources",
    "typer",
)
"""None of them reads the environment or starts a thread when it is imported."""


def run(
    args: Sequence[str], *, stdin: bytes, env: Mapping[str, str], cwd: Path | None, timeout: float
) -> subprocess.CompletedProcess[bytes]:
    """What the command does with these arguments; subprocess.TimeoutExpired when it takes longer."""
    request = {"args": list(args), "env": dict(env), "cwd": str(cwd or Path.cwd())}
    with contextlib.ExitStack() as stack:
        files = [stack.enter_context(tempfile.TemporaryFile()) for _ in range(3)]
        files[0].write(stdin)
        files[0].seek(0)
        caller = stack.enter_context(socket.socket(socket.AF_UNIX))
        caller.connect(_server())
        said = json.dumps(request).encode()
        socket.send_fds(caller, [len(said).to_bytes(4, "big")], [file.fileno() for file in files])
        caller.sendall(said)
        caller.settimeout(timeout)
        pid = int.from_bytes(_exactly(caller, 4), "big")
        try:
            code = int.from_bytes(_exactly(caller, 4), "big", signed=True)
        except TimeoutError:
            os.kill(pid, signal.SIGKILL)
            raise subprocess.TimeoutExpired(list(args), timeout) from None
        for file in files[1:]:
            file.seek(0)
        return subprocess.CompletedProcess(list(args), code, files[1].read(), files[2].read())


@cache
def _server() -> str:
    """The address of this process's server; it is ready when it says so."""
    folder = tempfile.TemporaryDirectory(prefix="warm-")
    address = f"{folder.name}/socket"
    server = subprocess.Popen(
        [sys.executable, "-m", "support.warm", address],
        stdout=subprocess.PIPE,
        env=os.environ | {"PYTHONPATH": os.pathsep.join(sys.path)},
    )
    assert server.stdout is not None and server.stdout.readline() == b"ready\n"
    server.stdout.close()

    @atexit.register
    def end() -> None:
        server.kill()
        server.wait()
        folder.cleanup()

    return address


def _exactly(source: socket.socket, count: int) -> bytes:
    held = b""
    while len(held) < count:
        part = source.recv(count - len(held))
        if not part:
            raise ConnectionError("the server for commands has ended")
        held += part
    return held


def _serve(address: str) -> None:
    for name in HEAVY:
        importlib.import_module(name)
    gc.collect()
    gc.freeze()
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)
    parent = os.getppid()
    with socket.socket(socket.AF_UNIX) as listening:
        listening.bind(address)
        listening.listen()
        listening.settimeout(5)
        sys.stdout.write("ready\n")
        sys.stdout.flush()
        while os.getppid() == parent:
            try:
                caller, _ = listening.accept()
            except TimeoutError:
                continue
            if os.fork() == 0:
                listening.close()
                os._exit(_handle(caller))
            caller.close()


def _handle(caller: socket.socket) -> int:
    """One run, in a child of this process, so that its end can be waited for."""
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    length, streams, _, _ = socket.recv_fds(caller, 4, 3)
    request = json.loads(_exactly(caller, int.from_bytes(length, "big")))
    pid = os.fork()
    if pid == 0:
        caller.close()
        _become(request, streams)
    caller.sendall(pid.to_bytes(4, "big"))
    _, status = os.waitpid(pid, 0)
    caller.sendall(os.waitstatus_to_exitcode(status).to_bytes(4, "big", signed=True))
    return 0


def _become(request: dict[str, object], streams: Sequence[int]) -> None:
    """Runs the command as if this process had been started for it."""
    for number, stream in enumerate(streams):
        os.dup2(stream, number)
    os.environ.clear()
    os.environ.update(request["env"])  # type: ignore[call-overload]
    encoding = os.environ.get("PYTHONIOENCODING", "utf-8")
    sys.stdin, sys.stdout, sys.stderr = (
        os.fdopen(n, mode, encoding=encoding) for n, mode in enumerate("rww")
    )
    os.chdir(str(request["cwd"]))
    sys.argv = ["thoughtcycle", *request["args"]]  # type: ignore[misc]
    from thoughtcycle.cli.main import main

    main()
    sys.exit(0)


if __name__ == "__main__":
    _serve(sys.argv[1])
