"""Transactions and PartiQL through boto3."""

import unittest

from support import ClientTest


class Transactions(ClientTest):
    def test_cancellation_reasons_parse_in_order(self):
        name = self.table()
        self.db.put_item(TableName=name, Item={"pk": {"S": "taken"}, "by": {"S": "ann"}})
        with self.assertRaises(self.db.exceptions.TransactionCanceledException) as caught:
            self.db.transact_write_items(
                TransactItems=[
                    {"Put": {"TableName": name, "Item": {"pk": {"S": "free"}}}},
                    {
                        "Put": {
                            "TableName": name,
                            "Item": {"pk": {"S": "taken"}},
                            "ConditionExpression": "attribute_not_exists(pk)",
                            "ReturnValuesOnConditionCheckFailure": "ALL_OLD",
                        }
                    },
                ]
            )
        reasons = caught.exception.response["CancellationReasons"]
        self.assertEqual(["None", "ConditionalCheckFailed"], [reason["Code"] for reason in reasons])
        self.assertEqual({"S": "ann"}, reasons[1]["Item"]["by"])
        self.assertNotIn("Item", self.db.get_item(TableName=name, Key={"pk": {"S": "free"}}))

    def test_all_four_actions_commit_together(self):
        name = self.table()
        self.db.put_item(TableName=name, Item={"pk": {"S": "old"}})
        self.db.put_item(TableName=name, Item={"pk": {"S": "sure"}})
        self.db.transact_write_items(
            TransactItems=[
                {"Put": {"TableName": name, "Item": {"pk": {"S": "new"}}}},
                {"Delete": {"TableName": name, "Key": {"pk": {"S": "old"}}}},
                {
                    "Update": {
                        "TableName": name,
                        "Key": {"pk": {"S": "count"}},
                        "UpdateExpression": "ADD n :one",
                        "ExpressionAttributeValues": {":one": {"N": "1"}},
                    }
                },
                {"ConditionCheck": {"TableName": name, "Key": {"pk": {"S": "sure"}}, "ConditionExpression": "attribute_exists(pk)"}},
            ]
        )
        got = self.db.transact_get_items(
            TransactItems=[{"Get": {"TableName": name, "Key": {"pk": {"S": key}}}} for key in ("new", "old", "count")]
        )["Responses"]
        self.assertEqual([True, False, True], ["Item" in response for response in got])

    def test_a_repeated_token_writes_once(self):
        name = self.table()
        request = dict(
            ClientRequestToken=name,
            TransactItems=[
                {
                    "Update": {
                        "TableName": name,
                        "Key": {"pk": {"S": "a"}},
                        "UpdateExpression": "ADD n :one",
                        "ExpressionAttributeValues": {":one": {"N": "1"}},
                    }
                }
            ],
        )
        self.db.transact_write_items(**request)
        self.db.transact_write_items(**request)
        self.assertEqual({"N": "1"}, self.db.get_item(TableName=name, Key={"pk": {"S": "a"}})["Item"]["n"])


class PartiQl(ClientTest):
    def test_statements_insert_select_update_and_delete(self):
        name = self.table()
        self.db.execute_statement(
            Statement=f"INSERT INTO \"{name}\" VALUE {{'pk': ?, 'n': ?}}", Parameters=[{"S": "a"}, {"N": "1"}]
        )
        self.db.execute_statement(Statement=f"UPDATE \"{name}\" SET n = n + 1 WHERE pk = 'a'")
        found = self.db.execute_statement(Statement=f"SELECT n FROM \"{name}\" WHERE pk = ?", Parameters=[{"S": "a"}])
        self.assertEqual([{"n": {"N": "2"}}], found["Items"])
        self.db.execute_statement(Statement=f"DELETE FROM \"{name}\" WHERE pk = 'a'")
        self.assertEqual([], self.db.execute_statement(Statement=f"SELECT * FROM \"{name}\" WHERE pk = 'a'")["Items"])

    def test_a_duplicate_insert_is_a_modeled_exception(self):
        name = self.table()
        statement = f"INSERT INTO \"{name}\" VALUE {{'pk': 'a'}}"
        self.db.execute_statement(Statement=statement)
        with self.assertRaises(self.db.exceptions.DuplicateItemException):
            self.db.execute_statement(Statement=statement)

    def test_next_token_pages_through_a_select(self):
        name = self.table("pk:S sk:N", ("pk", "sk"))
        for n in range(7):
            self.db.put_item(TableName=name, Item={"pk": {"S": "p"}, "sk": {"N": str(n)}})
        seen, more = [], {}
        for _ in range(10):
            page = self.db.execute_statement(Statement=f"SELECT sk FROM \"{name}\" WHERE pk = 'p'", Limit=3, **more)
            seen += [int(item["sk"]["N"]) for item in page["Items"]]
            if "NextToken" not in page:
                break
            more = {"NextToken": page["NextToken"]}
        self.assertEqual(list(range(7)), seen)

    def test_batch_and_transaction_of_statements(self):
        name = self.table()
        inserts = [{"Statement": f"INSERT INTO \"{name}\" VALUE {{'pk': '{key}'}}"} for key in "ab"]
        self.db.execute_transaction(TransactStatements=inserts)
        answers = self.db.batch_execute_statement(Statements=inserts)["Responses"]
        self.assertEqual(["DuplicateItem", "DuplicateItem"], [answer["Error"]["Code"] for answer in answers])


if __name__ == "__main__":
    unittest.main()
