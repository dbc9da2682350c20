#!/usr/bin/python3
"""The house rules that a machine can enforce. Each check is tried on a small tree that breaks it before it is believed.

usage: tidy_test.py ROOT
"""

import fnmatch
import os
import pathlib
import re
import sys

import classes
import clocks
import pages
import trials
from functions import functions
from trials import files, text

FILE_LINES_MAX = 400
FUNCTION_LINES_MAX = 40
TEST_FUNCTION_LINES_MAX = 70

# Exceptions, with the size they have. They may shrink, never grow; a file that shrank must be lowered here too.
FILE_RATCHET = {}
FUNCTION_RATCHET = {}

PRODUCT = ("placement/*", "tracker/*", "services/*")
GRPC = r"(grpc|grpcpp|grpc\+\+)/|.*\.grpc\.pb\.h$"

# Each room of the house, and the rooms that its files may include besides their own. A room comes after those that it
# includes, so there is no circle. The README.md of a room says what it is; tests may include everything.
VALUES = ["placement/ground", "placement/values"]
STATE = VALUES + ["placement/state"]
CLI = ["services/client/cpp", "services/process", "services/tls", "placement/ground"]
ROOMS = {
    "placement/ground": [],
    "placement/values": ["placement/ground"],
    "placement/records": ["placement/ground", "placement/values"],
    "placement/state": VALUES,
    "placement/search": STATE,
    "placement/explain": STATE + ["placement/search"],
    "placement/commands": STATE,
    "placement/reads": STATE + ["placement/commands"],
    "placement/claims": STATE + ["placement/commands", "placement/search"],
    "placement/rules": STATE + ["placement/records", "placement/commands", "placement/claims"],
    "placement/store": STATE + ["placement/records"],
    "placement/log": STATE + ["placement/commands", "placement/records", "placement/store"],
    "placement/publish": STATE + ["placement/commands", "placement/store", "placement/log"],
    "placement/writer": STATE + ["placement/commands", "placement/rules", "placement/store", "placement/log",
                                 "placement/publish"],
    "placement/ledger": STATE + ["placement/commands", "placement/store", "placement/log", "placement/publish",
                                 "placement/writer"],
    "tracker/ground": [],
    "tracker/settings": ["tracker/ground"],
    "tracker/facts": ["tracker/ground", "tracker/settings"],
    "tracker/devices": ["tracker/ground", "tracker/settings", "tracker/facts"],
    "tracker/cells": ["tracker/ground", "tracker/settings", "tracker/facts"],
    "tracker/hypervisor": ["tracker/ground", "tracker/settings", "tracker/facts"],
    "tracker/account": ["tracker/ground", "tracker/settings", "tracker/facts", "tracker/cells", "tracker/devices"],
    "tracker/claims": ["tracker/ground", "tracker/settings", "tracker/facts", "tracker/cells", "tracker/devices",
                       "tracker/account"],
    "tracker/audit": ["tracker/ground", "tracker/settings", "tracker/facts", "tracker/devices", "tracker/account"],
    "tracker/node": ["tracker/ground", "tracker/settings", "tracker/hypervisor", "tracker/account", "tracker/claims",
                     "tracker/audit"],
    "tracker/uplink": ["tracker/ground", "tracker/devices", "tracker/account", "tracker/audit", "tracker/node"],
    "services/access": VALUES,
    "services/client/cpp": [],
    "services/tls": ["placement/ground", "services/client/cpp"],
    "services/log": VALUES,
    "services/process": VALUES + ["services/access", "services/client/cpp", "services/tls", "services/log"],
    "services/wire": STATE + ["placement/records", "placement/search", "placement/explain", "placement/reads", "placement/commands"],
    "services/report": STATE + ["placement/commands", "placement/store", "placement/log", "placement/ledger",
                                "services/access", "services/log", "services/process", "services/wire"],
    "services/watch": STATE + ["placement/commands", "placement/log", "placement/ledger", "services/log",
                               "services/process", "services/wire"],
    "services/api": STATE + ["placement/search", "placement/explain", "placement/reads", "placement/commands",
                             "placement/claims", "placement/ledger", "services/access", "services/log",
                             "services/process", "services/wire", "services/report", "services/watch"],
    "services/placement": VALUES + ["placement/store", "placement/reads", "placement/ledger", "services/access",
                                    "services/log", "services/process", "services/wire", "services/report", "services/watch",
                                    "services/api"],
    "services/tracker": ["tracker/ground", "tracker/settings", "tracker/facts", "tracker/devices",
                         "tracker/hypervisor", "tracker/account", "tracker/claims", "tracker/node",
                         "tracker/uplink", "services/client/cpp", "services/tls", "services/log", "services/process"],
    "services/client/sample": ["services/client/cpp"],
    "services/cli/text": ["placement/ground"],
    "services/cli/session": CLI + ["services/cli/text"],
    "services/cli/commands": ["placement/ground", "services/cli/text", "services/cli/session"],
    "services/cli": CLI + ["services/cli/session", "services/cli/commands"],
}
FOLDER_SOURCES_MAX = 40

# (files, what they may not include, files that may after all, why)
ARROWS = [
    (PRODUCT + ("tests/*",), r"(postgresql/)?libpq|pqxx/",
     ("placement/store/database.*", "tests/placement/store/lock_holder_test.cc"),
     "libpq and libpqxx end in placement/store/database.*"),
    (PRODUCT, r"yaml-cpp/", ("tracker/settings/provider_yaml.*",), "yaml-cpp ends in tracker/settings/provider_yaml.*"),
    (PRODUCT, r"libvirt/", ("tracker/hypervisor/*",), "libvirt ends in tracker/hypervisor/"),
    (("placement/*",), GRPC, (), "placement/ knows no gRPC"),
    (("placement/*",), r"berth/", ("placement/records/*.cc",), "the wire messages that placement/ knows end in placement/records/*.cc"),
    (("placement/*.h",), r".*\.pb\.h$", ("placement/log/*",), "no header pays for generated code, except in placement/log/"),
    (("services/wire/*", "services/report/*", "services/watch/*"), GRPC, (), "these rooms know no gRPC: api/ does"),
    (("tracker/*",), GRPC + r"|berth/|google/protobuf/", ("tracker/uplink/*",), "the wire ends in tracker/uplink/"),
    (("tests/e2e/*", "tests/fault/*", "tests/history/*", "tests/fuzz/*", "tests/oracle/*", "tests/bench/*",
      "tests/fleet/*", "tests/fairness/*"),
     r"tests/(?!e2e/|fault/|history/|fuzz/|oracle/|bench/|fleet/|fairness/|worlds/|counted/|processes/)", (),
     "whole-program tests share worlds/, counted/ and processes/ alone"),
]

# Words that name no noun: such a file becomes a bucket.
BANNED_NAMES = {"util", "utils", "common", "shared", "helper", "helpers", "base", "manager"}

# (files, pattern, what is wrong)
MACHINE_PATH = r"(^|[^\w./-])/(" + "wo" + r"rk|fa" + r"rm|tmp/b)/"
BANNED_TEXT = [
    (("*",), MACHINE_PATH, "a path of one machine"),
    (("*.h", "*.cc", "*.sql", "*.proto", "*.py", "*.cmake"), r"\bTODO(?!\(#\d+\))", "TODO without a number: TODO(#12)"),
    (("*.h", "*.cc", "*.sql"), r"(?i)\bselect\s+\*", "SELECT * breaks when a column is added"),
    (("placement/*.cc", "placement/*.h", "tracker/*.cc", "tracker/*.h", "services/*.cc", "services/*.h"),
     r"(?<![\w_])assert\(", "assert is silent in a release: BERTH_CHECK"),
    (("*.h", "*.cc"), r"^(?!\s*//).*\babsl::(Mutex|MutexLock|CondVar)\b", "our Mutex, which the thread sanitizer understands"),
]

SOURCE = (".h", ".cc", ".proto", ".sql", ".py", ".sh", ".cmake")


def matches(name, patterns):
    return any(fnmatch.fnmatch(name, pattern) for pattern in patterns)


def includes(content):
    for number, line in enumerate(content.splitlines(), 1):
        found = re.match(r'\s*#\s*include\s*[<"]([^>"]+)[>"]', line)
        if found:
            yield number, found.group(1)


def check_include_arrows(root):
    for name in files(root):
        if not name.endswith((".h", ".cc")):
            continue
        for number, included in includes(text(root, name)):
            for where, forbidden, allowed, why in ARROWS:
                if matches(name, where) and not matches(name, allowed) and re.match(forbidden, included):
                    yield f"{name}:{number}: includes {included}: {why}"


def ours(root):
    """(file, line, included header, room of the file) of every include of a header of ours in the product."""
    for name in files(root):
        if matches(name, PRODUCT) and name.endswith((".h", ".cc")):
            for number, included in includes(text(root, name)):
                if matches(included, PRODUCT):
                    yield name, number, included, os.path.dirname(name)


def check_rooms(root):
    for name in files(root):
        if matches(name, PRODUCT) and name.endswith((".h", ".cc")) and os.path.dirname(name) not in ROOMS:
            yield f"{name}: {os.path.dirname(name)}/ is no room: add it to ROOMS, or move the file"
    for name, number, included, room in ours(root):
        target = os.path.dirname(included)
        if room in ROOMS and target != room and target not in ROOMS[room]:
            yield f"{name}:{number}: includes {included}: {room}/ may not include {target or included}/"
    seen = set()
    for room, allowed in ROOMS.items():
        for target in allowed:
            if target not in seen:
                yield f"ROOMS: {room} includes {target}, which does not come before it: a circle"
        seen.add(room)


def check_room_circles(root):
    edges = {}
    for name, _, included, room in ours(root):
        edges.setdefault(room, set()).update({os.path.dirname(included)} - {room})
    yield from circles(edges, "a circle of folders")


def check_folder_sizes(root):
    counts = {}
    for name in files(root):
        if name.endswith((".h", ".cc")):
            counts[os.path.dirname(name)] = counts.get(os.path.dirname(name), 0) + 1
    for folder, count in sorted(counts.items()):
        if count > FOLDER_SOURCES_MAX:
            yield f"{folder}/: {count} sources, {FOLDER_SOURCES_MAX} at most: a second room is hiding in it"


def check_include_cycles(root):
    """A component is a header with its source; components of a folder include each other in one direction."""
    edges = {}
    for name in files(root):
        if matches(name, PRODUCT) and name.endswith((".h", ".cc")):
            component = os.path.splitext(name)[0]
            targets = {os.path.splitext(i)[0] for _, i in includes(text(root, name)) if i.endswith(".h")}
            edges.setdefault(component, set()).update(targets - {component})
    yield from circles(edges, "an include cycle")


def circles(edges, what):
    """One problem for each circle found on the way through `edges`: from -> set of to."""
    done = set()

    def walk(node, path):
        if node in path:
            yield f"{node}: {what}: {' -> '.join(path[path.index(node):] + [node])}"
        elif node not in done:
            for target in sorted(edges.get(node, ())):
                yield from walk(target, path + [node])
            done.add(node)

    for node in sorted(edges):
        yield from walk(node, [])


def over(name, lines, limit, ratchet, what):
    allowed = ratchet.get(name, limit)
    if lines > allowed:
        yield f"{name}: {what} has {lines} lines, {allowed} at most: a second noun is hiding in it"
    elif name in ratchet and lines < allowed:
        yield f"{name}: {what} shrank to {lines} lines: lower or drop its entry in {os.path.basename(__file__)}"


# Who may call an RPC is a row of a table that is spread over the protos. It says nothing about the noun of its file.
ACCESS = re.compile(r'\n    option \(berth\.access\.v1\.access\) = \{.*?\};\n  \}|import "berth/access/v1/access.proto";\n', re.S)


def check_file_lines(root):
    for name in files(root):
        if name.endswith(SOURCE):
            yield from over(name, len(ACCESS.sub("", text(root, name)).splitlines()), FILE_LINES_MAX, FILE_RATCHET, "the file")
    for name in FILE_RATCHET:
        if not (pathlib.Path(root) / name).exists():
            yield f"{name}: is gone: drop its entry in {os.path.basename(__file__)}"


def check_function_lines(root):
    for name in files(root):
        if name.endswith((".h", ".cc")):
            for function, first, lines, _ in functions(text(root, name)):
                key = f"{name}:{function}"
                limit = TEST_FUNCTION_LINES_MAX if matches(name, ("tests/*",)) else FUNCTION_LINES_MAX
                yield from over(key, lines, limit, FUNCTION_RATCHET, f"(line {first}) the function")


def check_names(root):
    for name in files(root):
        words = set(re.split(r"[^a-z0-9]+", name.lower()))
        for word in sorted(words & BANNED_NAMES):
            yield f"{name}: '{word}' names no noun: put it where it is used"


def check_header_purpose(root):
    for name in files(root):
        if name.endswith(".h"):
            first = (text(root, name).splitlines() or [""])[0]
            if not re.match(r"// \S.{14,}", first) or "Copyright" in first:
                yield f"{name}:1: a header opens with a comment: what the thing is, what it owns, thread safety"


PROTO_ELEMENT = re.compile(
    r"(service|rpc|message|enum|oneof)\s+\w+|((repeated|optional)\s+)?(map<[^>]+>|[\w.]+)\s+\w+\s*=\s*\d+|[A-Z]\w*\s*=\s*-?\d+")


def check_proto_comments(root):
    for name in files(root):
        if not matches(name, ("proto/*.proto", "placement/*.proto")):
            continue
        previous = ""
        for number, line in enumerate(text(root, name).splitlines(), 1):
            stripped = line.strip()
            if PROTO_ELEMENT.match(stripped) and not previous.startswith("//"):
                yield f"{name}:{number}: no comment above: {stripped}"
            if stripped:
                previous = stripped


def check_text(root):
    for name in files(root):
        if name == "tests/tree/tidy_test.py":
            continue
        content = text(root, name)
        for where, pattern, why in BANNED_TEXT:
            if matches(name, where):
                for number, line in enumerate(content.splitlines(), 1):
                    if re.search(pattern, line):
                        yield f"{name}:{number}: {why}"


# Each check with trees that it must refuse, and one that it must let pass.
LONG = "void F() {\n" + "  G();\n" * FUNCTION_LINES_MAX + "}\n"
TRIALS = [
    (check_include_arrows, [
        {"placement/ledger/a.cc": "#include <libpq-fe.h>"}, {"placement/store/rows.cc": "#include <libpq-fe.h>"},
        {"placement/store/query_rows.h": "#include <pqxx/result>"}, {"tests/e2e/a.cc": "#include <pqxx/pqxx>"},
        {"tracker/audit/a.cc": "#include <libvirt/libvirt.h>"}, {"placement/search/a.cc": "#include <grpcpp/grpcpp.h>"},
        {"services/wire/a.cc": "#include <grpcpp/grpcpp.h>"}, {"tests/e2e/a.cc": '#include "tests/placement/ledger/race.h"'},
        {"tracker/audit/a.cc": '#include "berth/tracker/v1/tracker.pb.h"'},
    ], {"placement/store/database.cc": "#include <libpq-fe.h>\n#include <pqxx/result>",
        "tracker/uplink/a.cc": "#include <grpcpp/grpcpp.h>",
        "tests/e2e/a.cc": '#include "tests/processes/a.h"', "tracker/hypervisor/a.cc": "#include <libvirt/libvirt.h>"}),
    (check_rooms, [
        {"placement/ledger/a.h": '#include "services/wire/a.h"'}, {"placement/state/a.cc": '#include "tracker/facts/a.h"'},
        {"tracker/audit/a.cc": '#include "placement/ground/uuid.h"'}, {"placement/a.cc": ""},
        {"placement/search/a.cc": '#include "placement/ledger/a.h"'}, {"placement/state/a.h": '#include "placement/rules/a.h"'},
        {"services/wire/a.cc": '#include "placement/ledger/a.h"'}, {"placement/util/a.h": ""},
        {"services/cli/text/a.cc": '#include "services/cli/session/a.h"'}, {"placement/state/a.h": '#include "placement/a.h"'},
    ], {"placement/writer/a.cc": '#include "placement/rules/a.h"', "services/api/a.cc": '#include "placement/ledger/a.h"',
        "placement/rules/a.h": "", "tests/a.cc": '#include "services/wire/a.h"'}),
    (check_room_circles, [
        {"placement/values/a.h": '#include "placement/state/a.h"', "placement/state/b.cc": '#include "placement/values/b.h"'},
        {"services/a/a.h": '#include "services/b/a.h"', "services/b/a.h": '#include "services/c/a.h"',
         "services/c/a.h": '#include "services/a/b.h"'},
    ], {"placement/state/a.h": '#include "placement/values/a.h"', "placement/search/a.h": '#include "placement/values/a.h"'}),
    (check_folder_sizes, [{f"placement/state/a{i}.h": "" for i in range(FOLDER_SOURCES_MAX + 1)},
                          {f"tests/e2e/a{i}.cc": "" for i in range(FOLDER_SOURCES_MAX + 1)}],
     {f"placement/state/a{i}.h": "" for i in range(FOLDER_SOURCES_MAX)}),
    (check_include_cycles, [{"placement/a.h": '#include "placement/b.h"', "placement/b.cc": '#include "placement/a.h"'}],
     {"placement/a.h": '#include "placement/b.h"', "placement/a.cc": '#include "placement/a.h"', "placement/b.h": ""}),
    (check_file_lines, [{"placement/a.cc": "\n" * (FILE_LINES_MAX + 1)}], {"placement/a.cc": "\n" * FILE_LINES_MAX}),
    (check_function_lines, [
        {"a.cc": LONG}, {"a.cc": "namespace x {\nclass A {\n public:\n  A() : b_{1}, c_{2} {\n" + "    ;\n" * 80 + "  }\n};\n}"},
        {"a.cc": "TEST(A, B) {\n  F([] {\n" + "    G();\n" * 80 + "  });\n}"},
        {"a.cc": "auto F(int a = int{}) -> std::vector<int> {\n" + "  if (a) { b(); }\n" * 80 + "}"},
    ], {"a.cc": "int a[] = {\n" + "  1,\n" * 100 + "};\nclass B {\n" + "  void C() { d(); }\n" * 80 + "};\n// {\n" + LONG.replace("  G();\n", "", 3)}),
    (check_names, [{"placement/string_util.h": ""}, {"common/a.h": ""}, {"tracker/node-manager.cc": ""}],
     {"placement/store/database.h": "", "placement/baseline.cc": ""}),
    (check_header_purpose, [{"placement/a.h": "#ifndef A_H_"}, {"placement/a.h": "// Copyright the authors of Berth"}],
     {"placement/a.h": "// Keeps the account of what a node has promised.\n"}),
    (check_proto_comments, [
        {"proto/a.proto": "service A {"}, {"proto/a.proto": "// A.\nmessage A {\n  string b = 1;"},
        {"proto/a.proto": "// A.\nenum A {\n  // Nothing.\n  A_UNSPECIFIED = 0;\n  A_ONE = 1;"},
        {"proto/a.proto": "// A.\nservice A {\n  rpc B(C) returns (D);"},
    ], {"proto/a.proto": 'syntax = "proto3";\n// A.\nmessage A {\n  // B.\n  map<string, int64> b = 1;\n}\n'}),
    clocks.TRIAL,
    classes.TRIAL,
    *pages.TRIALS,
    (check_text, [
        {"a.md": "see " + "/wo" + "rk/x"}, {"placement/a.cc": "// TODO: later"}, {"placement/a.cc": '"SELECT  * FROM log"'},
        {"placement/a.cc": "  assert(x);"}, {"tracker/a.h": "absl::Mutex mutex_;"},
    ], {"placement/a.cc": 'static_assert(x); // TODO(#12): "SELECT count(*)"', "a.md": "home/wo" + "rk/x"}),
]


def main():
    root = sys.argv[1]
    problems = list(trials.problems(TRIALS, root))
    print("\n".join(problems) or f"tidy: {len(TRIALS)} checks over {len(files(root))} files: clean")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
