#!/usr/bin/env python3
"""packaging/pip/build.py ARCHIVE FOLDER: the wheel `trestle-db` with the program of a release archive, in FOLDER.

The program is static, so the wheel is for every Linux of its machine. pip installs it beside Python, as `trestle`.
"""

import base64
import hashlib
import pathlib
import re
import stat
import sys
import tarfile
import zipfile

# What pip calls the machines: with glibc and with musl.
PLATFORMS = {
    "x86_64": "manylinux_2_17_x86_64.musllinux_1_1_x86_64",
    "aarch64": "manylinux_2_17_aarch64.musllinux_1_1_aarch64",
}
METADATA = """Metadata-Version: 2.1
Name: trestle-db
Version: {version}
Summary: A database for single-table applications that speaks DynamoDB's protocol and knows your model.
License: MIT OR Apache-2.0
Keywords: database,dynamodb,nosql,single-table
Requires-Python: >=3.8
Description-Content-Type: text/markdown

{readme}"""
WHEEL = """Wheel-Version: 1.0
Generator: packaging/pip/build.py
Root-Is-Purelib: false
{tags}"""


def build(archive, folder):
    version, machine = re.match(r"trestle-([^-]+)-([^-]+)-", archive.name).groups()
    platform = PLATFORMS[machine]
    about = f"trestle_db-{version}.dist-info"
    files = {}
    with tarfile.open(archive) as packed:
        for member in filter(tarfile.TarInfo.isfile, packed):
            name = pathlib.PurePath(member.name).name
            if member.name.count("/") == 1 and (name == "trestle" or name.startswith(("LICENSE", "THIRD-PARTY", "README"))):
                files[name] = packed.extractfile(member).read()
    program, readme = files.pop("trestle"), files.pop("README.md").decode()
    entries = {f"trestle_db-{version}.data/scripts/trestle": program}
    entries |= {f"{about}/licenses/{name}": text for name, text in files.items()}
    entries[f"{about}/METADATA"] = METADATA.format(version=version, readme=readme).encode()
    tags = "".join(f"Tag: py3-none-{tag}\n" for tag in platform.split("."))
    entries[f"{about}/WHEEL"] = WHEEL.format(tags=tags).encode()
    record = "".join(f"{name},sha256={digest(text)},{len(text)}\n" for name, text in entries.items())
    entries[f"{about}/RECORD"] = f"{record}{about}/RECORD,,\n".encode()
    wheel = folder / f"trestle_db-{version}-py3-none-{platform}.whl"
    with zipfile.ZipFile(wheel, "w", zipfile.ZIP_DEFLATED) as zipped:
        for name, text in entries.items():
            info = zipfile.ZipInfo(name)
            info.compress_type = zipfile.ZIP_DEFLATED
            # pip keeps the mode of regular files alone.
            info.external_attr = (stat.S_IFREG | (0o755 if name.endswith("/trestle") else 0o644)) << 16
            zipped.writestr(info, text)
    print(wheel.name)


def digest(text):
    return base64.urlsafe_b64encode(hashlib.sha256(text).digest()).rstrip(b"=").decode()


if __name__ == "__main__":
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    build(pathlib.Path(sys.argv[1]), pathlib.Path(sys.argv[2]))
