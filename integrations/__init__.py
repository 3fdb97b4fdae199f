"""Doors to other people's apps: what LangChain and LangGraph call, over our memory."""
