#!/usr/bin/python3
"""Measures a tracker at rest, over guests that do not change: its memory and CPU time, the calls of libvirt, what the
daemon of libvirt spends on a pass, the revisions of the ledger that unchanged passes cause, and how long the start or end
of a guest needs until a watcher of placement sees it.

With --driver test, the guests are simulated. Then libvirt's simulated hypervisor is a part of the tracker's process, so its
own share of the memory is measured in another program, `virsh`. With --driver qemu, they are paused guests of QEMU on a
private libvirtd, which is the only case with events. A promise is kept if its figure is at most --slack times as large.

usage: rest.py BUILD [--driver test|qemu] [--guests N] [--interval SECONDS] [--passes N] [--events N] [--slack N]
"""

import argparse
import os
import pathlib
import pwd
import re
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
import urllib.request

from world import World, end, program, say

INTERVAL_AT_REST_SECONDS = 60
# What is promised, by figure.
PROMISES = {"resident_mib": 40, "cpu_percent": 0.2, "daemon_ms": 20, "revisions": 0, "event_p99_ms": 200}
GUEST = """<domain type='{type}'><name>g{number}</name><uuid>99999999-9999-4999-8999-{number:012d}</uuid>
<memory unit='MiB'>32</memory><vcpu>1</vcpu><os><type{arch}>hvm</type></os><devices><disk type='file' device='disk'>
<driver name='qemu' type='qcow2'/><source file='{image}'/><target dev='vda' bus='virtio'/></disk></devices></domain>"""
HOST = ("<node><cpu><mhz>2400</mhz><model>i686</model><active>64</active><nodes>2</nodes><sockets>2</sockets><cores>16</cores>"
        "<threads>1</threads></cpu><memory>268435456</memory>{}</node>")


def wait(condition, what, seconds=120):
    last = time.monotonic() + seconds
    while not condition():
        if time.monotonic() > last:
            sys.exit(f"{what} did not happen in {seconds} s")
        time.sleep(0.05)


def run_ms(pid):
    """How long the threads of the process have run."""
    return sum(int((task / "schedstat").read_text().split()[0]) for task in pathlib.Path(f"/proc/{pid}/task").iterdir()) / 1e6


def resident_mib(pid):
    status = pathlib.Path(f"/proc/{pid}/status").read_text()
    return int(status.split("VmRSS:")[1].split()[0]) / 1024


def virsh(uri, *arguments):
    return subprocess.run(["virsh", "-q", "-c", uri, *arguments], check=True, capture_output=True, text=True).stdout


def virsh_mib(uri):
    """What `virsh` needs while it has a connection to `uri`."""
    with subprocess.Popen(["virsh", "-c", uri], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as shell:
        shell.stdin.write("domstats --state\necho connected\n")
        shell.stdin.flush()
        for line in shell.stdout:
            if "connected" in line and "echo" not in line:
                break
        needs = resident_mib(shell.pid)
        shell.stdin.close()
        shell.stdout.read()
    return needs


class TestHost:
    """Guests that libvirt's test driver simulates."""

    def __init__(self, directory, guests):
        file, empty = directory / "host.xml", directory / "empty.xml"
        definitions = [GUEST.format(type="test", arch="", number=i, image=f"/nonexistent/{i}") for i in range(guests)]
        file.write_text(HOST.format("".join(definitions)))
        empty.write_text(HOST.format(""))
        self.uri = f"test://{file}"
        self.daemon = None
        self.libvirts_own_mib = virsh_mib(self.uri) - virsh_mib(f"test://{empty}")

    def stop(self):
        pass


class QemuHost:
    """Paused guests of QEMU on a private libvirtd, as the user nobody."""

    def __init__(self, directory, guests):
        self.directory = directory / "libvirt"
        user = pwd.getpwnam("nobody")
        for folder in ("", "run", "config", "cache", "data"):
            (self.directory / folder).mkdir()
            os.chown(self.directory / folder, user.pw_uid, user.pw_gid)
        environment = dict(os.environ, HOME=str(self.directory))
        for name in ("runtime_dir", "config_home", "cache_home", "data_home"):
            environment["XDG_" + name.upper()] = str(self.directory / name.split("_")[0].replace("runtime", "run"))
        with open(directory / "libvirtd.log", "wb") as log:
            self.daemon = subprocess.Popen(["/usr/sbin/libvirtd", "--timeout", "3600"], stdout=log, stderr=log, user=user.pw_uid,
                                           group=user.pw_gid, extra_groups=[], env=environment)
        path = self.directory / "run/libvirt/libvirt-sock"
        wait(lambda: answers(path), "libvirtd's first answer")
        self.uri = f"qemu+unix:///session?socket={path}"
        for i in range(guests):
            self.start(i)

    def start(self, number):
        image, file = self.directory / f"{number}.qcow2", self.directory / "guest.xml"
        if not image.exists():
            subprocess.run(["qemu-img", "create", "-q", "-f", "qcow2", image, "3G"], check=True)
            image.chmod(0o666)
        file.write_text(GUEST.format(type="qemu", arch=" arch='x86_64'", number=number, image=image))
        virsh(self.uri, "create", str(file), "--paused")

    def stop(self):
        for link in pathlib.Path("/proc").glob("[0-9]*/cmdline"):
            try:
                command = link.read_text()
                if "qemu-system" in command and str(self.directory) in command:
                    os.kill(int(link.parent.name), signal.SIGKILL)
            except OSError:
                pass  # it ended meanwhile
        end(self.daemon, 20)


def answers(path):
    with socket.socket(socket.AF_UNIX) as probe:
        try:
            probe.connect(str(path))
        except OSError:
            return False
    return True


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


class Lines:
    """The lines that a program writes, each with the time at which it came."""

    def __init__(self, command, **options):
        self.process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True, **options)
        self.found = []
        threading.Thread(target=self.read, daemon=True).start()

    def read(self):
        for line in self.process.stdout:
            self.found.append((time.monotonic(), line))

    def stop(self):
        end(self.process, 10)


def counts(metrics, name):
    """The values of a counter, by the label that tells its series apart."""
    return {re.search(r'(?:call|result)="([^"]*)"', key).group(1): value for key, value in metrics.items()
            if key.startswith(f"tracker_{name}{{")}


class Tracker:
    """A tracker of the host `uri`, and a watcher of placement."""

    def __init__(self, build, world, uri, interval):
        self.environment = dict(os.environ, BERTH_ENDPOINT=world.address)
        self.berth = program(build, "services", "berth")
        self.interval = interval
        # A file system of its own, because others may write gigabytes to the disk meanwhile, which are reported.
        self.state = tempfile.mkdtemp(prefix="berth-", dir="/dev/shm")
        port = free_port()
        with open(world.directory / "tracker.log", "wb") as log:
            self.process = subprocess.Popen(
                [program(build, "services", "berth-tracker"), f"--placement={world.address}", "--listen=127.0.0.1:0",
                 f"--metrics-listen=127.0.0.1:{port}", f"--state-dir={self.state}",
                 f"--hypervisor=n0={uri}", f"--update-resources-interval={interval}", "--orphan-confirmation=1s",
                 "--periodic-fuzzy-delay=0"], stdout=log, stderr=log)
        self.metrics_url = f"http://127.0.0.1:{port}/metrics"
        wait(lambda: "MEMORY_MB" in self.call("provider", "tree"), "the first report")

    def call(self, *arguments):
        return subprocess.run([self.berth, *arguments], env=self.environment, check=True, capture_output=True, text=True).stdout

    def watch(self):
        lines = Lines([self.berth, "watch"], env=self.environment)
        wait(lambda: lines.found, "the watcher's first line")
        return lines

    def metrics(self):
        lines = urllib.request.urlopen(self.metrics_url).read().decode().splitlines()
        return {line.rsplit(" ", 1)[0]: float(line.rsplit(" ", 1)[1]) for line in lines if line and line[0] != "#"}

    def passes(self):
        return sum(counts(self.metrics(), "audit_results_total").values())

    def wait_for_passes(self, passes):
        """Waits for so many passes. Looks seldom, because the metrics cost CPU time, too."""
        begun = self.passes()
        time.sleep(self.interval * passes)
        wait(lambda: self.passes() >= begun + passes, f"{passes} passes", 1200)


def measure_rest(tracker, host, passes):
    """What `passes` passes over unchanged guests cost."""
    tracker.wait_for_passes(5)  # until the orphans are confirmed
    watch = tracker.watch()
    header = len(watch.found)
    daemon = host.daemon.pid if host.daemon else None
    before = tracker.metrics()
    used, daemon_used = run_ms(tracker.process.pid), run_ms(daemon) if daemon else 0
    tracker.wait_for_passes(passes)
    used = run_ms(tracker.process.pid) - used
    after = tracker.metrics()
    done = sum(counts(after, "audit_results_total").values()) - sum(counts(before, "audit_results_total").values())
    figures = {"resident_mib": resident_mib(tracker.process.pid), "passes": done, "pass_ms": used / done}
    figures["cpu_percent"] = 100 * used / done / (INTERVAL_AT_REST_SECONDS * 1000)
    if daemon:
        figures["daemon_ms"] = (run_ms(daemon) - daemon_used) / done
    calls = counts(before, "libvirt_calls_total")
    for call, count in counts(after, "libvirt_calls_total").items():
        if count != calls.get(call, 0):
            figures[f"calls of {call} a pass"] = (count - calls.get(call, 0)) / done
    figures["revisions"] = len(watch.found) - header
    for _, line in watch.found[header:]:
        say("  " + line.rstrip())
    watch.stop()
    return figures


def measure_events(tracker, host, events):
    """Milliseconds from libvirt's announcement of a guest's start or end until placement's watcher tells a change."""
    watch = tracker.watch()
    announced = Lines(["stdbuf", "-oL", "virsh", "-c", host.uri, "event", "--event", "lifecycle", "--loop"])
    time.sleep(2)  # virsh does not say when it listens
    took = []
    for number in range(events):
        before, heard = len(watch.found), len(announced.found)
        if number % 2 == 0:
            host.start(900)
        else:
            virsh(host.uri, "destroy", "g900")
        wait(lambda: len(watch.found) > before and len(announced.found) > heard, "the change in placement", 20)
        took.append(1000 * (watch.found[before][0] - announced.found[heard][0]))
        time.sleep(2.2)  # so that the confirmation of the orphan, and what follows an event, is over
    for lines in (watch, announced):
        lines.stop()
    took.sort()
    return {"event_p50_ms": took[len(took) // 2], "event_p99_ms": took[min(len(took) - 1, int(0.99 * len(took)))]}


def measure(options):
    with World(options.build) as world:
        host = (TestHost if options.driver == "test" else QemuHost)(world.directory, options.guests)
        tracker = None
        try:
            tracker = Tracker(options.build, world, host.uri, options.interval)
            figures = measure_rest(tracker, host, options.passes)
            if options.driver == "test":
                figures["libvirt's own MiB for the guests"] = host.libvirts_own_mib
                figures["resident_mib"] -= host.libvirts_own_mib
            elif options.events > 0:
                figures |= measure_events(tracker, host, options.events)
        except BaseException:
            say((world.directory / "tracker.log").read_text()[-2000:])
            raise
        finally:
            if tracker is not None:
                end(tracker.process, 20)
                shutil.rmtree(tracker.state, ignore_errors=True)
            host.stop()
    return figures


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("build", type=pathlib.Path)
    parser.add_argument("--driver", choices=("test", "qemu"), default="test")
    parser.add_argument("--guests", type=int, default=1000)
    parser.add_argument("--interval", type=int, default=1, help="seconds between two passes; CPU is told for 60")
    parser.add_argument("--passes", type=int, default=30)
    parser.add_argument("--events", type=int, default=40)
    parser.add_argument("--slack", type=float, default=1)
    options = parser.parse_args()
    kept = True
    for name, figure in measure(options).items():
        promise = PROMISES.get(name)
        verdict = ""
        if promise is not None:
            fails = figure > options.slack * promise
            verdict = f"  promised {promise}" + (f" x {options.slack:g}, missed" if fails else "")
            kept = kept and not fails
        print(f"{name:45} {figure:10.3f}{verdict}")
    return 0 if kept else 1


if __name__ == "__main__":
    sys.exit(main())
