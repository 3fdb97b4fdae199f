"""Builds LangChain's clients of OpenAI-compatible servers, which are imported on first use."""

from threading import Lock
from typing import Any

from langchain_core.embeddings import Embeddings
from langchain_core.language_models import BaseChatModel
from pydantic import SecretStr

from thoughtcycle.errors import ModelRefused
from thoughtcycle.mind.model_settings import Endpoint


class Clients:
    """Clients over one connection pool, which belongs to the event loop that first uses it."""

    def __init__(self) -> None:
        self._http: Any = None
        self._lock = Lock()

    def chat(self, endpoint: Endpoint) -> BaseChatModel:
        """The chat model of an endpoint. It reports usage while streaming and never retries by itself."""
        from langchain_openai import ChatOpenAI  # a second to import

        return ChatOpenAI(
            model=endpoint.model,
            base_url=endpoint.base_url,
            api_key=_key(endpoint),
            timeout=endpoint.timeout,
            max_retries=0,
            stream_usage=True,
            stream_chunk_timeout=None,
            use_responses_api=False,
            http_async_client=self._pool(),
        )

    def embeddings(self, endpoint: Endpoint) -> Embeddings:
        """The embedding model of an endpoint; texts are sent as text, not as token numbers."""
        from langchain_openai import OpenAIEmbeddings

        given = {
            "model": endpoint.model,
            "base_url": endpoint.base_url,
            "api_key": _key(endpoint),
            "timeout": endpoint.timeout,
            "max_retries": 0,
            "check_embedding_ctx_length": False,
            "http_async_client": self._pool(),
        }
        return OpenAIEmbeddings.model_validate(given)

    def _pool(self) -> Any:
        from openai import DefaultAsyncHttpxClient

        with self._lock:
            if self._http is None:
                self._http = DefaultAsyncHttpxClient()
            return self._http

    async def aclose(self) -> None:
        """Closes the connections."""
        if self._http is not None:
            await self._http.aclose()
            self._http = None


def _key(endpoint: Endpoint) -> SecretStr:
    """The key; the client insists on one, also for a server that needs none."""
    if endpoint.api_key is None and endpoint.base_url is None:
        raise ModelRefused("model_key", **endpoint.named)
    return endpoint.api_key or SecretStr("none")
