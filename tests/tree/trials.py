"""The files of a tree, and checks of a tree, each tried on small trees before it is believed.

A trial is (check, broken trees, a sound tree). A check takes the root of a tree and yields its problems. A tree maps names of files to
their content.
"""

import os
import pathlib
import re
import tempfile

PRODUCT = ("placement/", "tracker/", "services/")
NOT_OURS = {".git", "build", "node_modules", "__pycache__", ".cache"}


def files(root):
    """Relative names of every file of the tree."""
    found = []
    for folder, folders, names in os.walk(root):
        folders[:] = sorted(f for f in folders if f not in NOT_OURS)
        found += [os.path.relpath(os.path.join(folder, n), root) for n in names if n != ".git"]
    return sorted(found)


def sources(root):
    """Names of the C++ files of the product."""
    return [name for name in files(root) if name.startswith(PRODUCT) and name.endswith((".h", ".cc"))]


def text(root, name):
    """The text of the file `name`; empty if it does not exist or is no text."""
    try:
        return (pathlib.Path(root) / name).read_text(encoding="utf-8")
    except (UnicodeDecodeError, FileNotFoundError):
        return ""


LITERALS = re.compile(
    r'//[^\n]*|/\*.*?\*/|R"(?P<d>[^(\s]*)\(.*?\)(?P=d)"|"(?:\\.|[^"\\\n])*"|(?<![\w])\'(?:\\.|[^\'\\\n])*\'', re.S)


def without_literals(content):
    """The same lines without comments, strings and preprocessor lines, so that braces can be counted."""
    content = LITERALS.sub(lambda m: "\n" * m.group(0).count("\n") or " ", content)
    return re.sub(r"^[ \t]*#(?:[^\n]*\\\n)*[^\n]*", lambda m: "\n" * m.group(0).count("\n"), content, flags=re.M)


def tried(trials):
    """Problems with the checks themselves."""
    for check, broken, sound in trials:
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


def problems(trials, root):
    """What is wrong with the checks, then with the tree."""
    yield from tried(trials)
    for check, *_ in trials:
        for problem in check(root):
            yield f"{check.__name__}: {problem}"
