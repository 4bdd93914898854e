// Pages of a list, one of which the address names: `page` is its number, `start` where it begins.
import { go } from "./router.js";
import { html, useRef } from "./ui.js";

/** The first page has no place to start from. A link that was cut short names the first. */
function placeOf({ page, start }) {
  const number = Number(page);
  try {
    return start && number > 1 ? { number, start: JSON.parse(start) } : { number: 1 };
  } catch {
    return { number: 1 };
  }
}

/** `id`: what the pages are of. For something else they begin again with the first. */
export function usePaging(address, id) {
  const known = useRef();
  if (!known.current || known.current.id !== id) known.current = { id, starts: { 1: undefined } };
  const { starts } = known.current;
  const { number, start } = placeOf(address.query);
  starts[number] = start;
  const to = (page, at) => go([address.view, ...address.parts], { ...address.query, page: page > 1 ? page : "", start: page > 1 ? JSON.stringify(at) : "" });
  // Of the pages before one that was opened by its address, only the start of the first is known.
  const isBackToFirst = number > 1 && !(number - 1 in starts);
  return {
    number, start, isBackToFirst,
    forward: (next) => to(number + 1, next),
    back: () => (isBackToFirst ? to(1) : to(number - 1, starts[number - 1])),
  };
}

/** The buttons; `next` is where the next page begins, if there is one. */
export const PageTurns = ({ paging, next, busy, label = "Next page" }) => html`
  <button type="button" disabled=${paging.number === 1 || busy} onClick=${paging.back}>${paging.isBackToFirst ? "First page" : "Previous page"}</button>
  <button type="button" disabled=${!next || busy} onClick=${() => paging.forward(next)}>${label}</button>`;
