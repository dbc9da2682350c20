#!/usr/bin/python3
"""Ends with status 0 if the recording is one of Nova's resource tracker, by the keys of its first line; else with status 1.

usage: of_nova.py FILE
"""

import json
import sys

with open(sys.argv[1], encoding="utf-8") as file:
    line = json.loads(file.readline())
setup = line.get("setup", {})
placement = "queries" in line or ("steps" in line and "setup" not in line)
sys.exit(1 if placement else 0)
