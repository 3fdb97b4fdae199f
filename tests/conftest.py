"""Fixtures for all tests."""

from support.fake_openai import fake_openai, fake_openai_server
from support.mongo import mongodb_url

__all__ = ["fake_openai", "fake_openai_server", "mongodb_url"]
