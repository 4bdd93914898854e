// The document client: plain JavaScript values in, the same values out.
import assert from "node:assert/strict";
import { test } from "node:test";
import { ConditionalCheckFailedException, TransactionCanceledException } from "@aws-sdk/client-dynamodb";
import {
  BatchGetCommand,
  BatchWriteCommand,
  DeleteCommand,
  ExecuteStatementCommand,
  GetCommand,
  NumberValue,
  paginateQuery,
  paginateScan,
  PutCommand,
  QueryCommand,
  TransactGetCommand,
  TransactWriteCommand,
  UpdateCommand,
} from "@aws-sdk/lib-dynamodb";
import { documents, table } from "./support.mjs";

test("values come back as they went in", async (t) => {
  const TableName = await table(t);
  const Item = {
    pk: "a",
    number: 1.5,
    text: "ünï",
    yes: true,
    nothing: null,
    list: [1, "two", { three: 3 }],
    map: { inner: { deep: false } },
    words: new Set(["x", "y"]),
    numbers: new Set([1, 2.5]),
    raw: new Uint8Array([0, 255]),
  };
  await documents.send(new PutCommand({ TableName, Item }));
  const { Item: found } = await documents.send(new GetCommand({ TableName, Key: { pk: "a" } }));
  assert.deepEqual(found, Item);
});

test("a number of 38 digits keeps them all", async (t) => {
  const TableName = await table(t);
  const digits = "12345678901234567890123456789012345678";
  await documents.send(new PutCommand({ TableName, Item: { pk: "a", n: NumberValue.from(digits) } }));
  const lowLevel = await documents.send(
    new ExecuteStatementCommand({ Statement: `SELECT pk FROM "${TableName}" WHERE n = ?`, Parameters: [NumberValue.from(digits)] }),
  );
  assert.deepEqual(lowLevel.Items, [{ pk: "a" }]);
});

test("a failed condition is the modeled exception and carries the item", async (t) => {
  const TableName = await table(t);
  await documents.send(new PutCommand({ TableName, Item: { pk: "a", v: 1 } }));
  const refused = documents.send(
    new PutCommand({
      TableName,
      Item: { pk: "a" },
      ConditionExpression: "attribute_not_exists(pk)",
      ReturnValuesOnConditionCheckFailure: "ALL_OLD",
    }),
  );
  await assert.rejects(refused, (error) => {
    assert.ok(error instanceof ConditionalCheckFailedException);
    assert.equal(error.message, "The conditional request failed");
    assert.deepEqual(error.Item, { pk: { S: "a" }, v: { N: "1" } });
    assert.equal(error.$metadata.attempts, 1);
    return true;
  });
});

test("updates return the new image and deletes the old one", async (t) => {
  const TableName = await table(t);
  const updated = await documents.send(
    new UpdateCommand({
      TableName,
      Key: { pk: "a" },
      UpdateExpression: "SET #c = if_not_exists(#c, :zero) + :one",
      ExpressionAttributeNames: { "#c": "count" },
      ExpressionAttributeValues: { ":zero": 0, ":one": 1 },
      ReturnValues: "UPDATED_NEW",
    }),
  );
  assert.deepEqual(updated.Attributes, { count: 1 });
  const deleted = await documents.send(new DeleteCommand({ TableName, Key: { pk: "a" }, ReturnValues: "ALL_OLD" }));
  assert.deepEqual(deleted.Attributes, { pk: "a", count: 1 });
});

test("paginateQuery reads every page in order", async (t) => {
  const TableName = await table(t, "pk:S sk:N");
  for (let start = 0; start < 50; start += 25) {
    const puts = Array.from({ length: 25 }, (_, n) => ({ PutRequest: { Item: { pk: "p", sk: start + n } } }));
    await documents.send(new BatchWriteCommand({ RequestItems: { [TableName]: puts } }));
  }
  const seen = [];
  const query = { TableName, KeyConditionExpression: "pk = :p", ExpressionAttributeValues: { ":p": "p" } };
  for await (const page of paginateQuery({ client: documents, pageSize: 8 }, query)) {
    seen.push(...page.Items.map((item) => item.sk));
  }
  assert.deepEqual(seen, Array.from({ length: 50 }, (_, n) => n));
});

test("paginateScan reads every row once", async (t) => {
  const TableName = await table(t);
  for (let n = 0; n < 12; n += 1) await documents.send(new PutCommand({ TableName, Item: { pk: `k${n}` } }));
  const seen = [];
  for await (const page of paginateScan({ client: documents, pageSize: 5 }, { TableName })) {
    seen.push(...page.Items.map((item) => item.pk));
  }
  assert.deepEqual(seen.sort(), Array.from({ length: 12 }, (_, n) => `k${n}`).sort());
});

test("a global index is queried by its own key", async (t) => {
  const TableName = await table(t, "pk:S sk:N status:S", {
    GlobalSecondaryIndexes: [
      {
        IndexName: "by_status",
        KeySchema: [{ AttributeName: "status", KeyType: "HASH" }],
        Projection: { ProjectionType: "KEYS_ONLY" },
      },
    ],
  });
  await documents.send(new PutCommand({ TableName, Item: { pk: "a", sk: 1, status: "open", hidden: true } }));
  const { Items } = await documents.send(
    new QueryCommand({
      TableName,
      IndexName: "by_status",
      KeyConditionExpression: "#s = :open",
      ExpressionAttributeNames: { "#s": "status" },
      ExpressionAttributeValues: { ":open": "open" },
    }),
  );
  assert.deepEqual(Items, [{ pk: "a", sk: 1, status: "open" }]);
});

test("batch get finds what is there", async (t) => {
  const TableName = await table(t);
  await documents.send(new PutCommand({ TableName, Item: { pk: "a" } }));
  const found = await documents.send(
    new BatchGetCommand({ RequestItems: { [TableName]: { Keys: [{ pk: "a" }, { pk: "none" }] } } }),
  );
  assert.deepEqual(found.Responses[TableName], [{ pk: "a" }]);
});

test("cancellation reasons arrive in order", async (t) => {
  const TableName = await table(t);
  const put = (pk, more = {}) => ({ Put: { TableName, Item: { pk }, ...more } });
  await documents.send(new TransactWriteCommand({ TransactItems: [put("a"), put("b")] }));
  const refused = documents.send(
    new TransactWriteCommand({
      TransactItems: [put("c"), put("a", { ConditionExpression: "attribute_not_exists(pk)" })],
    }),
  );
  await assert.rejects(refused, (error) => {
    assert.ok(error instanceof TransactionCanceledException);
    assert.deepEqual(error.CancellationReasons.map((reason) => reason.Code), ["None", "ConditionalCheckFailed"]);
    return true;
  });
  const { Responses } = await documents.send(
    new TransactGetCommand({ TransactItems: ["a", "c"].map((pk) => ({ Get: { TableName, Key: { pk } } })) }),
  );
  assert.deepEqual(Responses.map((response) => response.Item), [{ pk: "a" }, undefined]);
});
