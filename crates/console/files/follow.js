// A worker that follows the changes of a table: every shard of its stream, from now on or from the beginning of the log. The page gets the
// number of all changes, the number of those that match its filter, and several times a second a few matching changes to draw. It neither
// reads nor parses the other changes.
import { changeOf, fits, isFilter } from "./change.js";
import { STREAMS, TABLES, operation, shardsOf } from "./wire.js";

const IDLE_MS = 700;
const RETRY_MS = 1500;
/** How often new shards are looked for. */
const LOOK_MS = 5000;
/** How often changes are sent to the page, and how often if they are only a sample. */
const GIVE_MS = 250;
const GIVE_SAMPLE_MS = 500;
/** The period over which a rate is computed. */
const RATE_MS = 3000;
/** The maximum number of records in one response of GetRecords. After a full response, there may be more. */
const PAGE = 1000;
/** The maximum number of changes that wait for the page. If there are more, the page gets a sample. */
const WAITING_MAX = 100;
/** The maximum number of changes that the page gets at once, and the maximum if they are a sample. */
const GIVEN_MAX = 25;
const SAMPLE = 8;

const state = { waiting: [], count: 0, fit: 0, left: 0, isPaused: false, filter: {}, turn: 0, lost: undefined, arrived: [], isQuiet: true, given: 0 };
/** The errors with which a shard, or the list of shards, cannot be read at the moment. */
const failing = new Map();
let to;
let view;
const pause = (ms) => new Promise((done) => setTimeout(done, ms));
const streams = (name, body) => operation(to, STREAMS, name, body);

/** At most `most` elements of a list, evenly spaced. */
const evenly = (list, most) => (list.length <= most ? list : Array.from({ length: most }, (_, i) => list[Math.floor((i * list.length) / most)]));

/** Takes the records that match the filter, and reduces them to a sample if there are too many. */
function take(records) {
  const fitting = isFilter(state.filter) ? records.filter((record) => fits(view(record), state.filter)) : records;
  state.count += records.length;
  state.fit += fitting.length;
  state.arrived.push({ at: performance.now(), number: records.length });
  if (state.isPaused) return;
  const all = state.waiting.concat(fitting);
  state.waiting = evenly(all, WAITING_MAX);
  state.left += all.length - state.waiting.length;
}

/** The number of changes per second in the last RATE_MS. */
function rate(now) {
  state.arrived = state.arrived.filter((page) => now - page.at < RATE_MS);
  return (1000 * state.arrived.reduce((sum, page) => sum + page.number, 0)) / RATE_MS;
}

function give() {
  const now = performance.now();
  if (state.left && now - state.given < GIVE_SAMPLE_MS) return;
  const perSecond = rate(now);
  const isQuiet = !perSecond && !state.waiting.length && !failing.size;
  // When changes stop, one more message is sent, so that the page shows that.
  if (isQuiet && state.isQuiet) return;
  const records = state.left ? evenly(state.waiting, SAMPLE) : state.waiting.slice(0, GIVEN_MAX);
  const left = state.left ? state.left + state.waiting.length - records.length : 0;
  const [error] = failing.values();
  postMessage({ turn: state.turn, changes: records.map(view), count: state.count, fit: state.fit, left, rate: perSecond, error, lost: state.lost });
  Object.assign(state, { waiting: state.left ? [] : state.waiting.slice(GIVEN_MAX), count: 0, fit: 0, left: 0, isQuiet, given: now });
}

/** Records that changes were lost, with the reason, which the page shows. */
function lose(why) {
  state.lost = why;
  state.isQuiet = false;
}

const fail = (what, { code, message }) => failing.set(what, { code, message });

async function iteratorOf(shard, { kind, last }) {
  const from = last ? { ShardIteratorType: "AFTER_SEQUENCE_NUMBER", SequenceNumber: last } : { ShardIteratorType: kind };
  return (await streams("GetShardIterator", { StreamArn: shard.arn, ShardId: shard.id, ...from })).ShardIterator;
}

/** Reads a page, moves the position behind it, and returns the number of records. */
async function readPage(shard, place) {
  place.iterator ??= await iteratorOf(shard, place);
  const { Records, NextShardIterator } = await streams("GetRecords", { ShardIterator: place.iterator });
  place.iterator = NextShardIterator;
  place.isOver = !NextShardIterator;
  place.last = Records.at(-1)?.dynamodb.SequenceNumber ?? place.last;
  take(Records);
  return Records.length;
}

/** The position from which a shard is read after an error: the same one, unless the server reports that it no longer exists. */
function recover(error, shard, place) {
  if (error.code === "TrimmedDataAccessException") {
    lose("The stream trimmed changes before they were read.");
    Object.assign(place, { iterator: undefined, last: undefined, kind: "TRIM_HORIZON" });
  } else if (error.code === "ResourceNotFoundException") {
    lose(`A part of the stream was removed: ${error.message}`);
    place.isOver = true;
  } else if (place.iterator && ["ExpiredIteratorException", "ValidationException"].includes(error.code)) {
    if (!place.last && place.kind === "LATEST") lose("No change had been read when the place in the stream expired.");
    place.iterator = undefined;
  } else {
    fail(shard.id, error);
  }
}

async function readShard(shard, kind) {
  const place = { kind };
  while (!place.isOver) {
    try {
      const number = await readPage(shard, place);
      failing.delete(shard.id);
      if (number < PAGE) await pause(IDLE_MS);
    } catch (error) {
      recover(error, shard, place);
      await pause(RETRY_MS);
    }
  }
  failing.delete(shard.id);
}

const seen = new Set();

/** Starts to read new shards. */
async function look(table, kind) {
  const { Table } = await operation(to, TABLES, "DescribeTable", { TableName: table });
  const isNew = (shard) => !seen.has(`${shard.arn} ${shard.id}`);
  for (const shard of (await shardsOf(streams, Table.LatestStreamArn)).filter(isNew)) {
    seen.add(`${shard.arn} ${shard.id}`);
    if (kind !== "LATEST" || !shard.closed) readShard(shard, kind);
  }
}

async function follow(table, from) {
  let kind = from;
  for (;;) {
    try {
      await look(table, kind);
      failing.delete(table);
      // Shards that are created later are read from their beginning.
      kind = "TRIM_HORIZON";
      await pause(LOOK_MS);
    } catch (error) {
      fail(table, error);
      await pause(RETRY_MS);
    }
  }
}

onmessage = ({ data }) => {
  state.isPaused = Boolean(data.isPaused);
  if (state.isPaused) state.waiting = [];
  if (data.turn !== state.turn) Object.assign(state, { filter: data.filter, turn: data.turn, waiting: [], count: 0, fit: 0, left: 0 });
  if (!data.begin) return;
  const { table, from, known, hidden } = data.begin;
  to = data.begin.to;
  const derived = new Set(hidden);
  view = (record) => changeOf(record, known, derived);
  setInterval(give, GIVE_MS);
  follow(table, from);
};
