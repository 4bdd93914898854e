// What became of an item, as the change log of its table has it.
import { streams } from "./api.js";
import { same } from "./values.js";
import { shardsOf } from "./wire.js";

/**
 * A shard that is closed says where it ends. One that is written to does not, and a page of it may be empty before its end: so many in a
 * row are taken for the end.
 */
const EMPTY_MAX = 20;

/** Reads the whole log and keeps the records of one item. `onProgress(read, found)` hears how far it is; `isStopped()` ends it. */
export async function historyOf(table, key, onProgress, isStopped) {
  const found = [];
  let read = 0;
  for (const shard of table.LatestStreamArn ? await shardsOf(streams, table.LatestStreamArn) : []) {
    let { ShardIterator: iterator } = await streams("GetShardIterator", { StreamArn: shard.arn, ShardId: shard.id, ShardIteratorType: "TRIM_HORIZON" });
    let empty = 0;
    while (iterator && (shard.closed || empty < EMPTY_MAX) && !isStopped()) {
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
