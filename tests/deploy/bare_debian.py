"""A bare Debian 12 in a directory, in which tests install packages. Needs root."""

import os
import pathlib
import shutil
import subprocess

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
    """The bare Debian: runs commands in itself, and knows its files."""

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
