// Turns a form into a DynamoDB request: every operator, with names and values as placeholders.
import { parse } from "./values.js";

export const KEY_OPERATORS = [
  ["", "any"], ["=", "="], ["<", "<"], ["<=", "≤"], [">", ">"], [">=", "≥"], ["between", "between"], ["begins_with", "begins with"],
];

export const FILTER_OPERATORS = [
  ["=", "="], ["<>", "≠"], ["<", "<"], ["<=", "≤"], [">", ">"], [">=", "≥"], ["between", "between"], ["in", "one of"], ["begins_with", "begins with"],
  ["contains", "contains"], ["not_contains", "does not contain"], ["exists", "exists"], ["not_exists", "does not exist"], ["type", "is of type"],
  ["size=", "size ="], ["size<", "size <"], ["size>", "size >"],
];
export const WITHOUT_VALUE = new Set(["exists", "not_exists"]);

/** Names and values, each once. */
class Placeholders {
  names = {};
  values = {};
  name(path) {
    // A path such as `address.city` or `tags[0]` names a part of a map or list. A name that contains a dot is written in quotes.
    const whole = /^"(.*)"$/.exec(path);
    const parts = whole ? [whole[1]] : path.split(".");
    return parts.map((part) => {
      const [, name, rest] = whole ? [null, part, ""] : /^([^[]*)((?:\[\d+\])*)$/.exec(part) ?? [null, part, ""];
      const known = Object.keys(this.names).find((key) => this.names[key] === name);
      const key = known ?? `#n${Object.keys(this.names).length}`;
      this.names[key] = name;
      return key + rest;
    }).join(".");
  }
  value(value) {
    const key = `:v${Object.keys(this.values).length}`;
    this.values[key] = value;
    return key;
  }
  into(request) {
    if (Object.keys(this.names).length) request.ExpressionAttributeNames = this.names;
    if (Object.keys(this.values).length) request.ExpressionAttributeValues = this.values;
    return request;
  }
}

/** The key attributes of a table, or of one of its indexes: partition key, sort key, with their types. */
export function keysOf(table, indexName) {
  const indexes = [...(table.GlobalSecondaryIndexes ?? []), ...(table.LocalSecondaryIndexes ?? [])];
  const schema = (indexName ? indexes.find((index) => index.IndexName === indexName)?.KeySchema : table.KeySchema) ?? [];
  const typed = (kind) => schema.filter((key) => key.KeyType === kind).map((key) => ({
    name: key.AttributeName, type: table.AttributeDefinitions.find((one) => one.AttributeName === key.AttributeName)?.AttributeType ?? "S",
  }));
  return { hash: typed("HASH"), range: typed("RANGE") };
}

/** The attributes that rows read through an index have; `undefined`: all of them. */
export function attributesOf(table, indexName) {
  const { Projection, KeySchema } = [...(table.GlobalSecondaryIndexes ?? []), ...(table.LocalSecondaryIndexes ?? [])].find((one) => one.IndexName === indexName) ?? {};
  if (!Projection || Projection.ProjectionType === "ALL") return undefined;
  return [...[...table.KeySchema, ...KeySchema].map((key) => key.AttributeName), ...(Projection.NonKeyAttributes ?? [])];
}

export const keyOf = (table, item) => Object.fromEntries(table.KeySchema.map((key) => [key.AttributeName, item[key.AttributeName]]));

function filterText(filter, places) {
  const name = places.name(filter.name);
  const one = () => places.value(parse(filter.type, filter.value));
  switch (filter.op) {
    case "between": return `${name} BETWEEN ${one()} AND ${places.value(parse(filter.type, filter.value2 ?? ""))}`;
    case "in": return `${name} IN (${filter.value.split("\n").filter((text) => text !== "").map((text) => places.value(parse(filter.type, text))).join(", ")})`;
    case "begins_with": return `begins_with(${name}, ${one()})`;
    case "contains": return `contains(${name}, ${one()})`;
    case "not_contains": return `NOT contains(${name}, ${one()})`;
    case "exists": return `attribute_exists(${name})`;
    case "not_exists": return `attribute_not_exists(${name})`;
    case "type": return `attribute_type(${name}, ${places.value({ S: filter.value })})`;
    case "size=": case "size<": case "size>": return `size(${name}) ${filter.op.slice(4)} ${places.value(parse("N", filter.value))}`;
    default: return `${name} ${filter.op} ${one()}`;
  }
}

/** The sort attributes for which a form shows a condition: in order, each only if the conditions before it are equalities. */
export const shownRange = (keys, range) => keys.range.filter((_, i) => range.slice(0, i).every((one) => one?.op === "=") && range.length >= i);

/** The number of rows that one request with a filter examines. */
const FILTERED_MAX = 1000;

/** The request of a form: a Query if the partition key is given, a Scan otherwise. */
export function fromForm(table, form) {
  const places = new Placeholders();
  const keys = keysOf(table, form.index);
  const request = { TableName: table.TableName, ReturnConsumedCapacity: "TOTAL" };
  if (form.index) request.IndexName = form.index;
  const isQuery = keys.hash.every((key, i) => (form.hash[i] ?? "") !== "");
  if (isQuery) {
    const conditions = keys.hash.map((key, i) => `${places.name(`"${key.name}"`)} = ${places.value(parse(key.type, form.hash[i]))}`);
    for (const [i, key] of shownRange(keys, form.range).entries()) {
      const { op, value: first, value2: second } = form.range[i] ?? {};
      if (!op) break;
      const name = places.name(`"${key.name}"`);
      const value = (text) => places.value(parse(key.type, text ?? ""));
      if (op === "between") conditions.push(`${name} BETWEEN ${value(first)} AND ${value(second)}`);
      else if (op === "begins_with") conditions.push(`begins_with(${name}, ${value(first)})`);
      else conditions.push(`${name} ${op} ${value(first)}`);
    }
    request.KeyConditionExpression = conditions.join(" AND ");
    if (form.desc) request.ScanIndexForward = false;
  }
  const filters = (form.filters ?? []).filter((filter) => filter.name);
  if (filters.length) request.FilterExpression = filters.map((filter) => filterText(filter, places)).join(form.any ? " OR " : " AND ");
  // A request with a filter examines more rows than it returns, so it gets a larger limit. It may return all of them.
  request.Limit = filters.length ? Math.max(form.limit, FILTERED_MAX) : form.limit;
  if (form.consistent) request.ConsistentRead = true;
  return { operation: isQuery ? "Query" : "Scan", request: places.into(request) };
}

/** The maximum number of attributes that a condition compares: DynamoDB allows 300 operators, and each attribute needs about two. */
export const COMPARED_MAX = 140;

/**
 * The condition that attributes have the values that were read: all attributes, or only those that change if an item has more of them than
 * a condition can compare. A condition cannot exclude other attributes, so one that another client adds is not noticed.
 */
export function unchanged(read, touched = Object.keys(read), places = new Placeholders()) {
  const names = Object.keys(read).length <= COMPARED_MAX ? [...new Set([...Object.keys(read), ...touched])] : [...touched].slice(0, COMPARED_MAX);
  const conditions = names.map((name) => (read[name] === undefined
    ? `attribute_not_exists(${places.name(`"${name}"`)})`
    : `${places.name(`"${name}"`)} = ${places.value(read[name])}`));
  return { condition: conditions.join(" AND "), places };
}

/** An update of exactly the attributes that differ, on the condition that the item is unchanged since it was read. */
export function updateOf(table, read, changes) {
  const { condition, places } = unchanged(read, changes.map((change) => change.name));
  const set = changes.filter((change) => change.after !== undefined).map((change) => `${places.name(`"${change.name}"`)} = ${places.value(change.after)}`);
  const remove = changes.filter((change) => change.after === undefined).map((change) => places.name(`"${change.name}"`));
  const UpdateExpression = [set.length && `SET ${set.join(", ")}`, remove.length && `REMOVE ${remove.join(", ")}`].filter(Boolean).join(" ");
  return places.into({
    TableName: table.TableName, Key: keyOf(table, read), UpdateExpression, ConditionExpression: condition,
    ReturnValuesOnConditionCheckFailure: "ALL_OLD", ReturnValues: "ALL_NEW",
  });
}

export function deleteOf(table, read) {
  const { condition, places } = unchanged(read);
  return places.into({ TableName: table.TableName, Key: keyOf(table, read), ConditionExpression: condition, ReturnValuesOnConditionCheckFailure: "ALL_OLD" });
}

export function createOf(table, item) {
  const places = new Placeholders();
  const name = places.name(`"${table.KeySchema[0].AttributeName}"`);
  return places.into({ TableName: table.TableName, Item: item, ConditionExpression: `attribute_not_exists(${name})` });
}
