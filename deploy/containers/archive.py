#!/usr/bin/python3
"""Writes an image archive anew, so that two builds of the same content give the same bytes.

usage: archive.py FROM TO        prints the id of the image: the SHA-256 of its configuration

buildah writes the random name of its working container into the configuration of the image. This program removes it, and
writes the layers, the configuration and the manifest in one order, with one time and one owner.
"""

import hashlib
import io
import json
import sys
import tarfile

# The fields of the configuration that contain the name of the working container.
RANDOM_FIELDS = ("container", "Hostname")


def without_random_fields(value):
    if not isinstance(value, dict):
        return value
    return {name: without_random_fields(inner) for name, inner in value.items() if name not in RANDOM_FIELDS}


def member(name, size):
    entry = tarfile.TarInfo(name)
    entry.size, entry.mode = size, 0o444
    return entry


def add_json(archive, name, value):
    data = json.dumps(value, sort_keys=True, separators=(",", ":")).encode()
    name = name or hashlib.sha256(data).hexdigest() + ".json"
    archive.addfile(member(name, len(data)), io.BytesIO(data))
    return name


def main():
    with tarfile.open(sys.argv[1]) as source, tarfile.open(sys.argv[2], "w", format=tarfile.USTAR_FORMAT) as target:
        (image,) = json.load(source.extractfile("manifest.json"))
        configuration = without_random_fields(json.load(source.extractfile(image["Config"])))
        for layer in image["Layers"]:
            size = source.getmember(layer).size
            target.addfile(member(layer, size), source.extractfile(layer))
        image["Config"] = add_json(target, None, configuration)
        add_json(target, "manifest.json", [image])
    print("sha256:" + image["Config"].removesuffix(".json"))


if __name__ == "__main__":
    main()
