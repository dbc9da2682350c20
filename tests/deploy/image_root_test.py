#!/usr/bin/python3
"""deploy/containers/root.py takes files from Debian packages only, with every library that they need.

usage: image_root_test.py SOURCE_DIRECTORY BUILD_DIRECTORY
"""

import pathlib
import subprocess
import sys
import tempfile
import unittest

SOURCE = pathlib.Path(sys.argv.pop(1))
sys.argv.pop(1)
BINARY = "/usr/bin/protoc"
PACKAGES = ["libc6", "libgcc-s1", "libprotobuf32", "libprotoc32", "libstdc++6", "protobuf-compiler", "zlib1g"]
LIBRARIES = "usr/lib/x86_64-linux-gnu"


class ImageRoot(unittest.TestCase):
    def setUp(self):
        self.directory = tempfile.TemporaryDirectory()
        self.addCleanup(self.directory.cleanup)
        self.work = pathlib.Path(self.directory.name)

    def make(self, *arguments):
        command = [SOURCE / "deploy/containers/root.py", self.work / "root", *arguments]
        return subprocess.run(command, capture_output=True, text=True, check=False)

    def packages(self):
        rows = (self.work / "root/usr/share/berth/packages.tsv").read_text().splitlines()
        self.assertEqual(rows[0].split("\t"), ["package", "version", "architecture", "source", "source_version"])
        return [row.split("\t")[0] for row in rows[1:]]

    def test_a_program_comes_with_its_libraries_and_nothing_else(self):
        made = self.make(BINARY)
        self.assertEqual(made.returncode, 0, made.stderr)
        self.assertTrue((self.work / "root/lib64/ld-linux-x86-64.so.2").exists())
        self.assertTrue((self.work / f"root/{LIBRARIES}/libprotobuf.so.32").exists())
        self.assertFalse((self.work / "root/bin/sh").exists())
        self.assertEqual(self.packages(), PACKAGES)
        self.assertTrue((self.work / "root/usr/share/doc/libprotobuf32/copyright.gz").exists())

    def test_a_library_can_be_left_out(self):
        self.assertEqual(self.make("--without", "libprotobuf.so.32", BINARY).returncode, 0)
        self.assertFalse((self.work / f"root/{LIBRARIES}/libprotobuf.so.32").exists())
        self.assertTrue((self.work / f"root/{LIBRARIES}/libprotoc.so.32").exists())

    def test_an_image_adds_only_what_the_one_below_lacks(self):
        self.assertEqual(self.make("/usr/bin/cat").returncode, 0)
        (self.work / "root").rename(self.work / "below")
        self.assertEqual(self.make("--beside", self.work / "below", BINARY).returncode, 0)
        self.assertFalse((self.work / f"root/{LIBRARIES}/libc.so.6").exists())
        self.assertEqual({"coreutils", *PACKAGES}, {*self.packages()})

    def test_a_file_of_no_package_is_refused(self):
        foreign = self.work / "foreign"
        foreign.write_text("x")
        made = self.make(foreign)
        self.assertNotEqual(made.returncode, 0)
        self.assertIn("belongs to no Debian package", made.stderr)

    def test_a_changed_file_is_refused(self):
        sys.path.insert(0, str(SOURCE / "deploy/containers"))
        import root  # pylint: disable=import-outside-toplevel
        debian = root.Debian()
        debian.checksum[BINARY] = "0" * 32
        with self.assertRaisesRegex(SystemExit, "differs from the file in the package protobuf-compiler"):
            debian.package_of(BINARY)


if __name__ == "__main__":
    sys.dont_write_bytecode = True
    unittest.main()
