#!/usr/bin/python3
"""Makes the file tree of an image from Debian packages that are installed on this machine, and from programs of ours.

usage: root.py ROOT [--beside OTHER] [--without LIBRARY]... [--program FILE]... [PATH]...

ROOT is the directory to fill. Each PATH is a file or a directory of a Debian package; it keeps its path. --program FILE
adds one of our programs, stripped, as /usr/bin/NAME. Every library that one of these files needs is added too, except
those that --without names. Files that OTHER has, which is the root of the image below, are left out.

Each file of Debian must still have the checksum that its package states. ROOT/usr/share/berth/packages.tsv lists the
packages with their versions, those of OTHER too, and ROOT/usr/share/doc has their licences.
"""

import argparse
import gzip
import hashlib
import pathlib
import re
import shutil
import subprocess
import sys

LIBRARIES = "/usr/lib/x86_64-linux-gnu"
LOADER = "/usr/lib64/ld-linux-x86-64.so.2"
PACKAGES = "usr/share/berth/packages.tsv"
FIELDS = "${Package}\\t${Version}\\t${Architecture}\\t${source:Package}\\t${source:Version}\\n"
# These directories are symbolic links into /usr, as on every Debian 12.
LINKS = ("bin", "lib", "lib64", "sbin")


def output(*command):
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout


def is_elf(path):
    with open(path, "rb") as file:
        return file.read(4) == b"\x7fELF"


def needed(path):
    """The (name, file) of each library that the loader finds for a program or a library."""
    found = []
    for line in output("ldd", path).splitlines():
        if "not found" in line:
            raise SystemExit(f"{path}: {line.strip()}")
        if match := re.match(r"\s*(\S+) => (/\S+)", line):
            found.append((match[1], match[2]))
    return found


def in_usr(path):
    """The path under /usr of a path that may begin with one of LINKS."""
    return "/usr" + path if path.split("/")[1] in LINKS else path


class Debian:
    """The package of each installed file, and the checksum that the package states for it."""

    def __init__(self, administration=pathlib.Path("/var/lib/dpkg/info")):
        self.owner = {}
        self.checksum = {}
        for file in sorted(administration.glob("*.list")):
            for path in file.read_text().splitlines():
                self.owner.setdefault(in_usr(path), file.stem)
        for file in administration.glob("*.md5sums"):
            for line in file.read_text().splitlines():
                checksum, path = line.split(maxsplit=1)
                self.checksum[in_usr("/" + path)] = checksum

    def package_of(self, path):
        """Refuses a file that no package owns, or that differs from what its package has installed."""
        if path not in self.owner:
            raise SystemExit(f"{path} belongs to no Debian package")
        stated = self.checksum.get(path)
        if stated is not None and stated != hashlib.md5(pathlib.Path(path).read_bytes()).hexdigest():
            raise SystemExit(f"{path} differs from the file in the package {self.owner[path]}")
        return self.owner[path]


class Root:
    def __init__(self, root, beside, without):
        self.root, self.beside, self.without = root, beside, without
        self.debian = Debian()
        self.packages = set()
        root.mkdir(parents=True)
        for name in LINKS:
            if not self.has(name):
                (root / name).symlink_to(f"usr/{name}")
        if beside:
            rows = (beside / PACKAGES).read_text().splitlines()[1:]
            self.packages.update(":".join(row.split("\t")[0:3:2]) for row in rows)

    def has(self, name):
        return any((tree / name).is_symlink() or (tree / name).exists() for tree in (self.root, self.beside) if tree)

    def copy(self, source, target, mode=None):
        """Copies the contents of a file. A symbolic link becomes a file, so that the tree needs no other name of it."""
        copied = self.root / target.lstrip("/")
        copied.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(source, copied)
        copied.chmod(mode or pathlib.Path(source).stat().st_mode & 0o755)
        return copied

    def add_file(self, path):
        real = in_usr(str(pathlib.Path(path).resolve()))
        self.packages.add(self.debian.package_of(real))
        if self.has(in_usr(path).lstrip("/")):
            return
        self.copy(real, in_usr(path))
        if is_elf(real):
            self.add_libraries(real)

    def add_libraries(self, path):
        for name, file in needed(path):
            if name not in self.without:
                self.add_library(name, file)

    def add_library(self, name, file):
        real = in_usr(str(pathlib.Path(file).resolve()))
        self.packages.add(self.debian.package_of(real))
        target = f"{LIBRARIES}/{name}"
        if not self.has(target.lstrip("/")):
            self.copy(real, target)

    def add(self, path):
        found = pathlib.Path(path)
        if not found.exists():
            raise SystemExit(f"{path} does not exist on this machine")
        for file in sorted(found.rglob("*")) if found.is_dir() else [found]:
            if not file.is_dir():
                self.add_file(str(file))

    def add_program(self, path):
        copied = self.copy(path, f"/usr/bin/{pathlib.Path(path).name}", 0o755)
        output("strip", copied)
        self.add_libraries(path)

    def describe(self):
        """Writes the list of packages, and copies their licences."""
        target = self.root / PACKAGES
        target.parent.mkdir(parents=True, exist_ok=True)
        rows = sorted(output("dpkg-query", "--show", f"--showformat={FIELDS}", *self.packages).splitlines())
        target.write_text("\n".join(["package\tversion\tarchitecture\tsource\tsource_version", *rows]) + "\n")
        target.chmod(0o644)
        for package in self.packages:
            licence = f"/usr/share/doc/{package.split(':')[0]}/copyright"
            if pathlib.Path(licence).exists() and not self.has(f"{licence}.gz".lstrip("/")):
                copied = self.copy(licence, f"{licence}.gz", 0o644)
                copied.write_bytes(gzip.compress(copied.read_bytes(), mtime=0))


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("root", type=pathlib.Path)
    parser.add_argument("--beside", type=pathlib.Path)
    parser.add_argument("--without", action="append", default=[])
    parser.add_argument("--program", action="append", default=[])
    parser.add_argument("paths", nargs="*")
    arguments = parser.parse_intermixed_args()
    root = Root(arguments.root, arguments.beside, arguments.without)
    root.add(LOADER)
    for program in arguments.program:
        root.add_program(program)
    for path in arguments.paths:
        root.add(path)
    root.describe()
    return 0


if __name__ == "__main__":
    sys.exit(main())
