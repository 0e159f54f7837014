// All locks: by their names' parts, searched, with who holds them and who waits.

import { deadlocked } from '../api.js';
import { useAnswer, useLive, useRemaining, useThrottled } from '../context.js';
import { classes, html, useRef, useState } from '../html.js';
import { grpcurl, tenure } from '../lines.js';
import { Bar } from '../parts/bar.js';
import { Foot } from '../parts/copy.js';
import { Empty, Mode, Standing } from '../parts/states.js';
import { Table } from '../parts/table.js';
import { Tree } from '../parts/tree.js';
import { link } from '../route.js';
import { number, t } from '../text.js';

/** @typedef {import('../types.js').Lock} Lock */

const SHOWN = /** @type {const} */ (['all', 'held', 'waiting', 'deadlocked']);

/** How often the tree is grown anew at the most, in milliseconds. */
const GROWS = 1000;

/** @param {Lock} lock @param {(typeof SHOWN)[number]} show @param {Set<string>} stuck */
function isShown(lock, show, stuck) {
  switch (show) {
    case 'held':
      return lock.holderCount > 0;
    case 'waiting':
      return lock.waiterCount > 0;
    case 'deadlocked':
      return stuck.has(lock.name);
    default:
      return true;
  }
}

/** Whether its name or who holds it has this in it. @param {Lock} lock @param {string} wanted In small letters. */
const isAbout = (lock, wanted) =>
  lock.name.toLowerCase().includes(wanted) ||
  lock.holders.some((holder) => `${holder.owner ?? ''} ${holder.sessionId}`.toLowerCase().includes(wanted));

/** @param {{ context: import('../context.js').Context }} props */
export function Locks({ context }) {
  const { live, place, route, remaining } = context;
  const { namespace } = route;
  useLive(live);
  const [search, setSearch] = useState(route.query.get('q') ?? '');
  const [seen, setSeen] = useState(/** @type {string[]} */ ([]));
  const field = useRef(/** @type {HTMLInputElement | null} */ (null));
  const prefix = route.query.get('prefix') ?? '';
  const asked = route.query.get('show') ?? 'all';
  const show = SHOWN.find((known) => known === asked) ?? 'all';
  const deadlocks = useAnswer(
    (signal) =>
      show === 'deadlocked'
        ? deadlocked(namespace, 1000, signal)
        : Promise.resolve({ found: [], more: false, last: null }),
    2000,
    [namespace, show],
  );
  const { locks, names, comings } = live.replica;
  const stuck = new Set(
    (deadlocks.answer?.found ?? []).flatMap((/** @type {any} */ blocked) => blocked.claim?.names ?? []),
  );
  const wanted = search.toLowerCase();
  const isWanted = (/** @type {string} */ name) => {
    const lock = /** @type {Lock} */ (locks.get(name));
    return name.startsWith(prefix) && isShown(lock, show, stuck) && (wanted === '' || isAbout(lock, wanted));
  };
  const rows = prefix || wanted || show !== 'all' ? names.filter(isWanted) : names;
  const grown = useThrottled(comings, GROWS);
  const holders = seen.flatMap((name) => locks.get(name)?.holders.slice(0, 1) ?? []);
  const lives = useRemaining(
    remaining,
    holders.map((holder) => holder.sessionId),
  );
  const to = (/** @type {Record<string, string>} */ query) =>
    link(namespace, 'locks', '', {
      ...(prefix && { prefix }),
      ...(show !== 'all' && { show }),
      ...query,
    });
  const clear = () => {
    setSearch('');
    field.current?.focus();
  };
  return html`<div class="with-tree">
    <nav class="tree" aria-label=${t('prefixes')}>
      <${Tree}
        names=${names}
        stamp=${grown}
        prefix=${prefix}
        to=${(/** @type {string} */ wanted) => link(namespace, 'locks', '', { prefix: wanted, ...(show !== 'all' && { show }) })}
      />
    </nav>
    <div class="list">
      <div class="tools" role="search">
        <label class="search">
          <span class="unseen">${t('search_locks')}</span>
          <input
            ref=${field}
            type="search"
            value=${search}
            placeholder=${t('search_locks')}
            onInput=${(/** @type {any} */ event) => setSearch(event.target.value)}
          />
        </label>
        <div class="chips" role="group" aria-label=${t('show')}>
          ${SHOWN.map((kind) => html`<a key=${kind} class=${classes('chip', kind === show && 'on')} aria-current=${kind === show ? 'true' : undefined} href=${to({ show: kind === 'all' ? '' : kind })}>${t(`show_${kind}`)}</a>`)}
        </div>
        <span class="count">${t('rows_of', { count: number(rows.length), all: number(names.length) })}</span>
      </div>
      ${prefix && html`<p class="crumbs"><a href=${link(namespace, 'locks', '', show !== 'all' ? { show } : {})}>${t('all_names')}</a> <span aria-hidden="true">›</span> <span class="mono">${prefix}</span></p>`}
      <${Table}
        label=${t('locks')}
        rows=${rows}
        id=${(/** @type {string} */ name) => name}
        seen=${setSeen}
        columns=${[
          { key: 'name', title: t('lock'), class: 'c-name' },
          { key: 'state', title: t('state'), class: 'c-state' },
          { key: 'holder', title: t('holder'), class: 'c-holder' },
          { key: 'token', title: t('token'), class: 'c-token right' },
          { key: 'ttl', title: t('ttl'), class: 'c-ttl' },
          { key: 'queue', title: t('queue'), class: 'c-queue right' },
        ]}
        cells=${(/** @type {string} */ name) => cells(/** @type {Lock} */ (locks.get(name)), namespace, lives)}
        empty=${
          names.length === 0
            ? html`<${Empty} title=${live.state === 'live' ? t('no_locks') : t('loading')}>
                ${
                  live.state === 'live' &&
                  html`<p>${t('no_locks_try')}</p>
                    <code>${tenure(place, ['lock', 'hello', '--', 'sleep', '60'])}</code>`
                }
              <//>`
            : html`<${Empty} title=${t('nothing_found')}
                ><button type="button" onClick=${clear}>${t('clear_search')}</button><//
              >`
        }
      />
      <${Foot}
        cli=${tenure(place, ['ls'], { names: prefix ? [prefix] : [] })}
        grpcurl=${grpcurl(place, 'LockService/ListLocks', prefix ? { prefix } : {})}
      />
    </div>
  </div>`;
}

/** @param {Lock} lock @param {string} namespace @param {Map<string, import('../remaining.js').Life>} lives */
function cells(lock, namespace, lives) {
  const [holder] = lock.holders;
  const others = lock.holderCount - 1;
  return [
    html`<a class="mono" href=${link(namespace, 'lock', lock.name)} title=${lock.name}>${lock.name}</a>`,
    html`<${Standing} lock=${lock} />`,
    holder
      ? html`<span class="who"
          ><span class="owner">${holder.owner || holder.sessionId}</span>
          <${Mode} claim=${holder} />
          ${others > 0 && html`<span class="dim">${t('and_more', { count: number(others) })}</span>`}</span
        >`
      : html`<span class="dim">${t('vacant')}</span>`,
    holder ? html`<span class="mono">${holder.token}</span>` : '',
    holder && holder.state !== 'CLAIM_STATE_LINGERING'
      ? html`<${Bar} life=${lives.get(holder.sessionId)} owner=${holder.owner || holder.sessionId} />`
      : '',
    lock.waiterCount > 0
      ? html`<span class="badge waiting">${number(lock.waiterCount)}</span>`
      : html`<span class="dim">0</span>`,
  ];
}
