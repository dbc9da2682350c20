"""Uses the package libberth-dev as somebody without the source of Berth does.

`stubs/scheduler.cc` is built from the package in each of WAYS. Each program then calls the installed berth-placement, in plain text and
over mutual TLS.
"""

import contextlib
import pathlib
import shutil
import subprocess
import time

from bare_debian import check, run

HERE = pathlib.Path(__file__).resolve().parent
PROTOS = HERE.parent.parent / "proto"
SERVED_SECONDS_MAX = 60
OWN = "--define-variable=google_rpc_cflags=-Iown --define-variable=google_rpc_libs=own/libown_google_rpc.a"
# How each program is built in /tmp/stubs, and which file it is then. The last two link their own build of google/rpc.
WAYS = {
    "find_package": ("cmake -S . -B cmake && cmake --build cmake", "cmake/scheduler"),
    "pkg-config": ("g++ scheduler.cc -o scheduler $(pkg-config --cflags --libs berth)", "scheduler"),
    "find_package, own google.rpc": ("cmake -S . -B own -DOWN_GOOGLE_RPC=ON && cmake --build own", "own/scheduler"),
    "pkg-config, own google.rpc": (f"g++ -DOWN_GOOGLE_RPC scheduler.cc -o own_scheduler $(pkg-config {OWN} --cflags --libs berth)",
                                   "own_scheduler"),
}


def check_protos(debian, protoset):
    """The package and the file berth.protoset have each proto, and each proto of Berth has its headers."""
    protos = [path.relative_to(PROTOS) for path in sorted(PROTOS.rglob("*.proto"))]
    debian.run("protoc", "-I", "/usr/share/berth/proto", "--descriptor_set_out=/dev/null", *protos)
    run("protoc", f"--descriptor_set_in={protoset}", "--descriptor_set_out=/dev/null", *protos)
    ours = [path for path in protos if path.parts[0] == "berth"]
    headers = [path.with_suffix(".pb.h") for path in ours]
    headers += [path.with_suffix(".grpc.pb.h") for path in ours if "\nservice " in (PROTOS / path).read_text()]
    missing = [str(path) for path in headers if not (debian.root / "usr/include" / path).exists()]
    check(not missing, f"libberth-dev has every proto, its messages and its stubs {missing}")


@contextlib.contextmanager
def placement(debian, name, *flags):
    """The address at which the installed berth-placement serves, as its own user."""
    debian.run("install", "--directory", "--owner=berth-placement", f"/tmp/{name}")
    log, address = debian.root / f"tmp/{name}/log", debian.root / f"tmp/{name}/address"
    command = ["chroot", "--userspec=berth-placement:berth-placement", debian.root, "/usr/bin/berth-placement",
               "--listen=127.0.0.1:0", "--metrics-listen=", f"--address-file=/tmp/{name}/address", f"--state-dir=/tmp/{name}/state", *flags]
    with open(log, "w", encoding="utf-8") as said, subprocess.Popen(command, stdout=said, stderr=said) as process:
        deadline = time.monotonic() + SERVED_SECONDS_MAX
        while not (address.exists() and address.read_text()) and process.poll() is None and time.monotonic() < deadline:
            time.sleep(0.1)
        try:
            check(address.exists() and address.read_text(), f"placement serves {name}" if address.exists() else log.read_text())
            yield address.read_text().split()[0]
        finally:
            process.terminate()


def build(debian):
    """Builds each program where nothing of Berth is but libberth-dev."""
    shutil.copytree(HERE / "stubs", debian.root / "tmp/stubs")
    for way, (command, _) in WAYS.items():
        debian.run("sh", "-c", f"cd /tmp/stubs && {command}")
        check(True, f"built with {way}")


def certificates(debian):
    """The directory, in the bare Debian, of certificates for placement and for an admin, who may make a host as well."""
    for role, name, *addresses in (("placement", "one", "127.0.0.1"), ("admin", "alice")):
        run(HERE.parent.parent / "deploy/certificates/issue", debian.root / "tmp/certificates", "berth.test", role, name, *addresses)
    debian.run("chown", "-R", "berth-placement", "/tmp/certificates")
    return "/tmp/certificates"


def check_stubs(debian, package):
    """REQUIRES: the packages of Berth lie in /tmp of the bare Debian, and none is installed."""
    print("installing a compiler", flush=True)
    debian.apt("install", "cmake", "g++", "make", "pkg-config", f"/tmp/{package.name}")
    check_protos(debian, package.parent / "berth.protoset")
    build(debian)
    # Debian's own PostgreSQL stays off.
    policy = debian.root / "usr/sbin/policy-rc.d"
    policy.write_text("#!/bin/sh\nexit 101\n")
    policy.chmod(0o755)
    print("installing placement and PostgreSQL", flush=True)
    debian.apt("install", "postgresql-15", f"/tmp/{package.name.replace('libberth-dev', 'berth-placement')}")
    keys = certificates(debian)
    tls = [f"--tls-certificate={keys}/placement-one.crt", f"--tls-key={keys}/placement-one.key", f"--tls-ca={keys}/ca.crt",
           "--trust-domain=berth.test"]
    client = [f"{keys}/admin-alice.crt", f"{keys}/admin-alice.key", f"{keys}/ca.crt", "berth.test"]
    for name, flags, files in (("plain", [], []), ("tls", tls, client)):
        with placement(debian, name, *flags) as address:
            for way, (_, program) in WAYS.items():
                said = debian.run(f"/tmp/stubs/{program}", address, *files).strip()
                check(said == f"claimed and watched as {'alice' if files else 'anybody'}", f"{way}, {name}: {said}")
