"""Fixtures for all tests."""

from support.mongo import mongodb_url

__all__ = ["mongodb_url"]
