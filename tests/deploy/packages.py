#!/usr/bin/python3
"""Checks the Debian packages with lintian, and installs, upgrades, removes and purges them in a bare Debian 12.

usage: tests/deploy/packages.py DIRECTORY        needs root; DIRECTORY has the packages, from `make packages`

The bare Debian is a directory that mmdebstrap makes, with the package sources of this machine. It is removed at the end.
"""

import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import time

SERVICES = ("berth-placement", "berth-tracker")
# What dpkg, useradd and the loader's cache write on their own account.
NOT_OURS = ("/var/lib/dpkg/", "/var/log/", "/var/cache/", "/var/lib/apt/", "/tmp/", "/proc/", "/dev/", "/etc/ld.so.cache",
            "/etc/passwd-", "/etc/group-", "/etc/shadow-", "/etc/gshadow-", "/etc/.pwd.lock")
ACCOUNTS = ("/etc/passwd", "/etc/group", "/etc/shadow", "/etc/gshadow")


def run(*command, **options):
    result = subprocess.run(command, capture_output=True, text=True, check=False, **options)
    if result.returncode != 0:
        raise SystemExit(f"{' '.join(map(str, command))}: exit {result.returncode}\n{result.stdout}{result.stderr}")
    return result.stdout


def check(holds, what):
    if not holds:
        raise SystemExit(f"FAILED: {what}")
    print(f"ok: {what}", flush=True)


class Debian:
    """A bare Debian in a directory: runs commands in it, and knows its files."""

    def __init__(self, directory):
        self.root = directory / "root"
        run("mmdebstrap", "--variant=apt", "bookworm", self.root, "/etc/apt/sources.list.d/debian.sources")
        for file in pathlib.Path("/etc/apt/apt.conf.d").iterdir():
            shutil.copy(file, self.root / "etc/apt/apt.conf.d")
        if os.path.exists("/etc/resolv.conf"):
            shutil.copy("/etc/resolv.conf", self.root / "etc/resolv.conf")
        run("mount", "-t", "proc", "proc", self.root / "proc")
        self.run("apt-get", "update")

    def close(self):
        subprocess.run(["umount", "-l", self.root / "proc"], check=False)

    def run(self, *command):
        environment = {"PATH": "/usr/sbin:/usr/bin:/sbin:/bin", "DEBIAN_FRONTEND": "noninteractive", "LC_ALL": "C"}
        environment.update({name: os.environ[name] for name in ("http_proxy", "https_proxy") if name in os.environ})
        return run("chroot", self.root, *command, env=environment)

    def apt(self, *arguments):
        return self.run("apt-get", "-q", "-y", "--no-install-recommends", *arguments)

    def traces(self):
        """Every path, and the lines of the account files."""
        listed = run("find", self.root, "-xdev", "-mindepth", "1", "-printf", "/%P\\n").splitlines()
        found = {path for path in listed if not path.startswith(NOT_OURS)}
        return found | {f"{file}: {line}" for file in ACCOUNTS for line in (self.root / file[1:]).read_text().splitlines()}


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
    debian.apt("purge", *names)
    after = debian.traces()
    check(after == before, f"purging leaves no trace: {sorted(after ^ before)[:20]}")


def main():
    packages = sorted(pathlib.Path(sys.argv[1]).resolve().glob("*.deb"))
    names = {package.name.split("_")[0] for package in packages}
    check(names == {"berth", *SERVICES} and len(packages) == 3, "there are three packages")
    run("lintian", "--fail-on", "error", "--allow-root", *packages)
    check(True, "lintian finds no error")
    directory = pathlib.Path(tempfile.mkdtemp(prefix="berth-packages-"))
    directory.chmod(0o755)
    debian = None
    try:
        debian = Debian(directory)
        check_life(debian, packages, directory)
    finally:
        if debian:
            debian.close()
        shutil.rmtree(directory, ignore_errors=True)


if __name__ == "__main__":
    sys.exit(main())
