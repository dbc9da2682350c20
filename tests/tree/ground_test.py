"""The two rooms named ground have the same Uuid, letter by letter: tracker/ may not include placement/.

Usage: ground_test.py SOURCE_DIRECTORY
"""

import pathlib
import sys
import unittest

ROOT = pathlib.Path(sys.argv.pop())


def between(path, first, last):
    """The part of a file from the first occurrence of `first` to the next one of `last`."""
    text = (ROOT / path).read_text().replace("berth::placement", "berth::tracker")
    begin = text.index(first)
    return text[begin : text.index(last, begin)]


class GroundTest(unittest.TestCase):
    def test_the_type_is_the_same(self):
        part = ("struct Uuid {", "\n};\n")
        self.assertEqual(
            between("tracker/ground/uuid.h", *part), between("placement/ground/uuid.h", *part)
        )

    def test_its_functions_are_the_same(self):
        begin = "namespace berth::tracker {"
        placements = between("placement/ground/uuid.cc", begin, "}  // namespace berth::tracker")
        trackers = between("tracker/ground/uuid.cc", begin, "}  // namespace berth::tracker")
        self.assertIn("Uuid Uuid::Random()", placements)
        self.assertTrue(trackers.startswith(placements))


if __name__ == "__main__":
    unittest.main()
