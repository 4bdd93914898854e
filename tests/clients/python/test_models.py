"""Models through boto3: an application writes plain items, and what follows from them is there."""

import hashlib
import json
import re
import unittest
import urllib.request
import uuid
from pathlib import Path

from boto3.dynamodb.conditions import Key
from botocore.exceptions import ClientError

from support import ENDPOINT, ClientTest, resource

MODELS = Path(__file__).resolve().parents[3] / "models"

USERS = """
model = "users"

[table.users]
key = ["pk"]
entity_attribute = "kind"

[entity.user]
table = "users"
key.pk = "user#{id}"
attributes = { id = "string", email = "string" }

[entity.user.unique.email]
key.pk = "email#{email|lower}"
"""


class ModelTest(ClientTest):
    """Gives each test models whose names and tables are its own."""

    def setUp(self):
        super().setUp()
        self.resource = resource()

    def apply(self, text):
        """Applies a model and gives the prefix of its tables; lets go of both after the test."""
        prefix = f"m{uuid.uuid4().hex[:12]}-"
        name = prefix + "model"
        text = re.sub(r"(?m)^table_prefix = .*\n", "", text)
        text = re.sub(r'(?m)^model = ".*"', f'model = "{name}"\ntable_prefix = "{prefix}"', text)
        self.addCleanup(self.drop_all, prefix)
        self.call("apply-model", {"text": text})
        self.addCleanup(self.call, "remove-model", {"name": name})
        return prefix

    def call(self, name, body):
        request = urllib.request.Request(
            f"{ENDPOINT}/_trestle/{name}",
            method="POST",
            data=json.dumps(body).encode(),
            headers={"Content-Type": "application/json", "X-Trestle-Admin": "1"},
        )
        with urllib.request.urlopen(request, timeout=30) as answer:
            self.assertEqual(200, answer.status)

    def drop_all(self, prefix):
        for name in self.db.list_tables(ExclusiveStartTableName=prefix)["TableNames"]:
            if name.startswith(prefix):
                self.drop(name)


class LargeValues(ModelTest):
    """The example of docs/reference/model-file.md, as it stands there."""

    REFERENCE = (MODELS / ".." / "docs" / "reference" / "model-file.md").read_text()

    def setUp(self):
        super().setUp()
        section = self.REFERENCE.split("### Large values")[1]
        self.example = {"uuid": uuid, "hashlib": hashlib}
        exec(section.split("```python\n")[1].split("```")[0], self.example)
        self.name = self.apply(section.split("```toml\n")[1].split("```")[0]) + "registry"

    def test_a_value_of_megabytes_is_written_and_read(self):
        for version, size in [("1.0.0", 0), ("1.1.0", 5), ("2.0.0", 2_500_000)]:
            data = bytes(at * 7 % 251 for at in range(size))
            row = {"name": {"S": "left-pad"}, "version": {"S": version}}
            self.db.put_item(TableName=self.name, Item={**row, "payload": self.example["write_large"](self.db, data)})
            found = self.db.get_item(TableName=self.name, Key=row)["Item"]
            self.assertEqual(data, self.example["read_large"](self.db, found["payload"]))

    def test_a_value_that_is_not_there_is_refused_with_the_way_out(self):
        reference = self.example["write_large"](self.db, b"x")
        reference["M"]["id"]["S"] = "not-a-value-at-all"
        row = {"name": {"S": "p"}, "version": {"S": "1.0.0"}, "payload": reference}
        with self.assertRaisesRegex(ClientError, "put its parts into _trestle.value_parts first"):
            self.db.put_item(TableName=self.name, Item=row)


class Klayers(ModelTest):
    LAYER = {"rgn": "eu-west-1", "pckg": "requests", "pyVrsn": "p3.12", "pckgVrsn": "2.32"}

    def setUp(self):
        super().setUp()
        prefix = self.apply((MODELS / "klayers.toml").read_text())
        self.layers = self.resource.Table(prefix + "db-ver2")

    def deploy(self, version):
        self.layers.put_item(Item={**self.LAYER, "lyrVrsn": version, "arn": f"arn:{version}"})

    def head(self):
        key = {"pk": "lyr#eu-west-1:requests:p3.12", "sk": "lyrVrsn0#"}
        return self.layers.get_item(Key=key)["Item"]

    def with_status(self, status):
        found = self.layers.query(
            IndexName="deployed_in_region",
            KeyConditionExpression=Key("rgn").eq("eu-west-1") & Key("dplySts").eq(status),
        )
        return [(item["arn"], "exDt" in item) for item in found["Items"]]

    def test_a_new_version_is_the_head_and_the_last_one_is_deprecated(self):
        self.deploy(1)
        self.deploy(2)
        self.assertEqual("arn:2", self.head()["arn"])
        self.assertEqual([("arn:2", False)], self.with_status("latest"))
        self.assertEqual([("arn:1", True)], self.with_status("deprecated"))

    def test_a_head_is_rolled_back_by_writing_which_version_it_is(self):
        self.deploy(1)
        self.deploy(2)
        head = {key: self.head()[key] for key in ("pk", "sk")}
        self.layers.update_item(Key=head, UpdateExpression="SET lyrVrsn = :v", ExpressionAttributeValues={":v": 1})
        self.assertEqual("arn:1", self.head()["arn"])
        self.assertEqual([("arn:1", False)], self.with_status("latest"))
        self.assertEqual([("arn:2", True)], self.with_status("deprecated"))
        with self.assertRaises(ClientError) as caught:
            self.layers.update_item(Key=head, UpdateExpression="SET arn = :a", ExpressionAttributeValues={":a": "x"})
        self.assertIn("kept by the database", caught.exception.response["Error"]["Message"])


class Users(ModelTest):
    def test_a_taken_value_is_refused_with_its_owner(self):
        users = self.resource.Table(self.apply(USERS) + "users")
        users.put_item(Item={"id": "ann", "email": "Ann@example.org"})
        with self.assertRaises(ClientError) as caught:
            users.put_item(Item={"id": "bob", "email": "ann@example.org"})
        error = caught.exception.response["Error"]
        self.assertEqual("ConditionalCheckFailedException", error["Code"])
        self.assertEqual('Entity user: email "ann@example.org" is taken by the row with id "ann"; give another value, or change that row first', error["Message"])
        self.assertNotIn("Item", users.get_item(Key={"id": "bob"}))


class Manhunt(ModelTest):
    def test_an_update_of_the_status_moves_the_row_in_its_index(self):
        searches = self.resource.Table(self.apply((MODELS / "manhunt.toml").read_text()) + "manhunt")
        search = {"searchId": "a271244", "contactId": "89fa8f8", "domainId": "db3280c"}
        searches.put_item(
            Item={**search, "entityType": "search", "startedDatetime": "2019-12-30T19:32:14Z"},
        )

        def with_status(status):
            found = searches.query(
                IndexName="GSI2", KeyConditionExpression=Key("GSI2PK").eq(f"{status}#89fa8f8")
            )
            return [item["PK"] for item in found["Items"]]

        self.assertEqual((["a271244"], []), (with_status("active"), with_status("canceled")))
        searches.update_item(
            Key={"searchId": "a271244"},
            UpdateExpression="SET #s = :s",
            ExpressionAttributeNames={"#s": "status"},
            ExpressionAttributeValues={":s": "canceled"},
        )
        self.assertEqual(([], ["a271244"]), (with_status("active"), with_status("canceled")))


if __name__ == "__main__":
    unittest.main()
