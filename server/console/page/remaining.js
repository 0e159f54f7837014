// How long sessions live on unless they renew. Nobody is told of renewals, which are very many: it is asked for, of the sessions that
// are on the screen.

import { call } from './api.js';
import { span } from './clock.js';

/** How often: four times in the shortest TTL that is shown, but no more and no less often than that. In milliseconds. */
const EVERY = { least: 500, most: 1500 };

/** Up to so many sessions, one call tells of all. */
const FEW = 200;

/** How many calls for single sessions are under way at once. */
const AT_ONCE = 4;

/** What is known of a session: it lives until then by `performance.now()` (NaN: its home is another server), and its TTL in ms.
 * @typedef {{ until: number, ttl: number, home: string, gone: boolean }} Life */

export class Remaining {
  /** @param {string} namespace */
  constructor(namespace) {
    this.namespace = namespace;
    /** @type {Map<string, Life>} */
    this.lives = new Map();
    /** @type {Map<object, string[]>} What each place on the screen shows. */
    this.wanted = new Map();
    /** @type {Set<() => void>} */
    this.listeners = new Set();
    /** Whether there are more sessions than one call tells of. */
    this.many = false;
    this.ended = new AbortController();
    this.soon = () => {};
    this.#run();
  }

  close() {
    this.ended.abort();
    this.soon();
  }

  /** @param {object} place @param {string[]} sessions */
  show(place, sessions) {
    this.wanted.set(place, sessions);
    if (sessions.some((id) => !this.lives.has(id))) this.soon();
  }

  /** @param {object} place */
  hide(place) {
    this.wanted.delete(place);
  }

  /** @param {() => void} listener */
  listen(listener) {
    this.listeners.add(listener);
    return () => void this.listeners.delete(listener);
  }

  async #run() {
    while (!this.ended.signal.aborted) {
      const ids = new Set([...this.wanted.values()].flat());
      if (ids.size > 0 && !document.hidden) {
        // What cannot be had now is asked for again.
        await (this.many ? this.#each([...ids]) : this.#all()).catch(() => {});
        for (const id of this.lives.keys()) if (!ids.has(id)) this.lives.delete(id);
        for (const listener of this.listeners) listener();
      }
      await new Promise((resolve) => {
        const timer = setTimeout(resolve, this.#pause());
        // Not at once: rows come in numbers.
        this.soon = () => (clearTimeout(timer), setTimeout(resolve, 100));
      });
    }
  }

  #pause() {
    if (this.many) return EVERY.most;
    const shortest = Math.min(...[...this.lives.values()].map((life) => life.ttl).filter(Number.isFinite));
    return Math.min(EVERY.most, Math.max(EVERY.least, shortest / 4));
  }

  async #all() {
    const asked = performance.now();
    const request = { namespace: this.namespace, pageSize: FEW };
    const answer = await call('SessionService/ListSessions', request, this.ended.signal);
    const told = answer.sessions ?? [];
    this.many = Boolean(answer.nextPageToken);
    const ids = new Set(told.map((/** @type {{ id: string }} */ session) => session.id));
    for (const session of told) this.#note(session, asked);
    if (!this.many) for (const [id, life] of this.lives) if (!ids.has(id)) life.gone = true;
  }

  /** @param {string[]} ids */
  async #each(ids) {
    const left = [...ids];
    const work = async () => {
      for (let id = left.pop(); id !== undefined; id = left.pop()) {
        const asked = performance.now();
        const request = { namespace: this.namespace, sessionId: id };
        const answer = await call('SessionService/GetSession', request, this.ended.signal).catch(() => null);
        if (answer?.session) this.#note(answer.session, asked);
      }
    };
    await Promise.all(Array.from({ length: AT_ONCE }, work));
  }

  /** Counted from when it was asked for: it is no longer than that. @param {import('./types.js').Session} session @param {number} asked */
  #note(session, asked) {
    const until = asked + span(session.remaining);
    this.lives.set(session.id, {
      until,
      ttl: span(session.ttl),
      home: session.home ?? '',
      gone: false,
    });
  }
}
