// What the JavaScript client tests share: clients without retries, and tables that go away again.
import { randomUUID } from "node:crypto";
import {
  CreateTableCommand,
  DeleteTableCommand,
  DynamoDBClient,
  waitUntilTableExists,
} from "@aws-sdk/client-dynamodb";
import { DynamoDBStreamsClient } from "@aws-sdk/client-dynamodb-streams";
import { SQSClient } from "@aws-sdk/client-sqs";
import { DynamoDBDocumentClient } from "@aws-sdk/lib-dynamodb";

const access = {
  endpoint: process.env.TRESTLE_ENDPOINT ?? "http://127.0.0.1:8000",
  region: "us-east-1",
  credentials: { accessKeyId: "anybody", secretAccessKey: "anything" },
  maxAttempts: 1, // A retry would hide a wrong answer.
};

export const client = new DynamoDBClient(access);
export const streams = new DynamoDBStreamsClient(access);
export const queues = new SQSClient(access);
export const documents = DynamoDBDocumentClient.from(client, {
  marshallOptions: { removeUndefinedValues: true },
});

/** Creates a table with a key written as "pk:S sk:N", waits for it, and deletes it after the test. */
export async function table(test, key = "pk:S", more = {}) {
  const attributes = key.split(" ").map((word) => word.split(":"));
  const TableName = `js${randomUUID().slice(0, 13)}`;
  await client.send(
    new CreateTableCommand({
      TableName,
      AttributeDefinitions: attributes.map(([AttributeName, AttributeType]) => ({ AttributeName, AttributeType })),
      KeySchema: attributes
        .slice(0, 2)
        .map(([AttributeName], position) => ({ AttributeName, KeyType: position === 0 ? "HASH" : "RANGE" })),
      BillingMode: "PAY_PER_REQUEST",
      ...more,
    }),
  );
  test.after(() => client.send(new DeleteTableCommand({ TableName })).catch(() => {}));
  await waitUntilTableExists({ client, maxWaitTime: 20, minDelay: 1 }, { TableName });
  return TableName;
}
