#!/usr/bin/python3
"""Tries the verdict on figures whose answer is known. usage: verdict_test.py"""

import sys
import unittest

import beside
from verdict import FALLEN, HIGHER, LOWER, MISSING, RISEN, SAME, TOO_FEW, Row, fallen, judged, verdict

STEADY = [100, 100, 100, 100, 100, 100]
AROUND_100 = [98, 99, 100, 100, 101, 102]

# (why, figures of the other build, figures of this build, verdict if higher is better, verdict if lower is better)
CASES = (
    ("equal figures", STEADY, STEADY, SAME, SAME),
    ("medians differ by 2 %, ranges apart", STEADY, [98] * 6, SAME, SAME),
    ("medians differ by 2 % upwards, ranges apart", STEADY, [102] * 6, SAME, SAME),
    ("medians differ by exactly 3 %", STEADY, [97] * 6, SAME, SAME),
    ("medians differ by 4 %, ranges apart", STEADY, [96] * 6, FALLEN, RISEN),
    ("medians differ by 4 % upwards, ranges apart", STEADY, [104] * 6, RISEN, FALLEN),
    ("medians differ by 10 %, ranges overlap", [85, 99, 100, 100, 101, 102], [84, 88, 90, 90, 91, 92], SAME, SAME),
    ("medians differ by 10 %, ranges touch", [92, 99, 100, 100, 101, 102], [84, 88, 90, 90, 91, 92], SAME, SAME),
    ("medians differ by 10 %, ranges almost touch", [93, 99, 100, 100, 101, 102], [84, 88, 90, 90, 91, 92], FALLEN, RISEN),
    ("the range of one lies within the range of the other", [50, 99, 100, 100, 101, 150], [90] * 6, SAME, SAME),
    ("five rounds of six are better", AROUND_100, [97, 120, 120, 120, 120, 120], SAME, SAME),
    ("the order of rounds does not matter", AROUND_100[::-1], [94, 96, 95, 97, 95, 95], FALLEN, RISEN),
    ("much smaller figures", [0.0010] * 6, [0.0009] * 6, FALLEN, RISEN),
    ("nothing before", [0] * 6, [1] * 6, RISEN, FALLEN),
    ("three rounds are too few", [100] * 3, [50] * 3, TOO_FEW, TOO_FEW),
    ("four rounds are enough", [100] * 4, [50] * 4, FALLEN, RISEN),
    ("the other build was not measured", [], STEADY, MISSING, MISSING),
)


class VerdictTest(unittest.TestCase):
    def test_cases(self):
        for why, other, this, if_higher, if_lower in CASES:
            with self.subTest(why):
                self.assertEqual(verdict(other, this, HIGHER), if_higher)
                self.assertEqual(verdict(other, this, LOWER), if_lower)

    def test_rows_are_judged_by_their_own_direction(self):
        def rounds(rate, time):
            return {"claims.1": [{"per_second": rate, "p99_us": time}] * 6}
        rows = (Row("claims.1", "per_second", HIGHER), Row("claims.1", "p99_us", LOWER))
        entries = judged(rows, rounds(1000, 50), rounds(1100, 60))
        self.assertEqual([entry["verdict"] for entry in entries], [RISEN, FALLEN])
        self.assertEqual(entries[1]["other"], {"median": 50, "least": 50, "most": 50})
        self.assertEqual(fallen(entries), ["claims.1 p99_us"])
        self.assertEqual(fallen(judged(rows, rounds(1000, 50), rounds(1000, 50))), [])

    def test_a_row_that_only_this_build_has_is_missing(self):
        entry, = judged([Row("new.1", "per_second", HIGHER)], {}, {"new.1": [{"per_second": 1}] * 6})
        self.assertEqual((entry["other"], entry["verdict"]), (None, MISSING))

    def test_every_row_of_the_benchmark_has_a_name_and_a_direction(self):
        rows = beside.all_rows()
        self.assertEqual(len({(row.measurement, row.key) for row in rows}), len(rows))
        for row in rows:
            # More operations a second are better; less time and less memory are.
            self.assertEqual(row.better, HIGHER if row.key == "per_second" else LOWER, row)


if __name__ == "__main__":
    sys.exit(unittest.main())
