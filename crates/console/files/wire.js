// One request to the server and its response, used by the page and by its worker.

/** An error with the server's code and message. */
export class ServerError extends Error {
  constructor(code, message, status, more = {}) {
    super(message);
    this.code = code;
    this.status = status;
    Object.assign(this, more);
  }
}

/** The status codes that proxies send while the server behind them does not respond. */
const AWAY = [502, 503, 504];

export const noAnswer = (to) => new ServerError("Unreachable", `No answer from ${new URL(to.base).host}.`, 0);

/** The error of a response. A response without a code was sent by a proxy. */
function errorOf(to, status, text) {
  const json = parsed(text);
  const code = json?.__type ?? json?.code;
  if (!code && AWAY.includes(status)) return noAnswer(to);
  const { message, Message, __type, code: _, ...more } = json ?? {};
  return new ServerError((code ?? `HTTP ${status}`).split("#").pop(), message ?? Message ?? text, status, more);
}

function parsed(text) {
  try {
    return JSON.parse(text || "{}");
  } catch {
    return undefined;
  }
}

/** Posts JSON to a path below the server's address. `to`: its address, and the token of the session if there is one. */
export async function send(to, path, headers, body, signal) {
  const all = { ...headers, ...(to.token ? { "x-trestle-session": to.token } : {}) };
  let answer;
  try {
    answer = await fetch(new URL(path, to.base), { method: "POST", headers: all, body: JSON.stringify(body), signal, credentials: "omit" });
  } catch (error) {
    throw error.name === "AbortError" ? error : noAnswer(to);
  }
  if (answer.ok) return answer;
  throw errorOf(to, answer.status, await answer.text());
}

/** The same, and parses the JSON of the response. */
export async function post(to, path, headers, body, signal) {
  const answer = await send(to, path, headers, body, signal);
  let text;
  try {
    text = await answer.text();
  } catch (error) {
    throw error.name === "AbortError" ? error : noAnswer(to);
  }
  return parsed(text) ?? { message: text };
}

/** An operation of one of Amazon's services. */
export const operation = (to, service, name, body, signal) =>
  post(to, "./", { "content-type": "application/x-amz-json-1.0", "x-amz-target": `${service}.${name}` }, body, signal);

export const STREAMS = "DynamoDBStreams_20120810";
export const TABLES = "DynamoDB_20120810";

/** All shards of a stream, oldest first. `ask(name, body)` sends an operation on streams. */
export async function shardsOf(ask, arn) {
  const shards = [];
  let after;
  do {
    const { StreamDescription } = await ask("DescribeStream", { StreamArn: arn, ...(after ? { ExclusiveStartShardId: after } : {}) });
    shards.push(...StreamDescription.Shards);
    after = StreamDescription.LastEvaluatedShardId;
  } while (after);
  return shards.map((shard) => ({ arn, id: shard.ShardId, closed: Boolean(shard.SequenceNumberRange.EndingSequenceNumber) }));
}
