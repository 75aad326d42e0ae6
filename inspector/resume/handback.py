"""A run handed back as rig saves it: one of rig's that went on here, or any agent run of ours.

It is for a program to go on with, so nothing in it is masked.
"""

import os
from collections.abc import Iterator

from inspector import audit
from inspector.errors import UsageError
from inspector.model.source import RunSource
from inspector.model.text import verbatim
from inspector.policy import allow
from inspector.runner import restore
from inspector.runner.errors import RunnerError

SUFFIX = ".rig.json"
"""How the name of a file ends that is written as rig saves a run."""


def as_rig(source: RunSource, path: str, to: str) -> Iterator[bytes]:
    """The JSON of the run at its last step, for a file `to`. Raises RefusedError where only looking is allowed, and
    UsageError for a run that rig could not go on with."""
    allow(path, "exported with its credentials")
    run = source.run()
    if run.kind != "agent" or source.source.format not in ("runinspect", "rig") or not os.path.isfile(path):
        raise UsageError(path, "is no file of an agent run of ours or of rig: only those can be handed to rig")
    try:
        with verbatim():
            text = restore.load(path, None).run.to_rig()
    except RunnerError as error:
        raise UsageError(path, f"cannot be handed to rig as it stands: {error}") from error
    audit.record("export", run.id, path=path, to=to, raw=True, form="rig")
    yield text.encode() + b"\n"
