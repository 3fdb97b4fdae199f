"""The port of what models' servers were found to refuse: of the deployment, not of a user."""

from abc import ABC, abstractmethod
from datetime import datetime


class Learned(ABC):
    """Keeps names of refusals, each until it expires."""

    @abstractmethod
    async def put(self, name: str, now: datetime, until: datetime) -> None:
        """Stores a name, or extends it; those that have expired are deleted."""

    @abstractmethod
    async def names(self, now: datetime) -> dict[str, datetime]:
        """The names that have not expired, each with the time at which it does."""
