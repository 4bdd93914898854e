// The changes of a table as they happen: every shard of its stream, from now on, or from the beginning of the log.
import { describeTable, streams } from "./api.js";
import { shardsOf } from "./history.js";

const IDLE_MS = 700;

/** Follows until `stop()`. `onRecords(records)` gets each page. New shards are found as old ones end. */
export function follow(tableName, { from = "LATEST", onRecords, onError }) {
  let stopped = false;
  const seen = new Set();
  const pause = (ms) => new Promise((done) => setTimeout(done, ms));

  async function read(shard, kind) {
    let { ShardIterator: iterator } = await streams("GetShardIterator", { StreamArn: shard.arn, ShardId: shard.id, ShardIteratorType: kind });
    while (iterator && !stopped) {
      const page = await streams("GetRecords", { ShardIterator: iterator });
      if (stopped) return;
      if (page.Records.length) onRecords(page.Records);
      iterator = page.NextShardIterator;
      if (page.Records.length < 1000) await pause(IDLE_MS);
    }
    if (!stopped) await look("TRIM_HORIZON");
  }

  async function look(kind) {
    const table = await describeTable(tableName, true);
    const shards = (await shardsOf(table)).filter((shard) => !seen.has(shard.id));
    for (const shard of shards) seen.add(shard.id);
    const wanted = kind === "LATEST" ? shards.filter((shard) => !shard.closed) : shards;
    await Promise.all(wanted.map((shard) => read(shard, kind)));
  }

  async function run() {
    let kind = from;
    while (!stopped) {
      try {
        await look(kind);
        await pause(IDLE_MS);
      } catch (error) {
        if (stopped) return;
        onError(error);
        // The server may have gone: begin again with what comes next.
        seen.clear();
        kind = "LATEST";
        await pause(2000);
      }
    }
  }
  run();
  return () => { stopped = true; };
}
