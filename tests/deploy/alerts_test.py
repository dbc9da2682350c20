#!/usr/bin/python3
"""The alerts and the dashboard: lawful, explained, tested, and true of the metrics that the programs export.

usage: alerts_test.py SOURCE_DIRECTORY [BERTH BERTH_PLACEMENT BERTH_TRACKER]

With the programs: a Prometheus reads a real placement and a real tracker. Every expression of the dashboard has values,
and the alerts of a stopped database, a dead tracker and a restored database fire.
"""

import json
import os
import pathlib
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import unittest
import urllib.parse
import urllib.request

from ports import free_port

SOURCE = pathlib.Path(sys.argv[1])
PROGRAMS = sys.argv[2:5]
RULES = SOURCE / "deploy/prometheus/berth.rules.yaml"
CASES = SOURCE / "tests/deploy/berth.rules.test.yaml"
ALERTS_MAX = 15
WAIT_SECONDS_MAX = 90
FAMILY = re.compile(r"\b(?:placement|tracker)_[a-z_]+")


def alerts():
    return re.findall(r"alert: (\w+)", RULES.read_text(encoding="utf-8"))


def expressions():
    board = json.loads((SOURCE / "deploy/grafana/berth.json").read_text(encoding="utf-8"))
    return [target["expr"] for panel in board["panels"] for target in panel["targets"]]


def promtool(*words, cwd=None):
    result = subprocess.run(["promtool", *words], cwd=cwd, capture_output=True, text=True, timeout=120, check=False)
    if result.returncode != 0:
        raise AssertionError(result.stdout + result.stderr)


def wait_for(what, check):
    deadline = time.monotonic() + WAIT_SECONDS_MAX
    while True:
        value = check()
        if value:
            return value
        if time.monotonic() > deadline:
            raise AssertionError(f"waited {WAIT_SECONDS_MAX} s for {what}")
        time.sleep(0.1)


def fetch(url):
    with urllib.request.urlopen(url, timeout=10) as answer:
        return answer.read().decode()


def descendants(pid, name):
    """The processes below `pid` that run the program `name`."""
    parents, found, seen = {}, [], {pid}
    for entry in pathlib.Path("/proc").iterdir():
        try:
            if entry.name.isdigit():
                head, _, tail = (entry / "stat").read_text(encoding="utf-8").rpartition(")")
                parents[int(entry.name)] = (int(tail.split()[1]), head.partition("(")[2])
        except OSError:
            pass
    grown = True
    while grown:
        grown = False
        for child, (parent, program) in parents.items():
            if parent in seen and child not in seen:
                seen.add(child)
                grown = True
                if program == name:
                    found.append(child)
    return found


class Documents(unittest.TestCase):
    def test_the_rules_are_lawful_and_not_too_many(self):
        promtool("check", "rules", str(RULES))
        self.assertLessEqual(len(alerts()), ALERTS_MAX)

    def test_each_alert_fires_and_stays_silent(self):
        with tempfile.TemporaryDirectory() as directory:
            for path in (RULES, CASES):
                shutil.copy(path, directory)
            promtool("test", "rules", CASES.name, cwd=directory)
        cases = CASES.read_text(encoding="utf-8")
        for alert in alerts():
            self.assertIn(f"name: {alert} fires", cases)
            self.assertIn(f"name: {alert} stays silent", cases)

    def test_each_alert_has_a_paragraph(self):
        runbooks = (SOURCE / "deploy/runbooks.md").read_text(encoding="utf-8")
        titles = {title.strip().lower().replace(" ", "-") for title in re.findall(r"^## (.*)$", runbooks, re.M)}
        named = re.findall(r"runbook: deploy/runbooks.md#(\S+)", RULES.read_text(encoding="utf-8"))
        self.assertEqual(len(named), len(alerts()))
        for anchor in named:
            self.assertIn(anchor, titles)
        for alert in alerts():
            self.assertIn(f"`{alert}`", runbooks)


class Service:
    """A process with a directory of its own, and the URL of its metrics."""

    def __init__(self, directory, name, *words):
        self.directory = pathlib.Path(directory) / name
        self.directory.mkdir(mode=0o755)
        self.words, self.name, self.port = words, name, free_port()
        self.start()

    def start(self):
        address = self.directory / "address"
        address.unlink(missing_ok=True)
        self.log = open(self.directory / "log", "a", encoding="utf-8")
        self.process = subprocess.Popen(
            [*self.words, "--listen=127.0.0.1:0", f"--address-file={address}",
             f"--metrics-listen=127.0.0.1:{self.port}", f"--state-dir={self.directory}/state"],
            stdout=self.log, stderr=self.log, stdin=subprocess.DEVNULL)
        wait_for(f"the address of {self.name}: see {self.directory}/log",
                 lambda: address.exists() and address.read_text(encoding="utf-8").strip())
        self.endpoint = address.read_text(encoding="utf-8").split()[0]

    def stop(self, how=signal.SIGTERM):
        if self.process.poll() is None:
            self.process.send_signal(how)
            self.process.wait(timeout=60)
        self.log.close()


@unittest.skipUnless(PROGRAMS, "no programs were named")
class Running(unittest.TestCase):
    def setUp(self):
        berth, placement, tracker = PROGRAMS
        self.directory = tempfile.mkdtemp(prefix="berth-", dir="/tmp")
        os.chmod(self.directory, 0o755)
        self.addCleanup(shutil.rmtree, self.directory, ignore_errors=True)
        self.placement = Service(self.directory, "placement", placement, "--service-down-time=3s")
        self.addCleanup(self.placement.stop)
        host = SOURCE / "deploy/demo/host.xml"
        self.tracker = Service(self.directory, "tracker", tracker, f"--placement={self.placement.endpoint}",
                               f"--hypervisor=test://{host}")
        self.addCleanup(self.tracker.stop)
        self.berth = berth
        self.start_prometheus()

    def start_prometheus(self):
        rules = re.sub(r"for: \d+[smh]", "for: 1s", RULES.read_text(encoding="utf-8"))
        (pathlib.Path(self.directory) / "berth.rules.yaml").write_text(rules, encoding="utf-8")
        config = {"global": {"scrape_interval": "500ms", "scrape_timeout": "500ms", "evaluation_interval": "500ms"},
                  "rule_files": ["berth.rules.yaml"],
                  "scrape_configs": [{"job_name": f"berth-{service.name}",
                                      "static_configs": [{"targets": [f"127.0.0.1:{service.port}"]}]}
                                     for service in (self.placement, self.tracker)]}
        path = pathlib.Path(self.directory) / "prometheus.json"  # JSON is YAML
        path.write_text(json.dumps(config), encoding="utf-8")
        port = free_port()
        self.prometheus = f"http://127.0.0.1:{port}"
        log = open(pathlib.Path(self.directory) / "prometheus.log", "w", encoding="utf-8")
        self.addCleanup(log.close)
        process = subprocess.Popen(
            ["prometheus", f"--config.file={path}", f"--storage.tsdb.path={self.directory}/tsdb",
             f"--web.listen-address=127.0.0.1:{port}"], stdout=log, stderr=log, stdin=subprocess.DEVNULL)
        self.addCleanup(process.wait)
        self.addCleanup(process.kill)

    def ask(self, path, **query):
        try:
            return json.loads(fetch(f"{self.prometheus}/api/v1/{path}?{urllib.parse.urlencode(query)}"))["data"]
        except OSError:  # it is starting
            return None

    def call(self, *words):
        result = subprocess.run([self.berth, "-e", self.placement.endpoint, *words], capture_output=True, text=True,
                                timeout=60, check=False)
        self.assertEqual(result.returncode, 0, result.stderr)
        return result.stdout

    def firing(self, alert):
        found = self.ask("alerts")
        return found and [one for one in found["alerts"] if one["state"] == "firing"
                          and one["labels"]["alertname"] == alert]

    def silent(self, alert):
        return not self.firing(alert)

    def database(self, program, *words):
        run = f"{self.placement.directory}/state/run"
        result = subprocess.run([f"/usr/lib/postgresql/15/bin/{program}", f"--host={run}", "--username=berth", *words],
                                capture_output=True, text=True, timeout=60, check=False)
        self.assertEqual(result.returncode, 0, result.stderr)

    def test_the_dashboard_and_the_alerts_on_real_faults(self):
        self.every_expression_has_values()
        self.every_rule_names_metrics_that_exist()
        self.a_stopped_database_is_told()
        self.a_dead_tracker_is_told()
        self.a_restored_database_is_told()

    def every_expression_has_values(self):
        # A claim, a refusal and a conflict, so that the counters that only then exist are there.
        self.call("provider", "create", "shelf")
        self.call("inventory", "set", "shelf", "VCPU=8")
        self.call("claim", "--provider", "shelf", "-r", "VCPU=1")
        for expression in expressions():
            wait_for(f"values of {expression}", lambda: (self.ask("query", query=expression) or {}).get("result"))

    def every_rule_names_metrics_that_exist(self):
        there = fetch(f"http://127.0.0.1:{self.placement.port}/metrics")
        there += fetch(f"http://127.0.0.1:{self.tracker.port}/metrics")
        exported = set(FAMILY.findall(there))
        for line in RULES.read_text(encoding="utf-8").splitlines():
            if line.strip().startswith("expr:") and "certificate" not in line:
                for name in FAMILY.findall(line):
                    self.assertIn(name, exported)

    def a_stopped_database_is_told(self):
        self.assertTrue(self.silent("BerthStoreDown"))
        servers = descendants(self.placement.process.pid, "postgres")
        self.assertTrue(servers)
        for pid in servers:
            os.kill(pid, signal.SIGSTOP)
        try:
            wait_for("BerthStoreDown", lambda: self.firing("BerthStoreDown"))
        finally:
            for pid in servers:
                try:
                    os.kill(pid, signal.SIGCONT)
                except ProcessLookupError:
                    pass
        wait_for("the end of BerthStoreDown", lambda: self.silent("BerthStoreDown"))

    def a_dead_tracker_is_told(self):
        wait_for("no silent tracker", lambda: self.silent("BerthTrackerSilent"))
        self.tracker.stop(signal.SIGKILL)
        wait_for("BerthTrackerSilent", lambda: self.firing("BerthTrackerSilent"))
        wait_for("BerthTrackerDown", lambda: self.firing("BerthTrackerDown"))
        self.tracker.start()
        wait_for("the end of BerthTrackerSilent", lambda: self.silent("BerthTrackerSilent"))

    def a_restored_database_is_told(self):
        self.assertTrue(self.silent("BerthRecoveryRequired"))
        backup = f"{self.directory}/backup"
        self.database("pg_dump", "--format=custom", f"--file={backup}", "berth")
        self.call("provider", "create", "newer")
        self.database("pg_restore", "--clean", "--if-exists", "--single-transaction", "--dbname=berth", backup)
        wait_for("BerthRecoveryRequired", lambda: self.firing("BerthRecoveryRequired"))
        revision = json.loads(self.call("ledger", "lost", "-o", "json"))["databaseRevision"]
        self.call("ledger", "start-epoch", f"{revision['epoch']}:{revision['number']}", "--reason", "a drill")
        wait_for("the end of BerthRecoveryRequired", lambda: self.silent("BerthRecoveryRequired"))


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
