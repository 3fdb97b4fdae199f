"""Fixtures for all tests."""

from support.databases import database_url
from support.fake_openai import fake_openai, fake_openai_server
from support.leaping import leap, silence_passes
from support.mongo import mongodb_url

__all__ = ["database_url", "fake_openai", "fake_openai_server", "leap", "mongodb_url", "silence_passes"]
