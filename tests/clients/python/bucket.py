"""A bucket for programs that keep files in S3, in moto's server or in the one that S3_ENDPOINT names; and the programs' calls."""

import json
import logging
import os
import pathlib
import re
import subprocess
import tempfile
import unittest
import urllib.request
import uuid

import boto3
from moto.server import ThreadedMotoServer

from support import ACCESS, ONCE

PROGRAMS = pathlib.Path(__file__).resolve().parents[3] / "target" / "debug"
PREFIX = "some/prefix"
# Moto logs every request otherwise.
logging.getLogger("werkzeug").setLevel(logging.ERROR)


class WithBucket(unittest.TestCase):
    """Tests with an empty bucket (`self.s3`, `self.bucket`) at `self.endpoint`, and an empty folder."""

    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)
        self.endpoint = os.environ.get("S3_ENDPOINT") or self.moto()
        self.s3 = boto3.client("s3", config=ONCE, **{**ACCESS, "endpoint_url": self.endpoint})
        self.addCleanup(self.s3.close)
        # One process has one S3 of moto, however many servers, and another server is not emptied.
        self.bucket = f"files-{uuid.uuid4().hex}"
        self.s3.create_bucket(Bucket=self.bucket)

    def moto(self):
        server = ThreadedMotoServer(ip_address="127.0.0.1", port=0, verbose=False)
        server.start()
        self.addCleanup(server.stop)
        return "http://{}:{}".format(*server.get_host_and_port())

    def place(self):
        return f"s3://{self.bucket}/{PREFIX}"

    def environment(self):
        kept = {name: value for name, value in os.environ.items() if not name.startswith("AWS_")}
        return {**kept, "AWS_ACCESS_KEY_ID": "anybody", "AWS_SECRET_ACCESS_KEY": "anything", "AWS_REGION": "us-east-1"}

    def serve(self, program, *flags):
        """Starts `PROGRAM serve`, which keeps its data in the folder and prints its address first."""
        command = [PROGRAMS / program, "serve", "--port", "0", "--data", self.folder / "data", *flags]
        command += ["--s3-endpoint", self.endpoint]
        server = subprocess.Popen(command, env=self.environment(), cwd=self.folder, text=True, stdout=subprocess.PIPE)
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

    def stored(self):
        """All objects of the bucket, by what follows the prefix."""
        listed = self.s3.list_objects_v2(Bucket=self.bucket).get("Contents", [])
        get = lambda key: self.s3.get_object(Bucket=self.bucket, Key=key)["Body"].read()  # noqa: E731
        return {entry["Key"].removeprefix(PREFIX + "/"): get(entry["Key"]) for entry in listed}
