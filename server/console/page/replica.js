// What is watched, as it is: a snapshot, and what has happened since. Knows nothing of the page or of the network.

/** @typedef {import('./types.js').Claim} Claim */
/** @typedef {import('./types.js').Lock} Lock */
/** @typedef {import('./types.js').Group} Group */
/** @typedef {import('./types.js').LockEvent} LockEvent */

/** So many waiters of a lock are told. */
const TOLD = 100;

/** Waiters in the order in which they are served. @param {Claim} one @param {Claim} other */
const served = (one, other) => (other.priority ?? 0) - (one.priority ?? 0) || compare(one.id, other.id);

/** By number: these are beyond what a JavaScript number holds exactly. @param {string} one @param {string} other */
export const compare = (one, other) => one.length - other.length || (one < other ? -1 : one > other ? 1 : 0);

/** As the service lists them, but for letters that few names have. @param {string} one @param {string} other */
const byCode = (one, other) => (one < other ? -1 : one > other ? 1 : 0);

/** @param {Claim[]} claims @param {string} id */
const without = (claims, id) => claims.filter((claim) => claim.id !== id);

/** Only the event that grants a claim says when that was. @param {Claim} known @param {Claim} claim @returns {Claim} */
const since = (known, claim) => (known.grantedAt ? { grantedAt: known.grantedAt, ...claim } : claim);

/** @param {Claim[]} claims @param {Claim} claim */
const replaced = (claims, claim) => claims.map((known) => (known.id === claim.id ? since(known, claim) : known));

/** The events of each lock: of a claim to several there is one in the contract. @param {any} message @returns {LockEvent[]} */
export const lockEvents = (message) =>
  (message.events?.events ?? []).flatMap((/** @type {any} */ { names = [], vacantNames = [], ...event }) =>
    names.map((/** @type {string} */ name) => ({ ...event, name, vacant: vacantNames.includes(name) })),
  );

/** A lock as the contract tells it, with nothing left out. @param {any} told @returns {Lock} */
export const whole = (told) => ({
  name: told.name,
  holders: told.holders ?? [],
  waiters: told.waiters ?? [],
  holderCount: Number(told.holderCount ?? 0),
  waiterCount: Number(told.waiterCount ?? 0),
  limit: told.limit ?? 0,
  settings: told.settings,
});

export class Replica {
  constructor() {
    /** @type {Map<string, Lock>} The locks that are held or waited for. */
    this.locks = new Map();
    /** @type {Map<string, Group>} */
    this.groups = new Map();
    /** All up to here has been told; '0' before the snapshot. */
    this.revision = '0';
    /** @type {string[]} Their names in order. */
    this.names = [];
    /** How often a name has come or gone. */
    this.comings = 0;
    /** @type {Map<string, any>} What was set on locks since the snapshot, also on idle ones. */
    this.settings = new Map();
    /** @type {Map<string, Lock> | null} The snapshot that is being told. */
    this.incoming = null;
    /** @type {any[]} */
    this.incomingGroups = [];
    /** How often somebody else came to hold an exclusive lock, since the snapshot. */
    this.changes = 0;
    /** @type {Map<string, string>} The session that held each lock last, as far as is known. */
    this.last = new Map();
  }

  /** Takes one message of a watch. Says what it was. @param {any} message @returns {'snapshot' | 'part' | 'events' | 'progress' | 'gone'} */
  take(message) {
    if (message.snapshot) return this.#snapshot(message);
    if (message.historyGone) return 'gone';
    this.revision = message.revision ?? this.revision;
    if (!message.events) return 'progress';
    for (const event of lockEvents(message)) this.#event(event);
    for (const group of message.events.groups ?? []) this.#group(group);
    return 'events';
  }

  /** @param {any} message */
  #snapshot(message) {
    this.incoming ??= new Map();
    for (const lock of message.snapshot.locks ?? []) this.incoming.set(lock.name, whole(lock));
    this.incomingGroups.push(...(message.snapshot.groups ?? []));
    if (message.snapshot.more) return 'part';
    this.locks = this.incoming;
    this.groups = new Map();
    for (const group of this.incomingGroups) this.#group(group);
    this.incoming = null;
    this.incomingGroups = [];
    this.revision = message.revision ?? '0';
    this.names = [...this.locks.keys()].sort(byCode);
    this.comings += 1;
    this.settings = new Map();
    this.last = new Map();
    for (const lock of this.locks.values()) if (lock.holders[0]) this.last.set(lock.name, lock.holders[0].sessionId);
    return 'snapshot';
  }

  /** @param {any} group */
  #group(group) {
    const isThere = group.members?.length || group.config !== undefined;
    if (isThere) this.groups.set(group.name, group);
    else this.groups.delete(group.name);
  }

  /** @param {any} event */
  #event(event) {
    const before = this.locks.get(event.name);
    const lock = before ? { ...before } : whole({ name: event.name, settings: this.settings.get(event.name) });
    const claim = event.claim;
    switch (event.type) {
      case 'EVENT_TYPE_QUEUED':
        lock.waiters = [...without(lock.waiters, claim.id), claim].sort(served);
        lock.waiterCount += 1;
        break;
      case 'EVENT_TYPE_GRANTED':
        this.#granted(lock, claim);
        break;
      case 'EVENT_TYPE_TRANSFERRED':
        lock.holders = without(lock.holders, event.previous?.id ?? '');
        lock.holderCount -= 1;
        this.#granted(lock, claim);
        break;
      case 'EVENT_TYPE_ENDED':
        this.#ended(lock, claim);
        break;
      case 'EVENT_TYPE_LINGERING':
      case 'EVENT_TYPE_UPDATED':
      case 'EVENT_TYPE_TRANSFER_STARTED':
      case 'EVENT_TYPE_TRANSFER_CANCELLED':
        lock.holders = replaced(lock.holders, claim);
        break;
      case 'EVENT_TYPE_CONFIGURED':
        lock.settings = event.settings;
        this.settings.set(event.name, event.settings);
        break;
    }
    if (lock.holderCount > 0 || lock.waiterCount > 0) this.locks.set(event.name, lock);
    else this.locks.delete(event.name);
    if (Boolean(before) !== this.locks.has(event.name)) this.#listed(event.name, !before);
  }

  /** Among ten thousand names one comes or goes without sorting them. @param {string} name @param {boolean} comes */
  #listed(name, comes) {
    let [low, high] = [0, this.names.length];
    while (low < high) {
      const middle = (low + high) >> 1;
      if (byCode(this.names[middle], name) < 0) low = middle + 1;
      else high = middle;
    }
    this.names.splice(low, comes ? 0 : 1, ...(comes ? [name] : []));
    this.comings += 1;
  }

  /** @param {Lock} lock @param {Claim} claim */
  #granted(lock, claim) {
    this.#unqueue(lock, claim);
    lock.holders = [...without(lock.holders, claim.id), claim];
    lock.holderCount += 1;
    const before = this.last.get(lock.name);
    if (before !== undefined && before !== claim.sessionId && isExclusive(claim)) this.changes += 1;
    this.last.set(lock.name, claim.sessionId);
  }

  /** @param {Lock} lock @param {Claim} claim */
  #ended(lock, claim) {
    // A waiter has no token.
    const wasHeld = claim.token !== undefined && claim.token !== '0';
    if (!wasHeld) return this.#unqueue(lock, claim, true);
    lock.holders = without(lock.holders, claim.id);
    lock.holderCount -= 1;
  }

  /** A claim without a wait was never queued: its id is its token. @param {Lock} lock @param {Claim} claim @param {boolean} [surely] */
  #unqueue(lock, claim, surely = claim.id !== claim.token) {
    const waiters = without(lock.waiters, claim.id);
    if (surely) lock.waiterCount -= 1;
    lock.waiters = waiters;
  }

  /** Whether not all waiters are known who should be: those beyond the first hundred are not told until they come forward.
   * @param {Lock} lock */
  static isPartial(lock) {
    return lock.waiters.length < Math.min(lock.waiterCount, TOLD);
  }
}

/** @param {Claim} claim */
export const isExclusive = (claim) => claim.mode !== 'MODE_SHARED' && claim.mode !== 'MODE_PERMITS';
