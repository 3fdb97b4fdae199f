"""Shared parts of the nodes: state, context, services, turn, envelope."""
