// A worker that follows the changes of a table: every shard of its stream, from now on, or from the beginning of the log. The page gets the
// number of all changes and, several times a second, a few of them to draw: it neither reads nor parses the rest.
import { STREAMS, TABLES, operation, shardsOf } from "./wire.js";

const IDLE_MS = 700;
/** How often the page hears of changes, and of a sample. */
const GIVE_MS = 250;
const GIVE_SAMPLE_MS = 500;
/** The time that a rate is about. */
const RATE_MS = 3000;
/** Changes that wait for the page. If more come, a sample is given. */
const WAITING_MAX = 100;
/** Changes that the page gets at once, and how many if they are a sample. */
const GIVEN_MAX = 25;
const SAMPLE = 8;

const state = { waiting: [], count: 0, left: 0, isPaused: false, error: undefined, arrived: [], isQuiet: true, given: 0 };
let to;
const pause = (ms) => new Promise((done) => setTimeout(done, ms));
const streams = (name, body) => operation(to, STREAMS, name, body);

/** So many of a list, evenly. */
const evenly = (list, most) => (list.length <= most ? list : Array.from({ length: most }, (_, i) => list[Math.floor((i * list.length) / most)]));

function take(records) {
  state.count += records.length;
  state.arrived.push({ at: performance.now(), number: records.length });
  state.error = undefined;
  if (state.isPaused) return;
  const all = state.waiting.concat(records);
  state.waiting = evenly(all, WAITING_MAX);
  state.left += all.length - state.waiting.length;
}

/** Changes in a second, lately. */
function rate(now) {
  state.arrived = state.arrived.filter((page) => now - page.at < RATE_MS);
  return (1000 * state.arrived.reduce((sum, page) => sum + page.number, 0)) / RATE_MS;
}

function give() {
  const now = performance.now();
  if (state.left && now - state.given < GIVE_SAMPLE_MS) return;
  const perSecond = rate(now);
  const isQuiet = !perSecond && !state.waiting.length && !state.error;
  // Once more when it becomes quiet, so that the page says so.
  if (isQuiet && state.isQuiet) return;
  const records = state.left ? evenly(state.waiting, SAMPLE) : state.waiting.slice(0, GIVEN_MAX);
  const left = state.left ? state.left + state.waiting.length - records.length : 0;
  postMessage({ records, count: state.count, left, rate: perSecond, error: state.error });
  Object.assign(state, { waiting: state.left ? [] : state.waiting.slice(GIVEN_MAX), count: 0, left: 0, isQuiet, given: now });
}

const seen = new Set();

async function read(table, shard, kind) {
  let { ShardIterator: iterator } = await streams("GetShardIterator", { StreamArn: shard.arn, ShardId: shard.id, ShardIteratorType: kind });
  while (iterator) {
    const page = await streams("GetRecords", { ShardIterator: iterator });
    take(page.Records);
    iterator = page.NextShardIterator;
    if (page.Records.length < 1000) await pause(IDLE_MS);
  }
  // New shards are found as old ones end.
  await look(table, "TRIM_HORIZON");
}

async function look(table, kind) {
  const { Table } = await operation(to, TABLES, "DescribeTable", { TableName: table });
  const shards = (await shardsOf(streams, Table.LatestStreamArn)).filter((shard) => !seen.has(shard.id));
  for (const shard of shards) seen.add(shard.id);
  const wanted = kind === "LATEST" ? shards.filter((shard) => !shard.closed) : shards;
  await Promise.all(wanted.map((shard) => read(table, shard, kind)));
}

async function follow(table, from) {
  let kind = from;
  for (;;) {
    try {
      await look(table, kind);
      await pause(IDLE_MS);
    } catch (error) {
      state.error = { code: error.code, message: error.message };
      // The server may have gone: begin again with what comes next.
      seen.clear();
      kind = "LATEST";
      await pause(2000);
    }
  }
}

onmessage = ({ data }) => {
  state.isPaused = Boolean(data.isPaused);
  if (state.isPaused) state.waiting = [];
  if (!data.begin) return;
  to = data.begin.to;
  setInterval(give, GIVE_MS);
  follow(data.begin.table, data.begin.from);
};
