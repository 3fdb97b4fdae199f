"""Adapters of the memory for LangChain, LangGraph and MCP."""
