// All locks: by their names' parts, searched, with who holds them and who waits.

import { call } from '../api.js';
import { useAnswer, useLive, useRemaining } from '../context.js';
import { classes, html, useMemo, useRef, useState } from '../html.js';
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

/** In the order of bytes, as the service lists them; of most names that is the order of their letters. */
const byName = (/** @type {Lock} */ one, /** @type {Lock} */ other) => (one.name < other.name ? -1 : one.name > other.name ? 1 : 0);

/** The names in order. Sorted anew only if one came or went. @param {import('../replica.js').Replica} replica */
function useSorted(replica) {
  const names = useMemo(() => [...replica.locks.values()].sort(byName).map((lock) => lock.name), [replica, replica.names]);
  return /** @type {Lock[]} */ (names.map((name) => replica.locks.get(name)).filter(Boolean));
}

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
  const deadlocked = useAnswer(
    (signal) => (show === 'deadlocked' ? call('LockService/ListBlocked', { namespace, deadlockedOnly: true, pageSize: 1000 }, signal) : Promise.resolve({})),
    2000,
    [namespace, show],
  );
  const sorted = useSorted(live.replica);
  const stuck = new Set((deadlocked.answer?.blocked ?? []).flatMap((/** @type {any} */ blocked) => blocked.claim?.names ?? []));
  const wanted = search.toLowerCase();
  const isWanted = (/** @type {Lock} */ lock) =>
    lock.name.startsWith(prefix) &&
    (wanted === '' || lock.name.toLowerCase().includes(wanted) || lock.holders.some((holder) => `${holder.owner ?? ''} ${holder.sessionId}`.toLowerCase().includes(wanted))) &&
    (show === 'all' || (show === 'held' ? lock.holderCount > 0 : show === 'waiting' ? lock.waiterCount > 0 : stuck.has(lock.name)));
  const rows = sorted.filter(isWanted);
  const lives = useRemaining(remaining, seen);
  const to = (/** @type {Record<string, string>} */ query) => link(namespace, 'locks', '', { ...(prefix && { prefix }), ...(show !== 'all' && { show }), ...query });
  const clear = () => {
    setSearch('');
    field.current?.focus();
  };
  return html`<div class="with-tree">
    <nav class="tree" aria-label=${t('prefixes')}>
      <${Tree} locks=${sorted} stamp=${live.replica.names} prefix=${prefix} to=${(/** @type {string} */ wanted) => link(namespace, 'locks', '', { prefix: wanted, ...(show !== 'all' && { show }) })} />
    </nav>
    <div class="list">
      <div class="tools" role="search">
        <label class="search">
          <span class="unseen">${t('search_locks')}</span>
          <input ref=${field} type="search" value=${search} placeholder=${t('search_locks')} onInput=${(/** @type {any} */ event) => setSearch(event.target.value)} />
        </label>
        <div class="chips" role="group" aria-label=${t('show')}>
          ${SHOWN.map((kind) => html`<a key=${kind} class=${classes('chip', kind === show && 'on')} aria-current=${kind === show ? 'true' : undefined} href=${to({ show: kind === 'all' ? '' : kind })}>${t(`show_${kind}`)}</a>`)}
        </div>
        <span class="count" role="status">${t('rows_of', { count: number(rows.length), all: number(sorted.length) })}</span>
      </div>
      ${prefix && html`<p class="crumbs"><a href=${link(namespace, 'locks', '', show !== 'all' ? { show } : {})}>${t('all_names')}</a> <span aria-hidden="true">›</span> <span class="mono">${prefix}</span></p>`}
      <${Table}
        label=${t('locks')}
        rows=${rows}
        id=${(/** @type {Lock} */ lock) => lock.name}
        seen=${(/** @type {Lock[]} */ shown) => setSeen(shown.flatMap((lock) => lock.holders.slice(0, 1).map((holder) => holder.sessionId)))}
        columns=${[
          { key: 'name', title: t('lock'), class: 'c-name' },
          { key: 'state', title: t('state'), class: 'c-state' },
          { key: 'holder', title: t('holder'), class: 'c-holder' },
          { key: 'token', title: t('token'), class: 'c-token right' },
          { key: 'ttl', title: t('ttl'), class: 'c-ttl' },
          { key: 'queue', title: t('queue'), class: 'c-queue right' },
        ]}
        cells=${(/** @type {Lock} */ lock) => cells(lock, namespace, lives)}
        empty=${sorted.length === 0
          ? html`<${Empty} title=${live.state === 'live' ? t('no_locks') : t('loading')}>
              ${live.state === 'live' && html`<p>${t('no_locks_try')}</p><code>${tenure(place, ['lock', 'hello', '--', 'sleep', '60'])}</code>`}
            <//>`
          : html`<${Empty} title=${t('nothing_found')}><button type="button" onClick=${clear}>${t('clear_search')}</button><//>`}
      />
      <${Foot} cli=${tenure(place, ['ls', ...(prefix ? [prefix] : [])])} grpcurl=${grpcurl(place, 'LockService/ListLocks', prefix ? { prefix } : {})} />
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
      ? html`<span class="who"><span class="owner">${holder.owner || holder.sessionId}</span> <${Mode} claim=${holder} /> ${others > 0 && html`<span class="dim">${t('and_more', { count: number(others) })}</span>`}</span>`
      : html`<span class="dim">${t('nobody')}</span>`,
    holder ? html`<span class="mono">${holder.token}</span>` : '',
    holder && holder.state !== 'CLAIM_STATE_LINGERING' ? html`<${Bar} life=${lives.get(holder.sessionId)} owner=${holder.owner || holder.sessionId} />` : '',
    lock.waiterCount > 0 ? html`<span class="badge waiting">${number(lock.waiterCount)}</span>` : html`<span class="dim">0</span>`,
  ];
}
