"""How many functions a class has, over all files that define them: a check of tidy_test.py, with its trial."""

import os
import re

from trials import sources, text, without_literals

# A class with more functions has more than one thing to keep right.
FUNCTIONS_MAX = 29

# Classes that have more, with the number. They may shrink, never grow; one that shrank must be lowered here, too.
RATCHET = {
    ("placement/search", "RootSearch"): 42, ("placement/state", "PersistentMap"): 45, ("placement/state", "State"): 42,
    ("tracker/account", "NodeAccount"): 51, ("tracker/hypervisor", "Hypervisor"): 30,
    ("tracker/uplink", "UplinkSession"): 34,
}

CLASS = re.compile(r"^(?P<indent> *)(?:class|struct) (?:ABSL_\w+ |\[\[\w+\]\] )?(?P<name>\w+)(?: final)?(?: : [^;{]*)? \{$", re.M)
NOT_A_FUNCTION = r"(using|friend|static_assert|ABSL_|BERTH_|\})"
NO_NAMES = {"ABSL_GUARDED_BY", "alignas", "bool", "decltype", "function", "void"}  # before the parenthesis of a variable


def bodies(content):
    """(name of the class, its body without the bodies of nested classes) for each class of a file that is formatted."""
    for found in CLASS.finditer(content):
        end = content.find(f"\n{found['indent']}}}", found.end())
        inner = found["indent"] + "  "
        body = content[found.end():end]
        nested = re.compile(rf"^{inner}(?:class|struct|enum)\b[^;]*?\{{$.*?^{inner}\}}", re.M | re.S)
        yield found["name"], inner, nested.sub("", body)


def functions_of(inner, body):
    """The functions that a class body declares: overloads, constructors and inline ones, too."""
    for statement in re.split(r";\n|\n\n|\n(?= *(?:public|private|protected):)", body):
        lines = [line for line in statement.split("\n") if line.strip() and not line.rstrip().endswith(":")]
        for number, line in enumerate(lines):
            if not re.match(rf"{inner}(?! )(?!{NOT_A_FUNCTION})", line):
                continue  # inside of a function, or a line that goes on
            found = re.match(r"[^=(]*?(~?\w+|operator\S+?)\(", " ".join(lines[number:]))
            if found and found.group(1) not in NO_NAMES:
                yield found.group(1)


def check_class_sizes(root):
    """Counts what the class bodies in all files of a folder declare, wherever it is defined."""
    counts = {}
    for name in sources(root):
        for of, inner, body in bodies(without_literals(text(root, name))):
            key = (os.path.dirname(name), of)
            counts[key] = counts.get(key, 0) + len(list(functions_of(inner, body)))
    for (folder, of), count in sorted(counts.items()):
        allowed = RATCHET.get((folder, of), FUNCTIONS_MAX)
        if count > allowed:
            yield f"{folder}/: {of} has {count} functions, {allowed} at most: cut the class where its members are"
        elif (folder, of) in RATCHET and count < allowed:
            yield f"{folder}/: {of} shrank to {count} functions: lower or drop its entry in {os.path.basename(__file__)}"


def class_of(functions):
    return "class A {\n public:\n" + "".join(f"  void F{i}(int a,\n       int b);\n" for i in range(functions)) + "};\n"


TRIAL = (check_class_sizes, [
    {"placement/a/a.h": class_of(FUNCTIONS_MAX + 1)},
    {"placement/a/a.h": class_of(FUNCTIONS_MAX).replace("};", "  A();\n};")},
    {"tracker/a/a.h": class_of(FUNCTIONS_MAX).replace("};", "  int a() const { return f(a_); }\n};")},
    {"services/a/a.cc": "class B final : public C {\n  struct D {\n    int e;\n  };\n" + class_of(FUNCTIONS_MAX + 1)[10:]},
    {"placement/search/root_search.h": "class RootSearch {\n  void F();\n};\n"},
], {"placement/a/a.h": class_of(FUNCTIONS_MAX).replace("};", "  std::function<void(int)> a_;\n  int b_ ABSL_GUARDED_BY(c_);\n"
                                                       "  struct B {\n    int a();\n    int b();\n  };\n};"),
    "tests/a/a.h": class_of(FUNCTIONS_MAX + 1)})
