// A few figures of `/metrics`, for the overview.

/** @param {string} text In Prometheus' plain form. */
export function read(text) {
  let [changes, errors, store] = [0, 0, ''];
  /** @type {[number, number][]} The appends that took so many seconds at the most. */
  const appends = [];
  for (const line of text.split('\n')) {
    const value = Number(line.slice(line.lastIndexOf(' ') + 1));
    if (line.startsWith('tenure_holder_changes_total')) changes += value;
    if (line.startsWith('tenure_store_errors_total')) errors += value;
    if (line.startsWith('tenure_store_info')) store = /"(\w+)"/.exec(line)?.[1] ?? '';
    const bound = /^tenure_append_seconds_bucket\{.*le="([^"]+)"/.exec(line)?.[1];
    if (bound) appends.push([bound === '+Inf' ? Infinity : Number(bound), value]);
  }
  const all = appends.at(-1)?.[1] ?? 0;
  const half = appends.find(([, count]) => count >= all / 2);
  return { changes, errors, store, append: all > 0 && half ? half[0] : NaN };
}
