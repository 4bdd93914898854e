// What the applied model defines for rows: the entity of a row, the parts of its keys, the values that an attribute may have.
import { shown, typeOf } from "./values.js";

const parsed = new Map();

/** The parts of a key template: texts and fields. `{{` and `}}` are braces. */
export function templateParts(source) {
  if (parsed.has(source)) return parsed.get(source);
  const parts = [];
  let text = "";
  for (let i = 0; i < source.length; i += 1) {
    const two = source.slice(i, i + 2);
    if (two === "{{" || two === "}}") {
      text += two[0];
      i += 1;
    } else if (source[i] === "{") {
      const end = source.indexOf("}", i);
      if (text) parts.push({ text });
      text = "";
      parts.push({ field: source.slice(i + 1, end).split(/[:|]/)[0] });
      i = end;
    } else {
      text += source[i];
    }
  }
  if (text) parts.push({ text });
  parsed.set(source, parts);
  return parts;
}

const escaped = (text) => text.replace(/[.*+?^${}()|[\]\\]/g, "\\$&");
const shapes = new Map();

function shape(source) {
  if (!shapes.has(source)) {
    const parts = templateParts(source);
    const body = parts.map((part, i) => (part.text !== undefined ? escaped(part.text) : i === parts.length - 1 ? "([^]*)" : "([^]*?)")).join("");
    shapes.set(source, new RegExp(`^${body}$`));
  }
  return shapes.get(source);
}

/** The parts of a key value: texts, and fields with their names. */
export function keyParts(source, value) {
  const text = shown(value);
  const found = source && shape(source).exec(text);
  if (!found) return [{ text }];
  let at = 0;
  return templateParts(source).map((part) => {
    if (part.text !== undefined) return part;
    at += 1;
    return { field: part.field, value: found[at] };
  });
}

const literals = (entity) => entity.key.reduce((sum, key) => sum + templateParts(key.template).reduce((n, part) => n + (part.text?.length ?? 0), 0), 0);

/** The model of a table, and its entities in the order of their colours. */
export function tableModel(models, tableName) {
  for (const model of models) {
    const table = model.tables.find((table) => table.table === tableName);
    if (!table) continue;
    const entities = model.entities.filter((entity) => entity.table === tableName);
    const declared = entities.filter((entity) => entity.role === "declared");
    const colour = (entity) => declared.findIndex((one) => one.name === (entity.of ?? entity.name)) % 8;
    const colours = new Map(entities.map((entity) => [entity.name, colour(entity)]));
    const byShape = [...entities].sort((one, two) => literals(two) - literals(one));
    const access = model.access.filter((pattern) => pattern.table === tableName);
    return { model, table, entities, colours, byShape, access };
  }
  return undefined;
}

/** The entity of a row: by its tag, or by the shape of its key. */
export function recognise(known, item) {
  if (!known) return undefined;
  const tag = known.table.entity_attribute && item[known.table.entity_attribute]?.S;
  const tagged = tag !== undefined && known.entities.filter((entity) => entity.tag === tag);
  const fits = (entity) => entity.key.every((key) => item[key.attribute] && shape(key.template).test(shown(item[key.attribute])));
  if (tagged?.length === 1) return tagged[0];
  return (tagged?.length ? tagged : known.byShape).find(fits) ?? (tagged || [])[0];
}

export const templateOf = (entity, attribute) =>
  [...(entity?.key ?? []), ...(entity?.index_keys ?? [])].find((key) => key.attribute === attribute)?.template;

/** The DynamoDB types in which an attribute of the model may be stored. */
export const STORED = {
  string: "S", timestamp: "S", semver: "S", integer: "N", number: "N", "epoch-seconds": "N", boolean: "BOOL", binary: "B",
  list: "L", map: "M", "string-set": "SS", "number-set": "NS", "binary-set": "BS", large: "M", any: "S",
};

/** Whether a new row may lack an attribute: the database writes its default, or the time. */
export const mayLack = (attribute) => Boolean(attribute.optional || attribute.default || attribute.time);

/** The rule of the model that the value of an attribute violates; nothing if only the server can check it. */
export function complaint(attribute, value) {
  if (value === undefined) return mayLack(attribute) ? undefined : "must be given";
  if (attribute.kind === "any" || attribute.kind === "large") return undefined;
  const stored = STORED[attribute.kind];
  if (typeOf(value) !== stored) return `must be of type ${attribute.kind}`;
  const text = shown(value);
  if (attribute.one_of && !attribute.one_of.some((one) => shown(one) === text)) return `must be one of ${attribute.one_of.map(shown).join(", ")}`;
  if (attribute.kind === "integer" || attribute.kind === "epoch-seconds") {
    if (!/^-?\d+$/.test(text)) return "must be a whole number";
  }
  if (attribute.kind === "timestamp" && !/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z$/.test(text)) return "must be a time such as 2026-11-18T06:15:00Z";
  if (attribute.length && stored === "S") {
    const [least, most] = attribute.length;
    const characters = [...text].length;
    if (characters < least || characters > most) return `must have ${least === most ? least : `${least} to ${most}`} characters, and has ${characters}`;
  }
  if (attribute.chars && stored === "S") {
    const strange = new RegExp(`[^${attribute.chars.replace(/[\]\\^]/g, "\\$&")}]`).exec(text);
    if (strange) return `may only have the characters ${attribute.chars}, not “${strange[0]}”`;
  }
  return undefined;
}
