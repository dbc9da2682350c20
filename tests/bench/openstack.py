"""The real OpenStack Placement beside ours: Debian's python3-placement under uwsgi, on the same PostgreSQL."""

import concurrent.futures
import http.client
import json
import os
import re
import shutil
import subprocess
import sys
import time
import uuid

from world import HERE, Started, children_of, cpu_seconds, end

PROGRAMS = ("placement-manage", "uwsgi", "wrk")
HEADERS = {"x-auth-token": "admin", "OpenStack-API-Version": "placement 1.38", "Content-Type": "application/json"}
PROCESSES, THREADS = 2, 8
START_LIMIT_SECONDS = 60
HOT_HOST = 999_999_999  # as in requests.h
DONE_MIN = 0.95  # of the claims on one host, or the figure does not count

# The hosts of requests.h, as rows: through its API they would take minutes.
LOAD = """
INSERT INTO resource_providers (created_at, uuid, name, generation)
  SELECT now(), '00000000-0000-4000-8000-' || lpad(number::text, 12, '0'), 'host-' || number, 1
  FROM (SELECT generate_series(0, {hosts} - 1) UNION ALL SELECT {hot}) AS hosts(number);
UPDATE resource_providers SET root_provider_id = id;
INSERT INTO inventories (created_at, resource_provider_id, resource_class_id, total, reserved, min_unit, max_unit,
                         step_size, allocation_ratio)
  SELECT now(), provider.id, class.id, CASE WHEN hot THEN 2147483647 ELSE given.total END,
         CASE WHEN hot THEN 0 ELSE given.reserved END, 1, 2147483647, 1, CASE WHEN hot THEN 1 ELSE given.ratio END
  FROM (SELECT id, uuid LIKE '%{hot}' AS hot FROM resource_providers) AS provider,
       (VALUES ('VCPU', 64, 0, 16.0), ('MEMORY_MB', 262144, 512, 1.5), ('DISK_GB', 4096, 0, 1.0))
         AS given(name, total, reserved, ratio)
  JOIN resource_classes AS class USING (name);
ANALYZE;
"""

# Marks every host but the hot one with the trait and the aggregate of topology.h.
TRAIT, AGGREGATE = "HW_CPU_X86_AVX2", "aaaaaaaa-0000-4000-8000-000000000001"
MARK = """
INSERT INTO placement_aggregates (created_at, uuid) VALUES (now(), '{aggregate}');
INSERT INTO resource_provider_aggregates (created_at, resource_provider_id, aggregate_id)
  SELECT now(), provider.id, aggregate.id FROM resource_providers AS provider, placement_aggregates AS aggregate
  WHERE provider.uuid NOT LIKE '%{hot}';
INSERT INTO resource_provider_traits (created_at, resource_provider_id, trait_id)
  SELECT now(), provider.id, trait.id FROM resource_providers AS provider, traits AS trait
  WHERE provider.uuid NOT LIKE '%{hot}' AND trait.name = '{trait}';
ANALYZE;
"""

# The trees of topology.h: each part with its parent and what it has a lot of.
TREES = """
CREATE TEMPORARY TABLE part (number, parent, class, trait) AS VALUES
  (0, NULL, 'DISK_GB', 'COMPUTE_VOLUME_MULTI_ATTACH'), (1, 0, 'VCPU', NULL), (1, 0, 'MEMORY_MB', NULL),
  (2, 0, 'VCPU', 'CUSTOM_BENCH_FAST'), (2, 0, 'MEMORY_MB', NULL), (3, 1, 'FPGA', NULL), (4, 2, 'FPGA', NULL),
  (5, 2, 'FPGA', NULL), (6, 1, 'VGPU', NULL);
INSERT INTO traits (created_at, name) VALUES (now(), 'CUSTOM_BENCH_FAST');
INSERT INTO resource_providers (created_at, id, uuid, name, generation, root_provider_id, parent_provider_id)
  SELECT DISTINCT now(), 7 * tree + number + 1, '2222222' || number || '-0000-4000-8000-' || lpad(tree::text, 12, '0'),
         'tree-' || tree || '-' || number, 1, 7 * tree + 1, 7 * tree + parent + 1
  FROM generate_series(0, {hosts} - 1) AS tree, part ORDER BY 2;
INSERT INTO inventories (created_at, resource_provider_id, resource_class_id, total, reserved, min_unit, max_unit,
                         step_size, allocation_ratio)
  SELECT now(), 7 * tree + part.number + 1, class.id, 100000, 0, 1, 2147483647, 1, 1
  FROM generate_series(0, {hosts} - 1) AS tree, part JOIN resource_classes AS class ON class.name = part.class;
INSERT INTO resource_provider_traits (created_at, resource_provider_id, trait_id)
  SELECT now(), 7 * tree + part.number + 1, trait.id
  FROM generate_series(0, {hosts} - 1) AS tree, part JOIN traits AS trait ON trait.name = part.trait;
ANALYZE;
"""

QUERY = "resources=VCPU:1,MEMORY_MB:256,DISK_GB:1"
# What its gate asks.
GATE_QUERY = f"resources=VCPU:1,DISK_GB:10,MEMORY_MB:256&member_of={AGGREGATE}&required={TRAIT}"
TREE_QUERY = ("resources=DISK_GB:10&required=COMPUTE_VOLUME_MULTI_ATTACH&resources_COMPUTE=VCPU:1,MEMORY_MB:256&"
              "required_COMPUTE=CUSTOM_BENCH_FAST&resources_FPGA=FPGA:1&group_policy=none&same_subtree=_COMPUTE,_FPGA")


def is_there():
    return all(shutil.which(program) for program in PROGRAMS)


class OpenStack(Started):
    """Its server over `world`'s PostgreSQL, with the same hosts in a database of its own."""

    def __init__(self, world, hosts, rows=LOAD):
        self.world = world
        self.hosts = hosts
        self.rows = rows
        self.directory = world.directory / "openstack"
        self.server = None
        self.address = None

    def start(self):
        self.directory.mkdir()
        configuration = self.directory / "placement.conf"
        configuration.write_text("[api]\nauth_strategy = noauth2\n[placement_database]\nconnection = "
                                 f"postgresql+psycopg2://berth@/openstack?host={self.world.directory}/state/run\n")
        self.world.sql("postgres", "CREATE DATABASE openstack TEMPLATE template0")
        subprocess.run(["placement-manage", "--config-dir", self.directory, "db", "sync"], check=True,
                       stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        log_path = self.directory / "uwsgi.log"
        with open(log_path, "wb") as log:
            self.server = subprocess.Popen(
                ["uwsgi", "--plugin", "python3", "--http11-socket", "127.0.0.1:0", "--wsgi-file",
                 shutil.which("placement-api"), "--processes", str(PROCESSES), "--threads", str(THREADS), "--master",
                 "--die-on-term", "--disable-logging"],
                env={**os.environ, "OS_PLACEMENT_CONFIG_DIR": str(self.directory)}, stdout=log, stderr=log)
        last = time.monotonic() + START_LIMIT_SECONDS
        while "spawned uWSGI worker" not in log_path.read_text(errors="replace"):
            if self.server.poll() is not None or time.monotonic() > last:
                sys.exit("OpenStack Placement does not start:\n" + log_path.read_text(errors="replace"))
            time.sleep(0.1)
        self.address = re.search(r"bound to TCP address (\S+)", log_path.read_text(errors="replace"))[1]
        self.call("GET", "/resource_classes")  # it writes the standard names at its first start
        self.world.sql("openstack", self.rows.format(hosts=self.hosts, hot=HOT_HOST, trait=TRAIT, aggregate=AGGREGATE))

    def stop(self):
        if self.server is not None:
            end(self.server, 20)

    def call(self, method, path, body=None, connection=None):
        connection = connection or http.client.HTTPConnection(self.address, timeout=120)
        connection.request(method, path, None if body is None else json.dumps(body), HEADERS)
        answer = connection.getresponse()
        text = answer.read()
        if answer.status >= 300:
            sys.exit(f"OpenStack Placement answers {answer.status} to {method} {path}: {text[:300]!r}")
        return json.loads(text) if text else None

    def cpu(self):
        workers = children_of(self.server.pid)
        return {"placement": sum(map(cpu_seconds, [self.server.pid, *workers])), "postgresql": self.world.cpu()["postgresql"]}

    def wrk(self, path, connections, seconds, script=None, host=None):
        """Calls `path` without a pause on so many connections; what `script` asks instead, on `host` or any."""
        command = ["wrk", "-t", "1", "-c", str(connections), "-d", f"{seconds}s", "--timeout", "60s", "--latency"]
        for name, value in HEADERS.items():
            command += ["-H", f"{name}: {value}"]
        if script is not None:
            command += ["-s", str(HERE / script)]
        command.append(f"http://{self.address}{path}")
        before = self.cpu()
        process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True,
                                   env={**os.environ, "HOSTS": str(self.hosts), "HOST": "" if host is None else str(host)})
        output = process.stdout.read()
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
        answered = int(re.search(r"(\d+) requests in", output)[1]) if process.returncode == 0 else 0
        refused = re.search(r"Non-2xx or 3xx responses: (\d+)", output)
        done = answered - (int(refused[1]) if refused else 0)
        # Where all want one host it gives a claim up, now and then, that came too late ten times.
        if done < (answered if host is None else DONE_MIN * answered) or done == 0 or "Socket errors" in output:
            sys.exit(f"OpenStack Placement fails under wrk:\n{output}")
        after = self.cpu()
        used = {who: after[who] - before[who] for who in after}
        used["client"] = usage.ru_utime + usage.ru_stime
        return {"done": done, "per_second": float(re.search(r"Requests/sec:\s+([\d.]+)", output)[1]) * done / answered,
                "median_us": microseconds(re.search(r"^\s*50%\s+(\S+)", output, re.M)[1]),
                "cpu_us": {who: round(1e6 * seconds_used / max(done, 1), 1) for who, seconds_used in used.items()}}

    def claims(self, connections, seconds, host=None):
        return self.wrk("/", connections, seconds, "openstack_claim.lua", host)

    def candidates(self, limit, connections, seconds, query=QUERY):
        return self.wrk(f"/allocation_candidates?{query}" + (f"&limit={limit}" if limit else ""), connections, seconds)

    def gate_steps(self, query, count, candidates):
        """What its gate repeats, alone: finds five candidates, claims the first, searches twice for as many as there are."""
        connection = http.client.HTTPConnection(self.address, timeout=120)
        path = f"/allocation_candidates?{query}"
        owner = {"project_id": "bench", "user_id": "bench", "consumer_type": "INSTANCE", "consumer_generation": None}
        before, begun = self.cpu(), time.monotonic()
        for _ in range(count):
            found = self.call("GET", f"{path}&limit=5", connection=connection)["allocation_requests"]
            self.call("PUT", f"/allocations/{uuid.uuid4()}", found[0] | owner, connection)
            for _ in range(2):
                found = self.call("GET", path, connection=connection)["allocation_requests"]
                if len(found) != candidates:
                    sys.exit(f"OpenStack Placement finds {len(found)} candidates, not {candidates}")
        elapsed, after = time.monotonic() - begun, self.cpu()
        return {"done": count, "per_second": count / elapsed,
                "cpu_us": {who: round(1e6 * (after[who] - before[who]) / count, 1) for who in after} | {"client": 0}}

    def register(self, count, workers=8):
        """New hosts with inventories, a trait and an aggregate: four calls each, as its clients do."""
        first = 500_000_000
        before, begun = self.cpu(), time.monotonic()
        with concurrent.futures.ThreadPoolExecutor(workers) as pool:
            shares = [range(first + worker, first + count, workers) for worker in range(workers)]
            for _ in pool.map(self._register_each, shares):
                pass
        elapsed, after = time.monotonic() - begun, self.cpu()
        return {"done": count, "per_second": count / elapsed,
                "cpu_us": {who: round(1e6 * (after[who] - before[who]) / count, 1) for who in after} | {"client": 0}}

    def _register_each(self, numbers):
        connection = http.client.HTTPConnection(self.address, timeout=120)
        inventories = {"VCPU": {"total": 64, "allocation_ratio": 16.0},
                       "MEMORY_MB": {"total": 262144, "reserved": 512, "allocation_ratio": 1.5}, "DISK_GB": {"total": 4096}}
        for number in numbers:
            uuid = f"00000000-0000-4000-8000-{number:012}"
            path = f"/resource_providers/{uuid}"
            self.call("POST", "/resource_providers", {"uuid": uuid, "name": f"host-{number}"}, connection)
            self.call("PUT", f"{path}/inventories", {"resource_provider_generation": 0, "inventories": inventories}, connection)
            self.call("PUT", f"{path}/traits", {"resource_provider_generation": 1, "traits": [TRAIT]}, connection)
            self.call("PUT", f"{path}/aggregates", {
                "resource_provider_generation": 2, "aggregates": [AGGREGATE]}, connection)

    def check(self, claims):
        """Every claim that it answered with success is there."""
        consumers = int(self.world.sql("openstack", "SELECT count(*) FROM consumers"))
        if consumers < claims:  # what wrk broke off at the end may be there, too
            sys.exit(f"OpenStack Placement answered {claims} claims with success and has {consumers} consumers")


def microseconds(text):
    for unit, factor in (("us", 1), ("ms", 1e3), ("s", 1e6), ("m", 6e7)):
        if text.endswith(unit):
            return float(text[:-len(unit)]) * factor
    raise ValueError(text)
