"""What a new run is called, and where its trace goes."""

import os
import secrets
from datetime import UTC, datetime

import platformdirs


def new_id() -> str:
    """An id for a run: by its time, and unlike any other."""
    return f"{datetime.now(UTC):%Y%m%dT%H%M%S}-{secrets.token_hex(4)}"


def default_trace(run_id: str) -> str:
    """Where a run's trace goes that nobody named a file for: the platform's data folder."""
    folder = os.path.join(platformdirs.user_data_dir("runinspect"), "traces")
    os.makedirs(folder, mode=0o700, exist_ok=True)
    return os.path.join(folder, f"{run_id}.jsonl")
