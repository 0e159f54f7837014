// The watch behind the page: it keeps a replica, and what happened lately; it resumes after a broken connection, and tells the page no
// more often than that can draw.

import { Refused, call, stream } from './api.js';
import { serverNow, time } from './clock.js';
import { Replica, compare, lockEvents } from './replica.js';

/** So many events are kept for the feed. */
const KEPT = 2000;

/** The service says every ten seconds that it is there: after so much silence it is not. In milliseconds. */
const SILENCE = 25_000;

/** Between two tries: the first, and the longest. In milliseconds. */
const PAUSES = /** @type {const} */ ([250, 5000]);

/** Who may not watch this asks again so seldom: what is refused may be allowed by now. In milliseconds. */
const REFUSED = 30_000;

/** How often it is looked for groups that came, in milliseconds; and how many can be watched. */
const GROUPS = { every: 3000, most: 100 };

/** How far back the feed begins when the page is opened, in revisions; and for how long nothing more comes then, in milliseconds. */
const BEFORE = { revisions: 1000, quiet: 800 };

/** How long what happens is counted for the picture of it, and how finely: in seconds. */
const ACTIVITY = { step: 5, steps: 60 };

/** What may be over soon. Who is refused for other reasons is so for long: it is said, and seldom asked again. */
const TRANSIENT = ['UNREACHABLE', 'UNAVAILABLE', 'CANCELLED', 'DEADLINE_EXCEEDED', 'UNKNOWN', 'INTERNAL'];

/** @typedef {'connecting' | 'live' | 'reconnecting' | 'refused' | 'denied' | 'unauthenticated'} State */

export class Live {
  /** @param {{ namespace: string, scope: string }} what Of the scope `a` is `a` and all below it; of the empty one everything. */
  constructor({ namespace, scope }) {
    this.namespace = namespace;
    this.scope = scope;
    this.replica = new Replica();
    /** @type {State} */
    this.state = 'connecting';
    /** @type {Refused | null} Why it is not live. */
    this.trouble = null;
    /** @type {any[]} What happened, oldest first: events of locks, and of groups (these have a `group`). */
    this.feed = [];
    /** How many events there were in all. */
    this.count = 0;
    /** Why it had to start over last, and how often it had to. */
    this.startedOver = { cause: '', times: 0 };
    /** @type {number[]} How many events there were in each step, oldest first. */
    this.activity = new Array(ACTIVITY.steps).fill(0);
    /** @type {Set<() => void>} */
    this.listeners = new Set();
    /** @type {string[]} The groups that there are, and those that are watched. */
    this.groupNames = [];
    /** @type {string[]} */
    this.watchedGroups = [];
    /** Whether there are more groups than can be watched. */
    this.moreGroups = false;
    this.ended = new AbortController();
    this.again = new AbortController();
    this.pending = false;
    this.wake = () => {};
    this.#run();
    this.#groups();
    this.ticking = setInterval(() => this.#tick(), ACTIVITY.step * 1000);
    this.online = () => this.wake();
    addEventListener('online', this.online);
    document.addEventListener('visibilitychange', this.online);
  }

  close() {
    this.ended.abort();
    this.again.abort();
    this.wake();
    clearInterval(this.ticking);
    removeEventListener('online', this.online);
    document.removeEventListener('visibilitychange', this.online);
  }

  /** Calls this whenever something has changed, until the function that it returns is called. @param {() => void} listener */
  listen(listener) {
    this.listeners.add(listener);
    return () => void this.listeners.delete(listener);
  }

  #changed() {
    if (this.pending) return;
    this.pending = true;
    const tell = () => {
      this.pending = false;
      for (const listener of this.listeners) listener();
    };
    // A hidden page draws nothing, but is to be up to date when it is shown.
    if (document.hidden) setTimeout(tell, 1000);
    else requestAnimationFrame(tell);
  }

  #tick() {
    this.activity = [...this.activity.slice(1), 0];
    this.#changed();
  }

  async #run() {
    /** @type {number} */
    let pause = PAUSES[0];
    while (!this.ended.signal.aborted) {
      this.again = new AbortController();
      try {
        await this.#watch(() => (pause = PAUSES[0]));
      } catch (error) {
        if (this.ended.signal.aborted) return;
        if (!this.again.signal.aborted || !(error instanceof DOMException)) this.#trouble(error);
      }
      if (this.ended.signal.aborted) return;
      if (this.again.signal.aborted && this.state === 'live') continue;
      if (this.state === 'live' || this.state === 'connecting') this.#is('reconnecting');
      await new Promise((resolve) => {
        this.wake = () => resolve(undefined);
        setTimeout(
          resolve,
          this.state === 'denied' || this.state === 'refused' ? REFUSED : pause * (0.75 + Math.random() / 2),
        );
      });
      pause = Math.min(pause * 2, PAUSES[1]);
    }
  }

  /** @param {() => void} begun */
  async #watch(begun) {
    const request = {
      namespace: this.namespace,
      ...(this.scope ? { names: [this.scope], prefixes: [`${this.scope}/`] } : { prefixes: [''] }),
      groups: this.groupNames,
      ...(this.replica.revision !== '0' && {
        afterRevision: this.replica.revision,
      }),
    };
    const { again } = this;
    this.watchedGroups = this.groupNames;
    const giveUp = () => {
      this.#is('reconnecting');
      again.abort();
    };
    let silence = setTimeout(giveUp, SILENCE);
    try {
      await stream('WatchService/Watch', request, again.signal, (message) => {
        clearTimeout(silence);
        silence = setTimeout(giveUp, SILENCE);
        begun();
        this.#take(message);
      });
    } finally {
      clearTimeout(silence);
      // What was told in parts and not to its end is told anew.
      this.replica.incoming = null;
      this.replica.incomingGroups = [];
    }
  }

  /** @param {any} message */
  #take(message) {
    const what = this.replica.take(message);
    if (what === 'gone') {
      this.startedOver = { cause: message.historyGone.cause ?? '', times: this.startedOver.times + 1 };
    } else if (what !== 'part') {
      this.state = 'live';
      this.trouble = null;
      this.#keepUpGroups();
    }
    if (what === 'snapshot' && this.feed.length === 0) this.#before(this.replica.revision);
    if (what === 'events') {
      const happened = [...lockEvents(message), ...(message.events.groupEvents ?? [])];
      this.count += happened.length;
      this.activity[this.activity.length - 1] += happened.length;
      this.feed.push(...happened);
      if (this.feed.length > KEPT * 1.5) this.feed = this.feed.slice(-KEPT);
    }
    this.#changed();
  }

  /** What had happened before the page was opened, as far as the log goes back. @param {string} revision */
  async #before(revision) {
    const from = BigInt(revision) - BigInt(BEFORE.revisions);
    const request = {
      namespace: this.namespace,
      ...(this.scope ? { names: [this.scope], prefixes: [`${this.scope}/`] } : { prefixes: [''] }),
      afterRevision: String(from > 0n ? from : 1n),
    };
    const enough = new AbortController();
    const stop = () => enough.abort();
    this.ended.signal.addEventListener('abort', stop);
    let quiet = setTimeout(stop, BEFORE.quiet * 4);
    /** @type {any[]} */
    const found = [];
    await stream('WatchService/Watch', request, enough.signal, (message) => {
      clearTimeout(quiet);
      quiet = setTimeout(stop, BEFORE.quiet);
      // Somewhere in between there is a gap: what is before it says nothing.
      if (message.historyGone || message.snapshot) return stop();
      found.push(...lockEvents(message).filter((event) => compare(event.revision, revision) <= 0));
      if (compare(message.revision ?? '0', revision) >= 0) stop();
    }).catch(() => {});
    clearTimeout(quiet);
    this.ended.signal.removeEventListener('abort', stop);
    this.feed = [...found, ...this.feed];
    const now = serverNow();
    this.activity = this.activity.slice();
    for (const event of found) {
      const ago = Math.floor((now - time(event.time)) / (ACTIVITY.step * 1000));
      if (ago >= 0 && ago < ACTIVITY.steps) this.activity[ACTIVITY.steps - 1 - ago] += 1;
    }
    this.#changed();
  }

  /** Watches the groups that there are, if others are watched. */
  #keepUpGroups() {
    if (this.state === 'live' && this.groupNames.some((name) => !this.watchedGroups.includes(name))) this.again.abort();
  }

  /** @param {unknown} error */
  #trouble(error) {
    const refused = error instanceof Refused ? error : new Refused({ code: 'INTERNAL', message: String(error) });
    this.trouble = refused;
    if (refused.code === 'UNAUTHENTICATED') this.#is('unauthenticated');
    else if (refused.code === 'PERMISSION_DENIED') this.#is('denied');
    else {
      // A revision that the server has never had: it is another one, and what was known is of no use.
      const isAnother = refused.metadata.field === 'after_revision';
      if (isAnother) this.replica = new Replica();
      this.#is(isAnother || TRANSIENT.includes(refused.code) ? 'reconnecting' : 'refused');
    }
  }

  /** @param {State} state */
  #is(state) {
    this.state = state;
    this.#changed();
  }

  /** Groups can be watched by name only: those that come are found by looking for them. */
  async #groups() {
    while (!this.ended.signal.aborted) {
      const asked = {
        namespace: this.namespace,
        prefix: this.scope,
        pageSize: GROUPS.most,
      };
      const isShown = !document.hidden || this.groupNames.length === 0;
      const answer = isShown && (await call('GroupService/ListGroups', asked, this.ended.signal).catch(() => null));
      if (answer) {
        const names = (answer.groups ?? []).map((/** @type {{ name: string }} */ group) => group.name);
        const isNew = names.some((/** @type {string} */ name) => !this.groupNames.includes(name));
        this.moreGroups = Boolean(answer.nextPageToken);
        if (isNew) {
          // Those that went are dropped then, too.
          this.groupNames = names;
          this.#keepUpGroups();
        }
      }
      await new Promise((resolve) => setTimeout(resolve, GROUPS.every));
    }
  }
}
