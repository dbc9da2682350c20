#!/usr/bin/python3
"""Checks the Debian packages with lintian; installs, upgrades, removes, purges and uses them in a bare Debian 12.

usage: tests/deploy/packages.py DIRECTORY    needs root; DIRECTORY has what `make packages` and `make stubs` leave

The bare Debian is a directory that mmdebstrap makes, with the package sources of this machine. It is removed at the end.
"""

import pathlib
import shutil
import subprocess
import sys
import tempfile
import time

from bare_debian import Debian, check, run
from stubs import check_stubs

SERVICES = ("berth-placement", "berth-tracker")


def next_version(package, directory):
    """The same package as a later version."""
    unpacked = directory / "unpacked"
    run("dpkg-deb", "--raw-extract", package, unpacked)
    control = unpacked / "DEBIAN/control"
    control.write_text(control.read_text().replace("\nVersion: ", "\nVersion: 1:"))
    built = directory / f"next-{package.name}"
    run("dpkg-deb", "--build", "--root-owner-group", unpacked, built)
    shutil.rmtree(unpacked)
    return built


def dependencies(package):
    return run("dpkg-deb", "--field", package, "Depends").strip()


def check_tracker_serves(debian):
    """Starts the installed tracker on a simulated hypervisor, as its user, until its health check passes."""
    command = ["chroot", "--userspec=berth-tracker:berth-tracker", debian.root, "/usr/bin/berth-tracker", "--state-dir=/tmp/state",
               "--hypervisor=test:///default", "--listen=unix:/tmp/tracker.sock", "--metrics-listen="]
    with subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as tracker:
        health = ["chroot", debian.root, "/usr/bin/berth", "--endpoint=unix:/tmp/tracker.sock", "health"]
        deadline = time.monotonic() + 60
        while subprocess.run(health, check=False, capture_output=True).returncode != 0 and time.monotonic() < deadline:
            time.sleep(0.2)
        passed = subprocess.run(health, check=False, capture_output=True).returncode == 0
        tracker.terminate()
    check(passed, "the installed tracker serves, with no other packages than its dependencies")


def check_installed(debian):
    accounts = (debian.root / "etc/passwd").read_text()
    for service in SERVICES:
        check(f"\n{service}:" in accounts, f"the user {service} exists")
        wants = debian.root / f"etc/systemd/system/multi-user.target.wants/{service}.service"
        check(wants.is_symlink(), f"the unit {service} is enabled")
        debian.run(f"/usr/bin/{service}", "--check-config")
    check("FATAL" not in debian.run("/usr/bin/berth", "--version"), "berth runs")
    check_tracker_serves(debian)


def check_life(debian, packages, directory):
    names = [package.name.split("_")[0] for package in packages]
    for package in packages:
        debian.apt("satisfy", dependencies(package))
    before = debian.traces()
    for package in packages:
        shutil.copy(package, debian.root / "tmp")
    debian.apt("install", *[f"/tmp/{package.name}" for package in packages])
    check_installed(debian)
    settings = debian.root / "etc/berth/placement.toml"
    settings.write_text('log-level = "debug"\n')
    for package in packages:
        shutil.copy(next_version(package, directory), debian.root / "tmp")
    debian.apt("install", *[f"/tmp/next-{package.name}" for package in packages])
    check(settings.read_text() == 'log-level = "debug"\n', "an upgrade keeps settings that were changed")
    check_installed(debian)
    # What services write into their state directories when systemd runs them.
    for service in SERVICES:
        (debian.root / f"var/lib/private/{service}").mkdir(parents=True)
        (debian.root / f"var/lib/{service}").symlink_to(f"private/{service}")
    (debian.root / "var/lib/private/berth-placement/position").write_text("1:1")
    debian.apt("remove", *names)
    check(settings.exists() and (debian.root / "var/lib/private/berth-placement/position").exists(),
          "removal keeps settings and the ledger")
    debian.apt("purge", *SERVICES)  # The others have no settings, so nothing of them is left to purge.
    after = debian.traces()
    check(after == before, f"purging leaves no trace: {sorted(after ^ before)[:20]}")


def main():
    packages = sorted(pathlib.Path(sys.argv[1]).resolve().glob("*.deb"))
    names = {package.name.split("_")[0] for package in packages}
    check(names == {"berth", "libberth-dev", *SERVICES} and len(packages) == 4, "there are four packages")
    run("lintian", "--fail-on", "error", "--allow-root", *packages)
    check(True, "lintian finds no error")
    directory = pathlib.Path(tempfile.mkdtemp(prefix="berth-packages-"))
    directory.chmod(0o755)
    debian = None
    try:
        debian = Debian(directory)
        check_life(debian, packages, directory)
        check_stubs(debian, next(package for package in packages if package.name.startswith("libberth-dev_")))
    finally:
        if debian:
            debian.close()
        shutil.rmtree(directory, ignore_errors=True)


if __name__ == "__main__":
    sys.exit(main())
