"""What the Python client tests share: where the server is, and tables that go away again."""

import os
import unittest
import uuid

import boto3
from botocore.config import Config

ENDPOINT = os.environ.get("TRESTLE_ENDPOINT", "http://127.0.0.1:8000")
ACCESS = {
    "endpoint_url": ENDPOINT,
    "region_name": "us-east-1",
    "aws_access_key_id": "anybody",
    "aws_secret_access_key": "anything",
}
# A retry would hide a wrong answer, so there is none.
ONCE = Config(retries={"total_max_attempts": 1, "mode": "standard"}, connect_timeout=5, read_timeout=30)


def client(service="dynamodb"):
    return boto3.client(service, config=ONCE, **ACCESS)


def resource():
    return boto3.resource("dynamodb", config=ONCE, **ACCESS)


def attributes(definitions):
    """'pk:S sk:N' as AttributeDefinitions."""
    pairs = [word.split(":") for word in definitions.split()]
    return [{"AttributeName": name, "AttributeType": kind} for name, kind in pairs]


def schema(*names):
    kinds = ["HASH", "RANGE"]
    return [{"AttributeName": name, "KeyType": kind} for name, kind in zip(names, kinds)]


class ClientTest(unittest.TestCase):
    """Gives each test a low-level client and fresh tables."""

    def setUp(self):
        self.db = client()
        self.addCleanup(self.db.close)

    def table(self, definitions="pk:S", key=("pk",), **more):
        """Creates a table, waits for it the way applications do, and deletes it after the test."""
        name = f"t{uuid.uuid4().hex[:12]}"
        self.db.create_table(
            TableName=name,
            AttributeDefinitions=attributes(definitions),
            KeySchema=schema(*key),
            BillingMode="PAY_PER_REQUEST",
            **more,
        )
        self.addCleanup(self.drop, name)
        self.db.get_waiter("table_exists").wait(TableName=name, WaiterConfig={"Delay": 1, "MaxAttempts": 20})
        return name

    def drop(self, name):
        try:
            self.db.delete_table(TableName=name)
        except self.db.exceptions.ResourceNotFoundException:
            pass
