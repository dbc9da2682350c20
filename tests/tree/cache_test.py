#!/usr/bin/python3
"""A checkout in one folder finds in the compiler's cache what a checkout in another folder has compiled.

Compiles one library with a precompiled header, and one without, of two copies of the tree, with an empty cache for both together:
the second copy compiles nothing. Then the first is removed and a source of the second changed: it compiles with the header that the
first has precompiled. At last a header joins those that are precompiled: what uses them is compiled again, where the old ones are.

usage: cache_test.py ROOT PRESET...
"""

import os
import pathlib
import shutil
import subprocess
import sys
import tempfile

from trials import files

# Small libraries of tests, which need no generated code. The second is one source without a precompiled header.
TARGETS = ["berth_libvirt_testing", "berth_every_test"]
CHANGED = "tests/processes/libvirt_daemon.cc"
HEADERS = "cmake/BerthPrecompiled.cmake"


def copy_of_tree(root, to):
    for name in files(root):
        (to / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy2(root / name, to / name)


def compile_in(tree, preset, cache):
    """How often the cache knew the answer, and how often it did not."""
    environment = os.environ | {"CCACHE_DIR": str(cache)}
    for words in (["ccache", "--zero-stats"], ["cmake", "--preset", preset],
                  ["cmake", "--build", "--preset", preset, "--target", *TARGETS]):
        result = subprocess.run(words, cwd=tree, env=environment, capture_output=True, text=True, check=False)
        if result.returncode != 0:
            sys.exit(f"{' '.join(words)} in {tree}:\n{result.stdout}{result.stderr}")
    printed = subprocess.run(["ccache", "--print-stats"], env=environment, capture_output=True, text=True, check=True).stdout
    counts = dict(line.split("\t") for line in printed.splitlines())
    return int(counts["direct_cache_hit"]) + int(counts["preprocessed_cache_hit"]), int(counts["cache_miss"])


def main():
    root = pathlib.Path(sys.argv[1]).resolve()
    if not shutil.which("ccache"):
        sys.exit("ccache is not installed")
    failed = False
    for preset in sys.argv[2:]:
        with tempfile.TemporaryDirectory() as scratch:
            trees = [pathlib.Path(scratch) / name / "berth" for name in ("one", "another/folder")]
            seen = []
            for tree in trees:
                copy_of_tree(root, tree)
                seen.append(compile_in(tree, preset, pathlib.Path(scratch) / "cache"))
            shutil.rmtree(trees[0])
            with (trees[1] / CHANGED).open("a", encoding="utf-8") as source:
                source.write("static_assert(true);\n")
            seen.append(compile_in(trees[1], preset, pathlib.Path(scratch) / "cache"))
            headers = trees[1] / HEADERS
            headers.write_text(headers.read_text(encoding="utf-8").replace("<algorithm>", "<algorithm> <bitset>"), encoding="utf-8")
            seen.append(compile_in(trees[1], preset, pathlib.Path(scratch) / "cache"))
            (_, compiled), (found, compiled_again), (_, changed), (_, with_header) = seen
            print(f"{preset}: the first copy compiled {compiled}, the second found {found} and compiled {compiled_again}, "
                  f"after a change {changed}, with one more header {with_header}")
            failed = failed or compiled == 0 or compiled_again != 0 or found != compiled or changed != 1 or with_header != compiled - 1
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
