"""Group commit as SQLite does it: batches of inserts, each batch a transaction that is on disk when it ends.

A request and an answer a line, as JSON: {"directory", "appends", "batch", "line_bytes"} -> {"per_s", ...}.
Only the transactions are timed.
"""

import json
import os
import sqlite3
import sys
import time


def run(directory, appends, batch, line_bytes):
    file = os.path.join(directory, f"sqlite-{os.getpid()}.db")
    line = "x" * line_bytes
    # Made beforehand, as the signals of the journal are.
    rows = [(f"01KASIGNAL{number:016d}", f"recipient-{number % 100}", line) for number in range(appends)]
    database = sqlite3.connect(file, isolation_level=None)
    try:
        (mode,) = database.execute("PRAGMA journal_mode=WAL").fetchone()
        database.execute("PRAGMA synchronous=FULL")
        (synchronous,) = database.execute("PRAGMA synchronous").fetchone()
        database.execute(
            "CREATE TABLE signals "
            "(seq INTEGER PRIMARY KEY, signal_id TEXT NOT NULL UNIQUE, recipient TEXT NOT NULL, line TEXT NOT NULL)"
        )
        database.execute("CREATE INDEX queue ON signals (recipient, seq)")
        insert = "INSERT INTO signals (signal_id, recipient, line) VALUES (?, ?, ?)"
        started = time.perf_counter()
        for first in range(0, appends, batch):
            database.execute("BEGIN IMMEDIATE")
            database.executemany(insert, rows[first : first + batch])
            database.execute("COMMIT")
        per_s = appends / (time.perf_counter() - started)
        version = sqlite3.sqlite_version
        return {"per_s": per_s, "version": version, "journal_mode": mode, "synchronous": synchronous}
    finally:
        database.close()
        for end in ("", "-wal", "-shm"):
            if os.path.exists(file + end):
                os.remove(file + end)


for request in sys.stdin:
    print(json.dumps(run(**json.loads(request))), flush=True)
