"""Counts the model tokens of a turn."""

from langchain_core.callbacks import UsageMetadataCallbackHandler


class TokenCount(UsageMetadataCallbackHandler):
    """Adds up the tokens of a turn's model calls.

    It is called on the event loop, and not for every step: LangChain gives every event of a handler that does
    not say so to a thread, thirty in a turn, and to one without `on_chat_model_start` the prompt as text.
    """

    run_inline = True

    @property
    def ignore_chain(self) -> bool:
        """Steps take no tokens."""
        return True

    @property
    def ignore_chat_model(self) -> bool:
        """The begin of a call has no token count."""
        return True

    @property
    def total(self) -> int:
        """Tokens of all calls that have ended."""
        return sum(usage["total_tokens"] for usage in self.usage_metadata.values())
