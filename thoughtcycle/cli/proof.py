"""`--prove` of erasing commands, and `thoughtcycle prove`: the proof of forgetting and its receipt."""

import sys
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from thoughtcycle.cli.call import Call, CommandGroup
from thoughtcycle.cli.files import check_writable, new_file
from thoughtcycle.cli.options import TEXTS, Flag, ui_language
from thoughtcycle.errors import InputRefused
from thoughtcycle.prompts.loader import texts

if TYPE_CHECKING:
    from thoughtcycle.checkpoints.factory import Saver
    from thoughtcycle.memory.memory import Memory
    from thoughtcycle.proof.receipt import ProofReceipt
    from thoughtcycle.proof.service import Prover

app = CommandGroup()

Prove = Annotated[bool, Flag("--prove", help=TEXTS["option.prove"])]
Also = Annotated[
    list[Path] | None, typer.Option("--also", metavar="FILE", exists=True, help=TEXTS["option.also"])
]


def new_receipt() -> Path:
    """The file of a new receipt in the current folder; InputRefused where it cannot be written."""
    path = Path(f"proof-{datetime.now(UTC):%Y%m%d-%H%M%S}.json")
    check_writable(path, replace=False)
    return path


def prover(call: Call, memory: "Memory", saver: "Saver", user: str, also: Sequence[Path] | None) -> "Prover":
    """The prover of this call's database and the files around it."""
    from thoughtcycle.proof.evidence import Scene
    from thoughtcycle.proof.service import Prover

    scene = Scene.of(call.settings.url(), user, call.settings.spool, also or ())
    return Prover(memory, saver, scene)


def print_erased(
    call: Call, value: Mapping[str, Any], text: str, proof: "ProofReceipt | None", path: Path | None
) -> None:
    """Prints an erasure's result and, if it was proved, the proof, whose receipt is written to `path`.

    Exit code 1 where the proof failed.
    """
    if proof is None or path is None:
        call.print(value, text)
        return
    said = proof.text(ui_language())
    proof = proof.model_copy(update={"says": tuple(said.splitlines())})
    with new_file(path, replace=False) as out:
        out.write(proof.model_dump_json(indent=1).encode())
    saved = texts(ui_language(), "proof").fill("saved", path=path)
    told = {**value, "proof": {"path": str(path), **proof.model_dump(mode="json")}}
    call.print(told, "\n".join(dict.fromkeys((*text.splitlines(), *said.splitlines(), saved))))
    if proof.result != "gone":
        raise typer.Exit(1)


@app.command(help=TEXTS["help.prove"])
def prove(
    receipt: Annotated[Path, typer.Argument(metavar="RECEIPT", help=TEXTS["argument.receipt"])],
    call: Call,
    also: Also = None,
) -> None:
    from thoughtcycle.memory.storage import parse_url
    from thoughtcycle.proof.receipt import read_receipt

    former = read_receipt(receipt)
    database = parse_url(call.settings.url())
    if call.db is None and database.place != former.database:
        raise InputRefused("proof_other_database", database=repr(former.database))
    if (
        database.path is not None and not database.path.exists()
    ):  # opening it would make one, in which nothing is
        raise InputRefused("backup_missing", path=repr(str(database.path)))
    words = _asked(len(former.words.hashes))

    async def work(memory: "Memory", saver: "Saver", _: str) -> "ProofReceipt":
        return await prover(call, memory, saver, former.user, also).check(former, words)

    found = call.with_threads(work)
    call.print(found.model_dump(mode="json"), found.text(ui_language()))
    if found.result != "gone":
        raise typer.Exit(1)


def _asked(count: int) -> list[str]:
    """The words, unseen from a terminal, else one per line of standard input."""
    if not sys.stdin.isatty():
        return [line.strip() for line in sys.stdin if line.strip()]
    words: list[str] = []
    while len(words) < count:
        ask = texts(ui_language(), "proof")["ask"]
        word = typer.prompt(ask, default="", hide_input=True, show_default=False, err=True).strip()
        if not word:
            break
        words.append(word)
    return words
