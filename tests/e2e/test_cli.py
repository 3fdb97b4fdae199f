"""The command as a person meets it: every failure is one clear line, and a terminal chat can be stopped."""

import json
import re
import shlex
import signal
import sqlite3
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pexpect
import pytest
import typer

from support.command import CLEAN, PYTHON, refused, run
from support.dialogue import HEAVY, TALK, environment
from support.fake_openai import FakeOpenAI, Reply, Status
from thoughtcycle.cli.main import app
from thoughtcycle.cli.options import one_line, print_json, printable
from thoughtcycle.memory.storage import parse_url


@pytest.fixture(scope="module")
def filled(tmp_path_factory: pytest.TempPathFactory) -> Path:
    db = tmp_path_factory.mktemp("filled") / "m.db"
    assert run("chat", stdin="Meu nome é Pedro e odeio coentro\n", db=db).returncode == 0
    return db


@pytest.mark.spec("TC-1")
def test_json_is_the_wire_form(tmp_path: Path) -> None:
    done = run("chat", "--json", stdin="Meu nome é Pedro\n", db=tmp_path / "m.db")
    messages = [json.loads(line) for line in done.stdout.splitlines()]
    for message in messages:
        assert message.keys() - {"delta"} == {"chat-history", "modal", "role", "content", "id"}
    assert messages[0]["modal"] == "text-for-replace"
    whole = [message for message in messages if message["modal"] == "text" and "delta" not in message]
    for message in whole:
        pieces = [m["content"] for m in messages if m["id"] == message["id"] and m.get("delta")]
        assert "".join(pieces) == message["content"]
    assert [message["chat-history"] for message in whole] == [False]


def test_memories_are_listed_found_shown_edited_deleted_and_brought_back(filled: Path) -> None:
    listed = [json.loads(line) for line in run("memories", "list", "--json", db=filled).stdout.splitlines()]
    herb = next(record for record in listed if "coentro" in record["content"])
    assert "coentro" in run("memories", "search", "coentro", db=filled).stdout
    assert "coentro" not in run("memories", "search", "coentro", "--kind", "bio", db=filled).stdout
    assert "coentro" not in run("memories", "list", "--at", "2020-01-01", db=filled).stdout
    for bad in (("--kind", "x"), ("--layer", "x"), ("--since", "x"), ("--at", "x"), ("--recipe", "x")):
        assert "x" in refused(run("memories", "search", "coentro", *bad, db=filled))
    shown = run("memories", "show", herb["id"][:10], db=filled).stdout
    assert "odeio coentro" in shown and "guardada" in shown
    assert run("memories", "edit", herb["id"], "Odeia coentro cru", db=filled).returncode == 0
    assert "Odeia coentro cru" in run("memories", "list", db=filled).stdout
    assert run("memories", "delete", herb["id"], db=filled).returncode == 0
    assert "coentro" not in run("memories", "list", db=filled).stdout
    assert "escondida" in run("memories", "list", "--all", db=filled).stdout
    undone = run("memories", "undo", herb["id"], db=filled)
    assert undone.stdout == f"Desfeito (escondida); agora ativa: Odeia coentro cru ({herb['id'][:8]})\n"
    assert "Odeia coentro cru" in run("memories", "list", db=filled).stdout


def test_another_user_sees_and_changes_nothing(filled: Path) -> None:
    (first, *_) = [
        json.loads(line) for line in run("memories", "list", "--json", db=filled).stdout.splitlines()
    ]
    assert run("memories", "list", "--json", "--user", "eve", db=filled).stdout == ""
    for command in (
        ("show", first["id"]),
        ("delete", first["id"]),
        ("edit", first["id"], "x"),
        ("undo", first["id"]),
    ):
        assert first["id"] in refused(run("memories", *command, "--user", "eve", db=filled))


def test_an_empty_id_names_no_memory(tmp_path: Path) -> None:
    db = tmp_path / "m.db"
    run("chat", stdin="Meu nome é Pedro\n", db=db)
    for command in (("delete", ""), ("undo", ""), ("edit", " ", "x")):
        refused(run("memories", *command, db=db))
    assert "Nome: Pedro" in run("memories", "list", db=db).stdout


def test_a_dotenv_sets_the_language_and_a_broken_one_is_one_line(tmp_path: Path) -> None:
    (tmp_path / ".env").write_text("THOUGHTCYCLE_LANGUAGE=en\n")
    assert "No memories." in run("memories", "list", db="sqlite:///m.db", cwd=tmp_path).stdout
    (tmp_path / ".env").write_bytes(b"\xff\xfe=1\n")
    assert ".env" in refused(run("memories", "list", db="sqlite:///m.db", cwd=tmp_path))


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ('THOUGHTCYCLE_DB="sqlite:///secret.db\n', 1),
        ("# mine\n\nTHOUGHTCYCLE_DB=sqlite:///mine.db\n\n  this is secret\n", 5),
    ],
    ids=["an open quote", "no setting"],
)
@pytest.mark.parametrize(("language", "expected"), [("pt", "linha"), ("en", "Line")])
def test_a_dotenv_with_a_broken_line_stops_the_command(
    text: str, line: int, language: str, expected: str, tmp_path: Path
) -> None:
    (tmp_path / ".env").write_text(text)
    env = {"LANG": language, "XDG_DATA_HOME": str(tmp_path / "data")}
    told = refused(run("chat", stdin="Moro em Recife.\n", cwd=tmp_path, env=env))
    assert f"{expected} {line} " in told and str(tmp_path / ".env") in told and "secret" not in told
    assert [path.name for path in tmp_path.iterdir()] == [".env"]


def test_a_terminal_that_lacks_letters_and_streams_that_are_closed(tmp_path: Path) -> None:
    done = run("chat", stdin="Olá!\n", db=tmp_path / "m.db", env={"PYTHONIOENCODING": "ascii"})
    assert done.returncode == 0 and done.stdout.startswith("Ol?! Eu sou Katherine")
    command = shlex.join([*PYTHON, "chat", "--db", f"sqlite:///{tmp_path}/m.db"])
    closed = subprocess.run(
        f"{command} <&- >&-", shell=True, env=CLEAN, stderr=subprocess.PIPE, timeout=120, check=False
    )
    assert (closed.returncode, closed.stderr) == (0, b"")


def test_nothing_reaches_the_terminal_that_it_would_obey(capsys: pytest.CaptureFixture[str]) -> None:
    assert one_line("a\x1b[31mb\r\nR$\u00a05\x9b2J \u202e👩\u200d👧") == "a[31mb R$ 52J 👩\u200d👧"
    assert printable("R$\u00a05\n") == "R$\u00a05\n"
    print_json({"content": "\x1b[31m \x9b2J ç"})
    out = capsys.readouterr().out
    assert "\x1b" not in out and "\x9b" not in out and json.loads(out) == {"content": "\x1b[31m \x9b2J ç"}


@pytest.mark.parametrize(
    "line", ["", "   ", "\x00\x01\x02PK\x03\x04", "x" * 1_000_000], ids=["empty", "blank", "binary", "1 MB"]
)
def test_an_unusable_message_gets_one_line_and_the_chat_goes_on(line: str, tmp_path: Path) -> None:
    done = run("chat", stdin=f"{line}\nMeu nome é Pedro\n", db=tmp_path / "m.db")
    first, second = done.stdout.splitlines()
    assert done.returncode == 1 and "mensagem" in first.casefold() and "Pedro" in second
    stored = sqlite3.connect(tmp_path / "m.db").execute("SELECT count(*) FROM cycles").fetchone()
    assert stored == (1,)


def test_bytes_that_are_no_text_get_one_line(tmp_path: Path) -> None:
    done = run("chat", stdin=b"\xff\xfe\x80\n" + "Meu nome é Pedro\n".encode(), db=tmp_path / "m.db")
    assert "binários" in done.stdout.splitlines()[0] and "Pedro" in done.stdout.splitlines()[1]


@pytest.mark.parametrize(
    ("args", "expected"),
    [
        (("--language", "klingon"), "pt, en"),
        (("--time-zone", "Mars/Olympus"), "America/Sao_Paulo"),
        (("--user", ""), "usuário"),
        (("--db", "mysql://x"), "sqlite:///"),
        (("--db", ""), "sqlite:///"),
        (("--db", "mongodb://u:secret@127.0.0.1:1/x?serverSelectionTimeoutMS=200"), "127.0.0.1:1"),
    ],
)
def test_a_bad_option_is_one_line(args: tuple[str, ...], expected: str, tmp_path: Path) -> None:
    options = args if "--db" in args else (*args, "--db", f"sqlite:///{tmp_path}/m.db")
    line = refused(run("chat", *options, stdin="oi\n"))
    assert expected in line and "secret" not in line


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("THOUGHTCYCLE_LIMITS__MAX_STEPS", "9000"),
        ("THOUGHTCYCLE_LIMITS", "secret"),
        ("THOUGHTCYCLE_CHAT__TIMEOUT", "soon"),
        ("OPENAI_BASE_URL", "ftp://secret@host"),
    ],
)
def test_a_bad_setting_is_one_line(name: str, value: str, tmp_path: Path) -> None:
    line = refused(run("chat", stdin="oi\n", db=tmp_path / "m.db", env={name: value}))
    assert "secret" not in line


@pytest.mark.parametrize(
    ("language", "args", "expected"),
    [
        ("pt", "frob", "era esperado um destes: profile, "),
        ("en", "memories frob", "one of these was expected: list, "),
        ("pt", "keys new", "Falta USER em `thoughtcycle keys new`"),
        ("pt", "memories show", "Falta ID"),
        ("pt", "web --port abc", "--port não pode ser usado como está. Esperado: um número inteiro"),
        ("en", "web --port 99999", "Expected: at most 65535"),
        ("en", "jobs list --state odd", "Expected: 'waiting', 'running', 'dead'."),
        ("pt", "memories list --frob", "Não há a opção --frob"),
        ("pt", "--db x memories list", "as opções ficam depois do comando"),
        ("en", "memories list --db", "The option --db lacks the value"),
        ("en", "memories show a b", "more arguments"),
    ],
)
def test_what_was_typed_wrong_is_one_line_in_the_language(language: str, args: str, expected: str) -> None:
    done = run(*args.split(), env={"THOUGHTCYCLE_LANGUAGE": language})
    assert done.returncode == 2 and done.stdout == "" and len(done.stderr.splitlines()) == 1, done.stderr
    assert done.stderr.startswith("thoughtcycle: ") and expected in done.stderr


def test_the_home_folder_in_a_database_url(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", "/home/ana")
    assert parse_url("sqlite:///~/m.db").path == Path("/home/ana/m.db")
    assert parse_url("sqlite:///a ~/m.db").path == Path("a ~/m.db")


def test_a_corrupt_database_is_one_line_and_stays_as_it_is(tmp_path: Path) -> None:
    db = tmp_path / "m.db"
    db.write_bytes(b"this is no database" * 100)
    before = db.read_bytes()
    refused(run("chat", stdin="oi\n", db=db))
    refused(run("memories", "list", db=db))
    assert db.read_bytes() == before


def test_a_newer_database_is_one_line(tmp_path: Path) -> None:
    db = tmp_path / "m.db"
    run("chat", stdin="oi\n", db=db)
    with sqlite3.connect(db) as connection:
        connection.execute("INSERT INTO schema_versions VALUES (1000)")
    assert "vers" in refused(run("memories", "list", db=db))


def test_a_locked_database_is_one_line(filled: Path) -> None:
    holder = sqlite3.connect(filled, isolation_level=None)
    holder.execute("BEGIN EXCLUSIVE")
    try:
        assert "Pedro" in run("memories", "list", db=filled).stdout, "reading goes on"
        assert "outro processo" in refused(run("memories", "undo", db=filled))
        done = run("chat", stdin="Meu nome é Ana\n", db=filled)
        assert "outro processo" in done.stdout + done.stderr and "Traceback" not in done.stderr
    finally:
        holder.rollback()
        holder.close()


def test_a_folder_that_cannot_be_made_is_one_line(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    refused(run("chat", stdin="oi\n", db=tmp_path / "file" / "m.db"))


@pytest.mark.spec("TC-14")
@pytest.mark.parametrize("code", [401, 404, 429, 500])
def test_a_refusing_model_ends_the_turn_politely(code: int, tmp_path: Path, fake_openai: FakeOpenAI) -> None:
    fake_openai.answer = lambda request: Status(code, retry_after="0")
    done = run("chat", stdin="oi\n", db=tmp_path / "m.db", env=environment(fake_openai))
    assert done.returncode == 1 and len(done.stdout.splitlines()) == 1
    assert done.stderr == "Pensando…\n", "no log lines"
    assert "sk-test-secret" not in done.stdout + done.stderr


@pytest.mark.spec("TC-6", "TC-14")
@pytest.mark.parametrize("broken", [Reply("Olá, tudo", finish="length"), Reply("Olá, tudo bem", end_after=2)])
def test_half_a_reply_says_that_it_is_half(broken: Reply, tmp_path: Path, fake_openai: FakeOpenAI) -> None:
    fake_openai.answer = lambda request: broken if request.stream else Reply("Finish")
    done = run("chat", stdin="oi\n", db=tmp_path / "m.db", env=environment(fake_openai))
    assert done.returncode == 1
    assert done.stdout.startswith("Olá, tudo A resposta acima foi interrompida"), done.stdout


@pytest.mark.parametrize("command", ["worker --once", "jobs list", "memories list", "stats", "config"])
def test_an_empty_address_never_means_the_default(command: str) -> None:
    assert "sqlite:///" in refused(run(*command.split(), "--db", ""))


def test_config_refuses_what_the_chat_would_refuse() -> None:
    assert "America/Sao_Paulo" in refused(run("config", env={"THOUGHTCYCLE_TIME_ZONE": "Mars/Base"}))
    assert "Foo" in refused(run("config", env={"THOUGHTCYCLE_DISABLED_ACTIONS": "Foo"}))


def test_config_masks_secrets(tmp_path: Path) -> None:
    env = {"OPENAI_API_KEY": "sk-very-secret", "THOUGHTCYCLE_DB": "mongodb://me:pass@host/db"}
    for extra in ((), ("--json",)):
        done = run("config", *extra, env=env)
        assert done.returncode == 0 and "host" in done.stdout
        assert "sk-very-secret" not in done.stdout and "pass" not in done.stdout.replace("passed", "")


def commands(group: Any, path: str = "") -> Iterator[tuple[str, Any]]:
    """Every command that a person can give, by its whole name; typer's classes differ between versions."""
    for name, command in group.commands.items():
        if hasattr(command, "commands"):
            yield from commands(command, f"{path}{name} ")
        else:
            yield f"{path}{name}", command


def test_every_command_is_documented_and_takes_the_common_options() -> None:
    readme = (Path(__file__).parents[2] / "README.md").read_text()
    named = re.findall(r"^\| (`thoughtcycle .*?) \|", readme, re.MULTILINE)
    spans = [span.removeprefix("thoughtcycle ") for row in named for span in re.findall(r"`(.*?)`", row)]
    told = [re.sub(r" (\[?[A-Z]{2,}\]?|'.*').*", "", span) for span in spans]
    known = dict(commands(typer.main.get_command(app)))
    assert sorted(told) == sorted(known)
    for name, command in known.items():
        assert command.help, name
        options = {option for parameter in command.params for option in parameter.opts}
        common = {"--json"} if name.startswith("eval ") else {"--user", "--db", "--json"}
        assert common <= options, name


def test_incognito_leaves_no_trace(tmp_path: Path) -> None:
    db = tmp_path / "m.db"
    done = run("chat", "--incognito", stdin="Meu nome é Pedro\n", db=db)
    assert done.returncode == 0
    with sqlite3.connect(db) as connection:
        tables = [name for (name,) in connection.execute("SELECT name FROM sqlite_master WHERE type='table'")]
        dump = "\n".join(connection.iterdump())
    assert tables and "Pedro" not in dump


def terminal(db: Path, *args: str, env: dict[str, str] | None = None) -> "pexpect.spawn[str]":
    return pexpect.spawn(
        PYTHON[0],
        [*PYTHON[1:], "chat", "--db", f"sqlite:///{db}", *args],
        env=CLEAN | {"THOUGHTCYCLE_USER": "ana", "TERM": "xterm-256color"} | (env or {}),  # type: ignore[arg-type]
        encoding="utf-8",
        timeout=60,
        dimensions=(40, 100),
        # A gate that was started in the background hands an ignored SIGINT down to its children.
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
    )


@pytest.mark.spec("TC-13")
def test_a_conversation_on_a_terminal(tmp_path: Path) -> None:
    chat = terminal(tmp_path / "m.db")
    chat.expect("você> ")
    chat.sendline("Meu nome é Pedro")
    chat.expect("Guardei: Nome: Pedro")
    chat.expect("você> ")
    chat.sendline("/memories")
    chat.expect("- Nome: Pedro")
    chat.expect("você> ")
    chat.sendline("/help")
    chat.expect("/lembrar")
    chat.expect("você> ")
    chat.sendline("/quit")
    chat.expect(pexpect.EOF)
    chat.close()
    assert chat.exitstatus == 0


@pytest.mark.spec("TC-13", "BY-1")
def test_ctrl_c_stops_the_reply_not_the_program(tmp_path: Path, fake_openai: FakeOpenAI) -> None:
    db = tmp_path / "m.db"
    fake_openai.say(Reply("Finish", delay=0.5), "Finish", model=HEAVY)
    fake_openai.say(Reply("palavra " * 5, hang_after=3), "Segunda resposta.", model=TALK)
    chat = terminal(db, env=environment(fake_openai))
    chat.expect("você> ")
    chat.sendline("conte uma história longa")
    chat.expect("Pensando…")
    chat.expect("palavra palavra palavra")
    chat.sendintr()
    chat.expect("interrompido")
    chat.expect("você> ")
    chat.sendline("e agora?")
    chat.expect("Segunda resposta.")
    chat.expect("você> ")
    chat.sendline("/quit")
    chat.expect(pexpect.EOF)
    stored = [
        json.loads(document)
        for (document,) in sqlite3.connect(db).execute("SELECT document FROM cycles ORDER BY rowid")
    ]
    first = next(cycle for cycle in stored if "história" in json.dumps(cycle, ensure_ascii=False))
    assert '"cut": true' in json.dumps(first) and "palavra palavra" in json.dumps(first)


def test_a_model_without_a_server_is_refused_rather_than_replaced(tmp_path: Path) -> None:
    assert "OPENAI_BASE_URL" in refused(run("chat", "--model", "foo", stdin="oi\n", db=tmp_path / "m.db"))


@pytest.mark.parametrize(
    ("name", "value", "expected"),
    [
        ("THOUGHTCYCLE_LIMTS__MAX_STEPS", "3", "THOUGHTCYCLE_LIMITS__MAX_STEPS"),
        ("THOUGHTCYCLE_LIMITS__MAX_STEPS", "x", "1 … 50"),
        ("THOUGHTCYCLE_LANGUAGE", "xx", "pt | en"),
        ("THOUGHTCYCLE_DISABLED_ACTIONS", "Dance", "MemorySearch"),
    ],
)
def test_a_setting_that_means_nothing_is_refused(
    name: str, value: str, expected: str, tmp_path: Path
) -> None:
    assert expected in refused(run("actions", env={name: value}))


def test_the_given_language_is_that_of_the_program_too(tmp_path: Path) -> None:
    line = refused(run("chat", "--language", "en", "--time-zone", "Mars", stdin="hi\n", db=tmp_path / "m.db"))
    assert "not known" in line
