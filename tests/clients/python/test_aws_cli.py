"""The aws command line, as people type it."""

import json
import os
import shutil
import subprocess
import sys
import unittest

from support import ACCESS, ENDPOINT, ClientTest

# The test environment's own aws, wherever the interpreter of this test lives.
AWS = shutil.which("aws", path=os.path.dirname(sys.executable)) or shutil.which("aws")
ENVIRONMENT = {
    **os.environ,
    "AWS_ENDPOINT_URL": ENDPOINT,
    "AWS_ACCESS_KEY_ID": ACCESS["aws_access_key_id"],
    "AWS_SECRET_ACCESS_KEY": ACCESS["aws_secret_access_key"],
    "AWS_DEFAULT_REGION": ACCESS["region_name"],
    "AWS_PAGER": "",
    "AWS_MAX_ATTEMPTS": "1",
}


def aws(*words):
    """(exit code, parsed output or None, what was written to standard error)"""
    done = subprocess.run([AWS, *words, "--output", "json"], env=ENVIRONMENT, capture_output=True, text=True, timeout=60)
    return done.returncode, json.loads(done.stdout) if done.stdout.strip() else None, done.stderr


class CommandLine(ClientTest):
    def aws(self, *words):
        code, answer, complaint = aws("dynamodb", *words)
        self.assertEqual(0, code, complaint)
        return answer

    def test_a_table_is_created_with_shorthand_and_described(self):
        name = self.id().rsplit(".", 1)[-1][:60]
        self.addCleanup(self.drop, name)
        self.aws(
            "create-table", "--table-name", name,
            "--attribute-definitions", "AttributeName=pk,AttributeType=S", "AttributeName=sk,AttributeType=N",
            "--key-schema", "AttributeName=pk,KeyType=HASH", "AttributeName=sk,KeyType=RANGE",
            "--billing-mode", "PAY_PER_REQUEST",
        )  # fmt: skip
        self.aws("wait", "table-exists", "--table-name", name)
        table = self.aws("describe-table", "--table-name", name)["Table"]
        self.assertEqual(["pk", "sk"], [key["AttributeName"] for key in table["KeySchema"]])

    def test_a_message_goes_through_a_queue(self):
        def sqs(*words):
            # Version 1 of the command line does not read AWS_ENDPOINT_URL for SQS.
            code, answer, complaint = aws("sqs", *words, "--endpoint-url", ENDPOINT)
            self.assertEqual(0, code, complaint)
            return answer

        made = sqs("create-queue", "--queue-name", f"cli-{os.getpid()}", "--attributes", "VisibilityTimeout=60")
        queue = ("--queue-url", made["QueueUrl"])
        sqs("send-message", *queue, "--message-body", "hello")
        [message] = sqs("receive-message", *queue)["Messages"]
        self.assertEqual("hello", message["Body"])
        sqs("delete-message", *queue, "--receipt-handle", message["ReceiptHandle"])
        shown = sqs("get-queue-attributes", *queue, "--attribute-names", "All")["Attributes"]
        self.assertEqual("0", shown["ApproximateNumberOfMessagesNotVisible"])
        sqs("delete-queue", *queue)

    def test_put_query_and_delete(self):
        name = self.table("pk:S sk:N", ("pk", "sk"))
        for number in ("1", "2"):
            self.aws("put-item", "--table-name", name, "--item", json.dumps({"pk": {"S": "a"}, "sk": {"N": number}}))
        found = self.aws(
            "query", "--table-name", name, "--key-condition-expression", "pk = :p",
            "--expression-attribute-values", '{":p": {"S": "a"}}', "--no-scan-index-forward",
        )  # fmt: skip
        self.assertEqual(["2", "1"], [item["sk"]["N"] for item in found["Items"]])
        self.aws("delete-item", "--table-name", name, "--key", '{"pk": {"S": "a"}, "sk": {"N": "1"}}')
        self.assertEqual(1, self.aws("scan", "--table-name", name)["Count"])

    def test_cli_input_json_carries_a_whole_request(self):
        name = self.table()
        request = {"TableName": name, "Item": {"pk": {"S": "a"}, "tags": {"SS": ["x", "y"]}, "n": {"N": "1.50"}}}
        self.aws("put-item", "--cli-input-json", json.dumps(request))
        item = self.aws("get-item", "--table-name", name, "--key", '{"pk": {"S": "a"}}')["Item"]
        self.assertEqual({"N": "1.5"}, item["n"])
        self.assertEqual(["x", "y"], sorted(item["tags"]["SS"]))

    def test_paging_options_read_on_from_a_token(self):
        name = self.table()
        for n in range(5):
            self.db.put_item(TableName=name, Item={"pk": {"S": f"k{n}"}})
        self.assertEqual(5, len(self.aws("scan", "--table-name", name, "--page-size", "2")["Items"]))
        first = self.aws("scan", "--table-name", name, "--max-items", "3")
        rest = self.aws("scan", "--table-name", name, "--starting-token", first["NextToken"])
        seen = [item["pk"]["S"] for item in first["Items"] + rest["Items"]]
        self.assertEqual([f"k{n}" for n in range(5)], sorted(seen))

    def test_an_error_is_shown_in_the_servers_words(self):
        code, _, complaint = aws("dynamodb", "describe-table", "--table-name", "nowhere-to-be-found")
        self.assertNotEqual(0, code)
        self.assertIn("(ResourceNotFoundException)", complaint)
        self.assertIn("Table: nowhere-to-be-found not found", complaint)

    def test_streams_are_read_too(self):
        name = self.table(StreamSpecification={"StreamEnabled": True, "StreamViewType": "KEYS_ONLY"})
        code, answer, complaint = aws("dynamodbstreams", "list-streams", "--table-name", name)
        self.assertEqual(0, code, complaint)
        self.assertEqual(name, answer["Streams"][0]["TableName"])

    def test_partiql_from_the_shell(self):
        name = self.table()
        self.aws("execute-statement", "--statement", f"INSERT INTO \"{name}\" VALUE {{'pk': 'a'}}")
        found = self.aws("execute-statement", "--statement", f"SELECT * FROM \"{name}\"")
        self.assertEqual([{"pk": {"S": "a"}}], found["Items"])


if __name__ == "__main__":
    unittest.main()
