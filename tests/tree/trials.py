"""Checks of the tree, each tried on small trees before it is believed.

A trial is (check, broken trees, a sound tree). A check takes the root of a tree and yields its problems. A tree maps names of files to
their content.
"""

import pathlib
import tempfile


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
