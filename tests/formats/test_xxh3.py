"""The hash is the published one: these digests are those of the reference implementation (xxHash 0.8)."""

import pytest

from inspector.formats.xxh3 import digest

VECTORS = {
    0: "99aa06d3014798d86001c324468d497f",
    1: "a6cd5e9392000f6ac44bdff4074eecdb",
    2: "6a4a5274c1b0d3add6645fc3051a9457",
    3: "e3b55f57945a17cf5f4299fc161c9cbb",
    4: "eb70bf5fc779e9e6a6111d53e80a3db5",
    8: "e1e4432a62217fe4cfd50c61c8bb98c1",
    9: "16c769d83e4aebce907931979dca3746",
    16: "72950631827607e2842812cc870dcae2",
    17: "685bc458b37d057fc06e233df7729217",
    40: "ac0d2e5529ce03e1adf48697ba2c0f24",
    64: "9c6e140a465545e590c1971ddb04ce74",
    128: "14792fc3af88dc6c05321a0b64d67b41",
    129: "dd5e74ac6b45f54ebc30b63382b09a3b",
    200: "cb0395310643ba0edd97e9af3609d9f5",
    240: "65b5be86da5540e7c92b68e16f83bbb6",
    241: "1da1cb61bcb8a2a102e8cd95421c6d02",
    256: "f1f8a93f50849ac39408a4433b952d71",
    512: "111d5771df64cbcb1059105ad19bfa09",
    1024: "83885e853bb6640ca870f92984398d22",
    1025: "e1e508f110763b4678c86e91ee939852",
    3000: "db950a3937629a7aecdaadff79528333",
    5000: "7a681524919c28221b74bda2c82a8c7a",
}


@pytest.mark.parametrize("length", VECTORS)
def test_digest(length: int) -> None:
    assert digest((bytes(range(256)) * 20)[:length]) == VECTORS[length]
