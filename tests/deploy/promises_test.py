#!/usr/bin/python3
"""deploy/promises.md names every promise once, and only tests that exist. Few promises have no test.

usage: promises_test.py SOURCE_DIRECTORY BUILD_DIRECTORY
"""

import pathlib
import re
import sys
import unittest

SOURCE = pathlib.Path(sys.argv[1])
PROMISES = 37
NONE_MAX = 2
ALWAYS_SHOWN = 16  # the first sixteen keep the ledger right


class Promises(unittest.TestCase):
    def setUp(self):
        text = (SOURCE / "deploy/promises.md").read_text(encoding="utf-8")
        self.rows = [row.split("|")[1:4] for row in text.splitlines() if row.startswith("| R-")]

    def test_every_promise_has_a_row(self):
        self.assertEqual([number.strip() for number, _, _ in self.rows], [f"R-{n}" for n in range(1, PROMISES + 1)])

    def test_every_named_test_exists(self):
        there = set()
        for path in (SOURCE / "tests").rglob("*_test.cc"):
            found = re.findall(r"^TEST(?:_[FP])?\((\w+), (\w+)\)", path.read_text(encoding="utf-8"), re.M)
            there |= {f"{suite}.{name}" for suite, name in found}
        for number, _, shown in self.rows:
            for name in re.findall(r"`([^` ]+)`", shown):
                if "/" in name:
                    self.assertTrue((SOURCE / name).exists(), f"{number}: {name}")
                else:
                    self.assertIn(name, there, number)

    def test_few_have_none(self):
        without = [int(number.strip()[2:]) for number, _, shown in self.rows if shown.strip().startswith("*none*")]
        self.assertLessEqual(len(without), NONE_MAX, "lower NONE_MAX when a promise gets its test")
        self.assertTrue(all(number > ALWAYS_SHOWN for number in without))
        for number, _, shown in self.rows:
            self.assertTrue("*none*" in shown or "`" in shown, number)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
