"""The processes that are measured, and what they cost: placement with its PostgreSQL, and a bare gRPC echo."""

import json
import os
import pathlib
import shutil
import signal
import subprocess
import sys
import tempfile
import time

HERE = pathlib.Path(__file__).resolve().parent
START_LIMIT_SECONDS = 60


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
    """A placement process with its private PostgreSQL, where other databases may stand beside its own."""

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
            self.stop()
        shutil.rmtree(self.directory, ignore_errors=True)

    def start(self):
        """Starts placement and waits until it serves."""
        address_file = self.directory / "address"
        address_file.unlink(missing_ok=True)
        with open(self.directory / "placement.log", "ab") as log:
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

    def stop(self):
        self.placement.send_signal(signal.SIGTERM)
        try:
            self.placement.wait(40)
        except subprocess.TimeoutExpired:
            self.placement.kill()
            self.placement.wait()
        self.placement = None

    def resident_bytes(self):
        status = pathlib.Path(f"/proc/{self.placement.pid}/status").read_text()
        return 1024 * int(status.split("VmRSS:")[1].split()[0])

    def url(self, database):
        return f"postgresql:///{database}?host={self.directory}/state/run&user=berth"

    def sql(self, database, text):
        return subprocess.run([self.programs / "psql", "-XAtq", "-v", "ON_ERROR_STOP=1", "-c", text, self.url(database)],
                              check=True, capture_output=True, text=True).stdout.strip()

    def copy_tables(self):
        """Makes the database `alone`: the schema that placement made and the hosts that it holds, for pgbench."""
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
