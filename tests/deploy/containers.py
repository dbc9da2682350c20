#!/usr/bin/python3
"""Builds the container images twice, and runs them with podman as deploy/compose.yaml does.

usage: tests/deploy/containers.py        needs root; BUILD=DIR names the build directory of the programs

It uses an image store of its own below a temporary directory, and removes it at the end.
"""

import contextlib
import json
import os
import pathlib
import shutil
import subprocess
import sys
import tarfile
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parents[2]
MB = 1_000_000
BYTES_MAX = {"placement": 60 * MB, "tracker": 60 * MB, "placement-embedded": 120 * MB}
PLACEMENT, TRACKERS = "berth-placement", ("berth-tracker-1", "berth-tracker-2")
CONSUMER = "6a2c6a3e-5f0c-4f57-9d0b-0f8f0a3c1e01"
# Machines whose cgroups are of both versions need runc, cgroupfs and lower limits than podman's own.
CONTAINERS_CONF = """[containers]
default_ulimits = ["nofile=1024:1024", "nproc=1024:1024"]
[engine]
runtime = "/usr/sbin/runc"
cgroup_manager = "cgroupfs"
events_logger = "file"
"""
STORAGE_CONF = '[storage]\ndriver = "vfs"\ngraphroot = "{0}/storage"\nrunroot = "{0}/run"\n'


def run(*command, **options):
    result = subprocess.run(command, capture_output=True, text=True, check=False, **options)
    if result.returncode != 0:
        raise SystemExit(f"{' '.join(map(str, command))}: exit {result.returncode}\n{result.stdout}{result.stderr}")
    return result.stdout


def fails(*command):
    return subprocess.run(command, capture_output=True, check=False).returncode != 0


def check(holds, what):
    if not holds:
        raise SystemExit(f"FAILED: {what}")
    print(f"ok: {what}", flush=True)


def until(condition, what, seconds=60):
    deadline = time.monotonic() + seconds
    while not condition():
        check(time.monotonic() < deadline, what)
        time.sleep(0.2)
    check(True, what)


def berth(*arguments):
    return run("podman", "exec", PLACEMENT, "/usr/bin/berth", *arguments)


def build(directory):
    """Builds the images in a copy of deploy/ below `directory`; returns the archive of each name."""
    for name in ("deploy", "LICENSE", "CMakeLists.txt"):
        run("cp", "-a", ROOT / name, directory)
    commit = {"SOURCE_DATE_EPOCH": run("git", "-C", ROOT, "log", "-1", "--format=%ct").strip(),
              "REVISION": run("git", "-C", ROOT, "rev-parse", "HEAD").strip(),
              "BUILD": str(ROOT / os.environ.get("BUILD", "build/release"))}
    run(directory / "deploy/containers/build", env={**os.environ, **commit})
    archives = sorted((directory / "build/images").glob("*.tar"))
    names = ["placement-embedded" if a.stem.endswith("-embedded") else a.stem.split("-")[1] for a in archives]
    return dict(zip(names, archives))


def files_of(archive):
    """The files of an image: path -> mode and owner."""
    found = {}
    with tarfile.open(archive) as outer:
        for layer in json.load(outer.extractfile("manifest.json"))[0]["Layers"]:
            with tarfile.open(fileobj=outer.extractfile(layer)) as inner:
                found.update({"/" + entry.name.rstrip("/"): entry for entry in inner})
    return found


def check_archives(first, second):
    for name, archive in first.items():
        check(archive.read_bytes() == second[name].read_bytes(), f"{name}: two builds in two folders are equal")
        size = archive.stat().st_size
        check(size <= BYTES_MAX[name], f"{name}: {size / MB:.1f} MB of at most {BYTES_MAX[name] // MB} MB")
        files = files_of(archive)
        check("/usr/share/berth/packages.tsv" in files, f"{name}: lists its packages")
        names = ("sh", "bash", "dash", "busybox", "perl", "python3")
        shells = [path for path, entry in files.items() if entry.isreg() and path.rsplit("/", 1)[1] in names]
        check(shells == (["/usr/bin/sh"] if name == "placement-embedded" else []), f"{name}: shells: {shells}")
        raised = [path for path, entry in files.items() if entry.isreg() and entry.mode & 0o6022]
        check(not raised, f"{name}: no file is setuid, setgid or writable by others: {raised}")


@contextlib.contextmanager
def composed():
    compose = ["podman-compose", "--file", ROOT / "deploy/compose.yaml"]
    subprocess.run([*compose, "up", "--detach"], check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        yield
    finally:
        subprocess.run([*compose, "down", "--volumes"], check=False, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)


def states_in(container):
    """(state, command) of each process in a container."""
    rows = run("podman", "top", container, "state", "args").splitlines()[1:]
    return [row.split(maxsplit=1) for row in rows]


def host_pids(container, command):
    rows = run("podman", "top", container, "hpid", "args").splitlines()[1:]
    return [int(row.split()[0]) for row in rows if row.split(maxsplit=1)[1].startswith(command)]


def check_restrictions(container):
    pid = run("podman", "inspect", container, "--format", "{{.State.Pid}}").strip()
    status = dict(line.split(":\t", 1) for line in pathlib.Path(f"/proc/{pid}/status").read_text().splitlines() if ":\t" in line)
    check(status["Uid"].split() == ["65532"] * 4, f"{container} runs as user 65532")
    check(int(status["CapBnd"], 16) == 0 and status["NoNewPrivs"] == "1", f"{container} has no capabilities and gets none")
    inspected = json.loads(run("podman", "inspect", container))[0]["HostConfig"]
    check(inspected["ReadonlyRootfs"], f"{container} has a read-only root")
    check(fails("podman", "exec", container, "/usr/bin/berth", "--endpoint", "127.0.0.1:1", "health"),
          f"{container}: berth health fails if no server answers")


def serves_writes():
    return not fails("podman", "exec", PLACEMENT, "/usr/bin/berth", "health", "--service", "writes")


def check_containers():
    until(lambda: berth("node", "list").count(" up ") == 2, "two trackers have reported their nodes")
    for container in (PLACEMENT, *TRACKERS):
        check(not fails("podman", "healthcheck", "run", container), f"{container}: the health check passes")
        check_restrictions(container)
    check(fails("podman", "exec", TRACKERS[0], "/bin/sh", "-c", "true"), "a tracker's image has no shell")
    berth("claim", "--resources", "VCPU=1", "--consumer", CONSUMER)
    run("podman", "exec", PLACEMENT, "/usr/lib/postgresql/15/bin/pg_dump", "--host=/var/lib/berth-placement/run",
        "--username=berth", "--format=custom", "--file=/tmp/ledger", "berth")
    for pid in host_pids(PLACEMENT, "/usr/lib/postgresql/15/bin/postgres"):
        os.kill(pid, 9)
    until(serves_writes, "placement serves writes again after its PostgreSQL was killed")
    check(all(state != "Z" for state, _ in states_in(PLACEMENT)), "process 1 has reaped the orphaned processes")
    run("podman", "stop", "--time", "45", PLACEMENT)
    code = run("podman", "inspect", PLACEMENT, "--format", "{{.State.ExitCode}}").strip()
    check(code == "0", f"placement ends by itself on SIGTERM: exit {code}")
    run("podman", "start", PLACEMENT)
    until(serves_writes, "placement serves writes after it was started again")
    check(CONSUMER in berth("consumer", "list"), "the claim is still there")


def main():
    work = pathlib.Path(tempfile.mkdtemp(prefix="berth-containers-"))
    try:
        (work / "containers.conf").write_text(CONTAINERS_CONF)
        (work / "storage.conf").write_text(STORAGE_CONF.format(work))
        os.environ["CONTAINERS_CONF"] = str(work / "containers.conf")
        os.environ["CONTAINERS_STORAGE_CONF"] = str(work / "storage.conf")
        for folder in ("one", "another/folder"):
            (work / folder).mkdir(parents=True)
        archives = build(work / "one")
        check_archives(archives, build(work / "another/folder"))
        for archive in archives.values():
            run("podman", "load", "--input", archive)
        with composed():
            check_containers()
    finally:
        shutil.rmtree(work, ignore_errors=True)


if __name__ == "__main__":
    sys.exit(main())
