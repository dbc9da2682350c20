"""Which files of the product may ask which clock: a check of tidy_test.py, with its trial."""

import os
import pathlib
import re

from trials import sources, text, without_literals

# The files of the product that may ask the wall clock, and what for. Everything else is an interval, which is measured on
# the boot clock. The list may only shrink.
WALL_CLOCK = {
    "placement/publish/options.h": "the ledger's first position",
    "services/cli/commands/audit_log.cc": "times in files, and ages that people give",
    "services/cli/commands/consumer_filter.cc": "stored times",
    "services/cli/commands/provider.cc": "ages of stored times, for people",
    "services/placement/access_file.cc": "when rules came into force, for people",
    "services/process/gate.cc": "the end of a certificate",
    "services/log/log.cc": "the log",
    "services/process/server.cc": "the end of a certificate",
    "services/client/cpp/own_certificate.cc": "the end of a certificate",
    "services/report/session.cc": "the end of a certificate, and times for people",
    "services/tracker/host.cc": "when the machine was started, to compare with stored times",
    "services/tracker/main.cc": "times for people",
    "tracker/node/node.cc": "times for people",
}
BOOT_CLOCKS = ("placement/ground/boot_clock.h", "tracker/ground/boot_clock.h")
ASKS_WALL_CLOCK = r"\babsl::(Now|GetCurrentTime\w+)\b|\bsystem_clock\b|\bgettimeofday\b|\btime\((nullptr|NULL|0)\)"
ASKS_OTHER_CLOCK = r"\b(steady_clock|high_resolution_clock|clock_gettime)\b"


def check_clocks(root):
    asking = set()
    for name in sources(root):
        for number, line in enumerate(without_literals(text(root, name)).splitlines(), 1):
            if re.search(ASKS_WALL_CLOCK, line):
                asking.add(name)
                if name not in WALL_CLOCK:
                    yield f"{name}:{number}: asks the wall clock: intervals are measured by the boot clock (boot_clock.h)"
            if re.search(ASKS_OTHER_CLOCK, line) and name not in BOOT_CLOCKS:
                yield f"{name}:{number}: asks a clock of its own: intervals are measured by the boot clock (boot_clock.h)"
    for name in WALL_CLOCK:
        if name not in asking and (pathlib.Path(root) / os.path.dirname(name)).exists():
            yield f"{name}: does not ask the wall clock: drop its entry in {os.path.basename(__file__)}"


TRIAL = (check_clocks, [
    {"placement/state/a.cc": "auto t = absl::Now();"}, {"tracker/audit/a.h": "std::chrono::system_clock::now()"},
    {"services/api/a.cc": "f(absl::Now);"}, {"services/watch/a.cc": "std::time(nullptr)"},
    {"tracker/ground/a.h": "std::chrono::steady_clock::now()"}, {"placement/store/a.cc": "clock_gettime(CLOCK_BOOTTIME, &now);"},
    {"tracker/node/node.cc": "auto t = BootClock::now();"},
], {"placement/ground/boot_clock.h": "clock_gettime(CLOCK_BOOTTIME, &now);", "tests/a.cc": "absl::Now()",
    "tracker/node/node.cc": "absl::Now()", "tracker/node/a.cc": "// absl::Now()\nSet_time(0); update_time(0);"})
