// The history of an item in the change log of its table.
import { streams } from "./api.js";
import { same } from "./values.js";
import { shardsOf } from "./wire.js";

/**
 * The end of a closed shard is known. The end of an open shard is not, and a page of it may be empty before its end. This many empty pages
 * in a row are considered to be the end.
 */
const EMPTY_MAX = 20;

/** Reads the whole log and keeps the records of one item. Calls `onProgress(read, found)` after each page; ends if `isStopped()`. */
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
