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

/** Asks again and again for as long as the component is there; and at once when one of `on` changes. Tells the last answer, and why
 * there is none.
 * @template T @param {(signal: AbortSignal) => Promise<T>} ask @param {number} every In milliseconds. @param {unknown[]} on
 * @returns {{ answer: T | undefined, error: Error | undefined, again: () => void }} */
export function useAnswer(ask, every, on) {
  const redraw = useRedraw();
  const state = useRef(
    /** @type {{ answer: any, error: any, again: () => void }} */ ({
      answer: undefined,
      error: undefined,
      again: () => {},
    }),
  ).current;
  useEffect(() => {
    const ended = new AbortController();
    state.answer = undefined;
    state.error = undefined;
    const run = async () => {
      while (!ended.signal.aborted) {
        try {
          state.answer = await ask(ended.signal);
          state.error = undefined;
        } catch (error) {
          state.error = error;
        }
        if (ended.signal.aborted) return;
        redraw();
        await new Promise((resolve) => {
          state.again = () => resolve(undefined);
          setTimeout(resolve, every);
        });
      }
    };
    run();
    return () => (ended.abort(), state.again());
  }, on);
  return { ...state, again: () => state.again() };
}
