// Attribute values: displayed, parsed from text, compared.

export const TYPES = ["S", "N", "BOOL", "NULL", "B", "SS", "NS", "BS", "L", "M"];
export const TYPE_NAMES = {
  S: "string", N: "number", BOOL: "boolean", NULL: "null", B: "binary", SS: "string set", NS: "number set", BS: "binary set", L: "list", M: "map",
};

export const typeOf = (value) => Object.keys(value)[0];

/** A value as plain JSON. Numbers that JSON would round remain text. */
export function plain(value) {
  const [type, inner] = Object.entries(value)[0];
  switch (type) {
    case "N": return String(Number(inner)) === inner ? Number(inner) : inner;
    case "NULL": return null;
    case "L": return inner.map(plain);
    case "M": return plainItem(inner);
    default: return inner;
  }
}

export const plainItem = (item) => Object.fromEntries(Object.entries(item).map(([name, value]) => [name, plain(value)]));

/** A value in one line. */
export function shown(value) {
  if (value === undefined) return "";
  const [type, inner] = Object.entries(value)[0];
  switch (type) {
    case "S": case "N": case "B": return inner;
    case "BOOL": return String(inner);
    case "NULL": return "null";
    default: return JSON.stringify(plain(value));
  }
}

/** A value as text to edit. */
export function editable(value) {
  const type = typeOf(value);
  if (type === "S" || type === "N" || type === "B") return value[type];
  if (type === "BOOL") return String(value.BOOL);
  if (type === "NULL") return "null";
  if (type === "SS" || type === "NS" || type === "BS") return value[type].join("\n");
  return JSON.stringify(value[type], null, 2);
}

/** Parses a text as a value of a type; throws an error with the reason if it is none. */
export function parse(type, text) {
  switch (type) {
    case "S": return { S: text };
    case "N":
      if (!/^\s*[-+]?(\d+\.?\d*|\.\d+)([eE][-+]?\d+)?\s*$/.test(text)) throw new Error(`“${text}” is not a number`);
      return { N: text.trim() };
    case "BOOL":
      if (text !== "true" && text !== "false") throw new Error("true or false");
      return { BOOL: text === "true" };
    case "NULL": return { NULL: true };
    case "B":
      if (!/^[A-Za-z0-9+/]*={0,2}$/.test(text)) throw new Error("not base64");
      return { B: text };
    case "SS": case "NS": case "BS": {
      const members = text.split("\n").filter((line) => line !== "");
      if (!members.length) throw new Error("a set has at least one member, each on a line");
      if (type === "NS") members.forEach((member) => parse("N", member));
      return { [type]: members };
    }
    default: {
      let json;
      try {
        json = JSON.parse(text);
      } catch (error) {
        throw new Error(`not JSON: ${error.message}`);
      }
      if (type === "L" ? !Array.isArray(json) : Array.isArray(json) || typeof json !== "object" || json === null) {
        throw new Error(type === "L" ? "a list is written as [{\"S\": \"a\"}, …]" : "a map is written as {\"name\": {\"S\": \"a\"}, …}");
      }
      return { [type]: json };
    }
  }
}

/** Equal as DynamoDB compares: the order of sets and the notation of numbers do not matter. */
export function same(one, two) {
  if (one === undefined || two === undefined) return one === two;
  const type = typeOf(one);
  if (type !== typeOf(two)) return false;
  const [a, b] = [one[type], two[type]];
  switch (type) {
    case "N": return a === b || (Number(a) === Number(b) && String(a).length < 16 && String(b).length < 16);
    case "SS": case "NS": case "BS": return a.length === b.length && [...a].sort().join("\n") === [...b].sort().join("\n");
    case "L": return a.length === b.length && a.every((value, i) => same(value, b[i]));
    case "M": return Object.keys(a).length === Object.keys(b).length && Object.keys(a).every((name) => same(a[name], b[name]));
    default: return a === b;
  }
}

/** The differences between two items, by attribute. */
export function differences(before = {}, after = {}) {
  const names = [...new Set([...Object.keys(before), ...Object.keys(after)])].sort();
  return names.filter((name) => !same(before[name], after[name])).map((name) => ({ name, before: before[name], after: after[name] }));
}

export const bytes = (count) => {
  if (count === undefined) return "";
  const units = ["B", "kB", "MB", "GB", "TB"];
  let at = 0;
  while (count >= 1000 && at < units.length - 1) {
    count /= 1000;
    at += 1;
  }
  return `${at && count < 10 ? count.toFixed(1) : Math.round(count)} ${units[at]}`;
};
export const count = (number) => (number ?? 0).toLocaleString("en-US");
/** A number with its noun: `1 dead letter`, `2 dead letters`. */
export const counted = (number, thing) => `${count(number)} ${thing}${number === 1 ? "" : "s"}`;
export const micros = (us) => (us >= 1_000_000 ? `${us / 1_000_000} s` : us >= 1000 ? `${us / 1000} ms` : `${us} µs`);
export const when = (ms) => (ms ? new Date(ms).toLocaleString(undefined, { dateStyle: "medium", timeStyle: "medium" }) : "");
export const duration = (ms) => {
  const s = Math.round(ms / 1000);
  if (s < 60) return `${s} s`;
  if (s < 3600) return `${Math.floor(s / 60)} min ${s % 60} s`;
  if (s < 86_400) return `${Math.floor(s / 3600)} h ${Math.floor((s % 3600) / 60)} min`;
  return `${Math.floor(s / 86_400)} d ${Math.floor((s % 86_400) / 3600)} h`;
};
