"""Tables through boto3's low-level client."""

import unittest

from support import ClientTest, attributes, schema


class Tables(ClientTest):
    def test_waiters_follow_a_table_from_creation_to_deletion(self):
        name = self.table()
        self.assertEqual("ACTIVE", self.db.describe_table(TableName=name)["Table"]["TableStatus"])
        self.db.delete_table(TableName=name)
        self.db.get_waiter("table_not_exists").wait(TableName=name, WaiterConfig={"Delay": 1, "MaxAttempts": 20})
        with self.assertRaises(self.db.exceptions.ResourceNotFoundException):
            self.db.describe_table(TableName=name)

    def test_the_list_paginator_sees_every_table_once(self):
        names = sorted(self.table() for _ in range(5))
        pages = self.db.get_paginator("list_tables").paginate(PaginationConfig={"PageSize": 2})
        listed = [name for page in pages for name in page["TableNames"]]
        self.assertEqual(names, [name for name in listed if name in names])
        self.assertEqual(len(listed), len(set(listed)))

    def test_a_second_table_of_one_name_raises_the_modeled_exception(self):
        name = self.table()
        with self.assertRaises(self.db.exceptions.ResourceInUseException):
            self.db.create_table(
                TableName=name, AttributeDefinitions=attributes("pk:S"), KeySchema=schema("pk"), BillingMode="PAY_PER_REQUEST"
            )

    def test_an_index_added_later_holds_the_earlier_rows(self):
        name = self.table()
        self.db.put_item(TableName=name, Item={"pk": {"S": "a"}, "g": {"S": "x"}})
        self.db.update_table(
            TableName=name,
            AttributeDefinitions=attributes("g:S"),
            GlobalSecondaryIndexUpdates=[
                {"Create": {"IndexName": "by_g", "KeySchema": schema("g"), "Projection": {"ProjectionType": "ALL"}}}
            ],
        )
        self.until(lambda: self.index_status(name) == "ACTIVE")
        found = self.db.query(
            TableName=name, IndexName="by_g", KeyConditionExpression="g = :x", ExpressionAttributeValues={":x": {"S": "x"}}
        )
        self.assertEqual(["a"], [item["pk"]["S"] for item in found["Items"]])
        self.db.update_table(TableName=name, GlobalSecondaryIndexUpdates=[{"Delete": {"IndexName": "by_g"}}])
        self.until(lambda: "GlobalSecondaryIndexes" not in self.db.describe_table(TableName=name)["Table"])

    def index_status(self, name):
        return self.db.describe_table(TableName=name)["Table"]["GlobalSecondaryIndexes"][0]["IndexStatus"]

    def until(self, holds, seconds=20):
        import time

        deadline = time.monotonic() + seconds
        while not holds():
            self.assertLess(time.monotonic(), deadline, "did not happen in time")
            time.sleep(0.05)

    def test_tags_come_and_go(self):
        name = self.table(Tags=[{"Key": "team", "Value": "red"}])
        arn = self.db.describe_table(TableName=name)["Table"]["TableArn"]
        self.db.tag_resource(ResourceArn=arn, Tags=[{"Key": "stage", "Value": "test"}])
        self.db.untag_resource(ResourceArn=arn, TagKeys=["team"])
        pages = self.db.get_paginator("list_tags_of_resource").paginate(ResourceArn=arn)
        self.assertEqual([{"Key": "stage", "Value": "test"}], [tag for page in pages for tag in page["Tags"]])

    def test_time_to_live_is_switched_on(self):
        name = self.table()
        self.db.update_time_to_live(TableName=name, TimeToLiveSpecification={"Enabled": True, "AttributeName": "exp"})
        described = self.db.describe_time_to_live(TableName=name)["TimeToLiveDescription"]
        self.assertIn(described["TimeToLiveStatus"], ("ENABLED", "ENABLING"))
        self.assertEqual("exp", described["AttributeName"])

    def test_deletion_protection_is_honoured(self):
        name = self.table(DeletionProtectionEnabled=True)
        with self.assertRaises(self.db.exceptions.ClientError) as caught:
            self.db.delete_table(TableName=name)
        self.assertEqual("ValidationException", caught.exception.response["Error"]["Code"])
        self.db.update_table(TableName=name, DeletionProtectionEnabled=False)

    def test_limits_and_endpoints_parse(self):
        self.assertGreater(self.db.describe_limits()["TableMaxReadCapacityUnits"], 0)
        self.assertTrue(self.db.describe_endpoints()["Endpoints"][0]["Address"])

    def test_a_table_is_found_by_its_arn(self):
        name = self.table()
        arn = self.db.describe_table(TableName=name)["Table"]["TableArn"]
        self.db.put_item(TableName=arn, Item={"pk": {"S": "a"}})
        self.assertIn("Item", self.db.get_item(TableName=name, Key={"pk": {"S": "a"}}))


if __name__ == "__main__":
    unittest.main()
