// Rows as files: plain JSON, DynamoDB's JSON, CSV. A single page is written from memory, all pages while they are read.
import { download } from "./ui.js";
import { plainItem, shown } from "./values.js";

const quoted = (text) => (/[",\n\r]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text);
/** Text that begins like a formula gets a quotation mark, because a spreadsheet would execute it. */
const harmless = (text, isText) => (isText && /^[=+\-@\t\r]/.test(text) ? `'${text}` : text);
const line = (cells) => `${cells.map(quoted).join(",")}\r\n`;

/** `begin`, the text of each row, `between` rows, `end`. Only CSV needs the names of all attributes first. */
export const FORMATS = {
  json: { label: "JSON", type: "application/json", extension: "json", begin: () => "[\n", row: (item) => JSON.stringify(plainItem(item), null, 2), between: ",\n", end: "\n]\n" },
  dynamodb: { label: "DynamoDB JSON, a line for each item", type: "application/x-ndjson", extension: "ndjson", begin: () => "", row: (item) => `${JSON.stringify({ Item: item })}\n`, between: "", end: "" },
  csv: {
    label: "CSV", type: "text/csv", extension: "csv", needsNames: true, begin: line, between: "", end: "",
    row: (item, names) => line(names.map((name) => harmless(shown(item[name]), item[name]?.S !== undefined))),
  },
};

/** The maximum number of rows of a file, in browsers that offer a file only when it is complete. */
export const ROWS_MAX = 100_000;
/** Whether the browser writes a file while rows are read. */
export const WRITES_FILES = "showSaveFilePicker" in window;

/** A file to write to: one that the user chooses, or one that is downloaded when it is complete. */
export async function openFile(name, type) {
  if (WRITES_FILES) {
    const handle = await window.showSaveFilePicker({ suggestedName: name });
    const stream = await handle.createWritable();
    return { name: handle.name, most: Infinity, write: (text) => stream.write(text), close: () => stream.close(), abort: () => stream.abort() };
  }
  const parts = [];
  return { most: ROWS_MAX, write: (text) => parts.push(text), close: () => download(name, type, parts), abort: () => {} };
}

const namesOf = (items, names = new Set()) => {
  for (const item of items) for (const name of Object.keys(item)) names.add(name);
  return names;
};

export function exportPage(format, items) {
  const { begin, row, between, end } = FORMATS[format];
  const names = [...namesOf(items)];
  return [begin(names), items.map((item) => row(item, names)).join(between), end];
}

/** Reads pages with at most `most` rows and gives each to `use`. Returns whether these were all rows, and their number. */
async function eachPage(run, most, { onProgress, isStopped }, use) {
  let [rows, next] = [0, undefined];
  do {
    const page = await run(next);
    const items = page.items.slice(0, most - rows);
    await use(items);
    rows += items.length;
    next = page.next;
    onProgress(rows);
    if (items.length < page.items.length) return { rows, isCut: true };
  } while (next && rows < most && !isStopped());
  return { rows, isCut: Boolean(next) };
}

/** Writes all rows of a query to a file, a page at a time. If the export is stopped, the file is discarded. */
export async function exportAll(file, format, run, watching) {
  const { begin, row, between, end, needsNames } = FORMATS[format];
  try {
    const found = new Set();
    if (needsNames) await eachPage(run, file.most, watching, (items) => namesOf(items, found));
    const names = [...found];
    let isFirst = true;
    await file.write(begin(names));
    const done = await eachPage(run, file.most, watching, async (items) => {
      if (items.length) await file.write((isFirst ? "" : between) + items.map((item) => row(item, names)).join(between));
      isFirst &&= !items.length;
    });
    if (watching.isStopped()) {
      await file.abort();
      return undefined;
    }
    await file.write(end);
    await file.close();
    return done;
  } catch (error) {
    await file.abort();
    throw error;
  }
}
