#!/usr/bin/python3
"""`berth export` and `berth import` between real placements, and the other verbs that look after a whole ledger.

usage: cli_transfer_test.py BERTH BERTH_PLACEMENT BERTH_TRACKER HOST_XML [TEST...]
"""

import json
import os
import pathlib
import pty
import subprocess
import sys
import time
import unittest

sys.dont_write_bytecode = True
sys.path.insert(0, str(pathlib.Path(__file__).parent))
from calls_test import BERTH, FIRST, HOST, PLACEMENT, SECOND, START_SECONDS_MAX, TRACKER, BerthCase, Process  # noqa: E402


def lasting(line):
    """An entity without what another ledger draws anew."""
    entity = json.loads(line)
    for kind, gone in (("provider", "generation"), ("consumer", "generation"), ("service", "state")):
        entity.get(kind, {}).pop(gone, None)
    return entity


class Transfer(BerthCase):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.tracker = Process(TRACKER, f"--placement={cls.placement.endpoint}", f"--hypervisor=h1=test://{HOST}")
        cls.addClassCleanup(cls.tracker.stop)
        cls.other = Process(PLACEMENT)
        cls.addClassCleanup(cls.other.stop)

    def there(self, *words, **how):
        """The same for the other placement."""
        return self.berth(*words, "-e", self.other.endpoint, **how)

    def test_a_ledger_moves_with_all_it_holds(self):
        deadline = time.monotonic() + START_SECONDS_MAX
        while not self.json("node", "list")["nodes"] and time.monotonic() < deadline:
            time.sleep(0.05)
        self.berth("provider", "create", "extra")
        self.berth("inventory", "set", "extra", "VCPU=8:ratio=2")
        self.berth("trait", "add", "extra", "CUSTOM_MOVED", "--create")
        self.berth("claim", "-r", "VCPU=3", "--provider", "extra", "--consumer", FIRST, "--lease", "1h")
        path = self.placement.directory / "ledger.jsonl"
        self.assertIn("exported", self.berth("export", str(path)))
        self.assertEqual(list(self.placement.directory.glob("*.part")), [])
        header, *lines = path.read_text(encoding="utf-8").splitlines()
        self.assertEqual(int(json.loads(header)["totalCount"]), len(lines))
        kinds = [next(iter(json.loads(line))) for line in lines]
        self.assertEqual(kinds, sorted(kinds, key=["resourceClass", "trait", "provider", "consumer", "service", "node"].index))
        self.assertTrue({"trait", "provider", "consumer", "service", "node"} <= set(kinds))

        self.assertIn("nothing was changed", self.there("import", str(path), "--dry-run"))
        self.there("provider", "show", "extra", code=3)
        self.assertIn(f"imported {len(lines)} entities", self.there("import", str(path), "--require-empty"))
        again = self.there("export").splitlines()
        self.assertEqual([lasting(line) for line in again[1:]], [lasting(line) for line in lines])
        self.assertEqual(json.loads(self.there("allocations", FIRST, "-o", "json"))["consumer"]["consumerType"], "INSTANCE")
        self.assertTrue(json.loads(self.there("ledger", "check", "-o", "json"))["clean"])
        self.there("import", str(path), "--require-empty", code=4)
        first = kinds.index("provider") + 2
        self.there("import", str(path), code=4)
        self.assertIn(f"{path}:{first}: ", self.talk)
        self.there("import", str(path), "-o", "json", code=4)
        self.assertEqual(json.loads(self.talk)["items"][0]["line"], f"{path}:{first}")

    def test_a_spoiled_file_is_refused_at_its_line(self):
        here = ("import", "-")
        self.berth(*here, code=2, text='{"trait":{"name":"CUSTOM_A"}}\n\n{"provider":{"nam":"x"}}\n')
        self.assertIn("standard input:3: ", self.talk)
        self.berth(*here, code=2, text='{"trait":{"name":"CUSTOM_A"}}\n\n{"provider":{"name":"x"}}\n')
        self.assertIn("standard input:3: ", self.talk)
        self.berth(*here, code=2, text='{"revision":{"number":"4"},"totalCount":"2"}\n{"trait":{"name":"CUSTOM_A"}}\n')
        self.assertIn("the file is incomplete", self.talk)
        self.berth("import", "/no/such/file", code=3)
        self.berth("export", "/no/such/directory/file", code=6)
        self.assertNotIn("CUSTOM_A\n", self.berth("trait", "list", "-o", "name"))

    def test_progress_is_for_terminals(self):
        lines = "".join(json.dumps({"trait": {"name": f"CUSTOM_P{i}"}}) + "\n" for i in range(20_000))
        self.berth("import", "-", "--dry-run", text=lines)
        self.assertEqual(self.talk, "")
        path = self.placement.directory / "many.jsonl"
        path.write_text(lines, encoding="utf-8")
        master, terminal = pty.openpty()
        done = subprocess.Popen([BERTH, "import", str(path), "--dry-run"], env=self.environment,
                                stdout=subprocess.DEVNULL, stderr=terminal)
        os.close(terminal)
        shown = b""
        while True:
            try:
                part = os.read(master, 4096)
            except OSError:  # how a terminal ends
                break
            if not part:
                break
            shown += part
        os.close(master)
        self.assertEqual(done.wait(timeout=START_SECONDS_MAX), 0)
        self.assertIn("reading", shown.decode())
        self.assertTrue(shown.endswith(b"\r\x1b[K"), shown[-80:])

    def test_consumers_are_released_together(self):
        self.berth("provider", "create", "many")
        self.berth("inventory", "set", "many", "VCPU=8")
        for consumer in (FIRST, SECOND):
            self.berth("release", consumer, code=None)
            self.berth("claim", "-r", "VCPU=1", "--provider", "many", "--consumer", consumer, "--project", "temps")
        self.assertEqual(self.berth("release", "--project", "temps", "--dry-run", "-o", "name").split(), [FIRST, SECOND])
        self.assertEqual(self.json("allocations", "--provider", "many")["consumers"][0]["uuid"], FIRST)
        self.assertEqual(self.json("release", "--project", "temps", "--tree", "many")["releasedCount"], 2)
        self.assertIn("released 0 consumers", self.berth("release", "--project", "temps"))
        self.berth("claim", "-r", "VCPU=1", "--provider", "many", "--consumer", SECOND)
        answer = self.json("release", FIRST, SECOND)
        self.assertEqual((answer["releasedCount"], answer["absentConsumerUuids"]), (1, [FIRST]))
        self.berth("release", code=2)
        self.berth("release", FIRST, "--project", "temps", code=2)

    def test_the_ledger_is_looked_after(self):
        format_now = self.json("ledger", "revision")["format"]
        self.assertIn(f"format {format_now}", self.berth("ledger", "format", str(format_now)))
        self.berth("ledger", "format", str(format_now + 1), code=4)
        self.berth("ledger", "lost", code=4)
        self.berth("ledger", "start-epoch", "1:1", "--reason", "a test", code=4)
        self.berth("ledger", "start-epoch", "x", "--reason", "a test", code=2)
        self.assertIn("start-epoch", self.berth("completion", "bash"))


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1] + sys.argv[5:], verbosity=2)
