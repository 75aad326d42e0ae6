"""The tables of a SQLite store, and how an older one becomes one of today.

A script is never changed once it is released: what comes later is another script behind it.
"""

SCRIPTS = (
    """
CREATE TABLE runs (
    no INTEGER PRIMARY KEY,
    key TEXT NOT NULL UNIQUE,
    id TEXT NOT NULL,
    kind TEXT NOT NULL,
    name TEXT,
    thread TEXT,
    turn TEXT,
    digest TEXT,
    status TEXT NOT NULL,
    reason TEXT,
    revision INTEGER NOT NULL,
    attempt INTEGER NOT NULL,
    parent_run TEXT,
    parent_step INTEGER,
    created INTEGER NOT NULL,
    updated INTEGER NOT NULL,
    ended INTEGER,
    steps INTEGER NOT NULL,
    size INTEGER NOT NULL,
    final INTEGER NOT NULL,
    acknowledged INTEGER NOT NULL,
    handed INTEGER NOT NULL,
    sink INTEGER NOT NULL,
    metadata TEXT NOT NULL,
    claims INTEGER NOT NULL,
    token TEXT,
    step INTEGER,
    taken INTEGER,
    renewed INTEGER,
    expires INTEGER,
    program TEXT,
    born TEXT,
    CHECK ((token IS NULL) = (expires IS NULL))
);
CREATE INDEX runs_by_status ON runs (status, no);
CREATE INDEX runs_by_thread ON runs (thread, no) WHERE thread IS NOT NULL;
CREATE INDEX runs_by_name ON runs (name, no);
CREATE INDEX runs_by_lease ON runs (expires) WHERE expires IS NOT NULL;
CREATE TABLE records (
    run INTEGER NOT NULL REFERENCES runs ON DELETE CASCADE,
    begin INTEGER NOT NULL,
    kind TEXT NOT NULL,
    line BLOB NOT NULL,
    PRIMARY KEY (run, begin)
);
CREATE TABLE operations (
    run INTEGER NOT NULL REFERENCES runs ON DELETE CASCADE,
    id TEXT NOT NULL,
    number INTEGER NOT NULL,
    status TEXT NOT NULL,
    started INTEGER,
    updated INTEGER NOT NULL,
    operation TEXT NOT NULL,
    PRIMARY KEY (run, id)
);
CREATE INDEX operations_open ON operations (run, number) WHERE status IN ('planned', 'started', 'ambiguous');
CREATE TABLE events (
    run INTEGER NOT NULL REFERENCES runs ON DELETE CASCADE,
    number INTEGER NOT NULL,
    id TEXT NOT NULL,
    kind TEXT NOT NULL,
    payload TEXT NOT NULL,
    digest TEXT NOT NULL,
    delivered INTEGER,
    PRIMARY KEY (run, number),
    UNIQUE (run, id)
);
CREATE INDEX events_pending ON events (run, number) WHERE delivered IS NULL;
CREATE TABLE session_commits (
    session TEXT NOT NULL,
    id TEXT NOT NULL,
    digest TEXT NOT NULL,
    at INTEGER NOT NULL,
    PRIMARY KEY (session, id)
);
CREATE TABLE session_items (
    session TEXT NOT NULL,
    number INTEGER NOT NULL,
    item TEXT NOT NULL,
    PRIMARY KEY (session, number)
);
""",
    """
CREATE TABLE threads (
    id TEXT PRIMARY KEY,
    archived INTEGER NOT NULL,
    metadata TEXT NOT NULL,
    created INTEGER NOT NULL,
    updated INTEGER NOT NULL
);
CREATE TABLE turns (
    thread TEXT NOT NULL REFERENCES threads,
    id TEXT NOT NULL,
    key TEXT NOT NULL UNIQUE REFERENCES runs (key) ON DELETE CASCADE,
    created INTEGER NOT NULL,
    PRIMARY KEY (thread, id)
);
""",
    """
CREATE TABLE large (
    run INTEGER NOT NULL REFERENCES runs ON DELETE CASCADE,
    digest TEXT NOT NULL,
    data BLOB NOT NULL,
    PRIMARY KEY (run, digest)
);
""",
)
