// Many rows, one after another: of a list, or of all pages of a query; at a rate, until it is stopped.

/** Writes that are under way at once. */
const FLYING_MAX = 8;

/** All rows of a query, page by page from the first. `run(start)` reads a page. */
export async function* everyRow(run) {
  let next;
  do {
    const page = await run(next);
    yield* page.items;
    next = page.next;
  } while (next);
}

/** Acts on rows, at most so many in a second. A write that is slow does not hold up the next, up to a bound. */
export async function paced(rows, perSecond, act, isStopped) {
  const flying = new Set();
  let due = performance.now();
  for await (const row of rows) {
    await new Promise((done) => setTimeout(done, Math.max(0, due - performance.now())));
    if (isStopped()) break;
    due = Math.max(due, performance.now() - 100) + 1000 / perSecond;
    const task = act(row).finally(() => flying.delete(task));
    flying.add(task);
    if (flying.size >= FLYING_MAX) await Promise.race(flying);
  }
  await Promise.all(flying);
}
