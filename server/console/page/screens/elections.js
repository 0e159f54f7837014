// Elections: locks whose holder leads and whose waiters are candidates; with who has led lately.

import { call } from '../api.js';
import { serverNow, shownSpan, time } from '../clock.js';
import { useAnswer, useLive, useRemaining, useThrottled } from '../context.js';
import { classes, html, useState } from '../html.js';
import { grpcurl, tenure } from '../lines.js';
import { Bar } from '../parts/bar.js';
import { Foot } from '../parts/copy.js';
import { Empty } from '../parts/states.js';
import { Table } from '../parts/table.js';
import { Strip } from '../parts/timeline.js';
import { isExclusive } from '../replica.js';
import { link } from '../route.js';
import { number, t } from '../text.js';

/** @typedef {import('../types.js').Lock} Lock */
/** @typedef {import('../types.js').Hold} Hold */

/** How far back the strips go, in milliseconds. */
const BACK = 3_600_000;

/** So much of each history is looked at. */
const ENTRIES = 100;

/** How often it is looked who leads what changes often, in milliseconds. */
const CALM = 1000;

/** Whether somebody stands by, or would be preferred: what makes a lock an election, as nothing else tells. @param {Lock} lock */
const isElection = (lock) => lock.waiterCount > 0 || Boolean(lock.settings?.preempt);

/** @param {{ context: import('../context.js').Context }} props */
export function Elections({ context }) {
  const { live, place, route, remaining } = context;
  const { namespace } = route;
  useLive(live);
  const [seen, setSeen] = useState(/** @type {Lock[]} */ ([]));
  const all = route.query.get('show') === 'all';
  const rows = [...live.replica.locks.values()]
    .filter((lock) => lock.holders.every(isExclusive) && lock.waiters.every(isExclusive) && (all || isElection(lock)))
    .sort((one, other) => (one.name < other.name ? -1 : 1));
  const lives = useRemaining(
    remaining,
    seen.flatMap((lock) => lock.holders.map((holder) => holder.sessionId)),
  );
  const pasts = usePasts(
    namespace,
    seen.map((lock) => live.replica.locks.get(lock.name) ?? lock),
  );
  const from = serverNow() - BACK;
  return html`
    <p class="lead">${t('elections_what')}</p>
    <div class="tools">
      <div class="chips" role="group" aria-label=${t('show')}>
        <a
          class=${classes('chip', !all && 'on')}
          aria-current=${all ? undefined : 'true'}
          href=${link(namespace, 'elections')}
          >${t('with_candidates')}</a
        >
        <a
          class=${classes('chip', all && 'on')}
          aria-current=${all ? 'true' : undefined}
          href=${link(namespace, 'elections', '', { show: 'all' })}
          >${t('all_exclusive')}</a
        >
      </div>
      <span class="count">${number(rows.length)}</span>
    </div>
    <${Table}
      label=${t('elections')}
      rows=${rows}
      id=${(/** @type {Lock} */ lock) => lock.name}
      seen=${setSeen}
      columns=${[
        { key: 'name', title: t('election'), class: 'c-name' },
        { key: 'leader', title: t('leader'), class: 'c-owner' },
        { key: 'token', title: t('token'), class: 'c-token right' },
        { key: 'for', title: t('leads_for'), class: 'c-span right' },
        { key: 'ttl', title: t('ttl'), class: 'c-ttl' },
        { key: 'candidates', title: t('candidates'), class: 'c-count right' },
        { key: 'changes', title: t('changes_hour'), class: 'c-count right' },
        { key: 'strip', title: t('last_hour'), class: 'c-strip' },
      ]}
      cells=${(/** @type {Lock} */ lock) => {
        const [leader] = lock.holders;
        const past = pasts.get(lock.name)?.holds ?? [];
        const granted = time(leader?.grantedAt ?? past.find((hold) => hold.token === leader?.token)?.grantedTime);
        const turns = past.filter((hold) => time(hold.grantedTime) >= from).length;
        return [
          html`<a class="mono" href=${link(namespace, 'lock', lock.name)}>${lock.name}</a>`,
          leader
            ? html`<span class="owner">${leader.owner || leader.sessionId}</span>`
            : html`<span class="dim">${t('vacant')}</span>`,
          html`<span class="mono">${leader?.token ?? ''}</span>`,
          html`<span class="mono">${Number.isFinite(granted) ? shownSpan(serverNow() - granted) : '…'}</span>`,
          leader ? html`<${Bar} life=${lives.get(leader.sessionId)} owner=${leader.owner || leader.sessionId} />` : '',
          number(lock.waiterCount),
          html`<span class="mono">${pasts.has(lock.name) ? turns : '…'}</span>`,
          html`<${Strip} holds=${past} from=${from} label=${t('strip_told', { name: lock.name, count: turns })} />`,
        ];
      }}
      empty=${html`<${Empty} title=${live.state === 'live' ? t('no_elections') : t('loading')}><code>${tenure(place, ['elect', 'service_leader', '--', './serve'])}</code><//>`}
    />
    <${Foot} cli=${tenure(place, ['ls'])} grpcurl=${grpcurl(place, 'LockService/ListLocks', {})} />
  `;
}

/** The histories of the rows that can be seen: asked for again when somebody else leads. @param {string} namespace @param {Lock[]} locks */
function usePasts(namespace, locks) {
  const [pasts] = useState(() => /** @type {Map<string, { stamp: string, holds: Hold[] }>} */ (new Map()));
  const stamped = locks.map((lock) => `${lock.name}\n${lock.holders[0]?.token ?? ''}`);
  useAnswer(
    async (signal) => {
      for (const [index, lock] of locks.entries()) {
        if (pasts.get(lock.name)?.stamp === stamped[index]) continue;
        const answer = await call('LockService/ListHistory', { namespace, name: lock.name, pageSize: ENTRIES }, signal);
        const holds = (answer.entries ?? []).flatMap((/** @type {any} */ entry) => (entry.hold ? [entry.hold] : []));
        pasts.set(lock.name, { stamp: stamped[index], holds });
      }
    },
    30_000,
    [namespace],
    [useThrottled(stamped.join('\n\n'), CALM)],
  );
  return pasts;
}
