// Tables, waiters, tags, time to live and streams with the plain client.
import assert from "node:assert/strict";
import { test } from "node:test";
import {
  DeleteTableCommand,
  DescribeTableCommand,
  DescribeTimeToLiveCommand,
  ListTagsOfResourceCommand,
  paginateListTables,
  PutItemCommand,
  ResourceNotFoundException,
  TagResourceCommand,
  UpdateTimeToLiveCommand,
  waitUntilTableNotExists,
} from "@aws-sdk/client-dynamodb";
import { DescribeStreamCommand, GetRecordsCommand, GetShardIteratorCommand } from "@aws-sdk/client-dynamodb-streams";
import { client, streams, table } from "./support.mjs";

test("waiters see a table come and go", async (t) => {
  const TableName = await table(t);
  await client.send(new DeleteTableCommand({ TableName }));
  const { state } = await waitUntilTableNotExists({ client, maxWaitTime: 20, minDelay: 1 }, { TableName });
  assert.equal(state, "SUCCESS");
  await assert.rejects(client.send(new DescribeTableCommand({ TableName })), ResourceNotFoundException);
});

test("paginateListTables lists every table", async (t) => {
  const names = [await table(t), await table(t), await table(t)];
  const listed = [];
  for await (const page of paginateListTables({ client, pageSize: 2 }, {})) listed.push(...page.TableNames);
  for (const name of names) assert.ok(listed.includes(name));
});

test("tags and time to live are kept", async (t) => {
  const TableName = await table(t);
  const { Table } = await client.send(new DescribeTableCommand({ TableName }));
  assert.ok(Table.CreationDateTime instanceof Date);
  await client.send(new TagResourceCommand({ ResourceArn: Table.TableArn, Tags: [{ Key: "team", Value: "red" }] }));
  const { Tags } = await client.send(new ListTagsOfResourceCommand({ ResourceArn: Table.TableArn }));
  assert.deepEqual(Tags, [{ Key: "team", Value: "red" }]);
  const TimeToLiveSpecification = { Enabled: true, AttributeName: "expires" };
  await client.send(new UpdateTimeToLiveCommand({ TableName, TimeToLiveSpecification }));
  const { TimeToLiveDescription } = await client.send(new DescribeTimeToLiveCommand({ TableName }));
  assert.equal(TimeToLiveDescription.AttributeName, "expires");
});

test("a stream gives each change to a reader of its shards", async (t) => {
  const StreamSpecification = { StreamEnabled: true, StreamViewType: "NEW_IMAGE" };
  const TableName = await table(t, "pk:S", { StreamSpecification });
  for (const pk of ["a", "b", "c"]) await client.send(new PutItemCommand({ TableName, Item: { pk: { S: pk } } }));
  const { Table } = await client.send(new DescribeTableCommand({ TableName }));
  assert.deepEqual((await readAll(Table.LatestStreamArn, 3)).sort(), ["a", "b", "c"]);
});

/** The keys of the first `wanted` records over all shards of a stream. */
async function readAll(StreamArn, wanted) {
  const { StreamDescription } = await streams.send(new DescribeStreamCommand({ StreamArn }));
  const seen = [];
  for (const { ShardId } of StreamDescription.Shards) {
    const start = new GetShardIteratorCommand({ StreamArn, ShardId, ShardIteratorType: "TRIM_HORIZON" });
    let { ShardIterator } = await streams.send(start);
    for (let page = 0; page < 5 && ShardIterator && seen.length < wanted; page += 1) {
      const { Records, NextShardIterator } = await streams.send(new GetRecordsCommand({ ShardIterator }));
      seen.push(...Records.map((record) => record.dynamodb.Keys.pk.S));
      ShardIterator = NextShardIterator;
    }
  }
  return seen;
}
