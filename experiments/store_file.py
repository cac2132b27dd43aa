"""The file of a store: opened, checked, brought to today's schema, and kept from a second writer."""

from __future__ import annotations

import fcntl
import os
import sqlite3
from contextlib import closing
from pathlib import Path
from typing import IO

from trialogue.errors import DataError, UsageError

SCHEMA = "3"

MIGRATIONS = {
    "1": (
        "ALTER TABLE episode ADD COLUMN lesson TEXT",
        "ALTER TABLE reply ADD COLUMN calls TEXT NOT NULL DEFAULT '[]'",
        "ALTER TABLE reply ADD COLUMN base INTEGER",
        "UPDATE reply SET base = (SELECT max(before.call) FROM reply before "
        "WHERE before.episode = reply.episode AND before.call < reply.call)",
        "ALTER TABLE turn ADD COLUMN memory TEXT NOT NULL DEFAULT ''",
        "ALTER TABLE turn ADD COLUMN notes TEXT NOT NULL DEFAULT '[]'",
        "UPDATE meta SET value = '2' WHERE key = 'schema'",
    ),
    "2": (
        "ALTER TABLE run ADD COLUMN parent INTEGER REFERENCES episode(id)",
        "ALTER TABLE run ADD COLUMN fork TEXT",
        "ALTER TABLE reply ADD COLUMN retried TEXT NOT NULL DEFAULT '[]'",
        "CREATE TABLE label (episode INTEGER NOT NULL REFERENCES episode(id), label TEXT NOT NULL, who TEXT NOT NULL, "
        "note TEXT NOT NULL DEFAULT '', time REAL NOT NULL, PRIMARY KEY (episode, label, who)) STRICT, WITHOUT ROWID",
        "UPDATE meta SET value = '3' WHERE key = 'schema'",
    ),
}
"""What brings a store of one schema to the next, its new number included."""


def lock(path: Path) -> IO[str]:
    """Keeps other writers out until the file that is returned is closed. Raises UsageError when one is there."""
    try:
        file = path.with_name(path.name + ".lock").open("w")
    except OSError as error:
        raise UsageError(f"{path} cannot be written: {error.strerror} ({error.filename})") from error
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        file.close()
        raise UsageError(f"{path} is being written by another process; wait for it or end it first") from None
    return file


def connect(path: Path) -> sqlite3.Connection:
    """Each statement is a transaction of its own, unless BEGIN opens one."""
    # Only the thread of the event loop writes; the check would also refuse a handover between tests' threads.
    if _is_writable(path):
        db = sqlite3.connect(path, timeout=30, isolation_level=None, check_same_thread=False)
        db.execute("PRAGMA journal_mode = WAL")
        db.execute("PRAGMA synchronous = NORMAL")
    else:
        # Where nothing can be written, SQLite cannot keep the index of a write-ahead log; nor can there be a writer.
        mode = "mode=ro" if path.with_name(path.name + "-wal").exists() else "immutable=1"
        address = f"{path.absolute().as_uri()}?{mode}"
        db = sqlite3.connect(address, uri=True, isolation_level=None, check_same_thread=False)
    db.row_factory = sqlite3.Row
    db.execute("PRAGMA foreign_keys = ON")
    return db


def open_checked(path: Path, *, locked: bool) -> sqlite3.Connection:
    """The store at ``path``, in today's schema; an older one is migrated in place first.

    ``locked`` says that the caller holds its lock. Raises UsageError when there is none, or when it must be migrated
    and cannot be written now; DataError when it is no store, or one of a schema that this version does not know.
    """
    if not path.is_file():
        raise UsageError(f"there is no store at {path}")
    with path.open("rb") as file:
        if not file.read(16).startswith(b"SQLite format 3"):
            raise DataError(f"{path} is not a store: expected an SQLite file")
    try:
        db = connect(path)
        schema = _schema(db)
    except sqlite3.DatabaseError as error:
        raise DataError(f"{path} is not a store of Trialogue, or cannot be opened: {error}") from error
    try:
        if schema in MIGRATIONS:
            _migrate(db, path, schema, locked)
        elif schema != SCHEMA:
            raise DataError(_refusal(path, schema))
    except BaseException:
        db.close()
        raise
    return db


def _schema(db: sqlite3.Connection) -> str | None:
    with closing(db.execute("SELECT value FROM meta WHERE key = 'schema'")) as cursor:
        row = cursor.fetchone()
    return None if row is None else str(row["value"])


def _refusal(path: Path, schema: str | None) -> str:
    if schema is None:
        return f"{path} names no schema: it is not a complete store"
    if schema.isdecimal() and int(schema) > int(SCHEMA):
        return f"{path} has schema {schema}, of a newer version of Trialogue; this one reads up to {SCHEMA}: update it"
    return f"{path} has schema {schema!r}, which no version of Trialogue has; this one reads 1 to {SCHEMA}"


def _migrate(db: sqlite3.Connection, path: Path, schema: str, locked: bool) -> None:
    """From ``schema`` to today's, whole or not at all."""
    must = f"{path} has the older schema {schema} and must be brought to {SCHEMA} before it is used"
    if not _is_writable(path):
        raise UsageError(f"{must}, but the file cannot be written: copy it to where you may write, and use the copy")
    try:
        held = None if locked else lock(path)
    except UsageError as error:
        raise UsageError(f"{must}, but {error}") from None
    try:
        db.execute("BEGIN IMMEDIATE")
        while (now := _schema(db)) in MIGRATIONS:
            for statement in MIGRATIONS[str(now)]:
                db.execute(statement)
        db.commit()
    except sqlite3.Error as error:
        db.rollback()
        raise UsageError(f"{must}, but that failed, and nothing was changed: {error}") from error
    finally:
        if held is not None:
            held.close()


def _is_writable(path: Path) -> bool:
    return all(os.access(place, os.W_OK, effective_ids=True) for place in (path, path.absolute().parent))
