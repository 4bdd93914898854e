// What became of an item, as the change log of its table has it.
import { streams } from "./api.js";
import { same } from "./values.js";

/** All shards of the newest stream of a table, oldest first. */
export async function shardsOf(table) {
  const arn = table.LatestStreamArn;
  if (!arn) return [];
  const shards = [];
  let after;
  do {
    const { StreamDescription } = await streams("DescribeStream", { StreamArn: arn, ...(after ? { ExclusiveStartShardId: after } : {}) });
    shards.push(...StreamDescription.Shards);
    after = StreamDescription.LastEvaluatedShardId;
  } while (after);
  return shards.map((shard) => ({ arn, id: shard.ShardId, closed: Boolean(shard.SequenceNumberRange.EndingSequenceNumber) }));
}

/** Reads the whole log and keeps the records of one item. `onProgress(read, found)` hears how far it is; `isStopped()` ends it. */
export async function historyOf(table, key, onProgress, isStopped) {
  const found = [];
  let read = 0;
  for (const shard of await shardsOf(table)) {
    let { ShardIterator: iterator } = await streams("GetShardIterator", { StreamArn: shard.arn, ShardId: shard.id, ShardIteratorType: "TRIM_HORIZON" });
    let empty = 0;
    while (iterator && empty < 3 && !isStopped()) {
      const page = await streams("GetRecords", { ShardIterator: iterator });
      read += page.Records.length;
      found.push(...page.Records.filter((record) => Object.entries(key).every(([name, value]) => same(record.dynamodb.Keys[name], value))));
      empty = page.Records.length ? 0 : empty + 1;
      iterator = page.NextShardIterator;
      onProgress(read, found.length);
    }
  }
  const order = (record) => BigInt(record.dynamodb.SequenceNumber);
  return found.sort((one, two) => (order(one) < order(two) ? 1 : -1));
}

/** What happened, in the words of routes. */
export const eventOf = (record) => {
  if (record.eventName === "REMOVE") return record.userIdentity?.principalId === "dynamodb.amazonaws.com" ? "expire" : "remove";
  return record.eventName.toLowerCase();
};
