// Rows as files: plain JSON, DynamoDB's JSON, CSV.
import { plainItem, shown } from "./values.js";

const quoted = (text) => (/[",\n\r]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text);
/** A spreadsheet would run what begins like a formula. */
const harmless = (text, isText) => (isText && /^[=+\-@\t\r]/.test(text) ? `'${text}` : text);

export const FORMATS = {
  json: { label: "JSON", type: "application/json", extension: "json" },
  dynamodb: { label: "DynamoDB JSON, a line for each item", type: "application/x-ndjson", extension: "ndjson" },
  csv: { label: "CSV", type: "text/csv", extension: "csv" },
};

export function written(format, items) {
  if (format === "json") return [JSON.stringify(items.map(plainItem), null, 2), "\n"];
  if (format === "dynamodb") return items.map((item) => `${JSON.stringify({ Item: item })}\n`);
  const names = [...new Set(items.flatMap((item) => Object.keys(item)))];
  const line = (cells) => `${cells.map(quoted).join(",")}\r\n`;
  return [line(names), ...items.map((item) => line(names.map((name) => harmless(shown(item[name]), item[name]?.S !== undefined))))];
}
