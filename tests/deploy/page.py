#!/usr/bin/python3
"""Follows docs/schedulers.md in a bare Debian 12, by its text alone: types each of its commands, in order, into one shell.

usage: tests/deploy/page.py DIRECTORY    needs root; DIRECTORY has what `make packages` and `make stubs` leave
       tests/deploy/page.py --built BUILD   follows it here, with the programs of a build: nothing is installed, and no sample built
"""

import os
import pathlib
import re
import shutil
import sys
import tempfile
import time

from bare_debian import Debian, check, run
from ports import free_port

PAGE = pathlib.Path(__file__).resolve().parent.parent.parent / "docs/schedulers.md"
SECONDS_MAX = 15 * 60  # "a quarter of an hour"


# The page ends what it starts, unless a command fails.
BEFORE = """set -eu -o pipefail
trap 'kill $(jobs -p) 2>/dev/null || true; wait; rm -rf /tmp/berth' EXIT
"""
# With the programs of a build.
BUILT = """
PATH=$BUILD/services:$BUILD/services/cli:$PATH
apt-get() { :; }
cp() { :; }
cmake() { mkdir -p /tmp/berth/scheduler/build && ln -sf "$BUILD/services/berth-sample-scheduler" /tmp/berth/scheduler/build/; }
"""


def commands(before):
    """What a reader types, after `before`."""
    blocks = re.findall(r"^```sh\n(.*?)^```$", PAGE.read_text(), re.MULTILINE | re.DOTALL)
    return BEFORE + before + "".join(blocks)


def elsewhere(typed):
    """The same with ports and a directory of its own, so that two runs do not meet."""
    first = free_port()
    second = next(port for port in iter(free_port, None) if port != first)
    directory = tempfile.mkdtemp(prefix="berth-page-")
    os.chmod(directory, 0o755)  # PostgreSQL does not run as root
    own = {"/tmp/berth": directory, ":7400": f":{first}", ":7401": f":{second}"}
    for name, instead in own.items():
        check(name in typed, f"the page has {name}")
        typed = typed.replace(name, instead)
    return typed


def check_said(said):
    print("\n".join(said.splitlines()[-40:]), flush=True)
    for field in ("candidates", "states", "nearMisses", "changes"):
        check(re.search(rf'"{field}": ?\[\s*\{{', said), f"the page is told {field}")
    check(re.search(r"^host +\S+, node [0-9a-f-]{36}$", said, re.MULTILINE), "the instance of the page has its place")


def follow_in_bare_debian(packages):
    directory = pathlib.Path(tempfile.mkdtemp(prefix="berth-page-"))
    directory.chmod(0o755)
    debian = None
    try:
        debian = Debian(directory)
        shutil.copytree(packages, debian.root / "release", ignore=lambda _, names: [n for n in names if n.startswith("_")])
        policy = debian.root / "usr/sbin/policy-rc.d"  # the page starts its own services
        policy.write_text("#!/bin/sh\nexit 101\n")
        policy.chmod(0o755)
        (debian.root / "release/page.sh").write_text(commands("cd /release\n"))
        print("following docs/schedulers.md", flush=True)
        begun = time.monotonic()
        said = debian.run("bash", "/release/page.sh")
        seconds = time.monotonic() - begun
        check_said(said)
        check(seconds < SECONDS_MAX, f"the page takes {seconds:.0f} s, at most {SECONDS_MAX}")
    finally:
        if debian:
            debian.close()
        shutil.rmtree(directory, ignore_errors=True)


def main():
    if sys.argv[1] == "--built":
        check_said(run("bash", "-c", elsewhere(commands(BUILT)), env={**os.environ, "BUILD": os.path.abspath(sys.argv[2])}))
    else:
        follow_in_bare_debian(sys.argv[1])


if __name__ == "__main__":
    sys.exit(main())
