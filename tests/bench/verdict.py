"""Decides whether a row of the benchmark has fallen, from the figures of two builds. Nothing here measures anything."""

import statistics
from typing import NamedTuple

HIGHER, LOWER = "higher is better", "lower is better"
FALLEN, RISEN, SAME = "fallen", "risen", "same"
MISSING = "missing"  # the other build could not be measured
TOO_FEW = "too few rounds"

CHANGE_MIN = 0.03  # of the other build's median
# With six rounds a side, two builds that do not differ have ranges apart in one row of 462, with three in one of ten.
ROUNDS_MIN = 4


class Row(NamedTuple):
    """One figure of one measurement."""

    measurement: str  # as in summary.json, for example "claims.512"
    key: str  # for example "per_second"
    better: str  # HIGHER or LOWER


def verdict(other, this, better):
    """FALLEN or RISEN if the medians differ by more than CHANGE_MIN and the ranges do not overlap, else SAME. `other` and
    `this` hold one figure a round. FALLEN means worse, for example more microseconds where lower is better. Ranges with one
    figure in common overlap."""
    if not other:
        return MISSING
    if min(len(other), len(this)) < ROUNDS_MIN:
        return TOO_FEW
    before, now = statistics.median(other), statistics.median(this)
    overlap = min(other) <= max(this) and min(this) <= max(other)
    if overlap or abs(now - before) <= CHANGE_MIN * abs(before):
        return SAME
    return RISEN if (now > before) == (better == HIGHER) else FALLEN


def summary(figures):
    return {"median": statistics.median(figures), "least": min(figures), "most": max(figures)} if figures else None


def judged(rows, other, this):
    """One entry for each row, in their order. `other` and `this` hold the figures of each measurement, one dictionary a
    round."""
    entries = []
    for row in rows:
        sides = [[each[row.key] for each in found.get(row.measurement, [])] for found in (other, this)]
        before, now = summary(sides[0]), summary(sides[1])
        ratio = now["median"] / before["median"] if before and before["median"] else None
        entries.append({"row": f"{row.measurement} {row.key}", "better": row.better, "other": before, "this": now,
                        "ratio": ratio, "verdict": verdict(*sides, row.better)})
    return entries


def fallen(entries):
    """The names of the rows that have fallen."""
    return [entry["row"] for entry in entries if entry["verdict"] == FALLEN]
