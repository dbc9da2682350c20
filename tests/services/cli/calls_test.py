#!/usr/bin/python3
"""The `berth` command line against a real berth-placement: what people type, what comes back, with which exit code.

usage: calls_test.py BERTH BERTH_PLACEMENT BERTH_TRACKER HOST_XML [TEST...]
"""

import contextlib
import json
import os
import pathlib
import signal
import subprocess
import sys
import time
import unittest

sys.dont_write_bytecode = True
sys.path.insert(0, str(pathlib.Path(__file__).parent))
from service_process import START_SECONDS_MAX, Process, certified, variables  # noqa: E402

BERTH, PLACEMENT, TRACKER, HOST = sys.argv[1:5]
FIRST = "00000000-0000-4000-8000-000000000001"
SECOND = "00000000-0000-4000-8000-000000000002"


def descendants(pid):
    """The processes below `pid`."""
    parents = {}
    for entry in pathlib.Path("/proc").iterdir():
        try:
            if entry.name.isdigit():
                parents[int(entry.name)] = int((entry / "stat").read_text(encoding="utf-8").rpartition(")")[2].split()[1])
        except OSError:
            continue  # it has ended
    found = {pid}
    while True:
        more = {child for child, parent in parents.items() if parent in found} - found
        if not more:
            return found - {pid}
        found |= more


def has_socket(pid):
    """Whether the process has begun to speak to anybody."""
    for entry in pathlib.Path(f"/proc/{pid}/fd").iterdir():
        try:
            if "socket" in os.readlink(entry):
                return True
        except OSError:
            continue  # closed meanwhile
    return False


class BerthCase(unittest.TestCase):
    """A placement of its own, with a PostgreSQL of its own, and ways to ask it."""

    @classmethod
    def setUpClass(cls):
        cls.placement = Process(PLACEMENT)
        cls.addClassCleanup(cls.placement.stop)
        cls.environment = {"PATH": os.environ["PATH"], "HOME": str(cls.placement.directory),
                           "BERTH_ENDPOINT": cls.placement.endpoint, **variables(certified("admin", "test"))}

    def berth(self, *words, code=0, text=None):
        """What `berth WORDS` prints; its talk is in self.talk."""
        done = subprocess.run([BERTH, *words], env=self.environment, input=text or "", capture_output=True,
                              text=True, timeout=60, check=False)
        self.talk = done.stderr
        self.assertIn(done.returncode, range(256) if code is None else [code], f"berth {' '.join(words)}\n{done.stdout}\n{done.stderr}")
        return done.stdout

    def json(self, *words, code=0, text=None):
        return json.loads(self.berth(*words, "-o", "json", code=code, text=text))


class CommandLine(BerthCase):
    def host(self, name, *inventories):
        """A new host; its uuid."""
        uuid = self.json("provider", "create", name)["provider"]["uuid"]
        self.berth("inventory", "set", name, *(inventories or ["VCPU=8", "MEMORY_MB=16Gi"]))
        return uuid

    def test_providers_from_birth_to_death(self):
        root = self.json("provider", "create", "birth")["provider"]
        child = self.json("provider", "create", "birth_cell", "--parent", "birth")["provider"]
        self.assertEqual(child["parentUuid"], root["uuid"])
        self.assertEqual(self.berth("provider", "list", "--in-tree", "birth", "-o", "name").split(),
                         sorted([root["uuid"], child["uuid"]]))
        self.berth("provider", "create", "birth", code=4)
        self.berth("provider", "delete", "birth", code=4)
        self.berth("provider", "set", "birth_cell", "--no-parent", "--name", "moved")
        self.assertEqual(self.json("provider", "show", "moved")["provider"]["rootUuid"], child["uuid"])
        self.berth("provider", "delete", "birth")
        self.berth("provider", "delete", "moved")
        self.berth("provider", "show", "moved", code=3)
        self.assertIn("there is no provider named 'moved'", self.talk)

    def test_inventories_keep_what_is_not_named(self):
        self.host("keeps", "VCPU=32:ratio=4:reserved=2", "MEMORY_MB=256Gi")
        answer = self.json("inventory", "set", "keeps", "VCPU:ratio=2")["inventories"]
        self.assertEqual((answer["VCPU"]["total"], answer["VCPU"]["reserved"]), ("32", "2"))
        self.assertEqual(answer["VCPU"]["capacity"], "60")
        self.assertEqual(answer["MEMORY_MB"]["total"], "262144")
        self.assertEqual(list(self.json("inventory", "delete", "keeps", "VCPU")["inventories"]), ["MEMORY_MB"])
        replaced = self.json("inventory", "set", "keeps", "DISK_GB=1Ti", "--replace")["inventories"]
        self.assertEqual(list(replaced), ["DISK_GB"])
        self.berth("inventory", "set", "keeps", "CUSTOM_ABSENT=1", code=3)
        self.berth("inventory", "set", "keeps", "VCPU=1", "--generation", "1", code=4)
        self.assertIn("read the provider again", self.talk)

    def test_traits_and_aggregates_are_added_and_removed(self):
        self.host("marked")
        self.berth("trait", "add", "marked", "CUSTOM_MARK", code=3)
        self.assertIn("berth trait create", self.talk)
        self.assertEqual(self.json("trait", "add", "marked", "CUSTOM_MARK", "HW_CPU_X86_AVX", "--create")["traits"],
                         ["CUSTOM_MARK", "HW_CPU_X86_AVX"])
        self.assertEqual(self.json("trait", "remove", "marked", "HW_CPU_X86_AVX")["traits"], ["CUSTOM_MARK"])
        self.assertEqual(self.berth("trait", "show", "marked"), "CUSTOM_MARK\n")
        self.assertEqual(self.berth("trait", "list", "--prefix", "CUSTOM_MARK", "--used", "-o", "name"), "CUSTOM_MARK\n")
        self.assertEqual(self.json("aggregate", "add", "marked", FIRST, SECOND)["aggregateUuids"], [FIRST, SECOND])
        self.assertEqual(self.json("aggregate", "remove", "marked", FIRST)["aggregateUuids"], [SECOND])
        self.berth("class", "create", "CUSTOM_MARK_CLASS")
        self.berth("class", "create", "CUSTOM_MARK_CLASS", code=4)
        self.berth("class", "delete", "CUSTOM_MARK_CLASS")

    def test_a_claim_goes_where_the_order_says(self):
        self.berth("trait", "create", "CUSTOM_ORDER")
        hosts = {self.host(name): name for name in ("order-a", "order-b")}
        for name in hosts.values():
            self.berth("trait", "add", name, "CUSTOM_ORDER")
        wish = ("-r", "VCPU=2", "--required", "CUSTOM_ORDER")

        def root(*order):
            return self.json("candidates", *wish, *order)["candidates"][0]["rootUuid"]

        def claim(consumer, *order):
            taken = self.json("claim", *wish, "--consumer", consumer, *order)["consumer"]
            return taken["allocations"][0]["providerUuid"]

        first = claim(FIRST, "--order", "spread")
        self.assertEqual(root("--order", "pack"), first)
        self.assertNotEqual(root("--order", "spread"), first)
        self.assertNotEqual(claim(SECOND, "--order", "spread"), first)
        self.assertEqual(root("--order", "random", "--seed", "7"), root("--order", "random", "--seed", "7"))
        self.berth("trait", "create", "CUSTOM_ORDER_FAST")
        self.berth("trait", "add", hosts[first], "CUSTOM_ORDER_FAST")
        self.assertEqual(root("--trait-weight", "CUSTOM_ORDER_FAST=1"), first)
        self.assertNotEqual(root("--trait-weight", "CUSTOM_ORDER_FAST=-1"), first)
        self.berth("candidates", *wish, "--class-weight", "VCPU", code=2)
        self.berth("release", FIRST)
        self.berth("release", SECOND)

    def test_a_claim_is_found_taken_shown_and_released(self):
        self.berth("trait", "create", "CUSTOM_CLAIMS")
        uuid = self.host("claims")
        self.berth("trait", "add", "claims", "CUSTOM_CLAIMS")
        wish = ("--resources", "VCPU=4,MEMORY_MB=8Gi", "--required", "CUSTOM_CLAIMS")
        self.assertEqual(self.json("candidates", *wish)["candidates"][0]["rootUuid"], uuid)
        self.assertEqual(self.json("explain", *wish)["explanation"]["fittingRootCount"], "1")
        self.assertEqual(self.json("capacity", *wish)["roots"], [{"rootUuid": uuid, "name": "claims", "count": "2"}])
        self.assertIn("fits 2 times, under 1 root", self.berth("capacity", *wish))
        self.assertEqual(self.berth("claim", *wish, "--consumer", FIRST, "-o", "name"), FIRST + "\n")
        self.berth("claim", *wish, "--consumer", FIRST, code=4)
        self.assertIn("holds something already", self.talk)
        taken = self.json("claim", "-r", "VCPU=4", "--provider", "claims", "--consumer", SECOND)["consumer"]
        self.assertEqual(taken["allocations"][0]["resources"], {"VCPU": "4"})
        self.berth("claim", "-r", "VCPU=1", "--provider", "claims", code=5)
        self.assertIn("8 of 8 are used and 0 are free", self.talk)
        self.berth("claim", *wish, code=5)
        self.assertEqual(self.json("candidates", *wish, code=5)["candidates"], [])
        self.berth("candidates", *wish, code=5)
        self.assertIn("4 VCPU free, has 0", self.talk)
        self.assertIn("claims", self.berth("explain", *wish, "-o", "table"))
        self.assertIn("VCPU 8/8", " ".join(self.berth("provider", "tree", "claims").split()))
        self.assertEqual(self.berth("allocations", "--provider", "claims", "-o", "name").split(), [FIRST, SECOND])
        self.assertEqual(self.json("usage", "claims")["inventories"]["VCPU"]["used"], "8")
        self.assertIn("VCPU", self.berth("usage", "--project", "default"))
        self.berth("inventory", "delete", "claims", "VCPU", code=4)
        self.berth("release", FIRST)
        self.berth("release", SECOND)
        self.berth("release", SECOND, code=3)
        self.berth("allocations", SECOND, code=3)

    def test_what_a_consumer_holds_is_adjusted_and_leased(self):
        self.host("adjusts")
        self.berth("claim", "--provider", "adjusts", "-r", "VCPU=2", "--consumer", FIRST, "--lease", "1h")
        self.assertIn("leaseExpiresAt", self.json("allocations", FIRST)["consumer"])
        held = self.json("adjust", FIRST, "adjusts", "VCPU=-1", "MEMORY_MB=2Gi")["consumer"]["allocations"][0]["resources"]
        self.assertEqual(held, {"MEMORY_MB": "2048", "VCPU": "1"})
        self.berth("adjust", FIRST, "adjusts", "VCPU=-2", code=4)
        self.berth("adjust", FIRST, "adjusts", "VCPU=64", code=5)
        self.assertIn("leaseExpiresAt", self.json("lease", FIRST, "5m"))
        self.assertIn("has no lease any more and holds until it is released", self.berth("lease", FIRST, "--confirm"))
        self.berth("lease", FIRST, code=2)
        self.berth("lease", FIRST, "2d", code=2)
        self.assertIn("released", self.berth("adjust", FIRST, "adjusts", "VCPU=-1,MEMORY_MB=-2Gi"))
        self.berth("lease", FIRST, "5m", code=3)

    def test_trees_change_in_one_step_after_a_dry_run(self):
        host = self.host("reshapes", "VCPU=8")
        self.berth("claim", "--provider", "reshapes", "-r", "VCPU=2", "--consumer", SECOND)
        now = self.json("provider", "show", "reshapes")["provider"]
        holder = self.json("allocations", SECOND)["consumer"]
        cell = "00000000-0000-4000-8000-00000000000c"
        consumer = {"consumerUuid": SECOND, "generation": holder["generation"], "projectId": "p", "userId": "u",
                    "consumerType": "INSTANCE", "allocations": [{"providerUuid": cell, "resources": {"VCPU": 2}}]}
        parent = {"providerUuid": host, "expectedGeneration": now["generation"],
                  "expectedAllocationGeneration": now["allocationGeneration"]}
        topology = json.dumps({"providers": [
            {"providerUuid": cell, "name": "reshapes_cell", "parentUuid": host,
             "inventories": {"inventories": {"VCPU": {"total": 8}}}},
            parent | {"inventories": {}}], "consumers": [consumer]})
        self.berth("topology", "apply", "-", "--dry-run", text=topology)
        self.assertIn("nothing was changed", self.talk)
        self.berth("provider", "show", "reshapes_cell", code=3)
        self.assertIn("reshapes_cell", self.berth("topology", "apply", "-", text=topology))
        self.berth("topology", "apply", "-", code=4, text=topology)
        now = self.json("provider", "show", "reshapes")["provider"]
        reshape = json.dumps({"providers": [
            {"providerUuid": host, "expectedGeneration": now["generation"],
             "expectedAllocationGeneration": now["allocationGeneration"],
             "inventories": {"MEMORY_MB": {"total": 64}}}]})
        path = self.placement.directory / "reshape.json"
        path.write_text(reshape, encoding="utf-8")
        self.berth("reshape", str(path), "--dry-run")
        self.assertEqual(self.berth("reshape", str(path), "-o", "name").split(), [host])
        self.berth("reshape", str(path), code=4)
        self.berth("reshape", str(path) + ".absent", code=3)
        self.berth("reshape", "-", code=2, text="{\"noSuchField\": 1}")

    def test_consumers_are_listed_and_usages_summed_up(self):
        self.host("summed", "VCPU=8")
        self.berth("claim", "-r", "VCPU=3", "--provider", "summed", "--consumer", FIRST, "--project", "summers")
        self.assertEqual(self.berth("consumer", "list", "--project", "summers", "-o", "name"), FIRST + "\n")
        self.assertEqual(self.json("consumer", "list", "--tree", "summed", "--unleased")["consumers"][0]["uuid"], FIRST)
        self.assertEqual(self.berth("consumer", "list", "--project", "summers", "--idle", "1h", "-o", "name"), "")
        self.assertIn("INSTANCE", self.berth("consumer", "types"))
        rows = self.json("usage", "--by", "project")["rows"]
        self.assertEqual([row["resources"]["VCPU"]["used"] for row in rows if row["key"] == "summers"], ["3"])
        rows = self.json("usage", "--class", "VCPU")["rows"]
        self.assertEqual([row["resources"]["VCPU"]["free"] for row in rows if row["name"] == "summed"], ["5"])
        self.berth("release", FIRST)

    def test_changes_are_watched(self):
        before = self.json("ledger", "revision")["revision"]
        after = f"{before['epoch']}:{before['number']}"
        uuid = self.host("watched", "VCPU=8")
        wish = ("watch", "--after", after, "--tree", "watched", "--kind", "provider", "--revisions", "2")
        told = [json.loads(line) for line in self.berth(*wish, "-o", "json").splitlines()]
        self.assertEqual([change["present"]["provider"]["uuid"] for part in told for change in part["changes"]], [uuid, uuid])
        self.assertEqual(int(told[-1]["changes"][-1]["present"]["provider"]["inventories"]["VCPU"]["total"]), 8)
        lines = self.berth(*wish).splitlines()
        self.assertEqual(lines[0].split(), ["REVISION", "TIME", "WHAT", "KIND", "KEY", "DETAILS"])
        self.assertIn("watched", lines[1])
        snapshot = self.berth("watch", "--snapshot", "--tree", "watched", "--kind", "usage", "--revisions", "1")
        self.assertIn("VCPU 0", snapshot)
        self.berth("watch", "--after", "9:1", code=2)
        self.berth("watch", "--after", "1:x", code=2)

    def test_a_write_is_found_again_by_its_request_id(self):
        first = self.json("provider", "create", "once", "--request-id", "once-1")["provider"]["uuid"]
        again = self.json("provider", "create", "once", "--request-id", "once-1")["provider"]["uuid"]
        self.assertEqual(first, again)
        self.assertEqual(self.berth("request", "once-1", "-o", "name"), "applied\n")
        self.assertEqual(self.berth("request", "never", "-o", "name"), "absent\n")
        self.assertIn("will not be", self.berth("request", "never", "--cancel"))
        self.berth("provider", "create", "too_late", "--request-id", "never", code=4)
        self.assertIn("another --request-id", self.talk)

    def signal_database(self, number):
        for pid in descendants(self.placement.process.pid):
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, number)

    def test_an_unknown_outcome_is_said_and_can_be_asked_for(self):
        self.berth("provider", "create", "before_the_frost")
        self.signal_database(signal.SIGSTOP)
        try:
            self.berth("provider", "create", "in_doubt", "--request-id", "doubt-1", "--timeout", "3s", code=8)
        finally:
            self.signal_database(signal.SIGCONT)
        self.assertIn("`berth request doubt-1`", self.talk)
        settled = self.json("provider", "create", "in_doubt", "--request-id", "doubt-1", "--timeout", "30s")
        self.assertEqual(self.berth("request", "doubt-1", "-o", "name"), "applied\n")
        self.assertEqual(self.json("provider", "show", "in_doubt")["provider"]["uuid"], settled["provider"]["uuid"])

    def test_an_interrupt_ends_the_call(self):
        self.signal_database(signal.SIGSTOP)
        try:
            running = subprocess.Popen([BERTH, "provider", "create", "interrupted"], env=self.environment,
                                       stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
            deadline = time.monotonic() + START_SECONDS_MAX
            while not has_socket(running.pid) and time.monotonic() < deadline:
                time.sleep(0.01)
            running.send_signal(signal.SIGINT)
            talk = running.communicate(timeout=START_SECONDS_MAX)[1]
        finally:
            self.signal_database(signal.SIGCONT)
        self.assertEqual(running.returncode, 130, talk)
        self.assertIn("interrupted", talk)

    def test_the_caller_is_known_by_its_certificate(self):
        known = "admin/test" if certified("admin", "test") else "anonymous"
        self.assertEqual(self.berth("auth", "whoami", "-o", "name"), f"{known}\n")

    def test_any_method_can_be_called(self):
        self.assertIn("berth.placement.v1.ProviderService", self.berth("list").split())
        self.assertIn("grpc.health.v1.Health/Check", self.berth("call", "grpc.health.v1.Health").split())
        self.assertIn("message CreateProviderRequest",
                      self.berth("describe", "berth.placement.v1.CreateProviderRequest"))
        made = self.json("call", "CatalogService/EnsureTrait", "-d", "-", text='{"name": "CUSTOM_CALLED"}')
        self.assertTrue(made["created"])
        body = self.placement.directory / "body"
        body.write_text('{"name": "CUSTOM_CALLED"}', encoding="utf-8")
        self.assertFalse(self.json("call", "CatalogService/EnsureTrait", "-d", f"@{body}")["created"])
        self.berth("call", "CatalogService/EnsureTrait", "-d", '{"nonsense": 1}', code=2)
        self.berth("call", "CatalogService/Absent", code=3)
        self.berth("call", "AbsentService/Absent", code=3)
        self.berth("call", "ProviderService/GetProvider", "-d", json.dumps({"providerUuid": FIRST}), code=3)

    def test_errors_are_json_where_json_is_asked_for(self):
        self.assertEqual(self.berth("provider", "show", FIRST, "-o", "json", code=3), "")
        error = json.loads(self.talk)
        self.assertEqual((error["status"], error["reason"], error["exitCode"]),
                         ("NOT_FOUND", "PROVIDER_NOT_FOUND", 3))
        self.assertEqual(error["items"][0]["provider"], FIRST)
        self.berth("provider", "tree", "-e", "127.0.0.1:1", "-o", "json", code=7)
        self.assertEqual(json.loads(self.talk)["items"], [{"endpoint": "127.0.0.1:1"}])

    def test_the_whole_is_well(self):
        self.assertIn("SERVING", self.berth("health"))
        self.berth("health", "--service", "absent", code=3)
        self.assertTrue(self.json("ledger", "check")["clean"])
        self.assertEqual(self.json("ledger", "revision")["state"], "LEDGER_STATE_READY")
        self.assertEqual(self.json("node", "list")["nodes"], [])
        self.assertEqual(self.json("service", "list")["services"], [])
        self.berth("node", "show", "absent", code=3)
        self.berth("service", "disable", "absent", code=3)


class Fleet(BerthCase):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.tracker = Process(TRACKER, f"--placement={cls.placement.endpoint}", f"--hypervisor=h1=test://{HOST}")
        cls.addClassCleanup(cls.tracker.stop)

    def setUp(self):
        deadline = time.monotonic() + START_SECONDS_MAX
        while not self.json("node", "list")["nodes"] and time.monotonic() < deadline:
            time.sleep(0.05)

    def test_a_node_is_listed_shown_and_audited(self):
        node = self.json("node", "list")["nodes"][0]
        self.assertEqual(node["name"], "h1")
        self.assertEqual(self.json("node", "show", "h1")["node"]["uuid"], node["uuid"])
        page = self.berth("node", "show", "h1")
        for word in ("hypervisor  TEST", "orphans", "ALLOCATABLE BY OTHERS", "mail"):
            self.assertIn(word, page)
        self.assertEqual(self.json("node", "audit", "h1")["audit"]["result"], "AUDIT_RESULT_COMPLETE")
        audits = self.json("node", "audit", "--tracker", self.tracker.endpoint)["audits"]
        self.assertEqual([audit["nodeUuid"] for audit in audits], [node["uuid"]])
        self.assertIn("berth.tracker.v1.TrackerService", self.berth("list", "-e", self.tracker.endpoint))

    def test_a_disabled_host_is_given_no_work(self):
        host = self.json("service", "list")["services"][0]["host"]
        self.berth("candidates", "-r", "VCPU=1")
        self.assertTrue(self.json("service", "disable", host, "--reason", "new memory")["service"]["disabled"])
        self.assertIn("disabled: new memory", self.berth("service", "list"))
        self.berth("candidates", "-r", "VCPU=1", code=5)
        self.berth("candidates", "-r", "VCPU=1", "--include-disabled")
        self.assertFalse(self.json("service", "enable", host)["service"]["disabled"])
        self.berth("candidates", "-r", "VCPU=1")


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1] + sys.argv[5:], verbosity=2)
