// Reads messages of a queue without receiving them. Queues are rows of a table, which every access key that may read tables may read.
import { dynamodb, everyPage } from "./api.js";

const TABLE = "_trestle.queues";

/** The partition with the messages of a queue; `undefined` if there is no such queue. */
async function partitionOf(name) {
  const { Item } = await dynamodb("GetItem", { TableName: TABLE, Key: { pk: { S: "queues" }, sk: { S: name } }, ConsistentRead: true });
  if (!Item) return undefined;
  // The id may be larger than the integers that JSON.parse represents exactly.
  const id = /"id":(\d+)/.exec(Item.doc.S)[1];
  const { generation } = JSON.parse(Item.doc.S);
  return `q#${BigInt(id).toString(16).padStart(16, "0")}#${generation}`;
}

/** Joins the two rows of a message: one for what was sent, and later one for its state. */
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

/** A page of messages, oldest first, each with its state. */
export async function peek(name, after, limit = 50) {
  const partition = await partitionOf(name);
  if (!partition) return { messages: [] };
  // Rows from `~` on are of another kind.
  const { Items, LastEvaluatedKey } = await query(partition, "0", "g", { Limit: 2 * limit, ...(after ? { ExclusiveStartKey: after } : {}) });
  return { messages: joined(Items), next: LastEvaluatedKey };
}

/** The complete message. One with a large body is stored in parts: first the body, then the attributes. */
async function whole(message) {
  if (!message.large) return message;
  const rows = await everyPage((after) => query(message.parts, "0", "~", after ? { ExclusiveStartKey: after } : {}), (page) => page.Items, (page) => page.LastEvaluatedKey);
  const pieces = rows.sort((one, two) => Number(one.sk.S) - Number(two.sk.S)).map((row) => row.body.S);
  const bytes = new TextEncoder().encode(pieces.join(""));
  const text = (part) => new TextDecoder().decode(part);
  const rest = text(bytes.slice(message.bodyBytes));
  return { ...message, body: text(bytes.slice(0, message.bodyBytes)), attributes: rest ? JSON.parse(rest) : undefined };
}

/** One complete message; `null` if it is no longer in the queue. */
export async function messageOf(name, number) {
  const partition = await partitionOf(name);
  if (!partition) return null;
  const { Items } = await query(partition, number, `${number}+`);
  const [message] = joined(Items);
  return message ? whole(message) : null;
}
