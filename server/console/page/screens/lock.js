// One lock: who holds it, who waits, who held it before; and what an operator may do about it.

import { call } from '../api.js';
import { serverNow, shownDate, shownSpan, span, time } from '../clock.js';
import { useAnswer, useLive, useRemaining, useThrottled } from '../context.js';
import { html, useState } from '../html.js';
import { grpcurl, tenure } from '../lines.js';
import { Act } from '../parts/acts.js';
import { Bar } from '../parts/bar.js';
import { Foot } from '../parts/copy.js';
import { Legend, Timeline, held } from '../parts/timeline.js';
import { Badge, Metadata, Mode, Problem, Reason, Standing, Who } from '../parts/states.js';
import { Small } from '../parts/table.js';
import { whole } from '../replica.js';
import { number, t } from '../text.js';

/** @typedef {import('../types.js').Claim} Claim */
/** @typedef {import('../types.js').Hold} Hold */
/** @typedef {import('../types.js').Lock} Lock */

/** How far back the picture goes, in milliseconds; 0: as far as there is something. */
const SPANS = /** @type {const} */ ([300_000, 3_600_000, 21_600_000, 86_400_000, 0]);

/** So many holds are shown at first. */
const CROWD = 40;

/** So much history is asked for. */
const ENTRIES = 500;

/** How often it is asked for more about a lock that changes often, in milliseconds. */
const CALM = 1000;

/** @param {{ context: import('../context.js').Context, told: (what: string) => void }} props */
export function LockScreen({ context, told }) {
  const { live, place, route, remaining, canAct } = context;
  const { namespace, name } = route;
  useLive(live);
  const [act, setAct] = useState(/** @type {'' | 'evict' | 'transfer'} */ (''));
  const known = live.replica.locks.get(name);
  // What is watched does not tell of deadlocks, nor of the whole queue.
  const full = useAnswer(
    (signal) => call('LockService/GetLock', { namespace, name }, signal),
    4000,
    [namespace, name],
    [useThrottled(known, CALM)],
  );
  const history = useAnswer(
    (signal) => call('LockService/ListHistory', { namespace, name, pageSize: ENTRIES }, signal),
    15_000,
    [namespace, name],
    [useThrottled(stamp(known), CALM)],
  );
  const lock = { ...(known ?? whole({ name })), settings: known?.settings ?? full.answer?.lock?.settings };
  const waiters = known && full.answer?.lock?.waiters && lock.waiterCount > 0 ? full.answer.lock.waiters : lock.waiters;
  /** @type {import('../types.js').HistoryEntry[]} */
  const entries = history.answer?.entries ?? [];
  const holds = entries.map((entry) => entry.hold).filter((hold) => hold !== undefined);
  const lives = useRemaining(
    remaining,
    lock.holders.map((holder) => holder.sessionId),
  );
  const close = (/** @type {string | undefined} */ done) => {
    setAct('');
    if (done) told(done);
  };
  const leads = lock.holders.map((holder) => `${holder.owner || holder.sessionId}, ${t('token')} ${holder.token}`);
  return html`
    <p class="unseen" role="status">
      ${leads.length > 0 ? `${t('holder')}: ${leads.join('; ')}` : live.state === 'live' ? t('no_holder') : ''}
    </p>
    <div class="tools">
      <${Standing} lock=${lock} />
      ${lock.limit > 0 && html`<${Badge} kind="plain">${t('limit_of', { limit: lock.limit })}<//>`}
      ${lock.settings?.preempt && html`<${Badge} kind="plain">${t('preempts')}<//>`}
      <span class="grow"></span>
      <button
        type="button"
        disabled=${lock.holders.length === 0 || lock.waiterCount === 0}
        onClick=${() => setAct('transfer')}
      >
        ${t('transfer')}…
      </button>
      <button type="button" class="danger" disabled=${lock.holders.length === 0} onClick=${() => setAct('evict')}>
        ${t('evict')}…
      </button>
    </div>
    <div class="columns">
      <section class="panel" aria-labelledby="holders">
        <h2 id="holders">
          ${lock.holderCount > 1 ? t('holders_count', { count: number(lock.holderCount) }) : t('holder')}
        </h2>
        ${lock.holders.length === 0 && html`<p class="dim">${t('no_holder')}</p>`}
        ${lock.holders.map((holder) => html`<${Holder} key=${holder.id} holder=${holder} hold=${holds.find((hold) => hold.token === holder.token)} life=${lives.get(holder.sessionId)} namespace=${namespace} />`)}
      </section>
      <section class="panel" aria-labelledby="queue">
        <h2 id="queue">${t('queue')} <span class="dim">${number(lock.waiterCount)}</span></h2>
        <${Queue} waiters=${waiters} count=${lock.waiterCount} namespace=${namespace} />
      </section>
    </div>
    ${history.error && !history.answer ? html`<${Problem} error=${history.error} />` : html`<${Past} entries=${entries} holds=${holds} namespace=${namespace} name=${name} more=${Boolean(history.answer?.nextPageToken)} since=${history.answer?.keptSince} />`}
    <${Foot}
      cli=${tenure(place, ['why'], { names: [name] })}
      grpcurl=${grpcurl(place, 'LockService/GetLock', { name })}
      more=${{ cli: tenure(place, ['history'], { names: [name] }), grpcurl: grpcurl(place, 'LockService/ListHistory', { name }) }}
    />
    ${act && html`<${Act} act=${act} lock=${{ ...lock, waiters }} place=${place} canAct=${canAct} close=${close} />`}
  `;
}

/** What is seen of a lock that changes its history. @param {Lock | undefined} lock */
const stamp = (lock) => lock?.holders.map((holder) => holder.token).join(' ') ?? '';

/** @param {{ holder: Claim, hold: Hold | undefined, life: import('../remaining.js').Life | undefined, namespace: string }} props */
function Holder({ holder, hold, life, namespace }) {
  const granted = holder.grantedAt ?? hold?.grantedTime;
  const since = granted ? time(granted) : NaN;
  return html`<div class="holder">
    <p class="holder-name"><${Who} namespace=${namespace} of=${holder} /> <${Mode} claim=${holder} /></p>
    <dl class="facts">
      <div>
        <dt>${t('token')}</dt>
        <dd class="mono">${holder.token}</dd>
      </div>
      <div>
        <dt>${t('ttl')}</dt>
        <dd>
          ${holder.state === 'CLAIM_STATE_LINGERING' ? t('lingers') : html`<${Bar} life=${life} owner=${holder.owner || holder.sessionId} />`}
        </dd>
      </div>
      <div>
        <dt>${t('since')}</dt>
        <dd>${Number.isFinite(since) ? `${shownDate(since)} (${shownSpan(serverNow() - since)})` : '…'}</dd>
      </div>
      ${
        hold?.longestPause &&
        html`<div>
          <dt>${t('longest_pause')}</dt>
          <dd>${shownSpan(span(hold.longestPause))}</dd>
        </div>`
      }
      ${
        holder.names.length > 1 &&
        html`<div>
          <dt>${t('together_with')}</dt>
          <dd class="mono">${holder.names.join(', ')}</dd>
        </div>`
      }
      ${
        holder.minHold &&
        html`<div>
          <dt>${t('min_hold')}</dt>
          <dd>${shownSpan(span(holder.minHold))}</dd>
        </div>`
      }
      ${
        holder.priority
          ? html`<div>
              <dt>${t('priority')}</dt>
              <dd>${holder.priority}</dd>
            </div>`
          : null
      }
      ${
        holder.transfer &&
        html`<div>
          <dt>${t('handing_over')}</dt>
          <dd>
            ${holder.transfer.toSessionId || t('first_in_queue')},
            ${t('within', { span: shownSpan(span(holder.transfer.drain)) })}
          </dd>
        </div>`
      }
    </dl>
    <${Metadata} metadata=${holder.metadata} />
  </div>`;
}

/** @param {{ waiters: Claim[], count: number, namespace: string }} props */
function Queue({ waiters, count, namespace }) {
  if (count === 0) return html`<p class="dim">${t('no_waiters')}</p>`;
  return html`<ol class="queue">
      ${waiters.map(
        (waiter, index) =>
          html`<li key=${waiter.id}>
            <span class="place">${index + 1}</span>
            <${Who} namespace=${namespace} of=${waiter} />
            <${Mode} claim=${waiter} />
            ${waiter.priority ? html`<${Badge} kind="plain">${t('priority')} ${waiter.priority}<//>` : null}
            ${waiter.names.length > 1 && html`<span class="dim mono">+ ${waiter.names.length - 1}</span>`}
            ${waiter.deadlock?.length ? html`<${Badge} kind="bad" title=${waiter.deadlock.join(' → ')}>${t('deadlock')}<//>` : null}
          </li>`,
      )}
    </ol>
    ${count > waiters.length && html`<p class="dim">${t('and_more', { count: number(count - waiters.length) })}</p>`}`;
}

/** @param {{ entries: import('../types.js').HistoryEntry[], holds: Hold[], namespace: string, name: string, more: boolean, since: string | undefined }} props */
function Past({ entries, holds, namespace, name, more, since }) {
  const [back, setBack] = useState(/** @type {number | undefined} */ (undefined));
  const [chosen, setChosen] = useState('');
  const now = serverNow();
  const begins = holds.map((hold) => time(hold.queuedTime ?? hold.grantedTime)).filter(Number.isFinite);
  const first = Math.min(now - 10_000, ...begins);
  // So that there are not more than can be told apart.
  const crowded = begins.length > CROWD ? now - begins[CROWD] : Infinity;
  const wanted = back ?? SPANS.find((span) => span >= crowded) ?? 0;
  const from = wanted === 0 ? first : now - wanted;
  const losses = entries.flatMap((entry) => (entry.loss ? [entry.loss] : []));
  return html`<section class="panel" aria-labelledby="past">
    <div class="panel-head">
      <h2 id="past">${t('past_holders')}</h2>
      <div class="chips" role="group" aria-label=${t('how_far_back')}>
        ${SPANS.map(
          (span) =>
            html`<button
              key=${span}
              type="button"
              class=${span === wanted ? 'chip on' : 'chip'}
              aria-pressed=${span === wanted}
              onClick=${() => setBack(span)}
            >
              ${span === 0 ? t('all') : shownSpan(span)}
            </button>`,
        )}
      </div>
    </div>
    ${
      holds.length === 0
        ? html`<p class="dim">${t('no_history')}</p>`
        : html`<${Timeline}
              holds=${holds}
              losses=${losses}
              from=${from}
              label=${t('timeline_told', { name, count: holds.length })}
              chosen=${chosen}
              choose=${(/** @type {Hold} */ hold) => setChosen(`${hold.claimId}-${hold.token}`)}
            />
            <${Legend} />
            <${Records} holds=${holds} namespace=${namespace} chosen=${chosen} />
            <p class="dim">
              ${more ? t('history_more', { count: ENTRIES }) : since ? t('kept_since', { time: shownDate(time(since)) }) : ''}
            </p>`
    }
  </section>`;
}

/** @param {{ holds: Hold[], namespace: string, chosen: string }} props */
const Records = ({ holds, namespace, chosen }) =>
  html`<${Small}
    label=${t('past_holders')}
    tall
    columns=${[
      { key: 'holder', title: t('holder') },
      { key: 'token', title: t('token'), class: 'right' },
      { key: 'from', title: t('from') },
      { key: 'held', title: t('held_for'), class: 'right' },
      { key: 'waited', title: t('waited'), class: 'right' },
      { key: 'pause', title: t('longest_pause'), class: 'right' },
      { key: 'why', title: t('why_ended') },
    ]}
  >
    ${holds.slice(0, 200).map((hold) => {
      const id = `${hold.claimId}-${hold.token}`;
      const pause = span(hold.longestPause);
      const isLate = pause > span(hold.ttl) * 0.66;
      return html`<tr key=${id} class=${id === chosen ? 'chosen' : undefined}>
        <th scope="row"><${Who} namespace=${namespace} of=${hold} /></th>
        <td class="right mono">${hold.token}</td>
        <td class="mono">${shownDate(time(hold.grantedTime))}</td>
        <td class="right mono">${shownSpan(held(hold))}</td>
        <td class="right mono">${hold.waited ? shownSpan(span(hold.waited)) : '–'}</td>
        <td class=${isLate ? 'right mono late' : 'right mono'}>
          ${shownSpan(pause)}${hold.ttl && Number.isFinite(pause) ? ` / ${shownSpan(span(hold.ttl))}` : ''}
        </td>
        <td>
          ${hold.endReason ? html`<${Reason} reason=${hold.endReason} />` : html`<${Badge} kind="held">${t('lasts')}<//>`}
          ${hold.operator && html`${' '}<span class="dim">${t('by_operator', { operator: hold.operator })}${hold.note ? `: ${hold.note}` : ''}</span>`}
        </td>
      </tr>`;
    })}
  <//>`;
