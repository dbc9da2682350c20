#!/usr/bin/python3
"""The house rules that a machine can enforce. Each check is tried on a small tree that breaks it before it is believed.

usage: tidy_test.py ROOT
"""

import fnmatch
import os
import pathlib
import re
import sys
import tempfile

FILE_LINES_MAX = 400
FUNCTION_LINES_MAX = 70

# Exceptions, with the size they have. They may shrink, never grow; a file that shrank must be lowered here too.
FILE_RATCHET = {}
FUNCTION_RATCHET = {}

PRODUCT = ("placement/*", "tracker/*", "services/*")
GRPC = r"(grpc|grpcpp|grpc\+\+)/|.*\.grpc\.pb\.h$"

# (files, what they may not include, files that may after all, why)
ARROWS = [
    (("placement/*", "tracker/*"), r"services/", (), "nothing includes services/"),
    (("placement/*",), r"tracker/|berth/tracker/", (), "placement/ and tracker/ share nothing but proto/"),
    (("tracker/*",), r"placement/", (), "placement/ and tracker/ share nothing but proto/"),
    (PRODUCT, r"pqxx", ("placement/database*.*", "placement/rows*.*"), "libpqxx ends in database.* and rows.*"),
    (PRODUCT, r"libvirt/", ("tracker/hypervisor*.*",), "libvirt ends in hypervisor*.*"),
    (("placement/*",), GRPC + r"|berth/", (), "placement/ knows no gRPC and no wire messages"),
    (("tracker/*",), GRPC + r"|berth/|google/protobuf/", ("tracker/uplink*.*",), "the wire ends in uplink*.*"),
    (("placement/search*.*", "placement/constraint*.*"), r"placement/(ledger|rows|database|schema)", (),
     "the search is pure"),
    (("placement/rules*.*", "placement/capacity.*", "placement/tree.*"), r"placement/(ledger|rows|database|schema|search)",
     (), "rules are pure"),
    (("placement/state*.*",), r"placement/(ledger|rows|database|rules|search)", (), "the state knows no writer"),
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
NOT_OURS = {".git", "build", "node_modules", "__pycache__", ".cache"}


def matches(name, patterns):
    return any(fnmatch.fnmatch(name, pattern) for pattern in patterns)


def files(root):
    """Relative names of every file of the tree."""
    found = []
    for folder, folders, names in os.walk(root):
        folders[:] = sorted(f for f in folders if f not in NOT_OURS)
        found += [os.path.relpath(os.path.join(folder, n), root) for n in names if n != ".git"]
    return sorted(found)


def text(root, name):
    try:
        return (pathlib.Path(root) / name).read_text(encoding="utf-8")
    except (UnicodeDecodeError, FileNotFoundError):
        return ""


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


def check_include_cycles(root):
    """A component is a header with its source; components of a folder include each other in one direction."""
    edges = {}
    for name in files(root):
        if matches(name, PRODUCT) and name.endswith((".h", ".cc")):
            component = os.path.splitext(name)[0]
            targets = {os.path.splitext(i)[0] for _, i in includes(text(root, name)) if i.endswith(".h")}
            edges.setdefault(component, set()).update(targets - {component})
    done = set()

    def walk(component, path):
        if component in path:
            cycle = path[path.index(component):] + [component]
            yield f"{component}: an include cycle: {' -> '.join(cycle)}"
        elif component not in done:
            for target in sorted(edges.get(component, ())):
                yield from walk(target, path + [component])
            done.add(component)

    for component in sorted(edges):
        yield from walk(component, [])


def over(name, lines, limit, ratchet, what):
    allowed = ratchet.get(name, limit)
    if lines > allowed:
        yield f"{name}: {what} has {lines} lines, {allowed} at most: a second noun is hiding in it"
    elif name in ratchet and lines < allowed:
        yield f"{name}: {what} shrank to {lines} lines: lower or drop its entry in {os.path.basename(__file__)}"


def check_file_lines(root):
    for name in files(root):
        if name.endswith(SOURCE):
            yield from over(name, len(text(root, name).splitlines()), FILE_LINES_MAX, FILE_RATCHET, "the file")
    for name in FILE_RATCHET:
        if not (pathlib.Path(root) / name).exists():
            yield f"{name}: is gone: drop its entry in {os.path.basename(__file__)}"


LITERALS = re.compile(
    r'//[^\n]*|/\*.*?\*/|R"(?P<d>[^(\s]*)\(.*?\)(?P=d)"|"(?:\\.|[^"\\\n])*"|(?<![\w])\'(?:\\.|[^\'\\\n])*\'', re.S)


def without_literals(content):
    """The same lines without comments, strings and preprocessor lines, so that braces can be counted."""
    content = LITERALS.sub(lambda m: "\n" * m.group(0).count("\n") or " ", content)
    return re.sub(r"^[ \t]*#(?:[^\n]*\\\n)*[^\n]*", lambda m: "\n" * m.group(0).count("\n"), content, flags=re.M)


def functions(content):
    """(name, first line, lines) of every function defined at namespace or class level."""
    content = without_literals(content)
    scopes, start, parentheses = [], 0, 0  # scope: kind, first line, name, and what to go on with after an inner one
    for at, c in enumerate(content):
        if c in "()":
            parentheses += 1 if c == "(" else -1
        elif c == "{":
            statement = content[start:at]
            kind, first, name = scope_of(statement, parentheses, scopes)
            first += content.count("\n", 0, start) + 1
            scopes.append((kind, first, name, start, parentheses))
            start, parentheses = at + 1, 0
        elif c == "}" and scopes:
            kind, first, name, before, parentheses = scopes.pop()
            if kind == "function":
                yield name, first, content.count("\n", 0, at) + 2 - first
            start = before if kind == "inner" else at + 1
        elif c == ";" or (c == ":" and re.search(r"(public|private|protected)\s*$", content[start:at])):
            start = at + 1 if not parentheses else start


def scope_of(statement, parentheses, scopes):
    """What a brace after `statement` opens: (kind, lines before it begins, name)."""
    blank = statement[:len(statement) - len(statement.lstrip())].count("\n")
    statement = statement.strip()
    if parentheses or any(kind == "function" for kind, *_ in scopes):
        return "inner", blank, ""
    if re.search(r"\b(namespace|extern)\b[^()]*$", statement) or not statement:
        return "open", blank, ""
    if re.match(r"(template\s*<.*>\s*)?(class|struct|union|enum)\b(?!.*\)\s*(const\s*)?$)", statement, re.S):
        return "open", blank, ""
    if "(" in statement and re.search(r"(\)|\}|const|noexcept|override|final|[A-Z_]{4,}|->\s*[\w:<>,\s*&]+)$", statement):
        name = re.search(r"([\w:~]+)\s*\(", statement)
        return "function", blank, name.group(1) if name else "?"
    return "inner", blank, ""


def check_function_lines(root):
    for name in files(root):
        if name.endswith((".h", ".cc")):
            for function, first, lines in functions(text(root, name)):
                key = f"{name}:{function}"
                yield from over(key, lines, FUNCTION_LINES_MAX, FUNCTION_RATCHET, f"(line {first}) the function")


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
        if name == "tests/tidy_test.py":
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
        {"placement/a.h": '#include "services/wire.h"'}, {"placement/a.cc": '#include "tracker/facts/facts.h"'},
        {"tracker/a.cc": '#include "placement/ground/uuid.h"'}, {"placement/ledger/ledger.cc": "#include <pqxx/pqxx>"},
        {"tracker/audit/audit.cc": "#include <libvirt/libvirt.h>"}, {"placement/a.cc": "#include <grpcpp/grpcpp.h>"},
        {"tracker/audit/audit.cc": '#include "berth/tracker/v1/tracker.pb.h"'},
        {"placement/search/search.cc": '#include "placement/ledger/ledger.h"'},
        {"placement/rules/inventory.cc": '#include "placement/store/rows.h"'},
    ], {"placement/store/rows.cc": "#include <pqxx/pqxx>", "services/a.cc": '#include "placement/ledger/ledger.h"',
        "tracker/uplink/uplink.cc": "#include <grpcpp/grpcpp.h>", "tests/a.cc": '#include "services/wire.h"'}),
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
    (check_text, [
        {"a.md": "see " + "/wo" + "rk/x"}, {"placement/a.cc": "// TODO: later"}, {"placement/a.cc": '"SELECT  * FROM log"'},
        {"placement/a.cc": "  assert(x);"}, {"tracker/a.h": "absl::Mutex mutex_;"},
    ], {"placement/a.cc": 'static_assert(x); // TODO(#12): "SELECT count(*)"', "a.md": "home/wo" + "rk/x"}),
]


def tried():
    """Problems with the checks themselves."""
    for check, broken, sound in TRIALS:
        for number, tree in enumerate(broken + [sound]):
            with tempfile.TemporaryDirectory() as root:
                for name, content in tree.items():
                    path = pathlib.Path(root) / name
                    path.parent.mkdir(parents=True, exist_ok=True)
                    path.write_text(content)
                problems = list(check(root))
            if tree is sound and problems:
                yield f"{check.__name__}: refuses a sound tree: {problems}"
            elif tree is not sound and not problems:
                yield f"{check.__name__}: does not notice its case {number}"


def main():
    root = sys.argv[1]
    problems = list(tried())
    for check, *_ in TRIALS:
        problems += [f"{check.__name__}: {problem}" for problem in check(root)]
    print("\n".join(problems) or f"tidy: {len(TRIALS)} checks over {len(files(root))} files: clean")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
