// Acts on many rows, of a list or of all pages of a query, one after another, at a rate, until it is stopped.

/** The maximum number of writes that are under way at once. */
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

/** Acts on at most `perSecond` rows per second. Up to FLYING_MAX slow writes do not delay the next one. */
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
