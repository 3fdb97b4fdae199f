"""An app written for LangGraph's store, on ours: the same calls find by meaning, and remember what was."""

import sys
import tempfile

from langchain_core.messages import AIMessage
from langgraph.graph import START, MessagesState, StateGraph
from langgraph.runtime import Runtime

from thoughtcycle.integrations.store import ThoughtCycleStore
from thoughtcycle.memory import Memory
from thoughtcycle.mind.lexical import LexicalEmbeddings

NOTES = ("peter", "notes")


def note(state: MessagesState, runtime: Runtime[None]) -> dict[str, list[AIMessage]]:
    """Any node of any app: it knows a store, not whose."""
    store, said = runtime.store, state["messages"][-1].text
    store.put(NOTES, "latest", {"text": said})
    store.put(NOTES, f"note {len(said)}", {"text": said})
    return {"messages": [AIMessage(f"noted: {said}")]}


def main(url: str) -> None:
    opening = Memory.open(url, embeddings=LexicalEmbeddings())
    # The line that changes: it was `store = InMemoryStore()`.
    with ThoughtCycleStore.open(opening, owner=lambda namespace: namespace[0]) as store:
        graph = StateGraph(MessagesState).add_node("note", note).add_edge(START, "note").compile(store=store)
        for text in ("I moved to Lisbon.", "My sister plays the violin.", "Coriander tastes of soap."):
            graph.invoke({"messages": [("user", text)]})

        (best,) = store.search(NOTES, query="who plays an instrument, my sister?", limit=1)
        sys.stdout.write(f"found: {best.value['text']} ({best.score:.2f})\n")
        before = store.history(NOTES, "latest")[0]
        sys.stdout.write(
            f"latest: {store.get(NOTES, 'latest').value['text']} before: {before.value['text']}\n"
        )
        sys.stdout.write(f"undone: {store.undo(NOTES, 'latest').value['text']}\n")
        erased = sum(store.erase(NOTES, key).memories for key in ("latest", best.key))
        left = [item.value["text"] for item in store.search(NOTES, query="violin")]
        sys.stdout.write(f"erased: {erased}, left: {left}\n")


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as folder:
        main(f"sqlite:///{folder}/memory.db")
