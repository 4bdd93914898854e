"""Streams through boto3's own client for them."""

import time
import unittest

from support import ClientTest, client


class Streams(ClientTest):
    def setUp(self):
        super().setUp()
        self.streams = client("dynamodbstreams")
        self.addCleanup(self.streams.close)
        self.name = self.table(StreamSpecification={"StreamEnabled": True, "StreamViewType": "NEW_AND_OLD_IMAGES"})
        self.arn = self.db.describe_table(TableName=self.name)["Table"]["LatestStreamArn"]

    def shards(self):
        return self.streams.describe_stream(StreamArn=self.arn)["StreamDescription"]["Shards"]

    def records(self, wanted, kind="TRIM_HORIZON", seconds=20):
        """Reads all shards until that many records were seen."""
        iterators = [
            self.streams.get_shard_iterator(StreamArn=self.arn, ShardId=shard["ShardId"], ShardIteratorType=kind)["ShardIterator"]
            for shard in self.shards()
        ]
        found, deadline = [], time.monotonic() + seconds
        while len(found) < wanted and time.monotonic() < deadline:
            pages = [self.streams.get_records(ShardIterator=iterator) for iterator in iterators]
            found += [record for page in pages for record in page["Records"]]
            iterators = [page["NextShardIterator"] for page in pages if page.get("NextShardIterator")]
        return sorted(found, key=lambda record: int(record["dynamodb"]["SequenceNumber"]))

    def test_every_change_arrives_in_order_with_its_images(self):
        key = {"pk": {"S": "a"}}
        self.db.put_item(TableName=self.name, Item={**key, "v": {"N": "1"}})
        self.db.put_item(TableName=self.name, Item={**key, "v": {"N": "2"}})
        self.db.delete_item(TableName=self.name, Key=key)
        records = self.records(3)
        self.assertEqual(["INSERT", "MODIFY", "REMOVE"], [record["eventName"] for record in records])
        self.assertEqual({**key, "v": {"N": "1"}}, records[1]["dynamodb"]["OldImage"])
        self.assertEqual({**key, "v": {"N": "2"}}, records[1]["dynamodb"]["NewImage"])
        self.assertNotIn("NewImage", records[2]["dynamodb"])

    def test_a_reader_goes_on_after_a_sequence_number(self):
        for n in range(4):
            self.db.put_item(TableName=self.name, Item={"pk": {"S": "same"}, "v": {"N": str(n)}})
        second = self.records(4)[1]["dynamodb"]["SequenceNumber"]
        for kind, expected in (("AFTER_SEQUENCE_NUMBER", ["2", "3"]), ("AT_SEQUENCE_NUMBER", ["1", "2", "3"])):
            self.assertIn(expected, [self.values_from(shard, kind, second) for shard in self.shards()])

    def values_from(self, shard, kind, sequence):
        try:
            iterator = self.streams.get_shard_iterator(
                StreamArn=self.arn, ShardId=shard["ShardId"], ShardIteratorType=kind, SequenceNumber=sequence
            )["ShardIterator"]
        except self.streams.exceptions.ClientError:
            return None  # The number belongs to another shard.
        page = self.streams.get_records(ShardIterator=iterator)
        return [record["dynamodb"]["NewImage"]["v"]["N"] for record in page["Records"]]

    def test_the_stream_is_listed_under_its_table(self):
        listed = self.streams.list_streams(TableName=self.name)["Streams"]
        self.assertEqual([self.arn], [stream["StreamArn"] for stream in listed])

    def test_an_unknown_stream_is_a_modeled_exception(self):
        with self.assertRaises(self.streams.exceptions.ResourceNotFoundException):
            self.streams.describe_stream(StreamArn=self.arn[:-3] + "999")


if __name__ == "__main__":
    unittest.main()
