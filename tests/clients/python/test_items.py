"""Items through boto3: single writes, batches, pages, conditions."""

import unittest
from decimal import Decimal

from boto3.dynamodb.conditions import Attr, Key
from boto3.dynamodb.types import Binary

from support import ClientTest, resource


class LowLevelItems(ClientTest):
    def test_put_get_update_delete(self):
        name = self.table()
        key = {"pk": {"S": "a"}}
        self.db.put_item(TableName=name, Item={**key, "n": {"N": "1"}})
        updated = self.db.update_item(
            TableName=name,
            Key=key,
            UpdateExpression="ADD n :one SET #s = :s",
            ExpressionAttributeNames={"#s": "status"},
            ExpressionAttributeValues={":one": {"N": "1"}, ":s": {"S": "new"}},
            ReturnValues="ALL_NEW",
        )
        self.assertEqual({**key, "n": {"N": "2"}, "status": {"S": "new"}}, updated["Attributes"])
        old = self.db.delete_item(TableName=name, Key=key, ReturnValues="ALL_OLD")
        self.assertEqual({"N": "2"}, old["Attributes"]["n"])
        self.assertNotIn("Item", self.db.get_item(TableName=name, Key=key))

    def test_a_failed_condition_is_a_modeled_exception_and_is_not_retried(self):
        name = self.table()
        self.db.put_item(TableName=name, Item={"pk": {"S": "a"}, "v": {"N": "1"}})
        with self.assertRaises(self.db.exceptions.ConditionalCheckFailedException) as caught:
            self.db.put_item(
                TableName=name,
                Item={"pk": {"S": "a"}},
                ConditionExpression="attribute_not_exists(pk)",
                ReturnValuesOnConditionCheckFailure="ALL_OLD",
            )
        answer = caught.exception.response
        self.assertEqual("The conditional request failed", answer["Error"]["Message"])
        self.assertEqual({"pk": {"S": "a"}, "v": {"N": "1"}}, answer["Item"])
        self.assertEqual(0, answer["ResponseMetadata"]["RetryAttempts"])

    def test_the_answer_carries_a_request_id_and_a_checksum(self):
        metadata = self.db.list_tables()["ResponseMetadata"]
        self.assertEqual(200, metadata["HTTPStatusCode"])
        self.assertTrue(metadata["RequestId"])
        self.assertIn("x-amz-crc32", metadata["HTTPHeaders"])

    def test_the_query_paginator_reads_everything_in_order(self):
        name = self.table("pk:S sk:N", ("pk", "sk"))
        for start in range(0, 50, 25):
            puts = [{"PutRequest": {"Item": {"pk": {"S": "p"}, "sk": {"N": str(n)}}}} for n in range(start, start + 25)]
            self.assertEqual({}, self.db.batch_write_item(RequestItems={name: puts})["UnprocessedItems"])
        pages = self.db.get_paginator("query").paginate(
            TableName=name,
            KeyConditionExpression="pk = :p",
            ExpressionAttributeValues={":p": {"S": "p"}},
            PaginationConfig={"PageSize": 7},
        )
        self.assertEqual(list(range(50)), [int(item["sk"]["N"]) for page in pages for item in page["Items"]])

    def test_the_scan_paginator_reads_every_segment(self):
        name = self.table()
        for n in range(30):
            self.db.put_item(TableName=name, Item={"pk": {"S": f"k{n}"}})
        seen = []
        for segment in range(3):
            pages = self.db.get_paginator("scan").paginate(
                TableName=name, Segment=segment, TotalSegments=3, PaginationConfig={"PageSize": 4}
            )
            seen += [item["pk"]["S"] for page in pages for item in page["Items"]]
        self.assertEqual(sorted(f"k{n}" for n in range(30)), sorted(seen))

    def test_batch_get_finds_what_is_there(self):
        name = self.table()
        self.db.put_item(TableName=name, Item={"pk": {"S": "a"}})
        found = self.db.batch_get_item(RequestItems={name: {"Keys": [{"pk": {"S": "a"}}, {"pk": {"S": "b"}}]}})
        self.assertEqual([{"pk": {"S": "a"}}], found["Responses"][name])
        self.assertEqual({}, found["UnprocessedKeys"])

    def test_consumed_capacity_parses(self):
        name = self.table()
        answer = self.db.put_item(TableName=name, Item={"pk": {"S": "a"}}, ReturnConsumedCapacity="TOTAL")
        self.assertEqual(1.0, answer["ConsumedCapacity"]["CapacityUnits"])

    def test_a_validation_error_is_a_client_error(self):
        name = self.table()
        with self.assertRaises(self.db.exceptions.ClientError) as caught:
            self.db.get_item(TableName=name, Key={"other": {"S": "a"}})
        self.assertEqual("ValidationException", caught.exception.response["Error"]["Code"])
        self.assertEqual("The provided key element does not match the schema", caught.exception.response["Error"]["Message"])


class ResourceItems(ClientTest):
    def setUp(self):
        super().setUp()
        self.items = resource().Table(self.table("pk:S sk:N", ("pk", "sk")))

    def test_python_values_come_back_as_they_went_in(self):
        item = {
            "pk": "a",
            "sk": Decimal("1.5"),
            "text": "ünï",
            "big": Decimal("12345678901234567890123456789012345678"),
            "raw": Binary(b"\x00\xff"),
            "yes": True,
            "nothing": None,
            "list": [Decimal(1), "two", {"three": Decimal(3)}],
            "map": {"inner": [False]},
            "words": {"x", "y"},
            "numbers": {Decimal(1), Decimal("2.5")},
            "blobs": {Binary(b"a"), Binary(b"b")},
        }
        self.items.put_item(Item=item)
        self.assertEqual(item, self.items.get_item(Key={"pk": "a", "sk": Decimal("1.5")})["Item"])

    def test_condition_objects_build_expressions_the_server_understands(self):
        for n in range(10):
            self.items.put_item(Item={"pk": "p", "sk": n, "even": n % 2 == 0, "tags": ["a", "b"], "name": f"item {n}"})
        found = self.items.query(
            KeyConditionExpression=Key("pk").eq("p") & Key("sk").between(2, 8),
            FilterExpression=Attr("even").eq(True) & Attr("tags").contains("a") & Attr("name").begins_with("item"),
            ProjectionExpression="sk",
            ScanIndexForward=False,
        )
        self.assertEqual([8, 6, 4, 2], [item["sk"] for item in found["Items"]])
        self.assertEqual(7, found["ScannedCount"])

    def test_the_batch_writer_writes_all(self):
        with self.items.batch_writer() as batch:
            for n in range(60):
                batch.put_item(Item={"pk": "p", "sk": n})
        with self.items.batch_writer() as batch:
            for n in range(30):
                batch.delete_item(Key={"pk": "p", "sk": n})
        self.assertEqual(30, self.items.query(KeyConditionExpression=Key("pk").eq("p"), Select="COUNT")["Count"])

    def test_a_conditional_update_with_an_attr_condition(self):
        self.items.put_item(Item={"pk": "p", "sk": 1, "version": 1})
        update = dict(
            Key={"pk": "p", "sk": 1},
            UpdateExpression="SET version = version + :one",
            ConditionExpression=Attr("version").eq(1),
            ExpressionAttributeValues={":one": 1},
        )
        self.items.update_item(**update)
        with self.assertRaises(self.db.exceptions.ClientError) as caught:
            self.items.update_item(**update)
        self.assertEqual("ConditionalCheckFailedException", caught.exception.response["Error"]["Code"])


if __name__ == "__main__":
    unittest.main()
