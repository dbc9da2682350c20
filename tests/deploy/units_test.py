#!/usr/bin/python3
"""The systemd units are hardened, health checks use the server's settings, and files of deploy/ name the project's version.

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


def health_checks():
    """Each image's health check asks its server with the settings that this server reads."""
    containers = sorted((SOURCE / "deploy/containers").glob("*.Containerfile"))
    for container in containers:
        program = "tracker" if container.name.startswith("tracker") else "placement"
        sources = [path.read_text() for path in (SOURCE / "services" / program).glob("*.cc")]
        read = set(re.findall(r'"(/etc/berth/\w+\.toml)"', "".join(sources)))
        asked = set(re.findall(r'^HEALTHCHECK .*CMD \["/usr/bin/berth", "health", "--server-settings", "([^"]+)"\]$',
                               container.read_text(), re.M))
        if asked != read or len(read) != 1:
            yield f"{container.name}: the health check asks with {sorted(asked)}, but the program reads {sorted(read)}"
    if len(containers) != 3:
        yield f"there are {len(containers)} Containerfiles"


def problems():
    rated = dict(exposures())
    if sorted(rated) != ["berth-placement.service", "berth-tracker.service"]:
        yield f"the native units are {sorted(rated)}"
    for unit, exposure in rated.items():
        print(f"{unit}: exposure {exposure}")
        if exposure > EXPOSURE_MAX:
            yield f"{unit}: the exposure is {exposure}, but must be at most {EXPOSURE_MAX}"
    yield from health_checks()
    version = re.search(r"^project\(berth VERSION ([\d.]+)", (SOURCE / "CMakeLists.txt").read_text(), re.M)[1]
    for name in NAMES_VERSION:
        named = set(re.findall(r"berth-(?:placement|tracker)[:-](?:\$\{BERTH_VERSION:-)?(\d[\d.]*\d)", (SOURCE / "deploy" / name).read_text()))
        if named != {version}:
            yield f"deploy/{name} names the versions {sorted(named)}, but the project has {version}"


found = list(problems())
print("\n".join(found) or "units: clean")
sys.exit(1 if found else 0)
