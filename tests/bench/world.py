"""The processes that are measured, and what they cost: placement with its PostgreSQL, and a bare gRPC echo."""

import json
import os
import pathlib
import resource
import shutil
import signal
import subprocess
import sys
import tempfile
import time

HERE = pathlib.Path(__file__).resolve().parent
ISSUE = HERE.parents[1] / "deploy/certificates/issue"
TRUST_DOMAIN = "berth.bench"
START_LIMIT_SECONDS = 60


def say(text):
    print(text, file=sys.stderr, flush=True)


def allow_many_connections():
    """Lets this process and those that it starts open as many files as they may: each tracker has a connection."""
    most = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))


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


def end(process, seconds):
    """Asks `process` to end, and makes it."""
    process.send_signal(signal.SIGTERM)
    try:
        process.wait(seconds)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()


def program(build, folder, name):
    """The program of that name below a folder of a build. The newest: a build directory keeps programs that have moved."""
    found = list((pathlib.Path(build).resolve() / folder).glob(f"**/{name}"))
    if not found:
        sys.exit(f"{name} is missing: cmake --build {build} --target {name}")
    return max(found, key=lambda path: path.stat().st_mtime)


class Started:
    """What start() starts and stop() stops, also where starting fails half-way."""

    def __enter__(self):
        try:
            self.start()
        except BaseException:
            self.__exit__()
            raise
        return self

    def __exit__(self, *_):
        self.stop()


class Placement(Started):
    """A placement process that keeps its files in `directory` under `name`."""

    def __init__(self, build, directory, name, *arguments):
        self.build = pathlib.Path(build).resolve()
        self.program = program(build, "services", "berth-placement")
        self.directory = directory
        self.name = name
        self.arguments = arguments
        self.process = None
        self.address = None

    def start(self):
        """Starts it and waits until it serves."""
        address_file, log_file = self.directory / f"{self.name}.address", self.directory / f"{self.name}.log"
        address_file.unlink(missing_ok=True)
        with open(log_file, "ab") as log:
            self.process = subprocess.Popen(
                [self.program, "--listen=127.0.0.1:0", f"--address-file={address_file}",
                 "--metrics-listen=127.0.0.1:0", *self.arguments], stdout=log, stderr=log)
        last = time.monotonic() + START_LIMIT_SECONDS
        while not address_file.exists():
            if self.process.poll() is not None or time.monotonic() > last:
                sys.exit("placement does not start:\n" + log_file.read_text())
            time.sleep(0.02)
        self.address = address_file.read_text().split()[0]

    def stop(self):
        if self.process is not None:
            end(self.process, 40)
        self.process = None

    def resident_bytes(self):
        status = pathlib.Path(f"/proc/{self.process.pid}/status").read_text()
        return 1024 * int(status.split("VmRSS:")[1].split()[0])


class Certificates:
    """A CA in `directory`, with certificates for placement and for the load, which calls as an admin."""

    def __init__(self, directory):
        for role, name in (("placement", "one"), ("admin", "load")):
            subprocess.run([ISSUE, directory, TRUST_DOMAIN, role, name], check=True, stdout=subprocess.DEVNULL)
        self.directory = directory
        # Of a CA that issues certificates to trackers.
        self.ca_key = directory / "ca.key"

    def _settings(self, who):
        return {"tls-certificate": self.directory / f"{who}.crt", "tls-key": self.directory / f"{who}.key",
                "tls-ca": self.directory / "ca.crt", "trust-domain": TRUST_DOMAIN}

    def placement_arguments(self):
        return [f"--{name}={value}" for name, value in self._settings("placement-one").items()]

    def load_environment(self):
        return {"BERTH_" + name.upper().replace("-", "_"): str(value) for name, value in self._settings("admin-load").items()}


class World(Placement):
    """A placement process with its private PostgreSQL, where other databases may stand beside its own. `load_build`: the
    build of the load generator, if it is not that of placement. `over_tls`: all calls of placement are over mutual TLS."""

    def __init__(self, build, load_build=None, over_tls=False):
        directory = pathlib.Path(tempfile.mkdtemp(prefix="berth-", dir="/tmp"))
        directory.chmod(0o755)
        self.certificates = Certificates(directory / "ca") if over_tls else None
        super().__init__(build, directory, "placement", f"--state-dir={directory}/state",
                         *(self.certificates.placement_arguments() if over_tls else ()))
        # For whatever calls placement.
        self.environment = os.environ | (self.certificates.load_environment() if over_tls else {})
        self.load_build = pathlib.Path(load_build or build).resolve()
        self.programs = None
        self.replicas = []

    def __exit__(self, *_):
        super().__exit__()
        shutil.rmtree(self.directory, ignore_errors=True)

    def start(self):
        super().start()
        data = self.directory / "state/data"
        self.programs = pathlib.Path("/usr/lib/postgresql") / (data / "PG_VERSION").read_text().strip() / "bin"
        self.postmaster = int((data / "postmaster.pid").read_text().split()[0])

    def replica(self):
        """Another placement process on the same database."""
        self.replicas.append(Placement(self.build, self.directory, f"replica-{len(self.replicas)}",
                                       f"--database={self.url('berth')}"))
        return self.replicas[-1]

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
        processes = [each.process for each in (self, *self.replicas) if each.process is not None]
        return {"placement": sum(cpu_seconds(process.pid) for process in processes),
                "postgresql": cpu_seconds(self.postmaster, True) + sum(map(cpu_seconds, children_of(self.postmaster)))}

    def check(self, claimed):
        """Every OK is in the tables, and placement finds no difference between these, the log and its memory."""
        consumers = int(self.sql("berth", "SELECT count(*) FROM consumer"))
        if claimed != consumers:
            sys.exit(f"{claimed} claims were answered OK, {consumers} consumers are in the table")
        self.load("self-check", "--address", self.address)

    def measured(self, commands, read):
        """What `read` makes of the outputs of `commands`, with the CPU time that each party used for one operation."""
        before = self.cpu()
        processes = [subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=self.environment) for command in commands]
        outputs, client = [], 0.0
        for process in processes:
            outputs.append(process.stdout.read())
            _, status, usage = os.wait4(process.pid, 0)
            process.returncode = os.waitstatus_to_exitcode(status)
            client += usage.ru_utime + usage.ru_stime
        for process, output in zip(processes, outputs):
            if process.returncode != 0:
                sys.exit(f"{' '.join(map(str, process.args))} failed:\n{output}")
        after = self.cpu()
        figures = read(outputs)
        used = {who: after[who] - before[who] for who in after} | {"client": client}
        figures["cpu_us"] = {who: round(1e6 * seconds / figures["done"], 1) for who, seconds in used.items()}
        return figures

    def load(self, *arguments):
        return self.loads(arguments)

    def loads(self, *loads, program="berth-bench"):
        """Several loads at the same time, as one."""
        def read(outputs):
            told = [json.loads(output.splitlines()[-1]) for output in outputs]
            summed = {"done", "per_second", "conflicts", "tries"} & told[0].keys()
            return told[0] | {key: sum(each[key] for each in told) for key in summed}
        path = self.load_build / "tests/bench" / program
        return self.measured([[path, *map(str, arguments)] for arguments in loads], read)

    def pgbench(self, script, connections, seconds):
        def read(outputs):
            output = outputs[0]
            values = dict(line.split(" = ") for line in output.splitlines() if " = " in line)
            done = output.split("number of transactions actually processed: ")[1].split()[0]
            return {"per_second": float(next(v for k, v in values.items() if k == "tps").split()[0]),
                    "median_us": 1000 * float(values["latency average"].split()[0]), "done": int(done)}
        return self.measured([[self.programs / "pgbench", "-n", "-M", "prepared", "-c", str(connections), "-j",
                              str(min(connections, os.cpu_count())), "-T", str(seconds), "-f", HERE / script,
                               self.url("alone")]], read)


class Echo(Started):
    """A bare gRPC server in a process of its own, answering with so many bytes."""

    def __init__(self, build, answer_bytes):
        self.command = [pathlib.Path(build) / "tests/bench/berth-bench", "serve-echo", "--answer-bytes", str(answer_bytes)]
        self.process = None

    def start(self):
        self.process = subprocess.Popen(self.command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        self.address = self.process.stdout.readline().strip()

    def stop(self):
        if self.process is not None:
            self.process.stdin.close()
            self.process.wait(20)
