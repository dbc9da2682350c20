#!/usr/bin/python3
"""The systemd units are hardened, and every file of deploy/ names the version of the project.

usage: units_test.py SOURCE_DIRECTORY BUILD_DIRECTORY
"""

import pathlib
import re
import subprocess
import sys

EXPOSURE_MAX = 2.0
SOURCE, BUILD = pathlib.Path(sys.argv[1]), pathlib.Path(sys.argv[2])
NAMES_VERSION = ("compose.yaml", "systemd/berth-placement-container.service", "systemd/berth-tracker-container.service")


def exposures():
    """The name of each native unit, and its exposure as systemd rates it: 0 is best, 10 is worst."""
    for unit in sorted((BUILD / "deploy").glob("berth-*.service")):
        command = ["systemd-analyze", "security", "--offline=true", "--no-pager", str(unit)]
        rated = subprocess.run(command, check=True, capture_output=True, text=True).stdout
        yield unit.name, float(re.search(r"Overall exposure level for \S+: ([\d.]+)", rated)[1])


def problems():
    rated = dict(exposures())
    if sorted(rated) != ["berth-placement.service", "berth-tracker.service"]:
        yield f"the native units are {sorted(rated)}"
    for unit, exposure in rated.items():
        print(f"{unit}: exposure {exposure}")
        if exposure > EXPOSURE_MAX:
            yield f"{unit}: the exposure is {exposure}, but must be at most {EXPOSURE_MAX}"
    version = re.search(r"^project\(berth VERSION ([\d.]+)", (SOURCE / "CMakeLists.txt").read_text(), re.M)[1]
    for name in NAMES_VERSION:
        named = set(re.findall(r"berth-(?:placement|tracker)[:-](?:\$\{BERTH_VERSION:-)?(\d[\d.]*\d)", (SOURCE / "deploy" / name).read_text()))
        if named != {version}:
            yield f"deploy/{name} names the versions {sorted(named)}, but the project has {version}"


found = list(problems())
print("\n".join(found) or "units: clean")
sys.exit(1 if found else 0)
