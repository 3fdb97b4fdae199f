"""Embeddings with a name, chosen by the settings: of a server, a local model, hashed words, or none."""

from collections.abc import Callable
from importlib import import_module
from importlib.util import find_spec

from langchain_core.embeddings import Embeddings

from thoughtcycle.extras import extra_missing
from thoughtcycle.mind.clients import Clients
from thoughtcycle.mind.failures import call_with_retries, translating_errors
from thoughtcycle.mind.lazy import Lazy
from thoughtcycle.mind.lexical import LexicalEmbeddings
from thoughtcycle.mind.model_settings import LOCAL, Endpoint, ModelSettings

__all__ = ["LexicalEmbeddings", "NamedEmbeddings", "build_embeddings"]


class NamedEmbeddings(Embeddings):
    """Any LangChain embeddings under a name, with a total time-out, retries and ModelFailed by cause.

    Every vector is stored with the name: vectors of different names are never compared.
    """

    def __init__(
        self,
        name: str,
        build: Callable[[], Embeddings],
        endpoint: Endpoint | None = None,
        clients: Clients | None = None,
    ) -> None:
        self.name = name
        self._inner = Lazy(build)
        self._endpoint = endpoint or Endpoint("embedding", name)
        self._clients = clients

    @classmethod
    def of(cls, embeddings: Embeddings, name: str | None = None) -> "NamedEmbeddings":
        """`embeddings` under `name`, by default that of their model."""
        found = getattr(embeddings, "model", None) or getattr(embeddings, "model_name", None)
        return cls(name or str(found or type(embeddings).__name__), lambda: embeddings)

    def embed_documents(self, texts: list[str]) -> list[list[float]]:
        """One vector per text; without time-out and retries, which need an event loop."""
        with translating_errors(self._endpoint):
            return self._inner.now().embed_documents(texts)

    def embed_query(self, text: str) -> list[float]:
        """The vector of a question; see `embed_documents`."""
        with translating_errors(self._endpoint):
            return self._inner.now().embed_query(text)

    async def aembed_documents(self, texts: list[str]) -> list[list[float]]:
        """One vector per text. Raises ModelFailed."""
        if not texts:
            return []
        inner = await self._prepared()
        return await call_with_retries(self._endpoint, lambda: inner.aembed_documents(texts))

    async def aembed_query(self, text: str) -> list[float]:
        """The vector of a question. Raises ModelFailed."""
        inner = await self._prepared()
        return await call_with_retries(self._endpoint, lambda: inner.aembed_query(text))

    async def aclose(self) -> None:
        """Closes the connections; injected embeddings are left alone."""
        if self._clients:
            await self._clients.aclose()

    async def _prepared(self) -> Embeddings:
        with translating_errors(self._endpoint):
            return await self._inner.ready()


def build_embeddings(settings: ModelSettings) -> NamedEmbeddings | LexicalEmbeddings | None:
    """The embeddings that the settings describe; None when memories are found by keywords only.

    Raises InputRefused `extra_missing` when a local model is named and its package is not installed.
    """
    endpoint = settings.embedding_endpoint()
    if endpoint is None:
        return None if settings.embedding.model == "none" else LexicalEmbeddings()
    if endpoint.model.startswith(LOCAL):
        return _local(endpoint)
    clients = Clients()
    name = f"{endpoint.model}@{endpoint.host}"
    return NamedEmbeddings(name, lambda: clients.embeddings(endpoint), endpoint, clients)


def _local(endpoint: Endpoint) -> NamedEmbeddings:
    model = endpoint.model.removeprefix(LOCAL)
    if find_spec("langchain_huggingface") is None or find_spec("sentence_transformers") is None:
        raise extra_missing("local", endpoint.model)

    def build() -> Embeddings:
        package = import_module("langchain_huggingface")  # an extra; imports PyTorch
        loaded: Embeddings = package.HuggingFaceEmbeddings(
            model_name=model, encode_kwargs={"normalize_embeddings": True}
        )
        return loaded

    return NamedEmbeddings(endpoint.model, build, endpoint)
