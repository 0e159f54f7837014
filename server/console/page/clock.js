// Times and spans. Pages reckon with the server's clock: theirs may be set wrong, and nobody would see.

/** By how much the server's wall clock is ahead of this machine's, in milliseconds. */
let ahead = 0;

/** The round trip by which that was measured best, in milliseconds, and when. */
let best = Infinity;
let measured = -Infinity;

/** How long a measure is kept against ones that are less exact. */
const KEPT = 60_000;

/** Takes note of the time that an answer told, which was asked for then (by `performance.now()`).
 * @param {string | null} told @param {number} asked */
export function noteServerTime(told, asked) {
  const time = Number(told);
  const now = performance.now();
  const trip = now - asked;
  if (!told || !Number.isFinite(time) || (trip > best && now - measured < KEPT)) return;
  best = trip;
  measured = now;
  ahead = time + trip / 2 - Date.now();
}

/** Now, by the server's clock, in milliseconds since 1970. */
export const serverNow = () => Date.now() + ahead;

/** A timestamp of the contract, in milliseconds since 1970. @param {string | undefined} text */
export const time = (text) => (text ? Date.parse(text) : NaN);

/** A duration of the contract ("1.5s"), in milliseconds; NaN if there is none. @param {string | undefined} text */
export const span = (text) => (text ? Number.parseFloat(text) * 1000 : NaN);

/** A duration for the contract. @param {number} ms */
export const seconds = (ms) => `${ms / 1000}s`;

const UNITS = /** @type {const} */ ([
  ['d', 86_400_000],
  ['h', 3_600_000],
  ['m', 60_000],
  ['s', 1000],
]);

/** A span for people: two units at the most. @param {number} ms */
export function shownSpan(ms) {
  if (!Number.isFinite(ms)) return '–';
  if (ms < 0) return shownSpan(0);
  if (ms < 1) return ms === 0 ? '0 s' : `${ms.toPrecision(1)} ms`;
  if (ms < 1000) return `${Math.round(ms)} ms`;
  if (ms < 10_000) return `${(ms / 1000).toFixed(1)} s`;
  const first = UNITS.findIndex(([, size]) => ms >= size);
  const [unit, size] = UNITS[first];
  const whole = Math.floor(ms / size);
  const next = UNITS[first + 1];
  const rest = next ? Math.floor((ms - whole * size) / next[1]) : 0;
  return rest > 0 && next ? `${whole} ${unit} ${rest} ${next[0]}` : `${whole} ${unit}`;
}

const two = (/** @type {number} */ number) => String(number).padStart(2, '0');

/** A time of day, in this machine's zone. @param {number} ms */
export function shownTime(ms) {
  if (!Number.isFinite(ms)) return '–';
  const at = new Date(ms);
  return `${two(at.getHours())}:${two(at.getMinutes())}:${two(at.getSeconds())}`;
}

/** A time with its day, unless that is today. @param {number} ms */
export function shownDate(ms) {
  if (!Number.isFinite(ms)) return '–';
  const at = new Date(ms);
  const day = `${at.getFullYear()}-${two(at.getMonth() + 1)}-${two(at.getDate())}`;
  const today = new Date(serverNow());
  const isToday = at.toDateString() === today.toDateString();
  return isToday ? shownTime(ms) : `${day} ${shownTime(ms)}`;
}
