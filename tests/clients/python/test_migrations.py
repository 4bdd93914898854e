"""A new layout of keys through boto3: clients that were deployed before it and after it, side by side."""

import json
import os
import subprocess
import tempfile
import threading
import time
import unittest
from pathlib import Path

from boto3.dynamodb.conditions import Key
from botocore.exceptions import ClientError

from support import ENDPOINT, resource
from test_models import ModelTest

ROOT = Path(__file__).resolve().parents[3]
TRESTLE = os.environ.get("TRESTLE_PROGRAM", ROOT / "target" / "debug" / "trestle")

SHOP = """
model = "shop"

[table.shop]
key = ["pk", "sk"]
entity_attribute = "kind"

[table.shop.index.by_status]
key = ["status_key", "number"]

[entity.order]
table = "shop"
key = { pk = "customer#{customer}", sk = "order#{number:06}", status_key = "{status}#{customer}" }

[entity.order.attributes]
customer = "string"
number = "integer"
n = "integer"
status = { type = "string", default = "open" }

[entity.customer]
table = "shop"
key = { pk = "customer#{customer}", sk = "profile" }
attributes = { customer = "string", email = "string" }

[entity.customer.unique.email]
key = { pk = "email#{email|lower}", sk = "email" }
"""
# Orders get separate partitions, addresses too, and the index another key.
LATER = (
    SHOP.replace('pk = "customer#{customer}", sk = "order#{number:06}"', 'pk = "orders/{customer}", sk = "{number:06}"')
    .replace("{status}#{customer}", "{customer}/{status}")
    .replace("email#{", "address/{")
)
ORDERS = 25
# Customers whose names have the same beginning.
CUSTOMERS = ["wf", "wf-2"]


def former(customer, number):
    return {"pk": f"customer#{customer}", "sk": f"order#{number:06}"}


def own(customer, number):
    return {"pk": f"orders/{customer}", "sk": f"{number:06}"}


class Migrations(ModelTest):
    def setUp(self):
        super().setUp()
        prefix = self.apply(SHOP)
        self.model, self.name = prefix + "model", prefix + "shop"
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.later = Path(folder.name) / "later.toml"
        renamed = f'model = "{self.model}"\ntable_prefix = "{prefix}"'
        self.later.write_text(LATER.replace('model = "shop"', renamed))
        self.shop = self.resource.Table(self.name)
        with self.shop.batch_writer() as batch:
            for customer in CUSTOMERS:
                batch.put_item(Item={"kind": "customer", "customer": customer, "email": f"{customer}@example.org"})
                for number in range(ORDERS):
                    batch.put_item(Item={**former(customer, number), "customer": customer, "number": number, "n": 0})

    def migrate(self, command, *arguments):
        done = subprocess.run(
            [TRESTLE, "migrate", command, *arguments, "--json", "--endpoint", ENDPOINT],
            capture_output=True, text=True, timeout=60,
        )  # fmt: skip
        self.assertEqual(0, done.returncode, done.stderr + done.stdout)
        return json.loads(done.stdout.splitlines()[-1])

    def start(self, *flags):
        """Lets the new layout take effect; rows do not move by themselves yet."""
        self.migrate("start", self.later, "--paused", *flags)
        self.addCleanup(self.end)

    def end(self):
        """A model can only be let go of when no rows of it are on their way."""
        state = self.status()["state"]
        if state in ("done", "rolled-back"):
            return
        if state != "verified":
            self.move()
        self.migrate("finish", self.model)

    def status(self):
        return self.migrate("status", self.model)["migrations"][0]

    def move(self, rate="unlimited"):
        """Moves the rest of the rows."""
        self.migrate("resume", self.model, "--rate", rate)
        self.wait_for("verified")

    def wait_for(self, state):
        until = time.monotonic() + 30
        while self.status()["state"] != state:
            self.assertLess(time.monotonic(), until, self.status())

    def refusal(self, call, **arguments):
        with self.assertRaises(ClientError) as caught:
            call(**arguments)
        return caught.exception.response["Error"]

    def rows(self):
        """All rows, as text."""
        rows = self.shop.scan(ConsistentRead=True)["Items"]
        return sorted(json.dumps(row, sort_keys=True, default=str) for row in rows)

    def item(self, key):
        return self.shop.get_item(Key=key, ConsistentRead=True).get("Item")


class BothLayouts(Migrations):
    """Neither client sees that there is another one."""

    def setUp(self):
        super().setUp()
        self.start()

    def order(self, customer, number, n=0, status="open"):
        """An order as every client gets it."""
        return {
            **own(customer, number), "kind": "order", "customer": customer, "number": number, "n": n,
            "status": status, "status_key": f"{customer}/{status}",
        }  # fmt: skip

    def test_a_row_is_read_under_both_keys_and_shown_with_its_new_one(self):
        for key in (former("wf", 3), own("wf", 3), {"kind": "order", "customer": "wf", "number": 3}):
            self.assertEqual(self.order("wf", 3), self.item(key))
        self.assertIsNone(self.item(former("wf", ORDERS)))
        self.assertIsNone(self.item(own("wf", ORDERS)))

    def test_what_one_client_writes_the_other_one_reads(self):
        self.shop.put_item(Item={**former("wf", 1), "customer": "wf", "number": 1, "n": 7})
        self.assertEqual(self.order("wf", 1, 7), self.item(own("wf", 1)))
        self.shop.put_item(Item={**own("wf", 1), "customer": "wf", "number": 1, "n": 8})
        self.assertEqual(self.order("wf", 1, 8), self.item(former("wf", 1)))
        self.shop.put_item(Item={**former("wf", 99), "customer": "wf", "number": 99, "n": 9})
        self.assertEqual(self.order("wf", 99, 9), self.item(own("wf", 99)))

    def test_updates_of_both_count_and_their_conditions_see_one_row(self):
        def count(key, seen):
            answer = self.shop.update_item(
                Key=key, UpdateExpression="SET n = n + :one", ConditionExpression="n = :seen",
                ExpressionAttributeValues={":one": 1, ":seen": seen}, ReturnValues="ALL_NEW",
            )  # fmt: skip
            return answer["Attributes"]

        self.assertEqual(self.order("wf", 2, 1), count(former("wf", 2), 0))
        self.assertEqual(self.order("wf", 2, 2), count(own("wf", 2), 1))
        self.assertEqual(self.order("wf", 2, 3), count(former("wf", 2), 2))
        error = self.refusal(count, key=former("wf", 2), seen=2)
        self.assertEqual("ConditionalCheckFailedException", error["Code"])

    def test_a_deleted_row_stays_deleted(self):
        deleted = self.shop.delete_item(Key=former("wf", 4), ReturnValues="ALL_OLD")
        self.assertEqual(self.order("wf", 4), deleted["Attributes"])
        self.shop.delete_item(Key=own("wf", 5))
        gone = [former("wf", 4), own("wf", 4), former("wf", 5), own("wf", 5)]
        self.assertEqual([None] * 4, [self.item(key) for key in gone])
        self.move()
        self.assertEqual([None] * 4, [self.item(key) for key in gone])
        self.assertEqual(ORDERS - 2, len(self.listed("orders/wf")))

    def test_an_address_stays_taken(self):
        error = self.refusal(
            self.shop.put_item, Item={"kind": "customer", "customer": "other", "email": "WF@example.org"}
        )
        self.assertEqual("ConditionalCheckFailedException", error["Code"])
        self.assertIn("is taken by the row with", error["Message"])

    def test_batches_and_transactions_may_name_both_keys(self):
        keys = [former("wf", 6), own("wf", 7), former("wf-2", 6)]
        got = self.resource.batch_get_item(RequestItems={self.name: {"Keys": keys}})["Responses"][self.name]
        wanted = [self.order("wf", 6), self.order("wf", 7), self.order("wf-2", 6)]
        self.assertCountEqual([row["pk"] + row["sk"] for row in wanted], [row["pk"] + row["sk"] for row in got])
        with self.shop.batch_writer() as batch:
            batch.put_item(Item={**former("wf", 6), "customer": "wf", "number": 6, "n": 1})
            batch.delete_item(Key=former("wf", 7))
            batch.delete_item(Key=own("wf", 8))
        self.assertEqual([self.order("wf", 6, 1), None, None], [self.item(own("wf", n)) for n in (6, 7, 8)])
        client = self.resource.meta.client
        client.transact_write_items(TransactItems=[
            {"Update": {"TableName": self.name, "Key": former("wf", 9), "UpdateExpression": "SET n = :n",
                        "ConditionExpression": "n = :old", "ExpressionAttributeValues": {":n": 5, ":old": 0}}},
            {"Put": {"TableName": self.name, "Item": {**own("wf", 10), "customer": "wf", "number": 10, "n": 5}}},
            {"Delete": {"TableName": self.name, "Key": own("wf", 11)}},
            {"ConditionCheck": {"TableName": self.name, "Key": former("wf", 12),
                                "ConditionExpression": "attribute_exists(pk)"}},
        ])  # fmt: skip
        read = client.transact_get_items(TransactItems=[
            {"Get": {"TableName": self.name, "Key": key}} for key in (own("wf", 9), former("wf", 10), former("wf", 11))
        ])  # fmt: skip
        read = [answer.get("Item") for answer in read["Responses"]]
        self.assertEqual([self.order("wf", 9, 5), self.order("wf", 10, 5), None], read)
        # One row, named twice.
        error = self.refusal(client.transact_write_items, TransactItems=[
            {"Delete": {"TableName": self.name, "Key": key}} for key in (former("wf", 13), own("wf", 13))
        ])  # fmt: skip
        self.assertEqual("ValidationException", error["Code"])
        self.assertEqual(self.order("wf", 13), self.item(own("wf", 13)))

    def test_partiql_speaks_of_both_keys(self):
        def run(statement, *parameters):
            statement = statement.replace("shop", f'"{self.name}"')
            return self.resource.meta.client.execute_statement(Statement=statement, Parameters=[*parameters])["Items"]

        select = "SELECT * FROM shop WHERE pk = ? AND sk = ?"
        self.assertEqual([self.order("wf", 14)], run(select, "customer#wf", "order#000014"))
        self.assertEqual([self.order("wf", 14)], run(select, "orders/wf", "000014"))
        run("UPDATE shop SET n = 3 WHERE pk = ? AND sk = ?", "customer#wf", "order#000014")
        self.assertEqual([self.order("wf", 14, 3)], run(select, "orders/wf", "000014"))
        run("DELETE FROM shop WHERE pk = ? AND sk = ?", "customer#wf", "order#000015")
        self.assertEqual([], run(select, "orders/wf", "000015"))
        row = "{'pk': ?, 'sk': ?, 'customer': 'wf', 'number': 15, 'n': 4}"
        run(f"INSERT INTO shop VALUE {row}", "customer#wf", "order#000015")
        self.assertEqual(self.order("wf", 15, 4), self.item(own("wf", 15)))

    def listed(self, partition, **more):
        """The numbers of a partition's orders, by boto3's paginator."""
        pages = self.resource.meta.client.get_paginator("query").paginate(
            TableName=self.name, KeyConditionExpression=Key("pk").eq(partition),
            PaginationConfig={"PageSize": 3}, **more,
        )  # fmt: skip
        return [int(row["number"]) for page in pages for row in page["Items"] if row["kind"] == "order"]

    def test_lists_are_whole_and_in_order_while_rows_move_between_their_pages(self):
        numbers = list(range(ORDERS))
        self.assertEqual(numbers, self.listed("orders/wf"))
        self.assertEqual(numbers[::-1], self.listed("orders/wf", ScanIndexForward=False))
        pages = self.resource.meta.client.get_paginator("query").paginate(
            TableName=self.name, KeyConditionExpression=Key("pk").eq("orders/wf"), PaginationConfig={"PageSize": 4}
        )
        seen = []
        for number, page in enumerate(pages):
            seen += [int(row["number"]) for row in page["Items"]]
            # A row that was already listed moves, and one that was not.
            for moved in (number, ORDERS - 1 - number):
                self.shop.update_item(
                    Key=former("wf", moved), UpdateExpression="SET n = :n", ExpressionAttributeValues={":n": 1}
                )
            if number == 3:
                self.move()
        self.assertEqual(numbers, seen)
        self.assertEqual(numbers, self.listed("orders/wf"))

    def test_a_condition_of_the_former_layout_is_answered_or_refused_but_never_with_a_part(self):
        # The partition had orders and the customer; now they are in two.
        pages = self.resource.meta.client.get_paginator("query").paginate(
            TableName=self.name,
            KeyConditionExpression=Key("pk").eq("customer#wf") & Key("sk").begins_with("order#"),
            PaginationConfig={"PageSize": 4},
        )
        seen = [(row["customer"], int(row["number"])) for page in pages for row in page["Items"]]
        self.assertEqual([("wf", number) for number in range(ORDERS)], seen)

    def test_scans_and_indexes_show_every_row_once_while_rows_move_between_their_pages(self):
        client = self.resource.meta.client
        pages = client.get_paginator("scan").paginate(TableName=self.name, PaginationConfig={"PageSize": 5})
        seen = []
        for number, page in enumerate(pages):
            seen += [(row["kind"], row["pk"], row["sk"]) for row in page["Items"]]
            if number == 4:
                self.move()
        orders = [("order", *own(customer, number).values()) for customer in CUSTOMERS for number in range(ORDERS)]
        customers = [("customer", f"customer#{customer}", "profile") for customer in CUSTOMERS]
        addresses = [("customer.unique.email", f"address/{customer}@example.org", "email") for customer in CUSTOMERS]
        self.assertCountEqual(orders + customers + addresses, seen)
        pages = client.get_paginator("query").paginate(
            TableName=self.name, IndexName="by_status", KeyConditionExpression=Key("status_key").eq("wf/open"),
            PaginationConfig={"PageSize": 4},
        )  # fmt: skip
        self.assertEqual(list(range(ORDERS)), [int(row["number"]) for page in pages for row in page["Items"]])

    def test_two_clients_count_one_row_up_while_all_rows_move(self):
        def count(key):
            shop = resource().Table(self.name)
            for _ in range(30):
                shop.update_item(
                    Key=key, UpdateExpression="SET n = n + :one", ExpressionAttributeValues={":one": 1}
                )

        clients = [threading.Thread(target=count, args=(key("wf", 20),)) for key in (former, own)]
        for client in clients:
            client.start()
        self.move(rate="200")
        for client in clients:
            client.join(60)
        self.assertEqual(60, self.item(own("wf", 20))["n"])


class TheEnd(Migrations):
    def test_both_keys_are_understood_until_it_is_finished(self):
        self.start()
        self.move()
        reads = self.status()["double_reads"]
        self.assertEqual(3, self.item(former("wf", 3))["number"])
        self.assertIsNone(self.item(own("wf", ORDERS)))
        self.assertEqual(reads, self.status()["double_reads"], "no row is left to look for")
        self.assertEqual("done", self.migrate("finish", self.model)["state"])
        self.assertEqual(3, self.item(own("wf", 3))["number"])

    def test_a_client_that_comes_too_late_finds_nothing_and_breaks_nothing(self):
        self.start()
        self.move()
        self.migrate("finish", self.model)
        before, late = self.rows(), former("wf", 3)
        self.assertIsNone(self.item(late))
        condition = Key("pk").eq("customer#wf") & Key("sk").begins_with("order#")
        self.assertEqual([], self.shop.query(KeyConditionExpression=condition)["Items"])
        # The client gets the error when it writes.
        for write, arguments in [
            (self.shop.put_item, {"Item": {**late, "customer": "wf", "number": 3, "n": 1}}),
            (self.shop.update_item, {
                "Key": late, "UpdateExpression": "SET n = :n", "ExpressionAttributeValues": {":n": 1},
            }),
        ]:  # fmt: skip
            error = self.refusal(write, **arguments)
            self.assertEqual("ValidationException", error["Code"])
            self.assertIn("is no entity of table", error["Message"])
        self.assertNotIn("Attributes", self.shop.delete_item(Key=late, ReturnValues="ALL_OLD"))
        self.assertEqual(before, self.rows())

    def test_a_list_that_began_before_goes_on_and_a_scan_is_told_to_begin_again(self):
        condition = Key("pk").eq("customer#wf") & Key("sk").begins_with("order#")
        page = self.shop.query(KeyConditionExpression=condition, Limit=4)
        seen, bookmark = page["Items"], page["LastEvaluatedKey"]
        self.assertEqual(former("wf", 3), bookmark)
        self.start()
        # Its scan would have continued at a row that has moved.
        error = self.refusal(self.shop.scan, ExclusiveStartKey=bookmark)
        self.assertEqual("ValidationException", error["Code"])
        self.assertIn("Begin the scan again", error["Message"])
        while bookmark:
            page = self.shop.query(KeyConditionExpression=condition, Limit=4, ExclusiveStartKey=bookmark)
            seen, bookmark = seen + page["Items"], page.get("LastEvaluatedKey")
        self.assertEqual(list(range(ORDERS)), [int(row["number"]) for row in seen])

    def test_it_can_be_rolled_back_and_rows_are_as_they_were(self):
        before = self.rows()
        self.start()
        self.move()
        self.shop.put_item(Item={**own("wf", 50), "customer": "wf", "number": 50, "n": 1})
        self.assertNotEqual(before, self.rows())
        self.shop.delete_item(Key=own("wf", 50))
        self.migrate("rollback", self.model)
        self.wait_for("rolled-back")
        self.assertEqual(before, self.rows())
        self.assertEqual(3, self.item(former("wf", 3))["number"])


if __name__ == "__main__":
    unittest.main()
