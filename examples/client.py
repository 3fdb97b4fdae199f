"""Talks to a running `make dev` with the SDK: tokens as messages, statuses and memories as custom events."""

import asyncio
import sys

import httpx
from langgraph_sdk import get_client


async def main(url: str) -> None:
    client = get_client(url=url)
    thread = await client.threads.create()
    for text in ("Meu nome é Pedro e odeio coentro.", "O que você sabe sobre mim?"):
        sys.stdout.write(f"> {text}\n")
        async for part in client.runs.stream(
            thread["thread_id"],
            "thought_cycle",
            input={"messages": [{"role": "human", "content": text}]},
            context={"user_id": "pedro"},
            stream_mode=["custom", "messages-tuple"],
        ):
            if part.event == "custom":
                sys.stdout.write(f"  [{part.data['modal']}] {part.data['content']}\n")
            elif part.event == "messages":
                sys.stdout.write(part.data[0]["content"])
        sys.stdout.write("\n")


if __name__ == "__main__":
    address = sys.argv[1] if len(sys.argv) > 1 else "http://127.0.0.1:2024"
    try:
        asyncio.run(main(address))
    except httpx.TransportError:
        sys.exit(f"No server answers at {address}. Start one with: make dev")
