"""Runs every SQL block of a document in a run folder, and holds what the tables say against the summaries. Where polars is
installed, the Python blocks must have the same answers.

Usage: queries.py DOCUMENT RUN
"""

import importlib.util
import json
import math
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
    blocks = re.findall(r"```python\n(.*?)```", text, re.DOTALL)
    os.chdir(run)
    answers = []
    for query in queries:
        rows = duckdb.sql(query).fetchall()
        assert rows or any(mark in query for mark in MAY_BE_EMPTY), f"no rows:\n{query}"
        print(f"{len(rows):6} rows  {query.splitlines()[0]}")
        answers.append(rows)
    check_causes()
    check_polars(blocks, answers)


def check_polars(blocks: list[str], answers: list[list[tuple]]) -> None:
    """The first block has what the others take; each of these has the answer of its query."""
    if importlib.util.find_spec("polars") is None:
        print("skipped: there is no polars")
        return
    names: dict = {}
    exec(blocks[0], names)
    assert len(blocks) == len(answers) + 1, f"{len(blocks) - 1} blocks for {len(answers)} queries"
    for block, expected in zip(blocks[1:], answers):
        exec(block, names)
        found = names["rows"].collect().rows()
        assert len(found) == len(expected), f"{len(found)} rows and not {len(expected)}:\n{block}"
        for one, other in zip(found, expected):
            assert all(map(same, one, other)), f"{one} is not {other}:\n{block}"
    print(f"{len(answers):6} queries have the same answers in polars")


def same(one, other) -> bool:
    """The same value, but for the last digits of what was added up in another order."""
    if isinstance(one, float) and isinstance(other, (int, float)):
        return math.isclose(one, other, rel_tol=1e-12, abs_tol=1e-12)
    return one == other


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
