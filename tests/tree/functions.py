"""The functions of a C++ file that is formatted."""

import functools
import re

from trials import without_literals


@functools.cache
def functions(content):
    """(name, first line, lines, body) of every function defined at namespace or class level. The name has those of its classes."""
    found = []
    content = without_literals(content)
    scopes, start, parentheses = [], 0, 0  # scope: kind, first line, name, and what to go on with after an inner one
    for at, c in enumerate(content):
        if c in "()":
            parentheses += 1 if c == "(" else -1
        elif c == "{":
            statement = content[start:at]
            kind, first, name = scope_of(statement, parentheses, scopes)
            first += content.count("\n", 0, start) + 1
            scopes.append((kind, first, name, start, parentheses, at + 1))
            start, parentheses = at + 1, 0
        elif c == "}" and scopes:
            kind, first, name, before, parentheses, body = scopes.pop()
            if kind == "function":
                name = "::".join([of for _, _, of, *_ in scopes if of] + [name])
                found.append((name, first, content.count("\n", 0, at) + 2 - first, content[body:at]))
            start = before if kind == "inner" else at + 1
        elif c == ";" or (c == ":" and re.search(r"(public|private|protected)\s*$", content[start:at])):
            start = at + 1 if not parentheses else start
    return found


def scope_of(statement, parentheses, scopes):
    """What a brace after `statement` opens: (kind, lines before it begins, name)."""
    blank = statement[:len(statement) - len(statement.lstrip())].count("\n")
    statement = statement.strip()
    if parentheses or any(kind == "function" for kind, *_ in scopes):
        return "inner", blank, ""
    if re.search(r"\b(namespace|extern)\b[^()]*$", statement) or not statement:
        return "open", blank, ""
    if re.match(r"(template\s*<.*>\s*)?(class|struct|union|enum)\b(?!.*\)\s*(const\s*)?$)", statement, re.S):
        head = re.split(r"(?<!:):(?!:)", statement)[0]  # without the bases
        name = re.search(r"\b(?:class|struct)\s+(?:\[\[\w+\]\]\s+|[A-Z_]{4,}\s+)?((?:\w+::)*\w+)(?=[^<>]*$)", head)
        return "open", blank, name.group(1) if name else ""
    if "(" in statement and re.search(r"(\)|\}|const|noexcept|override|final|[A-Z_]{4,}|->\s*[\w:<>,\s*&]+)$", statement):
        name = re.search(r"([\w:~]+)\s*\(", statement)
        return "function", blank, name.group(1) if name else "?"
    return "inner", blank, ""
