#!/usr/bin/python3
"""No secret leaves the programs: not in logs, errors, metrics, channelz, answers, files, or other processes' view of them.

usage: canaries_test.py SOURCE_DIRECTORY BERTH BERTH_PLACEMENT BERTH_TRACKER HOST_XML [TEST...]

The secrets are private keys, the password of the database in each way in which placement gets it, and the password of the key
with which placement shows itself to the database. The database asks for the password (scram-sha-256).
"""

import json
import os
import pathlib
import subprocess
import sys
import unittest
import urllib.request

from canary_site import KEY_PASSWORD, PASSWORD, ROLE, WORD, WRONG, Running, Site, Way, descendants, quoted, verifier
from postgres import run, wait_for

SOURCE = pathlib.Path(sys.argv[1]).resolve()
BERTH, PLACEMENT, TRACKER, HOST = sys.argv[2:6]


class Canaries(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.site = Site(SOURCE)
        cls.addClassCleanup(cls.site.close)
        cls.tls = cls.site.certificate("placement", "one")
        cls.admin = cls.site.certificate("admin", "ann")
        cls.tracker_tls = cls.site.certificate("tracker", "h1")

    def look(self, where, text, allowed=()):
        """Fails if `text` has a canary."""
        for what, parts in self.site.canaries.items():
            for part in parts if what not in allowed else ():
                at = text.find(part)
                if at >= 0:
                    self.fail(f"{where} has {what}: ...{text[max(0, at - 60):at + len(part) + 20]!r}")

    def look_at_processes(self, running, allowed_words=(), allowed_variables=()):
        for pid in descendants(running.process.pid):
            for name, allowed in (("cmdline", allowed_words), ("environ", allowed_variables)):
                text = pathlib.Path(f"/proc/{pid}/{name}").read_bytes().decode(errors="replace")
                own = pid == running.process.pid
                self.look(f"/proc/{pid}/{name} of {running.words[0]}", text, allowed if own else ())
        for pid in self.site.database.processes():
            text = pathlib.Path(f"/proc/{pid}/cmdline").read_bytes().decode(errors="replace")
            self.look(f"/proc/{pid}/cmdline of PostgreSQL", text)

    def look_at_files(self, running):
        for path in sorted(running.directory.rglob("*")):
            if path.is_file():
                self.look(str(path), path.read_bytes().decode(errors="replace"))
        log = self.site.directory / f"{self.site.database.name}.log"
        self.look("the log of PostgreSQL", log.read_text(encoding="utf-8", errors="replace"))

    def flags(self, settings=None, **other):
        return [f"--{name.replace('_', '-')}={value}" for name, value in {**(settings or self.tls), **other}.items()]

    def start(self, program, way, *flags):
        """A program that serves."""
        running = Running(self.site, program, way, *flags)
        self.addCleanup(running.stop)
        wait_for("the start", lambda: running.ended() or running.serves())
        self.assertFalse(running.ended(), running.said())
        return running

    def refused(self, program, way, *flags):
        """What a program says that does not start."""
        running = Running(self.site, program, way, *flags)
        self.addCleanup(running.stop)
        wait_for("the end", running.ended)
        self.assertNotEqual(running.process.returncode, 0, running.said())
        self.assertNotEqual(running.said(), "")
        self.look_at_files(running)
        return running.said()

    def berth(self, running, *words, code=None, settings=None):
        """What `berth` says, on both of its channels."""
        variables = {"BERTH_" + name.upper().replace("-", "_"): value for name, value in (settings or self.admin).items()}
        endpoint = running.address.read_text(encoding="utf-8").split()[0]
        done = subprocess.run([BERTH, *words], env={"PATH": os.environ["PATH"], "HOME": "/nowhere", "BERTH_ENDPOINT": endpoint,
                                                    **variables}, capture_output=True, text=True, timeout=60, check=False)
        said = done.stdout + done.stderr
        self.look(f"berth {' '.join(words)}", said)
        if code is not None:
            self.assertEqual(done.returncode, code, said)
        return said

    def ways(self, password):
        url, plain = self.site.url(password), self.site.url()
        bad = password != PASSWORD
        passwords = self.site.secret("pgpass-wrong", f"*:*:*:{ROLE}:{password}\n") if bad else self.site.passwords
        return {
            "--database": Way([f"--database={url}"]),
            "--database, password=": Way([f"--database={plain}&password={quoted(password)}"]),
            "BERTH_DATABASE": Way(variables={"BERTH_DATABASE": url}),
            "the settings file": Way(settings=f"database = {json.dumps(url)}\n"),
            "passfile": Way([f"--database={plain}&passfile={quoted(str(passwords))}"]),
            "PGPASSFILE": Way([f"--database={plain}"], {"PGPASSFILE": str(passwords)}),
            "PGPASSWORD": Way([f"--database={plain}"], {"PGPASSWORD": password}),
        }

    def test_the_search_finds_what_it_looks_for(self):
        key = pathlib.Path(self.tls["tls-key"]).read_text(encoding="utf-8")
        for text in (key, key.replace("\n", " "), f"x{quoted(PASSWORD)}x", self.site.passwords.read_text(encoding="utf-8")):
            with self.assertRaises(AssertionError):
                self.look("a text", text)

    def test_each_way_of_the_password_works_and_shows_nothing(self):
        own = ("the password",)
        for name, way in self.ways(PASSWORD).items():
            with self.subTest(way=name):
                running = self.start(PLACEMENT, way, *self.flags())
                self.assertIn("SERVING", self.berth(running, "health"))
                in_words = own if name.startswith("--database") else ()
                in_variables = own if way.variables and name != "PGPASSFILE" else ()
                self.look_at_processes(running, in_words, in_variables)
                running.stop()
                self.look_at_files(running)

    def test_all_that_grpc_can_tell(self):
        way = self.ways(PASSWORD)["passfile"]
        way.variables.update({"GRPC_VERBOSITY": "DEBUG", "GRPC_TRACE": "all"})
        running = self.start(PLACEMENT, way, *self.flags(), "--access-log=all")
        self.assertIn("SERVING", self.berth(running, "health"))
        running.stop()
        self.assertIn("gRPC: ", running.said())
        self.look_at_files(running)

    def test_a_wrong_password_is_not_told(self):
        for name, way in self.ways(WRONG).items():
            with self.subTest(way=name):
                self.assertIn("password authentication failed", self.refused(PLACEMENT, way, *self.flags()))

    def test_a_database_that_is_named_wrongly(self):
        port = self.site.database.port
        right, rest = quoted(PASSWORD), f"localhost:{port}/berth"
        for url in (f"postgresql://{ROLE}:{PASSWORD}@{rest}",  # not escaped
                    f"postgresql://{ROLE}:{WORD}@{WRONG}@{rest}",
                    f"postgresql://{ROLE}:{WORD}/x@{rest}",
                    f"postgresql://{ROLE}:{WORD}?x@{rest}",
                    f"postgresql://{ROLE}:%ZZ{WORD}@{rest}",
                    f"postgresql://{ROLE}:{right}@[{rest}",
                    f"postgresql://{ROLE}:{right}@[{rest}?sslpassword={WRONG}",
                    f"postgresql://{ROLE}:{right}@nowhere.invalid:{port}/berth",
                    f"postgresql://{ROLE}:{right}@localhost:port/berth",
                    f"postgresql://{ROLE}:{right}@{rest}?sslmode=none",
                    f"postgresql://{ROLE}@{rest}?password={right}={WRONG}",
                    f"postgresql://{ROLE}@{rest}?passwort={right}",
                    f"postgresql://{ROLE}@[{rest}?password={right}&sslpassword={WRONG}",
                    f"postgresql://{ROLE}:{right}@localhost:{port}/absent",
                    f"mysql://{ROLE}:{right}@{rest}",
                    f"host=localhost port={port} user={ROLE} password={WORD}"):
            way = Way(settings=f"database = {json.dumps(url)}\n")
            with self.subTest(url=url):
                self.refused(PLACEMENT, way, *self.flags())
                checked = Running(self.site, PLACEMENT, way, *self.flags(), "--check-config")  # which asks no database
                self.addCleanup(checked.stop)
                wait_for("the end", checked.ended)
                self.look_at_files(checked)

    def test_mistakes_in_settings_do_not_show_them(self):
        url = self.site.url(PASSWORD)
        for text in (f'database = "{url}\n', f"database = {url}\n", f'database "{url}"\n', f'database = "{url}" "x"\n',
                     f'database = "{url}"\ndatabase = "{url}"\n', f'databse = "{url}"\n', f'database = ["{url}", "{url}"]\n',
                     f'[database]\nurl = "{url}"\n', f'database = {{ url = "{url}" }}\n', f'workers = "{url}"\n', f'staleness_max = "{url}"\n', f'log_format = "{url}"\n', f'insecure_listen = "{url}"\n',
                     f"# comment\n*:*:*:{ROLE}:{PASSWORD}\n"):
            with self.subTest(text=text):
                for more in ([], ["--check-config"]):
                    self.refused(PLACEMENT, Way(settings=text), *self.flags(), *more)
                path = self.site.secret("server.toml", text)
                done = subprocess.run([BERTH, "health", "--server-settings", path], env={"PATH": os.environ["PATH"]},
                                      capture_output=True, text=True, timeout=60, check=False)
                self.look("berth health --server-settings", done.stdout + done.stderr)
        for words in ([f"--databse={url}"], [f"--database {url}?sslmode=require"], [f"--database: {url}"], [f"--workers={url}"], ["--databse", url], [url], [f"--database={url}", url]):
            self.refused(PLACEMENT, Way(words), *self.flags())
        for variables in ({"BERTH_DATABASE": f"mysql://{ROLE}:{quoted(PASSWORD)}@h/d"}, {"BERTH_DATABASE": WORD}, {"BERTH_WORKERS": url}, {"BERTH_STALENESS_MAX": url}, {"BERTH_LOG_FORMAT": url}):
            self.refused(PLACEMENT, Way(variables=variables), *self.flags())

    def bad_files(self):
        """Settings of certificates that are wrong, by what is wrong."""
        key = pathlib.Path(self.tls["tls-key"])
        text = key.read_text(encoding="utf-8")
        lines = text.splitlines()
        other = pathlib.Path(self.admin["tls-key"])
        crypted = self.site.directory / "encrypted.key"
        run("openssl", "pkey", "-in", key, "-aes256", "-passout", f"pass:{KEY_PASSWORD}", "-out", crypted)
        ca = pathlib.Path(self.tls["tls-ca"]).read_text(encoding="utf-8")
        certificate = pathlib.Path(self.tls["tls-certificate"]).read_text(encoding="utf-8")
        files = {"a torn key": self.site.secret("torn.key", text[:len(text) // 2]),
                 "a key without its first line": self.site.secret("headless.key", "\n".join(lines[1:])),
                 "a key with a wrong line": self.site.secret("garbled.key", text.replace(lines[2], lines[2][::-1])),
                 "the key of another": other, "an encrypted key": crypted, "no key at all": self.site.directory / "absent.key",
                 "a directory": self.site.directory}
        bad = {name: {"tls-key": path} for name, path in files.items()}
        bad["the key as the certificate"] = {"tls-certificate": key}
        bad["the key as the CA"] = {"tls-ca": key}
        bad["the key among the CAs"] = {"tls-ca": self.site.secret("with-key.crt", ca + text)}
        bad["bytes of the key after the CA"] = {"tls-ca": self.site.secret("torn-ca.crt", ca + lines[1] + "\n" + lines[2] + "\n")}
        bad["bytes of the key in the certificate"] = {
            "tls-certificate": self.site.secret("mixed.crt", certificate + "\n".join(lines[:2]) + "\n")}
        return bad

    def test_bad_keys_are_not_told(self):
        way, key = self.ways(PASSWORD)["passfile"], self.tls["tls-key"]
        for name, files in self.bad_files().items():
            with self.subTest(files=name):
                for more in ([], ["--check-config"]):
                    self.refused(PLACEMENT, way, *self.flags({**self.tls, **files}), *more)
                if name == "the key of another":
                    self.refused(TRACKER, Way(), *self.flags({**self.tracker_tls, **files}), "--host=h1", "--placement=127.0.0.1:1",
                                 f"--hypervisor=h1=test://{HOST}")
        for words in ([f"--config={key}"], [f"--access-file={key}"]):  # the key where another file belongs
            self.refused(PLACEMENT, Way(words), *self.flags())

    def test_a_key_of_the_client_with_a_password(self):
        for password, starts in ((KEY_PASSWORD, True), (WRONG, False)):
            url = self.site.url(PASSWORD, **self.site.client_certificate(password))
            way = Way(settings=f"database = {json.dumps(url)}\n")
            if not starts:
                self.assertIn("client.key", self.refused(PLACEMENT, way, *self.flags()))
                continue
            running = self.start(PLACEMENT, way, *self.flags())
            self.look_at_processes(running)
            running.stop()
            self.look_at_files(running)

    def test_a_life_with_faults(self):
        """Calls, faults of the database while placement runs, bad keys while it runs, and all that can be asked."""
        key = pathlib.Path(self.site.secret("live.key", pathlib.Path(self.tls["tls-key"]).read_text(encoding="utf-8")))
        for log_format in ("text", "json"):
            placement = self.start(PLACEMENT, self.ways(PASSWORD)["the settings file"], *self.flags({**self.tls, "tls-key": key}),
                                   f"--log-format={log_format}", "--access-log=all")
            self.check_tracker(placement, f"h-{log_format}")
            self.check_answers(placement)
            self.check_bad_keys(placement, key)
            self.check_database(placement)
            self.look_at_processes(placement)
            placement.stop()
            self.look_at_files(placement)

    def metrics(self, running):
        def ask():
            try:
                with urllib.request.urlopen(f"http://127.0.0.1:{running.metrics_port}/metrics", timeout=10) as answer:
                    return answer.read().decode()
            except OSError:
                return None  # the machine is busy
        return wait_for("the metrics", ask)

    def check_tracker(self, placement, host):
        tracker = self.start(TRACKER, Way(), *self.flags(self.site.certificate("tracker", host)), f"--host={host}",
                             f"--hypervisor={host}=test://{HOST}", f"--placement={placement.serves().split()[0]}")
        wait_for("the node", lambda: host in self.berth(placement, "node", "list"))
        self.check_answers(tracker)
        self.look_at_processes(tracker)
        tracker.stop()
        self.look_at_files(tracker)

    def check_answers(self, running):
        """What the program answers to whoever may ask everything."""
        self.look("the metrics", self.metrics(running))
        self.assertIn("SERVING", self.berth(running, "health", code=0))
        if running.words[0] == PLACEMENT:
            self.berth(running, "auth", "whoami", code=0)
        for service in self.berth(running, "list", "-o", "name", code=0).split():
            self.berth(running, "describe", service, code=0)
        servers = json.loads(self.berth(running, "call", "grpc.channelz.v1.Channelz/GetServers", code=0))
        self.assertEqual(len(servers["server"]), 1)
        server = servers["server"][0]["ref"]["serverId"]
        sockets = json.loads(self.berth(running, "call", "grpc.channelz.v1.Channelz/GetServerSockets", "-d",
                                        json.dumps({"serverId": server}), code=0))
        for socket in sockets.get("socketRef", []):
            self.berth(running, "call", "grpc.channelz.v1.Channelz/GetSocket", "-d", json.dumps({"socketId": socket["socketId"]}))
        self.berth(running, "call", "grpc.channelz.v1.Channelz/GetTopChannels", code=0)
        self.berth(running, "health", settings={**self.admin, "tls-key": self.tls["tls-key"]}, code=2)  # does not match
        self.berth(running, "health", settings={**self.admin, "tls-certificate": self.admin["tls-key"]}, code=2)

    def check_bad_keys(self, placement, key):
        good = key.read_text(encoding="utf-8")
        for text in (good[:len(good) // 2], pathlib.Path(self.admin["tls-key"]).read_text(encoding="utf-8"), ""):
            before = placement.said().count("new certificates are not used")
            key.write_text(text, encoding="utf-8")
            wait_for("the warning", lambda: placement.said().count("new certificates are not used") > before)  # noqa: B023
        key.write_text(good, encoding="utf-8")

    def check_database(self, placement):
        """The password changes while placement runs, and its connections break: it tells so, and goes on when all is well."""
        database = self.site.database
        end = f"SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE usename = '{ROLE}'"
        database.sql(f"ALTER ROLE {ROLE} PASSWORD '{verifier(WRONG)}'")
        database.sql(end)
        wait_for("the fault", lambda: "password authentication failed" in placement.said())
        self.berth(placement, "health")
        self.berth(placement, "class", "create", "CUSTOM_CANARY", "--timeout", "3s")
        self.berth(placement, "ledger", "check", "--timeout", "3s")
        self.berth(placement, "ledger", "lost", "--timeout", "3s")
        self.look("the metrics", self.metrics(placement))
        database.sql(f"ALTER ROLE {ROLE} PASSWORD '{verifier(PASSWORD)}'")
        wait_for("the end of the fault", lambda: "clean" in self.berth(placement, "ledger", "check", "-o", "json"))


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1] + sys.argv[6:], verbosity=2)
