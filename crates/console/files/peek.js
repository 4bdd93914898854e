// Messages of a queue without taking them: queues are rows of a table, which every key that reads tables may read.
import { dynamodb, everyPage } from "./api.js";

const TABLE = "_trestle.queues";

/** Where the messages of a queue are; `undefined` if there is no such queue. */
async function partitionOf(name) {
  const { Item } = await dynamodb("GetItem", { TableName: TABLE, Key: { pk: { S: "queues" }, sk: { S: name } }, ConsistentRead: true });
  if (!Item) return undefined;
  // The id may be larger than what JSON.parse keeps exact.
  const id = /"id":(\d+)/.exec(Item.doc.S)[1];
  const { generation } = JSON.parse(Item.doc.S);
  return `q#${BigInt(id).toString(16).padStart(16, "0")}#${generation}`;
}

/** A message has a row for what was sent, and later one for what happened to it since. */
function joined(rows) {
  const messages = new Map();
  for (const row of rows) {
    const number = row.sk.S.replace("+", "");
    const message = messages.get(number) ?? { number };
    if (row.sk.S.endsWith("+")) Object.assign(message, { receives: Number(row.receives?.N ?? 0), due: Number(row.due?.N ?? 0) || message.due });
    else Object.assign(message, sentIn(row), { due: message.due ?? Number(row.due?.N) });
    messages.set(number, message);
  }
  return [...messages.values()].filter((message) => message.id);
}

const sentIn = (row) => ({
  id: row.id?.S, sent: Number(row.sent?.N), body: row.body?.S, attributes: row.attrs && JSON.parse(row.attrs.S), group: row.group?.S, deduplication: row.dedup?.S,
  source: row.source?.S.split(":").pop(), reason: row.reason?.S, large: row.partsN !== undefined, parts: row.parts?.S, bodyBytes: Number(row.bodyLen?.N),
});

const query = (partition, from, end, more = {}) => dynamodb("Query", {
  TableName: TABLE, KeyConditionExpression: "pk = :p AND sk BETWEEN :from AND :end", ExpressionAttributeValues: { ":p": { S: partition }, ":from": { S: from }, ":end": { S: end } }, ...more,
});

/** A page of messages, oldest first, with what happened to each since it was sent. */
export async function peek(name, after, limit = 50) {
  const partition = await partitionOf(name);
  if (!partition) return { messages: [] };
  // From `~` on there are rows of another kind.
  const { Items, LastEvaluatedKey } = await query(partition, "0", "g", { Limit: 2 * limit, ...(after ? { ExclusiveStartKey: after } : {}) });
  return { messages: joined(Items), next: LastEvaluatedKey };
}

/** A message of a large body is stored in parts: the body, then the attributes behind it. */
async function whole(message) {
  if (!message.large) return message;
  const rows = await everyPage((after) => query(message.parts, "0", "~", after ? { ExclusiveStartKey: after } : {}), (page) => page.Items, (page) => page.LastEvaluatedKey);
  const pieces = rows.sort((one, two) => Number(one.sk.S) - Number(two.sk.S)).map((row) => row.body.S);
  const bytes = new TextEncoder().encode(pieces.join(""));
  const text = (part) => new TextDecoder().decode(part);
  const rest = text(bytes.slice(message.bodyBytes));
  return { ...message, body: text(bytes.slice(0, message.bodyBytes)), attributes: rest ? JSON.parse(rest) : undefined };
}

/** One message whole; `null` if it is not in the queue any more. */
export async function messageOf(name, number) {
  const partition = await partitionOf(name);
  if (!partition) return null;
  const { Items } = await query(partition, number, `${number}+`);
  const [message] = joined(Items);
  return message ? whole(message) : null;
}
