"""Erasure: hidden memories leave documents, index, transcript and checkpoints for good."""

from thoughtcycle.memory.erasure.chat_rollback import rolled_back, taught, without_chat
from thoughtcycle.memory.erasure.document_repair import rebuild
from thoughtcycle.memory.erasure.documents import DocumentErasure
from thoughtcycle.memory.erasure.forget_user import Farewell, UserErasure
from thoughtcycle.memory.erasure.service import GRACE, Erasure, Receipt
from thoughtcycle.memory.erasure.unlearn_exchange import Unlearning

__all__ = [
    "GRACE",
    "DocumentErasure",
    "Erasure",
    "Farewell",
    "Receipt",
    "Unlearning",
    "UserErasure",
    "rebuild",
    "rolled_back",
    "taught",
    "without_chat",
]
