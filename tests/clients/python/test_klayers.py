"""apps/klayers with its layers in S3, which boto3 looks into."""

import io
import os
import pathlib
import re
import subprocess
import time
import unittest
import urllib.request
import zipfile

import boto3

from bucket import WithBucket
from support import ACCESS, ONCE

ROOT = pathlib.Path(__file__).resolve().parents[3]
KLAYERS = ROOT / "target" / "debug" / "klayers"
TRESTLE = pathlib.Path(os.environ.get("TRESTLE_PROGRAM", ROOT / "target" / "debug" / "trestle"))
REGIONS = ["eu-west-1", "us-east-1"]


class LayersInS3(WithBucket):
    def setUp(self):
        super().setUp()
        (self.folder / "regions.csv").write_text("\n".join(["region", *REGIONS]) + "\n")

    def release(self, **packages):
        lines = [f"{package},{version}," for package, version in packages.items()]
        (self.folder / "packages.csv").write_text("\n".join(["package,version,requires", *lines]) + "\n")

    def command(self, what):
        return [
            KLAYERS, what, "--index", "list", "--data", self.folder / "data", "--layers", self.place(),
            "--s3-endpoint", self.endpoint, "--pythons", "p3.12",
            "--packages", self.folder / "packages.csv", "--regions", self.folder / "regions.csv",
        ]  # fmt: skip

    def run_pipeline(self):
        """What the run says at its end."""
        done = subprocess.run(
            self.command("run"), env=self.environment(), capture_output=True, text=True, timeout=120
        )
        self.assertEqual(0, done.returncode, done.stderr)
        return re.search("the run is over (.*) took", done.stderr).group(1)

    def start(self, command, where):
        """Starts a server and gives its address, which stands in its output or log."""
        server = subprocess.Popen(command, env=self.environment(), text=True, **{where: subprocess.PIPE})
        self.addCleanup(self.end, server)
        for line in getattr(server, where):
            if found := re.search(r"http://127\.0\.0\.1:\d+", line):
                return server, found.group()
        self.fail(f"{command[0]} ended")

    @staticmethod
    def end(server):
        if server.returncode is None:
            server.terminate()
            server.communicate(timeout=30)

    def stored(self):
        """The layers by name, with their content."""
        listed = self.s3.list_objects_v2(Bucket=self.bucket).get("Contents", [])
        stored = {}
        for name in [entry["Key"] for entry in listed if entry["Key"].endswith(".zip")]:
            try:
                content = self.s3.get_object(Bucket=self.bucket, Key=name)["Body"].read()
                with zipfile.ZipFile(io.BytesIO(content)) as layer:
                    stored[name] = layer.read("python/requirements.txt").decode().strip()
            except self.s3.exceptions.NoSuchKey:
                pass  # Removed since it was listed.
        return stored

    def versions(self):
        """All objects, and when each was written."""
        listed = self.s3.list_objects_v2(Bucket=self.bucket)["Contents"]
        return [(entry["Key"], entry["LastModified"]) for entry in listed]

    def test_a_run_logs_a_line_for_each_package_with_how_far_it_is(self):
        self.release(idna="3.10", requests="2.31")
        run = subprocess.run(self.command("run"), env=self.environment(), stderr=subprocess.PIPE, text=True, timeout=60)
        self.assertEqual(0, run.returncode, run.stderr)
        lines = re.findall(r"(\w+) for p3.12 done=(\d) of=(\d)", run.stderr)
        self.assertEqual([("idna", "2", "4"), ("requests", "4", "4")], lines, run.stderr)

    def test_layers_are_objects_a_second_run_writes_none_and_one_that_expires_goes(self):
        self.release(idna="3.10", requests="2.31")
        self.assertEqual("built=2 deployed=4 unchanged=0 failed=0", self.run_pipeline())
        layer = "some/prefix/{}/Klayers-p312-{}/{}.zip".format
        first = {layer(region, "idna", 1): "idna==3.10" for region in REGIONS}
        first |= {layer(region, "requests", 1): "requests==2.31" for region in REGIONS}
        self.assertEqual(first, self.stored())

        before = self.versions()
        self.assertEqual("built=0 deployed=0 unchanged=4 failed=0", self.run_pipeline())
        self.assertEqual(before, self.versions())

        self.release(idna="3.10", requests="2.32")
        self.assertEqual("built=1 deployed=2 unchanged=2 failed=0", self.run_pipeline())
        second = first | {layer(region, "requests", 2): "requests==2.32" for region in REGIONS}
        self.assertEqual(second, self.stored())

        self.expire("eu-west-1")
        server, address = self.start(self.command("serve"), "stderr")
        self.wait_until(lambda: layer("eu-west-1", "requests", 1) not in self.stored())
        del second[layer("eu-west-1", "requests", 1)]
        self.assertEqual(second, self.stored())
        with urllib.request.urlopen(f"{address}/api/v2/p3.12/layers/eu-west-1/requests", timeout=30) as answer:
            versions = answer.read().decode()
        self.assertIn("layer:Klayers-p312-requests:2", versions)
        self.assertNotIn("layer:Klayers-p312-requests:1", versions)
        self.end(server)

        # Layers without a row are removed, and the number of the removed one is not used again.
        self.s3.put_object(Bucket=self.bucket, Key=layer("us-east-1", "idna", 7), Body=b"cut off")
        self.release(idna="3.10", requests="2.33")
        self.run_pipeline()
        third = second | {layer(region, "requests", 3): "requests==2.33" for region in REGIONS}
        self.assertEqual(third, self.stored())

    def expire(self, region):
        """Lets the first layer of requests in a region expire in a moment instead of in a year."""
        data = self.folder / "data" / "table"
        server, address = self.start([TRESTLE, "serve", "--port", "0", "--data", data], "stdout")
        table = boto3.resource("dynamodb", config=ONCE, **{**ACCESS, "endpoint_url": address}).Table("kl.db-ver2")
        self.addCleanup(table.meta.client.close)
        table.update_item(
            Key={"pk": f"lyr#{region}:requests:p3.12", "sk": "lyrVrsn#v1"},
            UpdateExpression="SET exDt = :soon",
            ConditionExpression="attribute_exists(exDt)",
            ExpressionAttributeValues={":soon": int(time.time()) + 3},
        )
        self.end(server)

    def wait_until(self, holds):
        patience = time.monotonic() + 60
        while not holds():
            self.assertLess(time.monotonic(), patience, "the layer is still there")
            time.sleep(0.1)


if __name__ == "__main__":
    unittest.main()
