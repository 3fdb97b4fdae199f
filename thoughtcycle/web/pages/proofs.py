"""Proofs of forgetting: made with an erasure and handed over in its answer. The server keeps none."""

import base64
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from thoughtcycle.proof.evidence import Scene
from thoughtcycle.proof.receipt import ProofReceipt
from thoughtcycle.proof.service import Prover
from thoughtcycle.web.pages.rendering import Page
from thoughtcycle.web.server.dependencies import ServerState

Ticked = Literal["", "on"]
"""A box of a form."""


@dataclass(frozen=True)
class ShownProof:
    """A proof as its user gets it."""

    lines: Sequence[str]
    file: str
    """Name of the receipt as a file."""
    link: str
    """The receipt itself, as an address (RFC 2397)."""


def prover(server: ServerState, user: str) -> Prover:
    """The prover of a user's erasure in this server's database and the files around it."""
    scene = Scene.of(server.settings.url(), user, server.settings.spool)
    return Prover(server.resources.services.memory, server.resources.checkpointer, scene)


def shown(reader: Page, server: ServerState, proof: ProofReceipt) -> ShownProof:
    """The proof in the reader's language; where users log in, without the server's folders and address."""
    if server.settings.auth.on:
        proof = proof.without_folders()
    lines = proof.text(reader.language).splitlines()
    receipt = proof.model_copy(update={"says": tuple(lines)}).model_dump_json(indent=1)
    link = f"data:application/json;base64,{base64.b64encode(receipt.encode()).decode()}"
    return ShownProof(lines, f"proof-{proof.at:%Y%m%d-%H%M%S}.json", link)
