"""Fails unless every RPC of the given protos says who may call it, in the option (berth.access.v1.access).

usage: check_access.py PROTO…
"""

import pathlib
import re
import sys

COMMENT = re.compile(r"//[^\n]*")
RPC = re.compile(r"\brpc\s+(\w+)\s*\([^)]*\)\s*returns\s*\([^)]*\)\s*(?:;|\{(.*?)^\s*\}\s*$)", re.DOTALL | re.MULTILINE)
ACCESS = re.compile(r"option\s*\(berth\.access\.v1\.access\)\s*=\s*\{\s*roles:\s*\[\s*ROLE_(?!UNSPECIFIED)[A-Z]")


def faults_of(path):
    text = COMMENT.sub("", path.read_text())
    rpcs = list(RPC.finditer(text))
    if len(rpcs) != len(re.findall(r"^\s*rpc\s", text, re.MULTILINE)):
        return [f"{path}: an RPC is written in a form that this check does not understand"]
    return [f"{path}:{text.count(chr(10), 0, rpc.start()) + 1}: the RPC {rpc[1]} does not say who may call it: "
            "give it the option (berth.access.v1.access)"
            for rpc in rpcs if not ACCESS.search(rpc[2] or "")]


if __name__ == "__main__":
    sys.exit("\n".join(fault for name in sys.argv[1:] for fault in faults_of(pathlib.Path(name))) or None)
