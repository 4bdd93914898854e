"""apps/klayers with real layers: pip makes them, boto3 and the aws command line find and download them."""

import base64
import hashlib
import io
import json
import os
import pathlib
import platform
import re
import shutil
import subprocess
import sys
import tempfile
import unittest
import urllib.request
import zipfile

import boto3
from botocore.exceptions import ClientError

from support import ACCESS, ONCE

ROOT = pathlib.Path(__file__).resolve().parents[3]
KLAYERS = ROOT / "target" / "debug" / "klayers"
TRESTLE = pathlib.Path(os.environ.get("TRESTLE_PROGRAM", ROOT / "target" / "debug" / "trestle"))
PIP = pathlib.Path(sys.executable).with_name("pip")
AWS = shutil.which("aws", path=os.path.dirname(sys.executable)) or shutil.which("aws")
TOKEN = "open-sesame"
# Layers for the Python that runs this test can be imported by it.
PYTHON = f"p{sys.version_info.major}.{sys.version_info.minor}"
RUNTIME = PYTHON.replace("p", "python")
NAME = f"Klayers-{PYTHON.replace('.', '')}-{{}}"
ACCOUNT = "770693421928"
REGION = "eu-west-1"


def wheel(folder, name, version, requires=(), licence="License: MIT"):
    """A wheel as packages bring it: one module, a script, and metadata."""
    info = f"{name}-{version}.dist-info"
    needs = "".join(f"Requires-Dist: {required}\n" for required in requires)
    files = {
        f"{name}/__init__.py": f"VERSION = '{version}'\n",
        f"{info}/METADATA": f"Metadata-Version: 2.4\nName: {name}\nVersion: {version}\n{licence}\nProvides-Extra: more\n{needs}",
        f"{info}/WHEEL": "Wheel-Version: 1.0\nGenerator: test\nRoot-Is-Purelib: true\nTag: py3-none-any\n",
        f"{info}/entry_points.txt": f"[console_scripts]\n{name}-tool = {name}:VERSION\n",
    }
    record = "".join(f"{path},,\n" for path in [*files, f"{info}/RECORD"])
    with zipfile.ZipFile(folder / f"{name}-{version}-py3-none-any.whl", "w") as archive:
        for path, text in {**files, f"{info}/RECORD": record}.items():
            archive.writestr(path, text)


class Layers(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)
        self.wheels = self.folder / "wheels"
        self.wheels.mkdir()
        (self.folder / "regions.csv").write_text(f"Code,Name\n{REGION},Ireland\n")
        # pip uses this folder instead of an index.
        self.more = {"PIP_NO_INDEX": "1", "PIP_FIND_LINKS": str(self.wheels)}

    def packages(self, *names):
        (self.folder / "packages.csv").write_text("\n".join(["Package_Name,License", *(f"{name},MIT" for name in names)]) + "\n")

    def command(self, what, *more, data="data", pythons=PYTHON):
        return [
            KLAYERS, what, "--pip", PIP, "--data", self.folder / data, "--account", ACCOUNT, "--pythons", pythons,
            "--packages", self.folder / "packages.csv", "--regions", self.folder / "regions.csv", *more,
        ]  # fmt: skip

    def environment(self):
        kept = {name: value for name, value in os.environ.items() if not name.startswith(("AWS_", "PIP_"))}
        return {**kept, **self.more}

    def run_pipeline(self, *more, fails=False, **where):
        done = subprocess.run(
            self.command("run", *more, **where), env=self.environment(), capture_output=True, text=True, timeout=280
        )
        self.assertEqual(fails, done.returncode != 0, done.stderr)
        return done.stderr

    def layer(self, name, version=1, data="data", python=PYTHON):
        folder = f"Klayers-{python.replace('.', '')}-{name}"
        return (self.folder / data / "layers" / REGION / folder / f"{version}.zip").read_bytes()

    def started(self, command):
        """Starts a server, and gives its address."""
        server = subprocess.Popen(command, env=self.environment(), text=True, stdout=subprocess.PIPE)
        self.addCleanup(server.communicate, timeout=30)
        self.addCleanup(server.terminate)
        for line in server.stdout:
            if found := re.search(r"http://127\.0\.0\.1:\d+", line):
                return found.group()
        self.fail(f"{command[0]} ended")

    def serve(self, *more):
        self.address = self.started(self.command("serve", "--port", "0", "--token", TOKEN, *more))
        access = {**ACCESS, "endpoint_url": self.address, "region_name": REGION, "aws_access_key_id": TOKEN}
        self.lambda_client = boto3.client("lambda", config=ONCE, **access)
        self.addCleanup(self.lambda_client.close)
        return self.lambda_client

    def test_pip_installs_the_newest_release_with_what_it_needs_and_the_same_input_gives_the_same_bytes(self):
        for version in ["1.9", "1.10", "2.0rc1", "1.10+cu118"]:
            wheel(self.wheels, "alpha", version, ["beta>=1", "gamma; extra == 'more'"])
        wheel(self.wheels, "beta", "3.1")
        wheel(self.wheels, "gamma", "0.5", licence="License: GPL")
        self.packages("alpha[more]")
        said = self.run_pipeline()
        self.assertIn("built=1 deployed=1 unchanged=0 failed=0", said)
        with zipfile.ZipFile(io.BytesIO(self.layer("alpha"))) as layer:
            names = layer.namelist()
            self.assertEqual("VERSION = '1.10+cu118'\n", layer.read("python/alpha/__init__.py").decode())
            record = layer.read("python/alpha-1.10+cu118.dist-info/RECORD").decode()
        self.assertIn("python/beta/__init__.py", names)
        self.assertIn("python/gamma/__init__.py", names)
        self.assertFalse([name for name in names if "/bin/" in name or name.endswith(".pyc")], names)
        self.assertNotIn("alpha-tool", record)

        self.assertIn("built=0 deployed=0 unchanged=1 failed=0", self.run_pipeline())
        self.run_pipeline(data="other")
        self.assertEqual(self.layer("alpha"), self.layer("alpha", data="other"))
        self.assertIn("built=1 deployed=0 unchanged=1", self.run_pipeline("--force-build"))
        self.assertIn("built=0 deployed=1 unchanged=0", self.run_pipeline("--force-deploy"))
        self.assertEqual(self.layer("alpha"), self.layer("alpha", 2))

        wheel(self.wheels, "beta", "3.2")
        self.assertIn("built=1 deployed=1", self.run_pipeline(), "what it needs has changed")

    def test_a_layer_has_what_its_own_python_needs_and_not_what_that_of_pip_needs(self):
        minor = sys.version_info.minor
        older, here = f"p3.{minor - 1}", f"python_version >= '3.{minor}'"
        before = here.replace(">=", "<")
        wheel(self.wheels, "alpha", "1.0", ["beta", f"newer; {here}", f"older[more]<2; {before}"])
        wheel(self.wheels, "beta", "1.0", [f"sub; sys_platform == 'win32' or {before}"])
        wheel(self.wheels, "newer", "1.0")
        for version in ["1.0", "2.0"]:
            wheel(self.wheels, "older", version, ["gamma; extra == 'more'", "delta; extra == 'less'"])
        for name in ["gamma", "delta", "sub"]:
            wheel(self.wheels, name, "1.0")
        self.packages("alpha")
        said = self.run_pipeline(pythons=f"{PYTHON},{older}")
        self.assertIn("built=2 deployed=2 unchanged=0 failed=0", said)
        for python, expected in [
            (PYTHON, ["alpha-1.0", "beta-1.0", "newer-1.0"]),
            (older, ["alpha-1.0", "beta-1.0", "gamma-1.0", "older-1.0", "sub-1.0"]),
        ]:
            with zipfile.ZipFile(io.BytesIO(self.layer("alpha", python=python))) as layer:
                names = [name.split("/")[1] for name in layer.namelist() if name.endswith("METADATA")]
            self.assertEqual(expected, sorted(name.removesuffix(".dist-info") for name in names))

        wheel(self.wheels, "alpha", "2.0", [f"unheard-of; {before}"])
        said = self.run_pipeline(pythons=f"{PYTHON},{older}", fails=True)
        self.assertRegex(said, rf"alpha for {older}: .*No matching distribution found for unheard-of")
        self.assertIn("built=1 deployed=1 unchanged=0 failed=1", said)

    def test_what_pip_does_not_find_fails_by_name_and_the_rest_is_deployed(self):
        wheel(self.wheels, "alpha", "1.0")
        self.packages("alpha", "unheard-of")
        said = self.run_pipeline(fails=True)
        self.assertRegex(said, r"unheard-of for p3\.\d+: .*No matching distribution found for unheard-of")
        self.assertIn("built=1 deployed=1 unchanged=0 failed=1", said)

    def test_without_an_index_a_run_takes_the_list_and_one_that_must_use_pip_fails(self):
        self.more = {"PIP_INDEX_URL": "http://127.0.0.1:1/simple", "PIP_RETRIES": "1", "PIP_NO_CACHE_DIR": "1"}
        (self.folder / "packages.csv").write_text("package,version\nalpha,1.0\n")
        said = self.run_pipeline()
        self.assertEqual(1, said.count("this run takes the versions of the list"), said)
        self.assertIn("built=1 deployed=1 unchanged=0 failed=0", said)
        with zipfile.ZipFile(io.BytesIO(self.layer("alpha"))) as layer:
            self.assertEqual(["python/requirements.txt"], layer.namelist())
        self.assertIn("pip cannot reach its package index", self.run_pipeline("--index", "pip", fails=True))

        self.more = {"PIP_NO_INDEX": "1", "PIP_FIND_LINKS": str(self.wheels)}
        wheel(self.wheels, "alpha", "2.0")
        self.assertIn("built=1 deployed=1", self.run_pipeline(), "pip is there again")

    def test_boto3_finds_lists_downloads_and_publishes_layers(self):
        wheel(self.wheels, "alpha", "1.0", licence="Classifier: License :: OSI Approved :: Apache Software License")
        self.packages("alpha")
        self.run_pipeline()
        wheel(self.wheels, "alpha", "2.0", licence="License-Expression: Apache-2.0")
        self.run_pipeline()
        client, name = self.serve(), NAME.format("alpha")
        arn = f"arn:aws:lambda:{REGION}:{ACCOUNT}:layer:{name}"
        listed = client.list_layer_versions(LayerName=name)["LayerVersions"]
        self.assertEqual([f"{arn}:2", f"{arn}:1"], [version["LayerVersionArn"] for version in listed])
        self.assertEqual([2, 1], [version["Version"] for version in listed])
        self.assertEqual("Apache Software License", listed[1]["LicenseInfo"])
        first = listed[0]
        self.assertEqual(("alpha 2.0", "Apache-2.0"), (first["Description"], first["LicenseInfo"]))
        self.assertEqual(([RUNTIME], ["x86_64"]), (first["CompatibleRuntimes"], first["CompatibleArchitectures"]))
        pages = client.get_paginator("list_layer_versions").paginate(LayerName=arn, PaginationConfig={"PageSize": 1})
        self.assertEqual([2, 1], [version["Version"] for page in pages for version in page["LayerVersions"]])
        self.assertEqual([], client.list_layer_versions(LayerName=name, CompatibleRuntime="python3.6")["LayerVersions"])
        self.assertEqual([], client.list_layer_versions(LayerName="unknown")["LayerVersions"])

        one = client.get_layer_version(LayerName=name, VersionNumber=1)
        by_arn = client.get_layer_version_by_arn(Arn=f"{arn}:1")
        for answer in (one, by_arn):
            answer.pop("ResponseMetadata")
        self.assertEqual(one, by_arn)
        self.assertEqual(arn, one["LayerArn"])
        with urllib.request.urlopen(one["Content"]["Location"], timeout=30) as answer:
            content = answer.read()
        self.assertEqual(self.layer("alpha"), content)
        self.assertEqual(len(content), one["Content"]["CodeSize"])
        sha256 = base64.b64encode(hashlib.sha256(content).digest()).decode()
        self.assertEqual(sha256, one["Content"]["CodeSha256"])
        with self.assertRaises(client.exceptions.ResourceNotFoundException):
            client.get_layer_version(LayerName=name, VersionNumber=7)
        with self.assertRaises(client.exceptions.InvalidParameterValueException):
            client.get_layer_version_by_arn(Arn=arn)

        self.publishes(client, content)

    def publishes(self, client, content):
        mine = {"LayerName": "mine", "Content": {"ZipFile": content}, "CompatibleRuntimes": [RUNTIME]}
        made = client.publish_layer_version(
            **mine, Description="7.1", LicenseInfo="MIT", CompatibleArchitectures=["arm64"]
        )
        self.assertEqual((1, f"arn:aws:lambda:{REGION}:{ACCOUNT}:layer:mine:1"), (made["Version"], made["LayerVersionArn"]))
        again = client.publish_layer_version(**mine, CompatibleArchitectures=["arm64"])
        self.assertEqual(2, again["Version"], "as in Lambda, the same content is another version")
        found = client.get_layer_version(LayerName="mine", VersionNumber=1)
        self.assertEqual(("7.1", "7.1"), (made["Description"], found["Description"]))
        self.assertEqual((["arm64"], "MIT"), (found["CompatibleArchitectures"], found["LicenseInfo"]))
        with urllib.request.urlopen(found["Content"]["Location"], timeout=30) as answer:
            self.assertEqual(content, answer.read())
        # It is a layer like any other: in the API, with its predecessor deprecated.
        url = f"{self.address}/api/v2/{PYTHON}-arm64/layers/{REGION}/mine"
        with urllib.request.urlopen(url, timeout=30) as answer:
            versions = json.load(answer)
        self.assertEqual(["deprecated", "latest"], [version["deployStatus"] for version in versions])
        for wrong in (
            {**mine, "CompatibleRuntimes": ["nodejs22.x"]},
            {**mine, "CompatibleRuntimes": []},
            {**mine, "Content": {"ZipFile": b"no zip"}},
            {**mine, "LayerName": "a b"},
            {**mine, "LayerName": f"arn:aws:lambda:{REGION}:{ACCOUNT}:layer:a%b"},
        ):
            with self.assertRaises(client.exceptions.InvalidParameterValueException):
                client.publish_layer_version(**wrong)
        with self.assertRaisesRegex(client.exceptions.InvalidParameterValueException, "ListLayers is not served"):
            client.list_layers()
        stranger = {**ACCESS, "endpoint_url": self.address, "region_name": REGION}
        other = boto3.client("lambda", config=ONCE, **stranger)
        self.addCleanup(other.close)
        with self.assertRaises(ClientError) as denied:
            other.publish_layer_version(**mine)
        self.assertEqual("AccessDeniedException", denied.exception.response["Error"]["Code"])

    def test_behind_a_proxy_a_layer_is_downloaded_from_the_proxys_address(self):
        wheel(self.wheels, "alpha", "1.0")
        self.packages("alpha")
        self.run_pipeline()
        proxy = "https://layers.example.org/klayers"
        client = self.serve("--base-url", f"{proxy}/")
        found = client.get_layer_version(LayerName=NAME.format("alpha"), VersionNumber=1)
        self.assertEqual(f"{proxy}/layers/{found['LayerVersionArn']}", found["Content"]["Location"])
        # The proxy hands on what lies behind its own address.
        path = found["Content"]["Location"].removeprefix(proxy)
        with urllib.request.urlopen(self.address + path, timeout=30) as answer:
            self.assertEqual(self.layer("alpha"), answer.read())

    def test_beside_a_server_at_the_same_endpoint_a_run_names_the_call_that_runs_there(self):
        self.more = {"AWS_ACCESS_KEY_ID": "anybody", "AWS_SECRET_ACCESS_KEY": "anything", "AWS_REGION": REGION}
        self.packages("alpha")
        endpoint = self.started([TRESTLE, "serve", "--in-memory", "--behind-gateways", "--port", "0"])
        at = ["--index", "list", "--endpoint", endpoint]
        self.started(self.command("serve", "--port", "0", *at))
        said = self.run_pipeline(*at, fails=True)
        self.assertIn("another process runs klayers at this endpoint", said)
        self.assertRegex(said, r"curl -X POST .*/api/v1/runs")

    def test_a_layer_of_a_compiled_package_is_downloaded_by_aws_cli_and_imported(self):
        self.more = {}  # From the index that pip is configured for.
        self.packages("markupsafe")
        said = self.run_pipeline(pythons=f"{PYTHON},{PYTHON}-arm64")
        self.assertIn("built=2 deployed=2 unchanged=0 failed=0", said)
        with zipfile.ZipFile(io.BytesIO(self.layer("markupsafe", python=f"{PYTHON}-arm64"))) as arm:
            compiled = [name for name in arm.namelist() if name.endswith(".so")]
        self.assertTrue(compiled and all("aarch64" in name for name in compiled), compiled)

        self.serve()
        aws = [
            AWS, "lambda", "get-layer-version", "--layer-name", NAME.format("markupsafe"), "--version-number", "1",
            "--endpoint-url", self.address, "--region", REGION, "--query", "Content.Location", "--output", "text",
        ]  # fmt: skip
        keys = {"AWS_ACCESS_KEY_ID": "anybody", "AWS_SECRET_ACCESS_KEY": "anything", "AWS_PAGER": ""}
        found = subprocess.run(aws, env={**self.environment(), **keys}, capture_output=True, text=True, timeout=60)
        self.assertEqual(0, found.returncode, found.stderr)
        with urllib.request.urlopen(found.stdout.strip(), timeout=30) as answer:
            layer = zipfile.ZipFile(io.BytesIO(answer.read()))
        with layer:
            layer.extractall(self.folder / "opt")
            self.assertTrue([name for name in layer.namelist() if name.endswith(".so") and "x86_64" in name])
        if platform.machine() != "x86_64":
            self.skipTest("the layer for x86_64 cannot be imported on this machine")
        program = "import markupsafe, markupsafe._speedups; print(markupsafe.escape('<')); print(markupsafe.__file__)"
        done = subprocess.run(
            [sys.executable, "-S", "-c", program],
            env={"PYTHONPATH": str(self.folder / "opt" / "python")}, capture_output=True, text=True, timeout=60,
        )  # fmt: skip
        self.assertEqual(0, done.returncode, done.stderr)
        self.assertEqual("&lt;", done.stdout.splitlines()[0])
        self.assertIn(str(self.folder / "opt"), done.stdout)


if __name__ == "__main__":
    unittest.main()
