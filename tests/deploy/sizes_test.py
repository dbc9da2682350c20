#!/usr/bin/python3
"""tests/deploy/sizes.py refuses programs and libraries that grew, and asks for the lower figure when they shrank.

usage: sizes_test.py SOURCE_DIRECTORY BUILD_DIRECTORY
"""

import pathlib
import shutil
import subprocess
import sys
import tempfile
import unittest

SOURCE = pathlib.Path(sys.argv.pop(1))
sys.argv.pop(1)
sys.path.insert(0, str(SOURCE / "tests/deploy"))
import sizes  # noqa: E402  pylint: disable=wrong-import-position

NAMES = [row for name in sizes.PROGRAMS for row in (name, f"libraries of {name}")]


class Verdicts(unittest.TestCase):
    def test_one_percent_more_or_less_is_let_pass(self):
        for size, words in [(990, None), (1010, None), (1011, "11 more"), (989, "lower the figure"), (2000, "1000 more")]:
            said = sizes.problem("berth", size, 1000)
            self.assertEqual(said is None, words is None, said)
            self.assertIn(words or "", said or "")

    def test_a_row_too_few_and_a_row_too_many_are_told(self):
        self.assertEqual(len(list(sizes.problems({"berth": 1}, {}))), 1)
        self.assertEqual(len(list(sizes.problems({}, {"berth": 1}))), 1)
        self.assertEqual(list(sizes.problems({"berth": 1}, {"berth": 1})), [])

    def test_every_program_and_its_libraries_are_recorded(self):
        self.assertEqual(list(sizes.recorded(sizes.FIGURES)), NAMES)


class Build(unittest.TestCase):
    def setUp(self):
        directory = tempfile.TemporaryDirectory()
        self.addCleanup(directory.cleanup)
        self.work = pathlib.Path(directory.name)
        (self.work / "services/cli").mkdir(parents=True)
        for name in ("berth-placement", "berth-tracker", "cli/berth"):
            shutil.copy("/usr/bin/protoc", self.work / "services" / name)

    def compare(self, figures):
        file = self.work / "sizes.tsv"
        file.write_text("# name\tbytes\n" + "".join(f"{name}\t{size}\n" for name, size in figures.items()))
        command = [SOURCE / "tests/deploy/sizes.py", self.work, file]
        return subprocess.run(command, capture_output=True, text=True, check=False)

    def test_programs_and_their_libraries_are_measured(self):
        rows = [line.split("\t") for line in self.compare({}).stdout.splitlines() if "\t" in line]
        figures = {name: int(size) for name, size in rows}
        self.assertEqual(list(figures), NAMES)
        library = pathlib.Path("/usr/lib/x86_64-linux-gnu/libprotobuf.so.32").stat().st_size
        self.assertGreater(figures["libraries of berth"], library)
        self.assertEqual(self.compare(figures).returncode, 0)
        for name in NAMES:
            for factor, words in ((0.9, "find what grew"), (1.1, "lower the figure")):
                compared = self.compare(figures | {name: int(figures[name] * factor)})
                self.assertEqual(compared.returncode, 1)
                self.assertRegex(compared.stdout, rf"(?m)^{name}: .*{words}")


if __name__ == "__main__":
    unittest.main()
