#!/usr/bin/env python3
"""Every reason that the code refuses with stands in error.proto, so that clients have the whole list."""

import pathlib
import re
import sys

# What stands between a status code and the next comma, however the lines are broken.
REFUSED = re.compile(r'absl::StatusCode::k(\w+)\s*,\s*"([A-Z_]+)"')
FORM = re.compile(r'absl::string_view k\w+ = "([A-Z]+(?:_[A-Z]+)+)";')
LISTED = re.compile(r"// ([A-Z_]+): [^=]*?ERROR_REASON_([A-Z_]+) = \d+;")
# Never leaves the server: GetRequest answers it as the outcome ABSENT.
INTERNAL = {"REQUEST_NOT_FOUND"}


def camel(code):
    return "".join(word.capitalize() for word in code.split("_"))


def reasons_of(root, service):
    text = (root / f"proto/berth/{service}/v1/error.proto").read_text()
    return {reason: camel(code) for code, reason in LISTED.findall(text)}


def main(root):
    reasons = {service: reasons_of(root, service) for service in ("placement", "tracker")}
    for service, least in (("placement", 60), ("tracker", 15)):
        if len(reasons[service]) < least:
            return f"only {len(reasons[service])} reasons were understood in error.proto of {service}"
    faults = []
    found = 0
    for path in sorted(p for layer in ("placement", "services") for end in ("cc", "h") for p in (root / layer).rglob(f"*.{end}")
                       if root / "services/cli" not in p.parents):
        text = path.read_text()
        listed = reasons["tracker" if root / "services/tracker" in path.parents else "placement"]
        uses = [(code, reason) for code, reason in REFUSED.findall(text)]
        uses += [("InvalidArgument", reason) for reason in FORM.findall(text) if path.name == "faults.h"]
        for code, reason in uses:
            found += 1
            if reason in INTERNAL:
                continue
            if reason not in listed:
                faults.append(f"{path.relative_to(root)}: {reason} is not in error.proto")
            elif listed[reason] != code:
                faults.append(f"{path.relative_to(root)}: {reason} is {listed[reason]} in error.proto, {code} here")
    if found < 20:
        faults.append(f"only {found} refusals were found: the pattern no longer fits the code")
    return "\n".join(faults) or None


if __name__ == "__main__":
    sys.exit(main(pathlib.Path(sys.argv[1])))
