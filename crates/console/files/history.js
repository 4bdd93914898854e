// What became of an item, as the change log of its table has it.
import { streams } from "./api.js";
import { same } from "./values.js";
import { shardsOf } from "./wire.js";

/** Reads the whole log and keeps the records of one item. `onProgress(read, found)` hears how far it is; `isStopped()` ends it. */
export async function historyOf(table, key, onProgress, isStopped) {
  const found = [];
  let read = 0;
  for (const shard of table.LatestStreamArn ? await shardsOf(streams, table.LatestStreamArn) : []) {
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
