// What every screen uses: the watch, the sessions' time, and where things are. One of each a page.

import { useEffect, useReducer, useRef } from './html.js';

/** @typedef {{ about: import('./types.js').About, live: import('./live.js').Live, remaining: import('./remaining.js').Remaining,
 *   route: import('./route.js').Route, place: import('./lines.js').Place, canAct: boolean }} Context */

/** Draws the component anew. */
export function useRedraw() {
  const [, redraw] = useReducer((/** @type {number} */ count) => count + 1, 0);
  return /** @type {() => void} */ (redraw);
}

/** Draws the component anew whenever the watch has told something. @param {import('./live.js').Live} live */
export function useLive(live) {
  const redraw = useRedraw();
  useEffect(() => live.listen(redraw), [live]);
}

/** Draws the component anew every so often. @param {number} ms */
export function useTick(ms) {
  const redraw = useRedraw();
  useEffect(() => {
    const ticking = setInterval(redraw, ms);
    return () => clearInterval(ticking);
  }, [ms]);
}

/** What is known of how long these sessions live on. @param {import('./remaining.js').Remaining} remaining @param {string[]} sessions */
export function useRemaining(remaining, sessions) {
  const redraw = useRedraw();
  const place = useRef({}).current;
  useEffect(() => remaining.listen(redraw), [remaining]);
  useEffect(() => () => remaining.hide(place), [remaining]);
  const shown = sessions.join('\n');
  useEffect(() => remaining.show(place, sessions), [remaining, shown]);
  return remaining.lives;
}

/** The last value, which is taken over no more often than that. @template T @param {T} value @param {number} every In milliseconds.
 * @returns {T} */
export function useThrottled(value, every) {
  const redraw = useRedraw();
  const kept = useRef({ value, at: -Infinity }).current;
  const now = performance.now();
  if (kept.value !== value && now - kept.at >= every) Object.assign(kept, { value, at: now });
  const isBehind = kept.value !== value;
  useEffect(() => {
    if (!isBehind) return;
    const timer = setTimeout(redraw, Math.max(0, kept.at + every - performance.now()));
    return () => clearTimeout(timer);
  }, [isBehind]);
  return kept.value;
}

/** Waits for so many milliseconds, and then until somebody looks at the page; no longer than until the signal.
 * @param {number} ms @param {AbortSignal} signal */
async function pause(ms, signal) {
  await new Promise((resolve) => {
    const timer = setTimeout(resolve, ms);
    signal.addEventListener('abort', () => (clearTimeout(timer), resolve(undefined)), { once: true });
  });
  if (!document.hidden || signal.aborted) return;
  await new Promise((resolve) => {
    document.addEventListener('visibilitychange', resolve, { once: true, signal });
    signal.addEventListener('abort', resolve, { once: true });
  });
}

/** Asks again and again for as long as the component is there, and at once when one of `on` or `also` changes. Tells the last answer, and
 * why there is none; not an answer from before one of `on` changed.
 * @template T @param {(signal: AbortSignal) => Promise<T>} ask
 * @param {number | ((answer: T | undefined) => number)} every In milliseconds. @param {unknown[]} on
 * @param {unknown[]} [also]
 * @returns {{ answer: T | undefined, error: Error | undefined }} */
export function useAnswer(ask, every, on, also = []) {
  const redraw = useRedraw();
  const state = useRef(/** @type {{ of: string, answer: any, error: any }} */ ({ of: '' })).current;
  const of = JSON.stringify(on);
  if (state.of !== of) Object.assign(state, { of, answer: undefined, error: undefined });
  useEffect(() => {
    const ended = new AbortController();
    const run = async () => {
      while (!ended.signal.aborted) {
        try {
          state.answer = await ask(ended.signal);
          state.error = undefined;
        } catch (error) {
          if (ended.signal.aborted) return;
          state.error = error;
        }
        if (ended.signal.aborted) return;
        redraw();
        await pause(typeof every === 'number' ? every : every(state.answer), ended.signal);
      }
    };
    run();
    return () => ended.abort();
  }, [of, ...also]);
  return { answer: state.answer, error: state.error };
}
