#!/usr/bin/python3
""".ci/clang-tidy tells every kind of fault in every layer, in sources and headers, in a file alone and among others.

Faults are planted in a small tree that has the layers' folders, the project's .clang-tidy and a copy of the script.

usage: linter_test.py ROOT        needs clang-tidy-14
"""

import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import time
import unittest

ROOT = pathlib.Path(sys.argv.pop(1)).resolve()
FOLDERS = ("placement/values", "tracker/devices/deeper", "services/wire", "services/cli/commands")
TOLD = re.compile(r"^(/.*?):\d+:\d+: (?:error|warning): .*\[(.*?),-warnings-as-errors\]$", re.M)
ANNOTATED = """struct __attribute__((capability("mutex"))) Mutex {};
struct Guarded {
  int Value() { return value; }
  Mutex mutex;
  int value __attribute__((guarded_by(mutex))) = 0;
};
"""
# One fault each: a name, the check that must tell it, and the code.
FAULTS = [
    ("division", "bugprone-integer-division", "inline double Half(int number) { return number / 2; }"),
    ("macro", "bugprone-macro-parentheses", "#define BERTH_DOUBLE_NUMBER(a) a * 2"),
    ("signs", "clang-diagnostic-sign-compare", "inline bool Less(int a, unsigned b) { return a < b; }"),
    ("lock", "clang-diagnostic-thread-safety-analysis", ANNOTATED),
    ("override", "modernize-use-override",
     "struct Base {\n  virtual ~Base() = default;\n  virtual int Get();\n};\nstruct Derived : Base {\n  virtual int Get();\n};"),
    ("copy", "performance-noexcept-move-constructor", "struct Moved {\n  Moved(Moved&&) {}\n};"),
    ("function", "readability-identifier-naming", "inline int badName() { return 1; }"),
    ("method", "readability-identifier-naming", "struct Counter {\n  int badName() { return 1; }\n};"),
    ("class", "readability-identifier-naming", "class bad_name {};"),
    ("member", "readability-identifier-naming", "class Counter {\n public:\n  int Get() { return count; }\n\n private:\n  int count = 0;\n};"),
    ("variable", "readability-identifier-naming", "inline int Get() {\n  int badName = 1;\n  return badName;\n}"),
    ("constant", "readability-identifier-naming", "enum class Colour { RED };"),
]
# clang does not look for these in headers.
FAULTS_OF_SOURCES = [
    ("unused_constant", "clang-diagnostic-unused-const-variable", "namespace {\nconst int kUnused = 1;\n}  // namespace"),
    ("unused_function", "clang-diagnostic-unused-function", "namespace {\nint Unused() { return 1; }\n}  // namespace"),
]


def in_own_namespace(number, text):
    """The text in a namespace of its own, so that one file may contain several."""
    text = text.replace("BERTH_DOUBLE_NUMBER", f"BERTH_DOUBLE_{number}")
    return f"namespace planted_{number} {{\n{text}\n}}  // namespace planted_{number}\n"


def planted():
    """The files of a tree with each fault in each folder, and the (file, check) that must be told."""
    tree, expected = {}, []
    for folder in FOLDERS:
        for name, check, text in FAULTS + FAULTS_OF_SOURCES:
            tree[f"{folder}/{name}.cc"] = in_own_namespace(len(tree), text)
            expected.append((f"{folder}/{name}.cc", check))
        for name, check, text in FAULTS:
            header = f"{folder}/header_{name}.h"
            tree[header] = "#pragma once\n" + in_own_namespace(len(tree), text)
            tree[header.replace(".h", ".cc")] = f'#include "{header}"\n'
            expected.append((header, check))
    return tree, expected


class Linter(unittest.TestCase):
    def setUp(self):
        directory = tempfile.TemporaryDirectory()
        self.addCleanup(directory.cleanup)
        self.work = pathlib.Path(directory.name).resolve()
        self.passed = self.work / "cache/clang-tidy"

    def make(self, name, tree, apart=False):
        """Writes a tree; `apart` gives each source another value of one macro, so that none is looked at with others."""
        root = self.work / "a-folder+x" / name
        for file, text in tree.items():
            (root / file).parent.mkdir(parents=True, exist_ok=True)
            (root / file).write_text(text)
        build = root / "build/dev"
        (root / ".ci").mkdir()
        build.mkdir(parents=True, exist_ok=True)
        for name in (".ci/clang-tidy", ".ci/clang-tidy-scope.cc"):
            shutil.copy(ROOT / name, root / name)
        shutil.copy(ROOT / ".clang-tidy", root / ".clang-tidy")
        commands = []
        for number, file in enumerate(name for name in tree if name.endswith(".cc")):
            own = f"-DNUMBER={number}" if apart else "-DNUMBER"
            command = f"c++ {own} -I{root} -I{build}/generated -Wall -Wextra -std=c++20 -o {number}.o -c {root / file}"
            commands.append({"directory": str(build), "file": str(root / file), "command": command})
        (build / "compile_commands.json").write_text(json.dumps(commands))
        return root

    def look(self, root, **environment):
        command = [root / ".ci/clang-tidy", root / "build/dev"]
        environment = {**os.environ, "BERTH_CACHE": str(self.work / "cache"), **environment}
        return subprocess.run(command, capture_output=True, text=True, check=False, env=environment)

    def expect_told(self, root, expected):
        """Looks at the tree; exactly these faults must be told."""
        looked = self.look(root)
        told = [(str(pathlib.Path(file).relative_to(root)), check) for file, check in TOLD.findall(looked.stdout)]
        self.assertEqual(sorted(told), sorted(expected), looked.stdout + looked.stderr)
        self.assertEqual(looked.returncode, 1)
        self.assertIn(f"clang-tidy: {len(expected)} faults", looked.stdout)
        return looked.stdout

    def expect_clean(self, root, looked_at, **environment):
        looked = self.look(root, **environment)
        self.assertEqual(looked.returncode, 0, looked.stdout + looked.stderr)
        self.assertIn(f"clang-tidy: clean ({looked_at} files looked at", looked.stdout)

    def test_each_fault_is_told_in_a_file_alone(self):
        tree, expected = planted()
        text = self.expect_told(self.make("tree", tree, apart=True), expected)
        self.assertEqual(len(re.findall(r"^[^,\n]*: FAILED \(", text, re.M)), len(expected))

    def test_each_fault_is_told_in_a_file_among_others(self):
        tree, expected = planted()
        root = self.make("tree", tree)
        text = self.expect_told(root, expected)
        among_others = [line for line in text.splitlines() if ": FAILED (" in line and line.count(", ") > 20]
        self.assertEqual(len(among_others), 3, text)
        # What was told is not taken for clean the next time.
        self.expect_told(root, expected)

    def test_the_others_are_not_looked_at_again_with_the_file_that_has_a_fault(self):
        tree = {"placement/values/clean.cc": "int Clean() { return 1; }\n",
                "placement/values/fault.cc": "int badName() { return 1; }\n"}
        root = self.make("tree", tree)
        self.expect_told(root, [("placement/values/fault.cc", "readability-identifier-naming")])
        (root / "placement/values/fault.cc").write_text("int GoodName() { return 1; }\n")
        self.expect_clean(root, 1)

    def test_the_flag_of_one_file_excuses_no_other(self):
        text = "bool {}(int a, unsigned b) {{ return a < b; }}\n"
        tree = {f"services/api/{name}.cc": text.format(name) for name in ("Excused", "Told")}
        root = self.make("tree", tree)
        commands = root / "build/dev/compile_commands.json"
        commands.write_text(commands.read_text().replace("-o 0.o", "-Wno-sign-compare -o 0.o"))
        for _ in range(2):
            self.expect_told(root, [("services/api/Told.cc", "clang-diagnostic-sign-compare")])

    def test_macros_of_two_targets_are_together_what_each_of_them_is(self):
        tree = {"services/api/with.cc": "#ifndef OWN\n#error\n#endif\n", "services/api/without.cc": "int badName() { return 1; }\n"}
        root = self.make("tree", tree)
        commands = root / "build/dev/compile_commands.json"
        commands.write_text(commands.read_text().replace("-o 0.o", "-D OWN -o 0.o"))
        text = self.expect_told(root, [("services/api/without.cc", "readability-identifier-naming")])
        self.assertIn("services/api/with.cc, services/api/without.cc: FAILED", text)

    def test_files_that_do_not_compile_together_are_looked_at_apart(self):
        same = "static int Same() { return 1; }\n"
        tree = {f"tracker/node/{name}.cc": same + f"int {name}() {{ return Same(); }}\n" for name in ("One", "Two")}
        root = self.make("tree", tree)
        self.assertIn("do not compile together", self.look(root).stdout)
        self.expect_clean(root, 0)

    def test_a_call_that_finds_the_function_of_another_file_is_no_fault(self):
        private = "namespace {{\nint Number({0} number) {{ return static_cast<int>(number); }}\n}}  // namespace\n"
        tree = {"tracker/node/one.cc": private.format("long") + "int One() { return Number(1L); }\n",
                "tracker/node/two.cc": private.format("int") + "int Two() { return Number(2L); }\n"}
        root = self.make("tree", tree)
        self.assertIn("two.cc: FAILED", self.look(root).stdout)
        self.expect_clean(root, 0)

    def test_a_file_that_does_not_compile_is_told(self):
        root = self.make("tree", {"services/api/broken.cc": "int Broken() { return nothing; }\n", "services/api/clean.cc": ""})
        looked = self.look(root)
        self.assertEqual(looked.returncode, 1)
        self.assertIn("services/api/broken.cc:1:23: error: use of undeclared identifier 'nothing'", looked.stdout)

    def test_generated_headers_are_not_looked_at(self):
        tree = {"build/dev/generated/placement/values/data.h": "inline int badName() { return 1; }\n",
                "placement/values/uses.cc": '#include "placement/values/data.h"\n'}
        self.expect_clean(self.make("tree", tree), 1)

    def test_a_build_of_another_checkout_is_refused(self):
        root = self.make("tree", {"placement/values/clean.cc": ""})
        commands = root / "build/dev/compile_commands.json"
        commands.write_text(commands.read_text().replace(str(root), "/elsewhere"))
        self.assertEqual(self.look(root).returncode, 2)

    def test_what_passed_is_known_in_every_folder_until_it_changes(self):
        tree = {"placement/values/number.h": "#pragma once\nconstexpr int kNumber = 1;\n",
                "build/dev/generated/data.h": "#pragma once\nconstexpr int kData = 1;\n",
                "placement/values/number.cc":
                    '#include "placement/values/number.h"\n#include "data.h"\nint Number() { return kNumber + kData; }\n',
                "tracker/node/other.cc": "int Other() { return 1; }\n"}
        self.expect_clean(self.make("first", tree), 2)
        second = self.make("folder/second", tree)
        self.expect_clean(second, 0)
        for name in ("placement/values/number.h", "build/dev/generated/data.h"):
            (second / name).write_text(tree[name].replace("1", "2"))
            self.expect_clean(second, 1)
        with (second / ".clang-tidy").open("a") as settings:
            settings.write("# Changed.\n")
        self.expect_clean(second, 2)

    def test_with_other_packages_of_debian_everything_is_looked_at(self):
        root = self.make("tree", {"placement/values/clean.cc": "int Clean() { return 1; }\n"})
        self.expect_clean(root, 1)
        fake = self.work / "fake/dpkg-query"
        fake.parent.mkdir()
        fake.write_text("#!/bin/sh\necho 'installed libexample-dev 2'\n")
        fake.chmod(0o755)
        self.expect_clean(root, 1, PATH=f"{fake.parent}:{os.environ['PATH']}")

    def test_what_nobody_has_asked_for_in_30_days_is_forgotten(self):
        root = self.make("tree", {"placement/values/clean.cc": "int Clean() { return 1; }\n"})
        self.expect_clean(root, 1)
        (used,) = self.passed.iterdir()
        for name, days in ((used.name, 31), ("unused", 31), ("young", 29)):
            (self.passed / name).touch()
            os.utime(self.passed / name, (0, time.time() - days * 24 * 3600))
        self.expect_clean(root, 0)
        self.assertEqual({path.name for path in self.passed.iterdir()}, {used.name, "young"})
        self.assertLess(time.time() - used.stat().st_mtime, 3600)


if __name__ == "__main__":
    unittest.main()
