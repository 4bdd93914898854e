// One request to the server and its answer, in the page and in its worker.

/** An error in the server's own words. */
export class ServerError extends Error {
  constructor(code, message, status, more = {}) {
    super(message);
    this.code = code;
    this.status = status;
    Object.assign(this, more);
  }
}

/** Posts JSON to a path below the server's address. `to`: its address, and the token of the session if there is one. */
export async function post(to, path, headers, body, signal) {
  const all = { ...headers, ...(to.token ? { "x-trestle-session": to.token } : {}) };
  let answer;
  try {
    answer = await fetch(new URL(path, to.base), { method: "POST", headers: all, body: JSON.stringify(body), signal, credentials: "omit" });
  } catch (error) {
    if (error.name === "AbortError") throw error;
    throw new ServerError("Unreachable", `No answer from ${new URL(to.base).host}. The console tries again.`, 0);
  }
  const text = await answer.text();
  let json = {};
  try {
    json = JSON.parse(text || "{}");
  } catch {
    json = { message: text };
  }
  if (answer.ok) return json;
  const code = (json.__type ?? json.code ?? `HTTP ${answer.status}`).split("#").pop();
  const { message, Message, __type, code: _, ...more } = json;
  throw new ServerError(code, message ?? Message ?? text, answer.status, more);
}

/** An operation of one of Amazon's services. */
export const operation = (to, service, name, body, signal) =>
  post(to, "./", { "content-type": "application/x-amz-json-1.0", "x-amz-target": `${service}.${name}` }, body, signal);

export const STREAMS = "DynamoDBStreams_20120810";
export const TABLES = "DynamoDB_20120810";

/** All shards of a stream, oldest first. `ask(name, body)` makes an operation on streams. */
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
