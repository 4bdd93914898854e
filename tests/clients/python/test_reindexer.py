"""apps/reindexer with its payloads in S3: moto's server, which boto3 looks into."""

import json
import logging
import os
import pathlib
import re
import subprocess
import tempfile
import time
import unittest
import urllib.request

import boto3
from moto.server import ThreadedMotoServer

from support import ACCESS, ONCE

ROOT = pathlib.Path(__file__).resolve().parents[3]
REINDEXER = ROOT / "target" / "debug" / "reindexer"
BUCKET = "payloads"
# Moto logs every request otherwise.
logging.getLogger("werkzeug").setLevel(logging.ERROR)


class PayloadsInS3(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)
        moto = ThreadedMotoServer(ip_address="127.0.0.1", port=0, verbose=False)
        moto.start()
        self.addCleanup(moto.stop)
        self.endpoint = "http://{}:{}".format(*moto.get_host_and_port())
        self.s3 = boto3.client("s3", config=ONCE, **{**ACCESS, "endpoint_url": self.endpoint})
        self.addCleanup(self.s3.close)
        # One process has one S3, however many servers.
        urllib.request.urlopen(f"{self.endpoint}/moto-api/reset", data=b"", timeout=30).close()
        self.s3.create_bucket(Bucket=BUCKET)

    def serve(self):
        kept = {name: value for name, value in os.environ.items() if not name.startswith("AWS_")}
        access = {"AWS_ACCESS_KEY_ID": "anybody", "AWS_SECRET_ACCESS_KEY": "anything", "AWS_REGION": "us-east-1"}
        command = [
            REINDEXER, "serve", "--port", "0", "--data", self.folder / "data",
            "--objects", f"s3://{BUCKET}/some/prefix", "--s3-endpoint", self.endpoint,
        ]  # fmt: skip
        server = subprocess.Popen(command, env={**kept, **access}, text=True, stdout=subprocess.PIPE)
        self.addCleanup(server.communicate, timeout=30)
        self.addCleanup(server.terminate)
        self.url = re.search(r"http://\S+", server.stdout.readline()).group()

    def call(self, method, path, body=None):
        headers = {"content-type": "application/json"}
        data = None if body is None else json.dumps(body).encode()
        request = urllib.request.Request(self.url + path, data=data, method=method, headers=headers)
        with urllib.request.urlopen(request, timeout=30) as answer:
            said = answer.read()
        return json.loads(said) if said else None

    def test_payloads_are_objects_and_a_new_pipeline_is_filled_from_them(self):
        self.serve()
        self.call("PUT", "/pipelines/first", {"transformer": 1})
        payload = {"image_title": "A pharmacist", "image_keywords": ["Scales"]}
        row = self.call("PUT", "/sources/miro/V0000001", payload)
        self.assertEqual(BUCKET, row["location"]["bucket"])
        listed = self.s3.list_objects_v2(Bucket=BUCKET)["Contents"]
        self.assertEqual(["some/prefix/" + row["location"]["key"]], [entry["Key"] for entry in listed])
        stored = self.s3.get_object(Bucket=BUCKET, Key=listed[0]["Key"])["Body"].read()
        self.assertEqual(payload, json.loads(stored))

        self.call("PUT", "/pipelines/second", {"transformer": 2})
        self.call("POST", "/reindexes", {"source": "miro", "destination": "catalogue"})
        self.wait_for("second")
        self.call("POST", "/pipelines/second/serve")
        self.assertEqual(["Scales"], self.call("GET", "/works/V0000001")["subjects"])

    def test_a_payload_that_is_gone_is_a_gap_with_a_reason(self):
        self.serve()
        row = self.call("PUT", "/sources/miro/V0000001", {"image_title": "A pharmacist"})
        self.s3.delete_object(Bucket=BUCKET, Key="some/prefix/" + row["location"]["key"])
        self.call("PUT", "/pipelines/late", {"transformer": 2})
        self.assertEqual({"sent": 1}, self.call("POST", "/pipelines/late/resend"))
        gap = {"id": "V0000001", "source": "miro", "version": 1, "indexed": None, "missingAt": "transformer"}
        self.assertEqual([gap], self.call("GET", "/pipelines/late/gaps"))

    def wait_for(self, pipeline):
        deadline = time.monotonic() + 60
        while self.call("GET", f"/pipelines/{pipeline}/gaps"):
            self.assertLess(time.monotonic(), deadline, self.call("GET", f"/pipelines/{pipeline}/status"))
            time.sleep(0.05)


if __name__ == "__main__":
    unittest.main()
