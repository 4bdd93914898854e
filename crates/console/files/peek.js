// Messages of a queue without taking them: queues are rows of a table, which every key that reads tables may read.
import { dynamodb } from "./api.js";

const TABLE = "_trestle.queues";

/** A page of messages, oldest first, with what happened to each since it was sent. */
export async function peek(name, after, limit = 50) {
  const { Item } = await dynamodb("GetItem", { TableName: TABLE, Key: { pk: { S: "queues" }, sk: { S: name } }, ConsistentRead: true });
  if (!Item) return { messages: [] };
  // The id may be larger than what JSON.parse keeps exact.
  const id = /"id":(\d+)/.exec(Item.doc.S)[1];
  const { generation } = JSON.parse(Item.doc.S);
  const partition = `q#${BigInt(id).toString(16).padStart(16, "0")}#${generation}`;
  const { Items, LastEvaluatedKey } = await dynamodb("Query", {
    TableName: TABLE, KeyConditionExpression: "pk = :p AND sk < :end", ExpressionAttributeValues: { ":p": { S: partition }, ":end": { S: "~" } },
    Limit: 2 * limit, ...(after ? { ExclusiveStartKey: after } : {}),
  });
  const messages = new Map();
  for (const row of Items) {
    const number = row.sk.S.replace("+", "");
    const message = messages.get(number) ?? { number };
    if (row.sk.S.endsWith("+")) Object.assign(message, { receives: Number(row.receives?.N ?? 0), due: Number(row.due?.N ?? 0) || message.due });
    else Object.assign(message, { id: row.id?.S, sent: Number(row.sent?.N), body: row.body?.S, due: message.due ?? Number(row.due?.N), group: row.group?.S, reason: row.reason?.S, large: row.partsN !== undefined });
    messages.set(number, message);
  }
  return { messages: [...messages.values()].filter((message) => message.id), next: LastEvaluatedKey };
}
