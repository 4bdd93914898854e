"""Injected faults: what boto3 makes of a server that throttles, fails and hangs up."""

import json
import os
import re
import subprocess
import threading
import unittest
import urllib.request
from pathlib import Path

import boto3
from botocore.config import Config

from support import ACCESS, attributes, schema

ROOT = Path(__file__).resolve().parents[3]
TRESTLE = os.environ.get("TRESTLE_PROGRAM", ROOT / "target" / "debug" / "trestle")
PATIENT = Config(retries={"total_max_attempts": 12, "mode": "standard"}, connect_timeout=5, read_timeout=30)
ROWS = 60


class Faults(unittest.TestCase):
    """A server of its own, whose faults are switched on and off."""

    def setUp(self):
        command = [TRESTLE, "serve", "--in-memory", "--port", "0", "--allow-fault-injection"]
        self.server = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
        self.addCleanup(self.server.stdout.close)
        self.addCleanup(self.server.wait)
        self.addCleanup(self.server.terminate)
        self.url = re.search(r"http://127\.0\.0\.1:\d+", self.server.stdout.readline())[0]
        threading.Thread(target=self.server.stdout.read, daemon=True).start()
        self.db = boto3.client("dynamodb", config=PATIENT, **{**ACCESS, "endpoint_url": self.url})
        self.addCleanup(self.db.close)
        self.db.create_table(TableName="orders", BillingMode="PAY_PER_REQUEST",
                             AttributeDefinitions=attributes("pk:S"), KeySchema=schema("pk"))

    def administer(self, name, **members):
        request = urllib.request.Request(f"{self.url}/_trestle/{name}", data=json.dumps(members).encode(),
                                         headers={"X-Trestle-Admin": "1"})
        with urllib.request.urlopen(request, timeout=30) as answer:
            return json.load(answer)["rules"]

    def test_retries_get_through_throttling_of_three_in_ten(self):
        self.administer("set-faults", rules=["throttle,table=orders,share=0.3,seed=16"])
        retries = 0
        for number in range(ROWS):
            answer = self.db.update_item(TableName="orders", Key={"pk": {"S": str(number)}},
                                         UpdateExpression="ADD seen :one", ExpressionAttributeValues={":one": {"N": "1"}})
            retries += answer["ResponseMetadata"]["RetryAttempts"]
        [rule] = self.administer("list-faults")
        self.assertEqual(ROWS + retries, rule["matched"])
        self.assertEqual(retries, rule["injected"])
        self.assertGreater(retries, 0)
        self.administer("set-faults", rules=[])
        items = self.db.scan(TableName="orders")["Items"]
        self.assertEqual([{"N": "1"}] * ROWS, [item["seen"] for item in items], "each update was made once")

    def test_a_batch_writer_sends_again_what_comes_back_unprocessed(self):
        self.administer("set-faults", rules=["throttle,operation=BatchWriteItem,share=0.3,seed=1"])
        table = boto3.resource("dynamodb", config=PATIENT, **{**ACCESS, "endpoint_url": self.url}).Table("orders")
        self.addCleanup(table.meta.client.close)
        with table.batch_writer() as batch:
            for number in range(300):
                batch.put_item(Item={"pk": str(number)})
        self.assertGreater(self.administer("list-faults")[0]["injected"], 0)
        self.administer("set-faults", rules=[])
        self.assertEqual(300, self.db.scan(TableName="orders")["Count"])

    def test_retries_get_over_failures_and_lost_connections(self):
        for fault in ["internal", "unavailable", "cut-before", "cut-after"]:
            with self.subTest(fault):
                self.administer("set-faults", rules=[f"{fault},operation=PutItem,times=2"])
                answer = self.db.put_item(TableName="orders", Item={"pk": {"S": fault}})
                self.assertEqual(2, answer["ResponseMetadata"]["RetryAttempts"])
