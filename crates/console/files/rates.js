// The activity of the server in the last hour, as lines for charts.

const per = (samples, interval, value) => samples.map((sample) => sample.operations.reduce((sum, operation) => sum + value(operation), 0) / interval);

export function rates(history) {
  const { samples, interval_seconds: interval } = history;
  const highest = (value) => samples.map((sample) => (sample.operations.length ? Math.max(...sample.operations.map(value)) : null));
  const errors = (operation) => operation.user_errors + operation.system_errors + operation.throttled;
  return {
    times: samples.map((sample) => sample.at),
    requests: per(samples, interval, (operation) => operation.succeeded + errors(operation)),
    refused: per(samples, interval, errors).map((rate, i) => rate + samples[i].refused / interval),
    systemErrors: samples.reduce((sum, sample) => sum + sample.operations.reduce((inner, operation) => inner + operation.system_errors, 0), 0),
    throttled: samples.reduce((sum, sample) => sum + sample.operations.reduce((inner, operation) => inner + operation.throttled, 0), 0),
    p50: highest((operation) => operation.p50_us),
    p99: highest((operation) => operation.p99_us),
    connections: samples.map((sample) => sample.connections),
  };
}

/** Totals by operation, the most frequent first. */
export function byOperation(history) {
  const totals = new Map();
  for (const sample of history.samples) {
    for (const operation of sample.operations) {
      const total = totals.get(operation.name) ?? { name: operation.name, succeeded: 0, user_errors: 0, system_errors: 0, throttled: 0, p50_us: 0, p99_us: 0 };
      for (const counter of ["succeeded", "user_errors", "system_errors", "throttled"]) total[counter] += operation[counter];
      total.p50_us = Math.max(total.p50_us, operation.p50_us);
      total.p99_us = Math.max(total.p99_us, operation.p99_us);
      totals.set(operation.name, total);
    }
  }
  return [...totals.values()].sort((one, two) => two.succeeded - one.succeeded);
}

const READS = ["point_lookups", "ranges", "double_reads", "blocks_from_disk", "blocks_from_cache"];

/** The reads of storage per second; none for a gateway and for servers that do not count them. */
export function storageRates({ samples, interval_seconds: interval }) {
  if (!samples.some((sample) => sample.storage)) return undefined;
  const rate = (counter) => samples.map((sample) => (sample.storage ?? []).reduce((sum, one) => sum + one[counter], 0) / interval);
  return Object.fromEntries(READS.map((counter) => [counter, rate(counter)]));
}

/** The reads of storage for each operation, most lookups first. */
export function storageByOperation({ samples }) {
  const totals = new Map();
  for (const one of samples.flatMap((sample) => sample.storage ?? [])) {
    const total = totals.get(one.operation) ?? { operation: one.operation, ...Object.fromEntries(READS.map((counter) => [counter, 0])) };
    for (const counter of READS) total[counter] += one[counter];
    totals.set(one.operation, total);
  }
  return [...totals.values()].sort((one, two) => two.point_lookups + two.ranges - one.point_lookups - one.ranges);
}

export const perSecond = (rate) => (rate >= 100 ? `${Math.round(rate).toLocaleString("en-US")}/s` : `${rate.toFixed(rate < 10 ? 1 : 0)}/s`);
