"""Faults that are similar to a known difference are reported. Each test has an answer as a server would send it."""

import unittest

from differential import known
from differential.schema import Table

from .answers import cancelled, exchange, failure, success

NO_TABLE = "Requested resource not found"
NO_TABLE_THERE = "Cannot do operations on a non-existent table"
DOT = "The conditional request failed."
TWO_ACTIONS = {"TransactItems": [{}, {}]}


class PlantedFaults(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.entries = known.load()
        cls.mixed = Table("mixed", "t_mixed")

    def explained(self, *given, **more):
        return known.explain(self.entries, exchange(*given, **more)) is not None

    def assert_explained(self, *given, **more):
        self.assertTrue(self.explained(*given, **more), "the known difference beside the planted faults")

    def assert_reported(self, *given, **more):
        self.assertFalse(self.explained(*given, **more), given[0])

    def test_a_wrong_kind_of_error(self):
        theirs = failure("ResourceNotFoundException", NO_TABLE_THERE)
        self.assert_explained("PutItem", failure("ResourceNotFoundException", NO_TABLE), theirs)
        for kind in ("ValidationException", "TableNotFoundException", "InternalServerError", "AccessDeniedException"):
            self.assert_reported("PutItem", failure(kind, NO_TABLE), theirs)
        self.assert_reported("PutItem", success({}), theirs)

    def test_a_wrong_text(self):
        theirs = failure("ResourceNotFoundException", NO_TABLE_THERE)
        for text in ("", NO_TABLE + ".", NO_TABLE + ": Table: t not found", "Requested resource not"):
            self.assert_reported("PutItem", failure("ResourceNotFoundException", text), theirs)

    def test_a_wrong_name_or_type_in_a_text(self):
        ours = "One or more parameter values were invalid: Type mismatch for Index Key {} Expected: {} Actual: {} IndexName: by_r"
        theirs = failure("ValidationException", "One or more parameter values were invalid: Type mismatch for Index Key")
        request = {"TableName": "t_mixed", "Item": {"pk": {"S": "a"}, "sk": {"N": "1"}, "r": {"BOOL": True}}}
        self.assert_explained("PutItem", failure("ValidationException", ours.format("r", "N", "BOOL")), theirs, request, [self.mixed])
        for told in (("r", "S", "BOOL"), ("r", "N", "S"), ("a", "N", "BOOL"), ("", "N", "BOOL"), ("r", "number", "BOOL")):
            self.assert_reported("PutItem", failure("ValidationException", ours.format(*told)), theirs, request, [self.mixed])

    def test_a_fault_that_the_request_does_not_have(self):
        capacity = "Value 'MUCH' at 'returnConsumedCapacity' failed to satisfy constraint: Member must satisfy enum value set: [INDEXES, TOTAL, NONE]"
        names = "ExpressionAttributeNames can only be specified when using expressions"
        for text, member, wrong, right in ((capacity, "ReturnConsumedCapacity", "MUCH", "TOTAL"), (names, "ExpressionAttributeNames", {}, {"#a": "a"})):
            self.assert_explained("GetItem", failure("ValidationException", text), success({}), {member: wrong})
            self.assert_reported("GetItem", failure("ValidationException", text), success({}), {member: right})
            self.assert_reported("GetItem", failure("ValidationException", text), success({}))
        theirs = failure("ValidationException", "Invalid attribute value type")
        self.assert_explained("PutItem", failure("ValidationException", names), theirs, {"ExpressionAttributeNames": {"#a": "a"}})
        self.assert_reported(
            "PutItem", failure("ValidationException", names), theirs, {"ExpressionAttributeNames": {"#a": "a"}, "ConditionExpression": "#a = a"}
        )

    def test_another_status(self):
        ours, theirs = ("ResourceNotFoundException", NO_TABLE), ("ResourceNotFoundException", NO_TABLE_THERE)
        for status in (404, 413, 500, 503):
            self.assert_reported("PutItem", failure(*ours, status=status), failure(*theirs))
            self.assert_reported("PutItem", failure(*ours), failure(*theirs, status=status))
            # The same text on both sides: only the status differs.
            alike = exchange("PutItem", failure(*ours, status=status), failure(*ours))
            self.assertFalse(alike.is_alike())
            self.assertIn("status", alike.where())
            self.assertIsNone(known.explain(self.entries, alike))
        self.assertFalse(exchange("GetItem", success({}, 204), success({})).is_alike())

    def test_a_member_beside_an_error(self):
        failed = ("ConditionalCheckFailedException", "The conditional request failed")
        row = {"pk": {"S": "a"}}
        for operation in ("PutItem", "UpdateItem", "DeleteItem"):
            self.assert_reported(operation, failure(*failed), failure(*failed, Item=row))
            self.assert_reported(operation, failure(*failed, Item=row), failure(*failed))
            self.assert_reported(operation, failure(*failed, Item=row), failure(*failed, Item={"pk": {"S": "b"}}))

    def test_items_of_a_query_or_a_scan(self):
        rows = [{"pk": {"S": "a"}, "a": {"N": "1"}}, {"pk": {"S": "b"}}]
        right = {"Count": 2, "ScannedCount": 2, "Items": rows}
        wrong = [
            {"Count": 3, "ScannedCount": 3, "Items": [*rows, rows[0]]},
            {"Count": 1, "ScannedCount": 2, "Items": rows[:1]},
            {"Count": 1, "ScannedCount": 1, "Items": rows[:1]},
            {"Count": 2, "ScannedCount": 2, "Items": [{"pk": {"S": "a"}}, rows[1]]},
            {"Count": 2, "ScannedCount": 2},
            {"Count": 3, "ScannedCount": 2, "Items": rows},
            {"Count": 2, "ScannedCount": 3, "Items": rows},
        ]
        requests = [
            {"TableName": "t_mixed"},
            {"TableName": "t_mixed", "FilterExpression": "attribute_exists(c)"},
            {"TableName": "t_mixed", "IndexName": "by_a", "FilterExpression": "attribute_exists(a)"},
            {"TableName": "t_mixed", "IndexName": "by_a"},
        ]
        for operation in ("Query", "Scan"):
            for request in requests:
                for body in wrong:
                    self.assert_reported(operation, success(body), success(right), request, [self.mixed])
                    self.assert_reported(operation, success(right), success(body), request, [self.mixed])

    def test_a_filter_on_what_an_index_does_not_hold_explains_the_number_of_rows_only(self):
        request = {"TableName": "t_mixed", "IndexName": "by_a", "FilterExpression": "attribute_exists(c)"}
        ours = {"Count": 0, "ScannedCount": 2, "Items": []}
        theirs = {"Count": 1, "ScannedCount": 2, "Items": [{"pk": {"S": "a"}}]}
        self.assert_explained("Scan", success(ours), success(theirs), request, [self.mixed])
        self.assert_reported("Query", success(ours), success(theirs), request, [self.mixed])
        self.assert_reported("Scan", success({**ours, "ScannedCount": 3}), success(theirs), request, [self.mixed])
        self.assert_reported("Scan", success({**ours, "Count": 1}), success(theirs), request, [self.mixed])
        self.assert_reported("Scan", success({**theirs, "Items": [{"pk": {"S": "b"}}]}), success(theirs), request, [self.mixed])

    def test_nested_paths_of_an_update(self):
        request = {"UpdateExpression": "SET #m.x = :v0, a = :v1", "ExpressionAttributeNames": {"#m": "m"}, "ReturnValues": "UPDATED_NEW"}
        whole = {"Attributes": {"a": {"N": "1"}, "m": {"M": {"x": {"N": "5"}, "y": {"S": "z"}}}}}
        path = {"Attributes": {"a": {"N": "1"}, "m": {"M": {"x": {"N": "5"}}}}}
        self.assert_explained("UpdateItem", success(path), success(whole), request)
        wrong = [
            {"Attributes": {"a": {"N": "1"}, "m": {"M": {"x": {"N": "6"}}}}},
            {"Attributes": {"a": {"N": "1"}, "m": {"M": {"y": {"S": "z"}}}}},
            {"Attributes": {"a": {"N": "2"}, "m": {"M": {"x": {"N": "5"}}}}},
            {"Attributes": {"m": {"M": {"x": {"N": "5"}}}}},
            {"Attributes": {"a": {"N": "1"}}},
            {**path, "ConsumedCapacity": {"TableName": "t", "CapacityUnits": 1.0}},
            {},
        ]
        for body in wrong:
            self.assert_reported("UpdateItem", success(body), success(whole), request)
        for changes in ({"ReturnValues": "ALL_NEW"}, {"ReturnValues": "NONE"}, {"UpdateExpression": "SET m = :v0, a = :v1"}):
            self.assert_reported("UpdateItem", success(path), success(whole), {**request, **changes})
        self.assert_reported("PutItem", success(path), success(whole), request)

    def test_capacities(self):
        def charged(units, **more):
            return success({"Count": 0, "ScannedCount": 0, "Items": [], "ConsumedCapacity": {"TableName": "t", "CapacityUnits": units, **more}})

        asked = {"TableName": "t", "ReturnConsumedCapacity": "TOTAL"}
        for operation, least in (("Query", 0.5), ("Scan", 2.0)):
            self.assert_explained(operation, charged(least), charged(0.0), asked)
            self.assert_reported(operation, charged(least + 0.5), charged(0.0), asked)
            self.assert_reported(operation, charged(0.0), charged(least), asked)
            self.assert_reported(operation, charged(least), charged(least + 1.0), asked)
            self.assert_reported(operation, charged(least, Table={"CapacityUnits": 3.0}), charged(0.0), asked)
            self.assert_reported(operation, success({"Count": 0, "ScannedCount": 0, "Items": []}), charged(0.5), asked)
        nothing, told = success({}), success({"ConsumedCapacity": {"TableName": "t", "CapacityUnits": 1.0}})
        self.assert_explained("DeleteItem", nothing, told, {"TableName": "t"})
        self.assert_reported("DeleteItem", nothing, told, asked)
        self.assert_reported("DeleteItem", told, nothing, {"TableName": "t"})
        self.assert_reported("UpdateItem", nothing, told, {"TableName": "t"})

    def test_a_start_key_explains_nothing_where_none_is_given(self):
        ours, theirs = ({"Count": n, "ScannedCount": n, "Items": [{"pk": {"S": "a"}}] * n} for n in (1, 2))
        self.assert_explained("Scan", success(ours), success(theirs), {"ExclusiveStartKey": {"pk": {"S": "a"}}})
        self.assert_reported("Scan", success(ours), success(theirs), {"Limit": 1})
        self.assert_reported("Query", success(ours), success(theirs), {"ExclusiveStartKey": {"pk": {"S": "a"}}})

    def test_reasons_of_a_cancelled_transaction(self):
        def assert_reported(ours, theirs):
            self.assert_reported("TransactWriteItems", ours, theirs, TWO_ACTIONS)

        failed, none = ("ConditionalCheckFailed", "The conditional request failed"), ("None", None)
        assert_reported(cancelled(failed, none), success({}))
        assert_reported(cancelled(failed, none), cancelled(none, failed))
        assert_reported(cancelled(failed, none), failure("ValidationException", "The conditional request failed"))
        assert_reported(cancelled(("ConditionalCheckFailed", "It failed"), none), cancelled(failed, none))
        assert_reported(cancelled(("ValidationError", "The document path is bad"), none), success({}))

    def test_a_cancelled_transaction_has_a_reason_for_each_action(self):
        dotted, plain, none = ("ConditionalCheckFailed", DOT), ("ConditionalCheckFailed", DOT[:-1]), ("None", None)
        self.assert_explained("TransactWriteItems", cancelled(plain, none), cancelled(dotted, none), TWO_ACTIONS)
        self.assert_reported("TransactWriteItems", cancelled(plain), cancelled(dotted), TWO_ACTIONS)
        self.assert_reported("TransactWriteItems", cancelled(plain, none, none), cancelled(dotted, none, none), TWO_ACTIONS)
        self.assert_reported("TransactWriteItems", cancelled(plain), cancelled(dotted, none), TWO_ACTIONS)
        other_codes = cancelled(plain, none)
        other_codes.message = other_codes.message.replace("None", "ConditionalCheckFailed")
        self.assert_reported("TransactWriteItems", other_codes, cancelled(dotted, none), TWO_ACTIONS)

    def test_every_reason_that_differs_needs_an_explanation(self):
        dotted, plain = ("ConditionalCheckFailed", DOT), ("ConditionalCheckFailed", DOT[:-1])
        self.assert_explained("TransactWriteItems", cancelled(plain, plain), cancelled(dotted, dotted), TWO_ACTIONS)
        self.assert_reported("TransactWriteItems", cancelled(plain, ("None", None)), cancelled(dotted, plain), TWO_ACTIONS)

    def test_rows_left_at_the_end(self):
        rows = {"Count": 1, "ScannedCount": 1, "Items": [{"pk": {"S": "a"}}]}
        none = {"Count": 0, "ScannedCount": 0, "Items": []}
        self.assert_reported("the rows left at the end", success(rows), success(none), {"TableName": "t"})


if __name__ == "__main__":
    unittest.main()
