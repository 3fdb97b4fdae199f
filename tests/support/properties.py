"""What property tests share: hypothesis profiles, inputs that break things, a quick embedder."""

import os
import zlib

import numpy as np
from hypothesis import HealthCheck, Phase, settings
from hypothesis import strategies as st

from thoughtcycle.memory.model.records import MemoryDraft, Source
from thoughtcycle.memory.text.analyzer import fold

DIMENSION = 16
_COMMON = {
    "deadline": None,
    "database": None,
    "print_blob": True,
    "suppress_health_check": [HealthCheck.too_slow, HealthCheck.data_too_large],
}
_FOUND = (Phase.explicit, Phase.generate)
"""A failure is shown as it was found: to make it small takes minutes, which the long profile has."""
settings.register_profile(
    "quick", max_examples=15, stateful_step_count=14, derandomize=True, phases=_FOUND, **_COMMON
)
settings.register_profile("long", max_examples=200, stateful_step_count=30, **_COMMON)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "quick"))

USERS = (
    "ana",
    "Ana",
    "ana ",
    "ana\x01",
    "ana\x1f",
    "a.b",
    "$where",
    "%",
    "_",
    "*",
    "''; --",
    "👩‍👩‍👧",
    "שלום",
    "{}",
    "ﬁ",
    "i̇",
)
"""Distinct, each easily taken for another, for a pattern or for a piece of a query."""

SPEECH = (
    "praia do gato",
    "Praia do Gato.",
    "gato",
    'it\'s "quoted" \\ `x`',
    "$set: {$gt: 1}",
    "a\x01b gato",
    "\x1f\x1e\x02",
    "👩‍👩‍👧 praia 🏖️",
    "\u202eשלום praia\u202c",
    "%_*?'; DROP TABLE memories; --",
    "[…]",
    "praia " * 30,
)
texts = st.one_of(st.sampled_from(SPEECH), st.text(max_size=12))
said = texts.filter(str.strip)
keys = st.sampled_from((None, "diet", "a.b", "$key", "x\x00y", "'"))
contents = st.one_of(
    texts,
    st.recursive(
        st.none() | st.booleans() | st.integers(-(2**53), 2**53) | texts,
        lambda inner: st.lists(inner, max_size=2) | st.dictionaries(texts, inner, max_size=2),
        max_leaves=4,
    ),
)
bindings = st.lists(texts, max_size=2).map(tuple)
drafts = st.builds(
    MemoryDraft,
    content=contents,
    type=st.sampled_from(("text", "json")),
    kind=st.sampled_from((None, "bio", "pref", "emo", "obj")),
    key=keys,
    bindings=bindings,
    tags=bindings,
    weight=st.sampled_from((0.0, 0.5, 1.0)),
    source=st.builds(Source, cycle=st.sampled_from((None, "c1", "c\x1f2")), words=texts),
)


class QuickEmbedder:
    """Counts words by a hash of them: texts that share words point the same way."""

    name = "quick"

    async def aembed_documents(self, texts: list[str], /) -> list[list[float]]:
        return [self._vector(text) for text in texts]

    async def aembed_query(self, text: str, /) -> list[float]:
        return self._vector(text)

    def _vector(self, text: str) -> list[float]:
        counts = np.zeros(DIMENSION)
        for word in fold(text).split():
            counts[zlib.crc32(word.encode("utf-8", "replace")) % DIMENSION] += 1
        return list(counts)
