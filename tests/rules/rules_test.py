#!/usr/bin/python3
"""Compares the rules in tests/rules/*.md with the citations of rules in code, tests and protos.

A page has one line for each rule: `- **P-132** sentence.`, or `- **P-41** [I] sentence.` where no client can observe the rule.
Every cited rule must have a line. Every rule without [I] must be cited by a test, unless not_yet.txt lists it.

usage: rules_test.py ROOT

Each check is tried on a small tree that breaks it before it is believed.
"""

import os
import pathlib
import re
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "tree"))
import trials
from trials import files, text

# The letters of rules: C test vectors, D defects and gaps, E traits of a host, F faults, P placement, R promises under faults,
# T tracker.
LETTERS = "CDEFPRT"
# The letters of which a page has every number, beginning with 1. Of the others a page has the cited numbers only.
COMPLETE = "CDPT"

# The number of rules in not_yet.txt. It may shrink, never grow; a list that shrank must be lowered here too.
NOT_YET_MAX = 21

PAGES = "tests/rules"
# Has one row for every R-n, with or without a line here; promises_test.py checks it.
PROMISES = "deploy/promises.md"
NOT_YET = "tests/rules/not_yet.txt"
LINE = re.compile(r"- \*\*([A-Z])-(\d+)\*\* (\[I\] )?(.*)")
RULE = re.compile(rf"(?<![\w-])([{LETTERS}])-(\d+)(?!\d)")
# The second half of a range, which may stand on the next line of a comment: `P-12..P-14`, `P-12 to P-14`.
RANGE = re.compile(r"(?:\.\.|\s+(?:(?://|#)\s*)?to\s+(?:(?://|#)\s*)?)([A-Z])-(\d+)(?!\d)")
# Forms that name several rules, but are not read as such.
UNREADABLE = re.compile(r"(?:\.\.|-|–|/|\s+to\s+)\d+")


def called(rule):
    return f"{rule[0]}-{rule[1]}"


def pages(root):
    return [name for name in files(root) if os.path.dirname(name) == PAGES and name.endswith(".md")]


def rules(root):
    """Every rule of the pages: (letter, number) -> whether no test needs to cite it."""
    found = {}
    for name in pages(root):
        for line in text(root, name).splitlines():
            match = LINE.match(line)
            if match:
                found[match[1], int(match[2])] = bool(match[3])
    return found


def citations(content):
    """(line number, [rules], whether it is a range, what cannot be read) of every citation in `content`."""
    end = 0
    for match in RULE.finditer(content):
        if match.start() < end:
            continue  # the second half of a range
        end = match.end()
        line = content.count("\n", 0, match.start()) + 1
        letter, first = match[1], int(match[2])
        to = RANGE.match(content, end)
        if to and to[1] == letter and int(to[2]) > first:
            end = to.end()
            yield line, [(letter, n) for n in range(first, int(to[2]) + 1)], True, ""
        else:
            odd = UNREADABLE.match(content, end)
            odd = odd or to
            yield line, [(letter, first)], False, match[0] + odd[0] if odd else ""


def is_test(name):
    return name.startswith("tests/") and not name.startswith(PAGES + "/") and not name.endswith(".md")


def tested(root):
    """The rules that a test cites. A range does not count: no assertion proves many rules at once."""
    return {rule for name in files(root) if is_test(name)
            for _, cited, is_range, _ in citations(text(root, name)) if not is_range for rule in cited}


def listed(root):
    """The words of not_yet.txt as rules, one after the other; a line that begins with # is a comment."""
    words = " ".join(line for line in text(root, NOT_YET).splitlines() if not line.startswith("#")).split()
    return [(word[0], int(word[2:])) if RULE.fullmatch(word) else (word, "?") for word in words]


def check_pages(root):
    seen = {}
    for name in pages(root):
        for number, line in enumerate(text(root, name).splitlines(), 1):
            match = LINE.fullmatch(line)
            if not match and re.match(r"\s*[-*]+ *\**[A-Z]-\d", line):
                yield f"{name}:{number}: not of the form `- **P-1** sentence.`: {line[:40]}"
            if not match:
                continue
            rule = match[1], int(match[2])
            if rule in seen:
                yield f"{name}:{number}: {called(rule)} has a line already: {seen[rule]}"
            if rule[0] not in LETTERS:
                yield f"{name}:{number}: {rule[0]} is no letter of rules"
            if not re.search(r"\w.*[.!?]$", match[4]):
                yield f"{name}:{number}: {called(rule)} is no sentence"
            seen[rule] = f"{name}:{number}"
    for letter in COMPLETE:
        numbers = {n for l, n in seen if l == letter}
        for n in sorted(set(range(1, max(numbers, default=0))) - numbers):
            yield f"{PAGES}: {letter}-{n} has no line, though later numbers have"


def check_cited_rules_exist(root):
    known = rules(root)
    for name in files(root):
        if name == PROMISES or name.startswith(PAGES + "/") and not name.endswith(".md"):
            continue
        for line, cited, _, unreadable in citations(text(root, name)):
            if unreadable:
                yield f"{name}:{line}: {unreadable}: write `P-12, P-14`, `P-12 to P-14` or `P-12..P-14`"
            for rule in cited:
                if rule not in known:
                    yield f"{name}:{line}: cites {called(rule)}, which no page in {PAGES} has"


def check_rules_are_tested(root):
    known, cited, waiting = rules(root), tested(root), listed(root)
    for rule, untestable in sorted(known.items()):
        if not untestable and rule not in cited and rule not in waiting:
            yield f"{called(rule)}: no test cites it"
    for rule in waiting:
        if rule not in known:
            yield f"{NOT_YET}: {called(rule)}: no page has this rule"
        elif known[rule]:
            yield f"{NOT_YET}: {called(rule)} is marked [I], so no test needs to cite it: take it out"
        elif rule in cited:
            yield f"{NOT_YET}: {called(rule)} is cited by a test: take it out, and lower NOT_YET_MAX"
    for rule in sorted({rule for rule in waiting if waiting.count(rule) > 1}):
        yield f"{NOT_YET}: {called(rule)} is listed twice"


def check_list_shrinks(root):
    count = len(listed(root))
    if count > NOT_YET_MAX:
        yield f"{NOT_YET}: {count} rules, {NOT_YET_MAX} at most: cite new rules in a test"
    elif count < NOT_YET_MAX:
        yield f"{NOT_YET}: shrank to {count} rules: lower NOT_YET_MAX in {os.path.basename(__file__)}"


# Each check with trees that it must refuse, and one that it must let pass.
PAGE = PAGES + "/a.md"
ONE = "- **P-1** The server answers.\n"
TWO = ONE + "- **P-2** The server waits.\n"
THREE = TWO + "- **P-3** [I] The server counts.\n"
FULL = " ".join(f"T-{n}" for n in range(1, NOT_YET_MAX + 1))
TRIALS = [
    (check_pages, [
        {PAGE: ONE + ONE}, {PAGE: ONE, PAGES + "/b.md": ONE}, {PAGE: "- **P-1** \n"},
        {PAGE: "- **P-1** The server answers\n"}, {PAGE: "- P-1: The server answers.\n"},
        {PAGE: "* **P-1** The server answers.\n"}, {PAGE: "- **Q-1** The server answers.\n"},
        {PAGE: ONE + "- **P-3** The server waits.\n"}, {PAGE: ONE + "- **P-2**[I] The server waits.\n"},
    ], {PAGE: "# Rules\n\nSee P-1.\n\n" + THREE + "- **R-7** The server lives.\n"}),
    (check_cited_rules_exist, [
        {PAGE: TWO, name: content} for name, content in [
            ("placement/a.cc", "F();  // P-3"), ("tests/a_test.cc", "// P-1, P-3"), ("proto/a.proto", "// (P-1..P-3)"),
            ("placement/a.h", "// Both (P-1 to\n// P-3)."), ("tests/cases/a.txt", "x # T-1"), ("README.md", "| P-0 |"),
            ("placement/a.h", "// P-1/2"), ("placement/a.h", "// P-1..2"), ("placement/a.h", "// P-1-2"),
            ("placement/a.h", "// P-2..P-1"), ("placement/a.h", "// P-1..D-2"), (PAGES + "/b.md", "As P-3 says.\n"),
        ]
    ], {PAGE: TWO, "a.cc": "// P-1, P-2. (P-1..P-2), P-1 to P-2; P-1: 2, UTF-8, 0F-7, SHA-256, P-1's and [A-Z0-9_-] in A-1",
        "b.cc": "// P-1 to\n// P-2"}),
    (check_rules_are_tested, [
        {PAGE: ONE}, {PAGE: ONE, "placement/a.cc": "// P-1"}, {PAGE: ONE, "tests/README.md": "P-1"},
        {PAGE: ONE, PAGES + "/b.py": "# P-1"}, {PAGE: TWO, "tests/a_test.cc": "// P-1, P-1..P-2"},
        {PAGE: TWO, "tests/a_test.cc": "// P-1", NOT_YET: "P-1 P-2\n"},
        {PAGE: TWO, "tests/a_test.cc": "// P-1", NOT_YET: "P-2 P-2\n"},
        {PAGE: TWO, "tests/a_test.cc": "// P-1", NOT_YET: "P-2 P-9"},
        {PAGE: THREE, "tests/a_test.cc": "// P-1, P-2", NOT_YET: "P-3"},
        {PAGE: TWO, "tests/a_test.cc": "// P-1", NOT_YET: "# P-2"},
        {PAGE: TWO, "tests/a_test.cc": "// P-1, P-2", NOT_YET: "claims"},
    ], {PAGE: THREE + "- **P-4** The server ends.\n", "tests/x/a_test.cc": "F();  // P-1, P-2", NOT_YET: "# later\nP-4\n"}),
    (check_list_shrinks, [{NOT_YET: FULL + " P-1"}] + ([{NOT_YET: FULL.rpartition(" ")[0]}] if NOT_YET_MAX else []),
     {NOT_YET: "# T-1\n" + FULL}),
]


def main():
    root = sys.argv[1]
    problems = list(trials.problems(TRIALS, root))
    print("\n".join(problems) or f"rules: {len(rules(root))} rules, of which {len(listed(root))} wait for their test: clean")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
