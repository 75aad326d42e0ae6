"""Files on their way out of a nested workflow.

wfpy copies such a file beside the workflow's own and hands on the path of the copy, so that the token that
arrives is not the one that was put. Its name follows from the instance, port and firing; a digest says
whether the guess is right.
"""

import json
import os.path
from collections.abc import Iterator

from inspector.formats.readers.wfpy.journal import Text
from inspector.formats.readers.wfpy.network import Actor

_FILES = (b'"', b'{"$wfType": "path"', b'{"$wfType": "file"', b'{"$wfType": "resource"')
COPIES = 64
"""Files of one port and firing that are thought of."""


def names_file(text: Text) -> bool:
    """Whether a token may be the path of a file."""
    return text is not None and text.startswith(_FILES)


def copies(text: Text, composite: Actor, port: str, step: int) -> Iterator[bytes]:
    """What a token that was put in `step` on an output of a nested workflow may have become."""
    try:
        token = json.loads(text or b"null")
    except (ValueError, RecursionError):
        return
    path = token.get("path") if isinstance(token, dict) else token
    if not isinstance(path, str):
        return
    folder, inside, _ = path.partition(f"/{composite.name}__wf/")
    if not inside:
        return
    firing = (composite.base or 0) + composite.begun(step) - 1
    for number in range(COPIES):
        stem = f"{folder}/{composite.name}__{port}__{firing}" + (f"__{number}" if number else "")
        for extension in dict.fromkeys(("", os.path.splitext(path)[1])):
            yield json.dumps(stem + extension).encode()
