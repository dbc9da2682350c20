#!/usr/bin/env python3
"""The check that stops the build at an RPC that does not say who may call it, tried on small protos.

usage: access_test.py CHECK
"""

import pathlib
import subprocess
import sys
import tempfile

OPTION = "    option (berth.access.v1.access) = {roles: [ROLE_ADMIN]};\n"
SOUND = "service S {\n  // Text: rpc.\n  rpc A(B) returns (stream C) {\n" + OPTION + "  }\n}\n"
BROKEN = {
    "no block": "service S {\n  rpc A(B) returns (C);\n}\n",
    "an empty block": "service S {\n  rpc A(B) returns (C) {}\n}\n",
    "another option": "service S {\n  rpc A(B) returns (C) {\n    option deprecated = true;\n  }\n}\n",
    "no role": SOUND.replace("ROLE_ADMIN", ""),
    "an unknown role": SOUND.replace("ROLE_ADMIN", "ROLE_UNSPECIFIED"),
    "only a comment": SOUND.replace("    option", "    // option"),
    "the second of two": SOUND.replace("}\n}\n", "}\n  rpc D(B) returns (C);\n}\n"),
}


def refused(check, content):
    with tempfile.TemporaryDirectory() as folder:
        path = pathlib.Path(folder) / "a.proto"
        path.write_text(content)
        return subprocess.run([sys.executable, check, path], stderr=subprocess.DEVNULL, check=False).returncode != 0


if __name__ == "__main__":
    faults = [name for name, content in BROKEN.items() if not refused(sys.argv[1], content)]
    faults += ["a sound proto is refused"] if refused(sys.argv[1], SOUND) else []
    sys.exit("passed although broken: " + ", ".join(faults) if faults else None)
