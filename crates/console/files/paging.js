// The pages of a list. The address names one of them: `page` is its number, `start` the position at which it begins.
import { go } from "./router.js";
import { html, useRef } from "./ui.js";

/** The page of an address. The first page has no start. An incomplete link means the first page. */
function placeOf({ page, start }) {
  const number = Number(page);
  try {
    return start && number > 1 ? { number, start: JSON.parse(start) } : { number: 1 };
  } catch {
    return { number: 1 };
  }
}

/** `id` identifies the list. For another list, paging begins again with the first page. */
export function usePaging(address, id) {
  const known = useRef();
  if (!known.current || known.current.id !== id) known.current = { id, starts: { 1: undefined } };
  const { starts } = known.current;
  const { number, start } = placeOf(address.query);
  starts[number] = start;
  const to = (page, at) => go([address.view, ...address.parts], { ...address.query, page: page > 1 ? page : "", start: page > 1 ? JSON.stringify(at) : "" });
  // If a page was opened by its address, the start of the first page is known, and those of the pages between are not.
  const isBackToFirst = number > 1 && !(number - 1 in starts);
  return {
    number, start, isBackToFirst,
    forward: (next) => to(number + 1, next),
    back: () => (isBackToFirst ? to(1) : to(number - 1, starts[number - 1])),
  };
}

/** The buttons. `next` is the start of the next page, if there is one. */
export const PageTurns = ({ paging, next, busy, label = "Next page" }) => html`
  <button type="button" disabled=${paging.number === 1 || busy} onClick=${paging.back}>${paging.isBackToFirst ? "First page" : "Previous page"}</button>
  <button type="button" disabled=${!next || busy} onClick=${() => paging.forward(next)}>${label}</button>`;
