// Calls of the contract, as JSON, to the server that this page comes from.

import { noteServerTime } from './clock.js';

/** What shows who is there. In the memory of this page alone: nothing else reads it, and nothing keeps it on a disk. */
let token = '';

/** @param {string} shown */
export const setToken = (shown) => (token = shown);
export const hasToken = () => token !== '';

/** What a call was refused with, or why there was no answer (then the code is `UNREACHABLE`). */
export class Refused extends Error {
  /** @param {{ code?: string, reason?: string, message?: string, metadata?: Record<string, string>, retryAfter?: number }} told */
  constructor(told) {
    super(told.message || told.code || 'refused');
    this.code = told.code ?? 'UNKNOWN';
    this.reason = told.reason ?? '';
    this.metadata = told.metadata ?? {};
    this.retryAfter = told.retryAfter ?? 0;
  }
}

const unreachable = () => new Refused({ code: 'UNREACHABLE', message: '' });

/** @param {string} method @param {object} request @param {AbortSignal} [signal] */
async function post(method, request, signal) {
  const asked = performance.now();
  /** @type {Record<string, string>} */
  const headers = { 'content-type': 'application/json' };
  if (token) headers.authorization = `Bearer ${token}`;
  const body = JSON.stringify(request);
  const options = {
    method: 'POST',
    headers,
    body,
    signal,
    cache: /** @type {const} */ ('no-store'),
  };
  const answer = await fetch(`api/tenure.v1.${method}`, options).catch((error) => {
    throw signal?.aborted ? error : unreachable();
  });
  noteServerTime(answer.headers.get('tenure-time'), asked);
  if (!answer.ok) {
    const told = await answer.json().catch(() => ({ code: 'UNKNOWN', message: `HTTP ${answer.status}` }));
    throw new Refused(told);
  }
  return answer;
}

/** A plain call: `call('LockService/GetLock', { name })`. @param {string} method @param {object} request @param {AbortSignal} [signal] */
export async function call(method, request, signal) {
  const answer = await post(method, request, signal);
  return answer.json().catch(() => {
    throw unreachable();
  });
}

/** A stream: calls `each` with every message, and ends when the stream does.
 * @param {string} method @param {object} request @param {AbortSignal} signal @param {(message: any) => void} each */
export async function stream(method, request, signal, each) {
  const answer = await post(method, request, signal);
  const reader = /** @type {ReadableStream<Uint8Array>} */ (answer.body).getReader();
  const decoder = new TextDecoder();
  let rest = '';
  for (;;) {
    const { done, value } = await reader.read().catch((error) => {
      throw signal.aborted ? error : unreachable();
    });
    if (done) return;
    const lines = (rest + decoder.decode(value, { stream: true })).split('\n');
    rest = lines.pop() ?? '';
    for (const line of lines) {
      const told = JSON.parse(line);
      if (told.error) throw new Refused(told.error);
      each(told.result);
    }
  }
}

/** What the page has to know before it asks for anything. */
export async function about() {
  const asked = performance.now();
  const answer = await fetch('about', { cache: 'no-store' }).catch(() => {
    throw unreachable();
  });
  noteServerTime(answer.headers.get('tenure-time'), asked);
  if (!answer.ok) throw new Refused(await answer.json().catch(() => ({})));
  return answer.json();
}

/** What another page of the admin port says. @param {string} path @param {string} accept */
export async function page(path, accept) {
  const answer = await fetch(path, {
    headers: { accept },
    cache: 'no-store',
  }).catch(() => {
    throw unreachable();
  });
  return answer.text();
}

/**
 * All pages of a list, up to so many entries, and pages.
 * @param {string} method @param {Record<string, unknown>} request @param {string} field @param {number} most @param {AbortSignal} [signal] @param {number} [pages]
 */
export async function list(method, request, field, most, signal, pages = Infinity) {
  const found = [];
  let taken = 0;
  let pageToken = '';
  let answer;
  do {
    const pageSize = Math.min(1000, most - found.length);
    answer = await call(method, { ...request, pageSize, ...(pageToken && { pageToken }) }, signal);
    found.push(...(answer[field] ?? []));
    pageToken = answer.nextPageToken ?? '';
    taken += 1;
  } while (pageToken && found.length < most && taken < pages);
  return { found, more: pageToken !== '', last: answer };
}

/** How many pages of deadlocks one look takes: for each the server searches as long as it may, and decides nothing meanwhile. */
const SEARCHES = 4;

/** Claims in a deadlock, as far as one look finds them. @param {string} namespace @param {number} most @param {AbortSignal} signal */
export const deadlocked = (namespace, most, signal) =>
  list('LockService/ListBlocked', { namespace, deadlockedOnly: true }, 'blocked', most, signal, SEARCHES);
