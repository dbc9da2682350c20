#!/usr/bin/python3
"""Measures placement against what it stands on: claims through gRPC against pgbench on the same tables, candidates against
a bare gRPC echo of the same sizes. All in one run, the sides taking turns; the table shows medians over the rounds.

usage: measure.py BUILD OUTPUT [ROUNDS [SECONDS]]
"""

import json
import os
import pathlib
import platform
import shutil
import signal
import statistics
import subprocess
import sys
import tempfile
import time

HERE = pathlib.Path(__file__).resolve().parent
HOSTS = 10_000
LIMIT = 100
IN_FLIGHT = (1, 16, 64, 256, 512)
CONNECTIONS = (2, 4, 8, 16, 32)
START_LIMIT_SECONDS = 60
# Beyond these the service is not fit for use.
CLAIMS_RATIO_MIN = 0.4
CANDIDATES_RATIO_MAX = 10


def say(text):
    print(text, file=sys.stderr, flush=True)


def cpu_seconds(pid, with_ended_children=False):
    try:
        fields = pathlib.Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()
    except OSError:
        return 0.0
    ticks = sum(int(f) for f in fields[11:15 if with_ended_children else 13])
    return ticks / os.sysconf("SC_CLK_TCK")


def children_of(pid):
    found = []
    for stat in pathlib.Path("/proc").glob("[0-9]*/stat"):
        try:
            if int(stat.read_text().rsplit(")", 1)[1].split()[1]) == pid:
                found.append(int(stat.parent.name))
        except OSError:
            pass  # it ended meanwhile
    return found


class World:
    """A placement process with its private PostgreSQL and 10,000 hosts, and beside it a database with the same tables."""

    def __init__(self, build):
        self.build = pathlib.Path(build).resolve()
        self.directory = pathlib.Path(tempfile.mkdtemp(prefix="berth-", dir="/tmp"))
        self.directory.chmod(0o755)
        self.placement = None
        self.programs = None
        self.address = None

    def __enter__(self):
        try:
            self.start()
        except BaseException:
            self.__exit__()
            raise
        return self

    def __exit__(self, *_):
        if self.placement is not None:
            self.placement.send_signal(signal.SIGTERM)
            try:
                self.placement.wait(40)
            except subprocess.TimeoutExpired:
                self.placement.kill()
                self.placement.wait()
        shutil.rmtree(self.directory, ignore_errors=True)

    def start(self):
        address_file = self.directory / "address"
        with open(self.directory / "placement.log", "wb") as log:
            self.placement = subprocess.Popen(
                [self.build / "services/berth-placement", "--listen=127.0.0.1:0", f"--address-file={address_file}",
                 f"--state-dir={self.directory}/state", "--metrics-listen=127.0.0.1:0"], stdout=log, stderr=log)
        end = time.monotonic() + START_LIMIT_SECONDS
        while not address_file.exists():
            if self.placement.poll() is not None or time.monotonic() > end:
                sys.exit("placement does not start:\n" + (self.directory / "placement.log").read_text())
            time.sleep(0.02)
        self.address = address_file.read_text().split()[0]
        data = self.directory / "state/data"
        self.programs = pathlib.Path("/usr/lib/postgresql") / (data / "PG_VERSION").read_text().strip() / "bin"
        self.postmaster = int((data / "postmaster.pid").read_text().split()[0])

    def url(self, database):
        return f"postgresql:///{database}?host={self.directory}/state/run&user=berth"

    def sql(self, database, text):
        return subprocess.run([self.programs / "psql", "-XAtq", "-v", "ON_ERROR_STOP=1", "-c", text, self.url(database)],
                              check=True, capture_output=True, text=True).stdout.strip()

    def copy_tables(self):
        """The schema that placement made and the hosts that it holds, in a database of their own."""
        self.sql("postgres", "CREATE DATABASE alone TEMPLATE template0")
        dump = subprocess.run([self.programs / "pg_dump", "--exclude-table-data=log", self.url("berth")], check=True,
                              capture_output=True).stdout
        subprocess.run([self.programs / "psql", "-Xq", "-v", "ON_ERROR_STOP=1", self.url("alone")], input=dump, check=True,
                       stdout=subprocess.DEVNULL)
        order = self.sql("alone", "SELECT string_agg(DISTINCT names, ';') FROM (SELECT string_agg(resource_class, ',') AS "
                         "names FROM inventories GROUP BY provider) AS each")
        if order != "VCPU,MEMORY_MB,DISK_GB":
            sys.exit(f"claim.sql expects another order of classes than {order}")
        for database in ("berth", "alone"):
            self.sql(database, "VACUUM ANALYZE")
        self.sql("postgres", "CHECKPOINT")

    def cpu(self):
        return {"placement": cpu_seconds(self.placement.pid),
                "postgresql": cpu_seconds(self.postmaster, True) + sum(map(cpu_seconds, children_of(self.postmaster)))}

    def measured(self, command, read):
        """What `read` makes of the output of `command`, with the CPU time that each party used for one operation."""
        before = self.cpu()
        process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
        output = process.stdout.read()
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
        if process.returncode != 0:
            sys.exit(f"{' '.join(map(str, command))} failed:\n{output}")
        after = self.cpu()
        figures = read(output)
        used = {who: after[who] - before[who] for who in after}
        used["client"] = usage.ru_utime + usage.ru_stime
        figures["cpu_us"] = {who: round(1e6 * seconds / figures["done"], 1) for who, seconds in used.items()}
        return figures

    def load(self, *arguments):
        return self.measured([self.build / "tests/bench/berth-bench", *map(str, arguments)],
                             lambda output: json.loads(output.splitlines()[-1]))

    def pgbench(self, script, connections, seconds):
        def read(output):
            values = dict(line.split(" = ") for line in output.splitlines() if " = " in line)
            done = output.split("number of transactions actually processed: ")[1].split()[0]
            return {"per_second": float(next(v for k, v in values.items() if k == "tps").split()[0]),
                    "median_us": 1000 * float(values["latency average"].split()[0]), "done": int(done)}
        return self.measured([self.programs / "pgbench", "-n", "-M", "prepared", "-c", str(connections), "-j",
                              str(min(connections, os.cpu_count())), "-T", str(seconds), "-f", HERE / script,
                              self.url("alone")], read)


class Echo:
    """A bare gRPC server in a process of its own, answering with so many bytes."""

    def __init__(self, build, answer_bytes):
        self.process = subprocess.Popen([pathlib.Path(build) / "tests/bench/berth-bench", "serve-echo", "--answer-bytes",
                                         str(answer_bytes)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        self.address = self.process.stdout.readline().strip()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.process.stdin.close()
        self.process.wait(20)


def measure(world, rounds, seconds):
    """Every figure of every round, by name."""
    found = {}

    def keep(name, figures):
        found.setdefault(name, []).append(figures)

    say(f"loading {HOSTS} hosts")
    world.load("load-hosts", "--address", world.address, "--hosts", HOSTS)
    world.copy_tables()
    search = ["candidates", "--address", world.address, "--limit", LIMIT, "--seconds", seconds, "--in-flight"]
    sizes = world.load(*search, 1)  # warms up, too
    with Echo(world.build, sizes["answer_bytes"]) as echo:
        bare = ["echo", "--address", echo.address, "--request-bytes", sizes["request_bytes"], "--seconds", seconds,
                "--in-flight"]
        world.load(*bare, 1)
        for number in range(rounds):
            say(f"round {number + 1} of {rounds}")
            for in_flight, connections in zip(IN_FLIGHT, CONNECTIONS):
                keep(f"claims.{in_flight}", world.load("claim", "--address", world.address, "--hosts", HOSTS, "--seconds",
                                                       seconds, "--in-flight", in_flight))
                keep(f"pgbench.{connections}", world.pgbench("claim.sql", connections, seconds))
            keep("pgbench_in_steps.16", world.pgbench("claim_in_steps.sql", 16, seconds))
            for in_flight in (1, 10):
                keep(f"echo.{in_flight}", world.load(*bare, in_flight))
                keep(f"candidates.{in_flight}", world.load(*search, in_flight))
    return found, sizes


def check(world, found):
    """Every OK is in the tables, and placement finds no difference between these, the log and its memory."""
    claimed = sum(f["done"] for name, figures in found.items() if name.startswith("claims.") for f in figures)
    consumers = int(world.sql("berth", "SELECT count(*) FROM consumer"))
    if claimed != consumers:
        sys.exit(f"{claimed} claims were answered OK, {consumers} consumers are in the table")
    world.load("self-check", "--address", world.address)
    return claimed


def median_of(figures, key="per_second"):
    return statistics.median(f[key] for f in figures)


def best_of(found, prefix):
    names = [name for name in found if name.startswith(prefix + ".")]
    return max(names, key=lambda name: median_of(found[name]))


def fdatasync_us(directory):
    with tempfile.TemporaryFile(dir=directory) as file:
        times = []
        for _ in range(200):
            begun = time.perf_counter()
            os.pwrite(file.fileno(), b"x" * 8192, 0)
            os.fdatasync(file.fileno())
            times.append(time.perf_counter() - begun)
    return 1e6 * statistics.median(times)


def row(what, figures, key="per_second", unit="/s"):
    values = [f[key] for f in figures]
    cpu = {who: statistics.median(f["cpu_us"][who] for f in figures) for who in figures[0]["cpu_us"]}
    print(f"{what:<58} {statistics.median(values):>10,.0f} {unit:<3} {min(values):>8,.0f} ..{max(values):>8,.0f}"
          f" {cpu['client']:>8,.0f} {cpu['placement']:>9,.0f} {cpu['postgresql']:>10,.0f}")


def show(found, sizes, summary):
    print(f"{'':<58} {'median':>10} {'':<3} {'least .. most':>18} {'us of CPU for each: client, placement, PostgreSQL':>29}")
    claims, limit = summary["claims_best"], summary["pgbench_best"]
    for name in sorted(found, key=lambda n: (n.split(".")[0], int(n.split(".")[1]))):
        kind, count = name.split(".")
        mark = " (best)" if name in (claims, limit) else ""
        if kind == "claims":
            row(f"claims through gRPC, {count} in flight{mark}", found[name])
        elif kind == "pgbench":
            row(f"pgbench, one claim each, one statement, {count} connections{mark}", found[name])
        elif kind == "pgbench_in_steps":
            row(f"pgbench, one claim each, lock, read, write, {count} conn.", found[name])
    row("claim, 1 in flight", found["claims.1"], "median_us", "us")
    row(f"candidates, limit {LIMIT}, 1 in flight", found["candidates.1"], "median_us", "us")
    row("  and its client decodes the answer for, mean", found["candidates.1"], "decode_us", "us")
    row(f"echo of {sizes['request_bytes']} B and {sizes['answer_bytes']} B, 1 in flight", found["echo.1"], "median_us", "us")
    row(f"candidates, limit {LIMIT}, 10 in flight", found["candidates.10"])
    row("echo of the same sizes, 10 in flight", found["echo.10"])
    print(f"{'claims through gRPC : pgbench, each at its best':<58} {summary['claims_vs_pgbench']:>10.2f}")
    print(f"{'candidates : echo, medians of 1 in flight':<58} {summary['candidates_10k_median_vs_echo']:>10.2f}")


def summarize(found, sizes, claimed, machine):
    claims, limit = best_of(found, "claims"), best_of(found, "pgbench")
    return {
        "claims_vs_pgbench": round(median_of(found[claims]) / median_of(found[limit]), 3),
        "candidates_10k_median_vs_echo": round(
            median_of(found["candidates.1"], "median_us") / median_of(found["echo.1"], "median_us"), 3),
        "claims_best": claims,
        "pgbench_best": limit,
        "claims_checked": claimed,
        "request_bytes": sizes["request_bytes"],
        "answer_bytes": sizes["answer_bytes"],
        "machine": machine,
        "figures": found,
    }


def main():
    build, output = sys.argv[1], pathlib.Path(sys.argv[2])
    rounds = int(sys.argv[3]) if len(sys.argv) > 3 else 3
    seconds = int(sys.argv[4]) if len(sys.argv) > 4 else 2
    begun = time.monotonic()
    with World(build) as world:
        machine = {"cores": os.cpu_count(), "kernel": platform.release(), "load_before": os.getloadavg()[0],
                   "fdatasync_us": round(fdatasync_us(world.directory)),
                   "postgresql": world.sql("postgres", "SHOW server_version"),
                   "fsync": world.sql("postgres", "SHOW fsync")}
        found, sizes = measure(world, rounds, seconds)
        claimed = check(world, found)
    summary = summarize(found, sizes, claimed, machine)
    output.mkdir(parents=True, exist_ok=True)
    (output / "summary.json").write_text(json.dumps(summary, indent=1) + "\n")
    print(f"{HOSTS} hosts of 3 classes; {machine['cores']} cores, shared with the load; load before {machine['load_before']}; "
          f"PostgreSQL {machine['postgresql']}, fsync {machine['fsync']}, fdatasync {machine['fdatasync_us']} us; "
          f"{rounds} rounds of {seconds:g} s; {claimed} claims checked; {time.monotonic() - begun:.0f} s")
    show(found, sizes, summary)
    if summary["claims_vs_pgbench"] < CLAIMS_RATIO_MIN or summary["candidates_10k_median_vs_echo"] > CANDIDATES_RATIO_MAX:
        sys.exit("too slow: see tests/bench/measure.py for what is expected")


if __name__ == "__main__":
    main()
