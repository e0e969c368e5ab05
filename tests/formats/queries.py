"""Runs every SQL block of a document in a run folder, and holds what the tables say against the summaries.

Usage: queries.py DOCUMENT RUN
"""

import json
import os
import pathlib
import re
import sys

import duckdb

MAY_BE_EMPTY = ("frame = 42",)  # That frame need not have lost a packet.


def main(document: str, run: str) -> None:
    text = pathlib.Path(document).read_text(encoding="utf-8")
    queries = re.findall(r"```sql\n(.*?)```", text, re.DOTALL)
    assert len(queries) >= 6, f"{document} has only {len(queries)} queries"
    os.chdir(run)
    for query in queries:
        rows = duckdb.sql(query).fetchall()
        assert rows or any(mark in query for mark in MAY_BE_EMPTY), f"no rows:\n{query}"
        print(f"{len(rows):6} rows  {query.splitlines()[0]}")
    check_causes()


def check_causes() -> None:
    """The causes in the tables are those in the summaries."""
    checked = 0
    for summary in sorted(pathlib.Path("cells").glob("*/summary.json")):
        cameras = json.loads(summary.read_text(encoding="utf-8"))["cameras"]
        table = summary.with_name("frames.parquet")
        rows = duckdb.execute(
            "SELECT camera, late, cause, count(*) FROM read_parquet(?) WHERE cause IS NOT NULL GROUP BY ALL",
            [str(table)],
        ).fetchall()
        found = {(camera, "late" if late else "missing", cause): count for camera, late, cause, count in rows}
        expected = {
            (camera, kind, cause): count
            for camera, fields in cameras.items()
            for kind in ("missing", "late")
            for cause, count in fields["causes"][kind].items()
            if count
        }
        assert found == expected, f"{table}: {found} is not {expected}"
        checked += sum(expected.values())
    assert checked > 0, "no frame was missing or late in any cell"
    print(f"{checked:6} missing and late frames have the same causes in tables and summaries")


if __name__ == "__main__":
    main(*sys.argv[1:])
