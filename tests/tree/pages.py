"""Pages of the house: each room has one, ARCHITECTURE.md stays short, and its lives name what the code has. Checks of tidy_test.py."""

import os
import re

from functions import functions
from trials import PRODUCT, files, sources, text

ROOM_LINES_MAX = 60
ROOM_BYTES_MAX = 6_000
ARCHITECTURE_BYTES_MAX = 15 * 1024
WIDTH_MAX = 140


def check_room_pages(root):
    for room in sorted({os.path.dirname(name) for name in sources(root)}):
        page = text(root, f"{room}/README.md")
        if not page.startswith(f"# {room}\n"):
            yield f"{room}/README.md: has to begin with `# {room}`, and to say what the room is and why it is so"
        if page.count("\n") > ROOM_LINES_MAX or len(page.encode()) > ROOM_BYTES_MAX:
            yield f"{room}/README.md: longer than a screen, {ROOM_LINES_MAX} lines or {ROOM_BYTES_MAX} bytes"


def check_page_widths(root):
    for name in files(root):
        if name == "ARCHITECTURE.md" or name.startswith(PRODUCT) and name.endswith("/README.md"):
            for number, line in enumerate(text(root, name).splitlines(), 1):
                if len(line) > WIDTH_MAX:
                    yield f"{name}:{number}: {len(line)} characters, {WIDTH_MAX} at most"


def check_architecture_size(root):
    size = len(text(root, "ARCHITECTURE.md").encode())
    if size > ARCHITECTURE_BYTES_MAX:
        yield f"ARCHITECTURE.md: {size} bytes, {ARCHITECTURE_BYTES_MAX} at most: a decision belongs to the page of its room"


LIFE = re.compile(r"^### (.*?)\n+```text\n(.*?)^```", re.M | re.S)
STEP = re.compile(r"^(?P<who>\S+)? +(?P<function>[A-Za-z]\w*(?:::\w+)*) {2,}\S", re.M)
CALLS_BETWEEN_MAX = 4  # functions of less interest between two steps
NAMED = r"\w+"  # a callback is handed on by its name
CALLED = r"\w+(?=\()"


class Code:
    """The functions of the product."""

    def __init__(self, root):
        self.bodies = {}  # by the name without its classes: (whole name, body)
        for source in sources(root):
            for function, _, _, body in functions(text(root, source)):
                self.bodies.setdefault(function.split("::")[-1], []).append((function, body))

    def of(self, function):
        """The bodies of the functions of this name, which may be that of a class and its function. Nothing: there is none."""
        return [body for whole, body in self.bodies.get(function.split("::")[-1], [])
                if whole == function or "::" in function and whole.endswith("::" + function)] or None

    def distance(self, bodies, name, word=NAMED):
        """How many functions are between one of the bodies and a call of `name`; CALLS_BETWEEN_MAX + 1: none calls it."""
        seen = set()
        for between in range(CALLS_BETWEEN_MAX + 1):
            words = {found for body in bodies for found in re.findall(word, body)}
            if name in words:
                return between
            new = (words & self.bodies.keys()) - seen
            seen |= new
            bodies = [body for called in new for _, body in self.bodies[called]]
        return CALLS_BETWEEN_MAX + 1


def check_lives(root):
    """Each step of a life is a function. A step without an actor goes on where the one before it was: a function of an earlier step
    calls it, itself or through others. It stands after its callers, and after what a step calls before it. The order of two steps
    is not seen if no step calls both."""
    code = Code(root)
    lives = LIFE.findall(text(root, "ARCHITECTURE.md"))
    if "ARCHITECTURE.md" in files(root) and not any(STEP.search(life) for _, life in lives):
        yield "ARCHITECTURE.md: there is no life whose steps can be read"
    for title, life in lives:
        before, together = [], []
        for step in STEP.finditer(life):
            name, bodies = step["function"].split("::")[-1], code.of(step["function"])
            if bodies is None:
                yield f"ARCHITECTURE.md: {title}: there is no function {step['function']}"
                continue
            if step["who"]:
                together = []
            elif code.distance([body for own in before for body in own], name) > CALLS_BETWEEN_MAX:
                yield f"ARCHITECTURE.md: {title}: no step before {step['function']} calls it"
            for earlier, own in together:
                if code.distance(bodies, earlier, CALLED) < min(code.distance(own, name), 2):
                    yield f"ARCHITECTURE.md: {title}: {step['function']} calls {earlier}, but stands after it"
                for body in (body for of in before for body in of if re.search(rf"\b{name}\(", body)):
                    if re.search(rf"\b{earlier}\(", body) and not re.search(rf"\b{earlier}\(.*\b{name}\(", body, re.S):
                        yield f"ARCHITECTURE.md: {title}: {step['function']} is called before {earlier}"
            before.append(bodies)
            together.append((name, bodies))


def life(first, *others):
    steps = "".join(f"            {other}    it.\n" for other in others)
    return f"### A life\n\n```text\ngRPC        {first}    it.\n{steps}```\n"


def function(name, *calls):
    return f"void {name}(int a) {{\n" + "".join(f"  {call}(a);\n" for call in calls) + "}\n"


TRIALS = [
    (check_room_pages, [
        {"placement/a/a.h": ""}, {"tracker/a/a.cc": "", "tracker/a/README.md": "# tracker/b\n"},
        {"services/a/a.h": "", "services/a/README.md": "# services/a\n" + "\n" * ROOM_LINES_MAX},
        {"services/a/a.h": "", "services/a/README.md": "# services/a\n" + "a" * ROOM_BYTES_MAX},
    ], {"placement/a/a.h": "", "placement/a/README.md": "# placement/a\n", "tests/a/a.h": "", "proto/a.proto": ""}),
    (check_page_widths, [{"ARCHITECTURE.md": "a" * (WIDTH_MAX + 1)}, {"placement/a/README.md": "a" * (WIDTH_MAX + 1)}],
     {"ARCHITECTURE.md": "a" * WIDTH_MAX, "README.md": "a" * (WIDTH_MAX + 1)}),
    (check_lives, [
        {"ARCHITECTURE.md": life("a function")},
        {"ARCHITECTURE.md": life("A::F"), "placement/a/a.cc": ""}, {"ARCHITECTURE.md": life("A::F"), "placement/a/a.cc": function("B::F")},
        {"ARCHITECTURE.md": life("F", "G"), "placement/a/a.cc": function("F") + function("G")},
        {"ARCHITECTURE.md": life("F", "G"), "placement/a/a.cc": function("F") + function("G", "F")},
        {"ARCHITECTURE.md": life("F", "G", "H"), "placement/a/a.cc": function("F", "H", "G") + function("G") + function("H")},
    ], {"ARCHITECTURE.md": life("A::F", "B::G", "H"),
        "placement/a/a.cc": function("A::F", "Between", "H") + function("Between", "G") + function("H"),
        "placement/a/a.h": "class B final : public C {\n public:\n  B() {}\n  void G() const override {\n    H();\n  }\n};\n"}),
    (check_architecture_size, [{"ARCHITECTURE.md": "a" * (ARCHITECTURE_BYTES_MAX + 1)}], {"ARCHITECTURE.md": "a"}),
]
