"""Queues through boto3's SQS client, each operation, as applications use them."""

import hashlib
import json
import time
import unittest
import urllib.request
import uuid

from support import client


class QueueTest(unittest.TestCase):
    """Gives each test a client and fresh queues."""

    def setUp(self):
        self.sqs = client("sqs")
        self.addCleanup(self.sqs.close)

    def queue(self, **attributes):
        """Creates a queue and deletes it after the test."""
        name = f"q{uuid.uuid4().hex[:12]}"
        url = self.sqs.create_queue(QueueName=name, Attributes=attributes)["QueueUrl"]
        self.addCleanup(self.drop, url)
        return url

    def drop(self, url):
        try:
            self.sqs.delete_queue(QueueUrl=url)
        except self.sqs.exceptions.QueueDoesNotExist:
            pass

    def attributes(self, url, *names):
        answer = self.sqs.get_queue_attributes(QueueUrl=url, AttributeNames=list(names or ["All"]))
        return answer.get("Attributes", {})

    def arn(self, url):
        return self.attributes(url, "QueueArn")["QueueArn"]

    def receive(self, url, **more):
        known = self.sqs.meta.service_model.operation_model("ReceiveMessage").input_shape.members
        if "MessageSystemAttributeNames" in more and "MessageSystemAttributeNames" not in known:
            # boto3 from before 2024 has the older name only.
            more["AttributeNames"] = more.pop("MessageSystemAttributeNames")
        return self.sqs.receive_message(QueueUrl=url, **{"MaxNumberOfMessages": 10, **more}).get("Messages", [])

    def send(self, url, *bodies):
        for body in bodies:
            self.sqs.send_message(QueueUrl=url, MessageBody=body)

    def refused(self, code, operation, **parameters):
        """Both names of an error: the one in the service model and the older one that programs compare with."""
        with self.assertRaises(self.sqs.exceptions.ClientError) as raised:
            getattr(self.sqs, operation)(**parameters)
        self.assertEqual(code, raised.exception.response["Error"]["Code"])
        return raised.exception.response["Error"]["Message"]


class Queues(QueueTest):
    def test_a_queue_is_found_by_name_and_url(self):
        url = self.queue()
        name = url.rsplit("/", 1)[1]
        self.assertEqual(url, self.sqs.get_queue_url(QueueName=name)["QueueUrl"])
        self.assertEqual(url, self.sqs.create_queue(QueueName=name)["QueueUrl"])
        self.assertTrue(self.arn(url).endswith(f":{name}"))

    def test_queues_are_listed_in_pages_by_prefix(self):
        prefix = f"p{uuid.uuid4().hex[:8]}-"
        names = [f"{prefix}{n}" for n in range(5)]
        for name in names:
            self.addCleanup(self.drop, self.sqs.create_queue(QueueName=name)["QueueUrl"])
        pages = list(
            self.sqs.get_paginator("list_queues").paginate(
                QueueNamePrefix=prefix, PaginationConfig={"PageSize": 2}
            )
        )
        self.assertEqual(3, len(pages))
        listed = [url.rsplit("/", 1)[1] for page in pages for url in page["QueueUrls"]]
        self.assertEqual(names, listed)
        self.assertNotIn("QueueUrls", self.sqs.list_queues(QueueNamePrefix=prefix + "none"))

    def test_attributes_are_set_shown_and_counted(self):
        url = self.queue(VisibilityTimeout="7", DelaySeconds="0")
        self.sqs.set_queue_attributes(QueueUrl=url, Attributes={"MessageRetentionPeriod": "60"})
        self.send(url, "a", "b", "c")
        self.sqs.send_message(QueueUrl=url, MessageBody="later", DelaySeconds=900)
        self.receive(url, MaxNumberOfMessages=1)
        shown = self.attributes(url)
        expected = {
            "VisibilityTimeout": "7",
            "MessageRetentionPeriod": "60",
            "MaximumMessageSize": "1048576",
            "ApproximateNumberOfMessages": "2",
            "ApproximateNumberOfMessagesNotVisible": "1",
            "ApproximateNumberOfMessagesDelayed": "1",
        }
        self.assertEqual(expected, {name: shown[name] for name in expected})
        self.assertEqual({"VisibilityTimeout": "7"}, self.attributes(url, "VisibilityTimeout"))
        self.refused("InvalidAttributeName", "get_queue_attributes", QueueUrl=url, AttributeNames=["Colour"])
        self.refused(
            "InvalidAttributeValue", "set_queue_attributes", QueueUrl=url, Attributes={"VisibilityTimeout": "-1"}
        )

    def test_a_queue_that_is_not_there(self):
        url = self.queue()
        self.sqs.delete_queue(QueueUrl=url)
        with self.assertRaises(self.sqs.exceptions.QueueDoesNotExist):
            self.sqs.send_message(QueueUrl=url, MessageBody="x")
        code = "AWS.SimpleQueueService.NonExistentQueue"
        self.refused(code, "get_queue_url", QueueName=url.rsplit("/", 1)[1])

    def test_the_same_name_with_other_attributes_is_taken(self):
        url = self.queue(VisibilityTimeout="7")
        name = url.rsplit("/", 1)[1]
        with self.assertRaises(self.sqs.exceptions.QueueNameExists):
            self.sqs.create_queue(QueueName=name, Attributes={"VisibilityTimeout": "8"})

    def test_tags(self):
        name = f"q{uuid.uuid4().hex[:12]}"
        url = self.sqs.create_queue(QueueName=name, tags={"team": "a"})["QueueUrl"]
        self.addCleanup(self.drop, url)
        self.sqs.tag_queue(QueueUrl=url, Tags={"stage": "test", "cost": "1"})
        self.sqs.untag_queue(QueueUrl=url, TagKeys=["team"])
        self.assertEqual({"stage": "test", "cost": "1"}, self.sqs.list_queue_tags(QueueUrl=url)["Tags"])

    def test_a_purge_happens_once_a_minute(self):
        url = self.queue()
        self.send(url, "a", "b")
        self.sqs.purge_queue(QueueUrl=url)
        self.assertEqual([], self.receive(url))
        with self.assertRaises(self.sqs.exceptions.PurgeQueueInProgress):
            self.sqs.purge_queue(QueueUrl=url)

    def test_permissions_are_kept_in_the_policy(self):
        url = self.queue()
        permission = {"QueueUrl": url, "Label": "l"}
        self.sqs.add_permission(**permission, AWSAccountIds=["111111111111"], Actions=["SendMessage"])
        self.assertIn('"SQS:SendMessage"', self.attributes(url, "Policy")["Policy"])
        self.sqs.remove_permission(**permission)
        self.refused("InvalidParameterValue", "remove_permission", **permission)


class PresignedUrls(QueueTest):
    def test_a_url_receives_a_message(self):
        if self.sqs.meta.service_model.protocol != "query":
            self.skipTest("only the older protocol has its parameters in the URL")
        url = self.queue()
        self.send(url, "a & b")
        presigned = self.sqs.generate_presigned_url("receive_message", {"QueueUrl": url}, HttpMethod="GET")
        with urllib.request.urlopen(presigned, timeout=10) as answer:
            self.assertIn("<Body>a &amp; b</Body>", answer.read().decode())


class FifoQueues(QueueTest):
    def test_groups_are_received_in_order_and_duplicates_once(self):
        name = f"orders-{uuid.uuid4().hex}.fifo"
        attributes = {"FifoQueue": "true", "ContentBasedDeduplication": "true"}
        url = self.sqs.create_queue(QueueName=name, Attributes=attributes)["QueueUrl"]
        self.addCleanup(self.drop, url)
        first = self.sqs.send_message(QueueUrl=url, MessageBody="a-1", MessageGroupId="a")
        again = self.sqs.send_message(QueueUrl=url, MessageBody="a-1", MessageGroupId="a")
        self.assertEqual(
            (first["MessageId"], first["SequenceNumber"]), (again["MessageId"], again["SequenceNumber"])
        )
        entries = [{"Id": body, "MessageBody": body, "MessageGroupId": body[0]} for body in ("b-1", "a-2")]
        self.assertNotIn("Failed", self.sqs.send_message_batch(QueueUrl=url, Entries=entries))
        messages = self.receive(url, AttributeNames=["All"])
        self.assertEqual(["a-1", "a-2", "b-1"], [message["Body"] for message in messages])
        self.assertEqual(first["SequenceNumber"], messages[0]["Attributes"]["SequenceNumber"])
        self.assertEqual(("a", 64), (
            messages[0]["Attributes"]["MessageGroupId"], len(messages[0]["Attributes"]["MessageDeduplicationId"])
        ))
        self.refused("MissingParameter", "send_message", QueueUrl=url, MessageBody="x")


class Messages(QueueTest):
    def test_a_message_arrives_whole_with_its_sums(self):
        url = self.queue()
        attributes = {
            "text": {"DataType": "String", "StringValue": "größer"},
            "number": {"DataType": "Number.int", "StringValue": "42"},
            "bytes": {"DataType": "Binary", "BinaryValue": bytes(range(256))},
        }
        trace = {"AWSTraceHeader": {"DataType": "String", "StringValue": "Root=1-5759e988"}}
        body = "hello\t\u20ac\U0001f600"
        sent = self.sqs.send_message(
            QueueUrl=url,
            MessageBody=body,
            MessageAttributes=attributes,
            MessageSystemAttributes=trace,
            MessageGroupId="tenant",
        )
        md5 = hashlib.md5(body.encode()).hexdigest()
        self.assertEqual(md5, sent["MD5OfMessageBody"])
        self.assertEqual(sum_of(attributes), sent["MD5OfMessageAttributes"])
        self.assertEqual(sum_of(trace), sent["MD5OfMessageSystemAttributes"])
        [got] = self.receive(url, MessageAttributeNames=["All"], MessageSystemAttributeNames=["All"])
        self.assertEqual((sent["MessageId"], body, md5), (got["MessageId"], got["Body"], got["MD5OfBody"]))
        self.assertEqual(attributes, got["MessageAttributes"])
        self.assertEqual(sum_of(attributes), got["MD5OfMessageAttributes"])
        shown = got["Attributes"]
        self.assertEqual(("1", "tenant"), (shown["ApproximateReceiveCount"], shown["MessageGroupId"]))
        self.assertEqual("Root=1-5759e988", shown["AWSTraceHeader"])
        self.assertLess(abs(time.time() * 1000 - int(shown["SentTimestamp"])), 60_000)
        self.assertIn("SenderId", shown)
        self.assertIn("ApproximateFirstReceiveTimestamp", shown)

    def test_only_the_attributes_asked_for_are_shown(self):
        url = self.queue(VisibilityTimeout="0")
        one = {"DataType": "String", "StringValue": "1"}
        self.sqs.send_message(QueueUrl=url, MessageBody="x", MessageAttributes={"a.b": one, "a.c": one, "d": one})
        [bare] = self.receive(url)
        self.assertNotIn("MessageAttributes", bare)
        self.assertNotIn("Attributes", bare)
        [some] = self.receive(url, MessageAttributeNames=["a.*"], AttributeNames=["SentTimestamp"])
        self.assertEqual({"a.b", "a.c"}, set(some["MessageAttributes"]))
        self.assertEqual({"SentTimestamp"}, set(some["Attributes"]))

    def test_a_deleted_message_is_gone_and_others_come_back(self):
        url = self.queue(VisibilityTimeout="0")
        self.send(url, "a", "b")
        first, second = self.receive(url)
        self.assertEqual(["a", "b"], [first["Body"], second["Body"]])
        self.sqs.delete_message(QueueUrl=url, ReceiptHandle=first["ReceiptHandle"])
        [again] = self.receive(url, AttributeNames=["ApproximateReceiveCount"])
        self.assertEqual(("b", "2"), (again["Body"], again["Attributes"]["ApproximateReceiveCount"]))

    def test_visibility_is_changed_for_one_and_for_many(self):
        url = self.queue(VisibilityTimeout="600")
        self.send(url, "a", "b")
        handles = [message["ReceiptHandle"] for message in self.receive(url)]
        self.assertEqual([], self.receive(url))
        self.sqs.change_message_visibility(QueueUrl=url, ReceiptHandle=handles[0], VisibilityTimeout=0)
        self.assertEqual(["a"], [message["Body"] for message in self.receive(url)])
        entries = [
            {"Id": "good", "ReceiptHandle": handles[1], "VisibilityTimeout": 0},
            {"Id": "old", "ReceiptHandle": handles[0], "VisibilityTimeout": 600},
            {"Id": "long", "ReceiptHandle": handles[1], "VisibilityTimeout": 43201},
        ]
        answer = self.sqs.change_message_visibility_batch(QueueUrl=url, Entries=entries)
        self.assertEqual(["good", "old"], [entry["Id"] for entry in answer["Successful"]])
        self.assertEqual(["long"], [entry["Id"] for entry in answer["Failed"]])
        self.assertEqual(["b"], [message["Body"] for message in self.receive(url)])

    def test_batches_of_ten(self):
        url = self.queue()
        entries = [{"Id": f"m-{n}", "MessageBody": str(n)} for n in range(10)]
        sent = self.sqs.send_message_batch(QueueUrl=url, Entries=entries)
        self.assertEqual([entry["Id"] for entry in entries], [entry["Id"] for entry in sent["Successful"]])
        self.assertNotIn("Failed", sent)
        got = self.receive(url)
        self.assertEqual([str(n) for n in range(10)], [message["Body"] for message in got])
        entries = [{"Id": message["Body"], "ReceiptHandle": message["ReceiptHandle"]} for message in got[:9]]
        entries.append({"Id": "bad", "ReceiptHandle": "nonsense"})
        deleted = self.sqs.delete_message_batch(QueueUrl=url, Entries=entries)
        self.assertEqual(9, len(deleted["Successful"]))
        self.assertEqual(["ReceiptHandleIsInvalid"], [entry["Code"] for entry in deleted["Failed"]])
        self.assertEqual("1", self.attributes(url)["ApproximateNumberOfMessagesNotVisible"])

    def test_batches_that_cannot_be(self):
        url = self.queue()
        entry = {"Id": "a", "MessageBody": "x"}
        for entries, code in [
            ([{**entry, "Id": str(n)} for n in range(11)], "TooManyEntriesInBatchRequest"),
            ([], "EmptyBatchRequest"),
            ([entry, entry], "BatchEntryIdsNotDistinct"),
            ([{**entry, "Id": "a b"}], "InvalidBatchEntryId"),
            ([{"Id": str(n), "MessageBody": "x" * 600_000} for n in range(2)], "BatchRequestTooLong"),
        ]:
            with self.subTest(code=code):
                self.refused(f"AWS.SimpleQueueService.{code}", "send_message_batch", QueueUrl=url, Entries=entries)
        mixed = [entry, {"Id": "b", "MessageBody": "\x01"}, {"Id": "c", "MessageBody": "x", "DelaySeconds": 901}]
        answer = self.sqs.send_message_batch(QueueUrl=url, Entries=mixed)
        failed = {entry["Id"]: entry["Code"] for entry in answer["Failed"]}
        self.assertEqual({"b": "InvalidMessageContents", "c": "InvalidParameterValue"}, failed)
        self.assertEqual(["a"], [entry["Id"] for entry in answer["Successful"]])

    def test_a_message_of_a_mebibyte(self):
        url = self.queue()
        body = "x" * 1024 * 1024
        self.send(url, body)
        [got] = self.receive(url)
        self.assertEqual(hashlib.md5(body.encode()).hexdigest(), got["MD5OfBody"])
        self.assertEqual(len(body), len(got["Body"]))
        self.refused("InvalidParameterValue", "send_message", QueueUrl=url, MessageBody=body + "x")

    def test_parameters_that_cannot_be(self):
        url = self.queue()
        self.refused("InvalidMessageContents", "send_message", QueueUrl=url, MessageBody="\x01")
        self.refused("MissingParameter", "send_message", QueueUrl=url, MessageBody="")
        self.refused("InvalidParameterValue", "receive_message", QueueUrl=url, MaxNumberOfMessages=11)
        self.refused("InvalidParameterValue", "receive_message", QueueUrl=url, WaitTimeSeconds=21)
        self.refused("ReceiptHandleIsInvalid", "delete_message", QueueUrl=url, ReceiptHandle="nonsense")
        with self.assertRaises(self.sqs.exceptions.ReceiptHandleIsInvalid):
            self.sqs.change_message_visibility(QueueUrl=url, ReceiptHandle="x", VisibilityTimeout=1)

    def test_a_delay_beyond_fifteen_minutes_is_a_message_attribute(self):
        url = self.queue()
        day = {"TrestleDelaySeconds": {"DataType": "Number", "StringValue": "86400"}}
        self.sqs.send_message(QueueUrl=url, MessageBody="tomorrow", MessageAttributes=day)
        self.assertEqual([], self.receive(url))
        self.assertEqual("1", self.attributes(url)["ApproximateNumberOfMessagesDelayed"])

    def test_whoever_waits_gets_a_delayed_message_when_it_is_due(self):
        url = self.queue()
        self.sqs.send_message(QueueUrl=url, MessageBody="soon", DelaySeconds=1)
        self.assertEqual([], self.receive(url))
        self.assertEqual(["soon"], [message["Body"] for message in self.receive(url, WaitTimeSeconds=20)])


class DeadLetters(QueueTest):
    def setUp(self):
        super().setUp()
        self.dead = self.queue()
        policy = json.dumps({"deadLetterTargetArn": self.arn(self.dead), "maxReceiveCount": 1})
        self.work = self.queue(RedrivePolicy=policy, VisibilityTimeout="0")

    def fail(self, *bodies):
        self.send(self.work, *bodies)
        while self.receive(self.work):
            pass

    def test_messages_received_too_often_move(self):
        self.fail("poison")
        [got] = self.receive(self.dead, MessageSystemAttributeNames=["All"])
        self.assertEqual("poison", got["Body"])
        self.assertEqual(self.arn(self.work), got["Attributes"]["DeadLetterQueueSourceArn"])
        sources = self.sqs.list_dead_letter_source_queues(QueueUrl=self.dead)
        self.assertEqual([self.work], sources["queueUrls"])

    def test_they_move_back(self):
        self.fail("a", "b")
        source = self.arn(self.dead)
        handle = self.sqs.start_message_move_task(SourceArn=source)["TaskHandle"]
        deadline = time.monotonic() + 20
        while time.monotonic() < deadline:
            [task] = self.sqs.list_message_move_tasks(SourceArn=source)["Results"]
            if task["Status"] != "RUNNING":
                break
        self.assertEqual(("COMPLETED", 2), (task["Status"], task["ApproximateNumberOfMessagesMoved"]))
        self.assertEqual(["a", "b"], [message["Body"] for message in self.receive(self.work)])
        unsupported = "AWS.SimpleQueueService.UnsupportedOperation"
        self.refused(unsupported, "cancel_message_move_task", TaskHandle=handle)

    def test_a_slow_move_is_cancelled(self):
        self.fail(*"abc")
        source = self.arn(self.dead)
        started = self.sqs.start_message_move_task(
            SourceArn=source, DestinationArn=self.arn(self.queue()), MaxNumberOfMessagesPerSecond=1
        )
        [task] = self.sqs.list_message_move_tasks(SourceArn=source, MaxResults=10)["Results"]
        self.assertEqual(("RUNNING", started["TaskHandle"]), (task["Status"], task["TaskHandle"]))
        answer = self.sqs.cancel_message_move_task(TaskHandle=started["TaskHandle"])
        self.assertLess(answer["ApproximateNumberOfMessagesMoved"], 3)
        with self.assertRaises(self.sqs.exceptions.ResourceNotFoundException):
            self.sqs.start_message_move_task(SourceArn=source + "none")

    def test_a_dead_letter_queue_that_is_not_there_or_does_not_want(self):
        policy = json.dumps({"deadLetterTargetArn": self.arn(self.dead) + "none", "maxReceiveCount": 1})
        self.refused("InvalidParameterValue", "create_queue", QueueName="q-x", Attributes={"RedrivePolicy": policy})
        denied = {"RedriveAllowPolicy": json.dumps({"redrivePermission": "denyAll"})}
        self.sqs.set_queue_attributes(QueueUrl=self.dead, Attributes=denied)
        policy = self.attributes(self.work)["RedrivePolicy"]
        self.refused(
            "InvalidParameterValue", "set_queue_attributes", QueueUrl=self.work, Attributes={"RedrivePolicy": policy}
        )


def sum_of(attributes):
    """MD5 of message attributes as the SQS developer guide describes it."""
    total = hashlib.md5()

    def add(data):
        total.update(len(data).to_bytes(4, "big") + data)

    for name in sorted(attributes):
        attribute = attributes[name]
        add(name.encode())
        add(attribute["DataType"].encode())
        binary = "BinaryValue" in attribute
        total.update(b"\x02" if binary else b"\x01")
        add(attribute["BinaryValue"] if binary else attribute["StringValue"].encode())
    return total.hexdigest()


if __name__ == "__main__":
    unittest.main()
