// What the browser stores for a user: columns, bookmarks, earlier queries, the theme. It never stores rows, statements that write
// them, or secrets.

const PREFIX = "trestle-console:";
const LAST_MAX = 50;

export function read(name, otherwise) {
  try {
    return JSON.parse(localStorage.getItem(PREFIX + name)) ?? otherwise;
  } catch {
    return otherwise;
  }
}

export function write(name, value) {
  try {
    localStorage.setItem(PREFIX + name, JSON.stringify(value));
  } catch {
    // If the storage is full or forbidden, nothing is remembered, and everything else works.
  }
}

export const bookmarks = () => read("bookmarks", []);
export const isBookmarked = (href) => bookmarks().some((mark) => mark.href === href);
export function toggleBookmark(href, title) {
  const rest = bookmarks().filter((mark) => mark.href !== href);
  write("bookmarks", isBookmarked(href) ? rest : [{ href, title }, ...rest]);
}

export const lastAsked = () => read("last", []);
export function remember(href, title) {
  const rest = lastAsked().filter((mark) => mark.href !== href);
  write("last", [{ href, title, at: Date.now() }, ...rest].slice(0, LAST_MAX));
}
