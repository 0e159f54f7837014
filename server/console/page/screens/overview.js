// Everything on one screen: how much is held and waited for, what changes, how the servers and the database do.

import { call, deadlocked, page } from '../api.js';
import { shownSpan, shownTime, span, time } from '../clock.js';
import { useAnswer, useLive } from '../context.js';
import { html } from '../html.js';
import { grpcurl, tenure } from '../lines.js';
import { read as figures } from '../metrics.js';
import { Foot } from '../parts/copy.js';
import { sentence } from '../parts/event.js';
import { Badge, Problem } from '../parts/states.js';
import { Small } from '../parts/table.js';
import { link } from '../route.js';
import { number, t } from '../text.js';

/** @param {{ context: import('../context.js').Context }} props */
export function Overview({ context }) {
  const { live, place, route } = context;
  const { namespace } = route;
  useLive(live);
  const servers = useAnswer((signal) => call('ServerService/ListServers', { namespace }, signal), 2000, [namespace]);
  const blocked = useAnswer((signal) => deadlocked(namespace, 100, signal), 5000, [namespace]);
  const counts = useAnswer(async () => figures(await page('/metrics', 'text/plain')), 3000, []);
  const health = useAnswer(async () => JSON.parse(await page('/readyz', 'application/json')), 2000, []);
  const locks = [...live.replica.locks.values()];
  const held = locks.filter((lock) => lock.holderCount > 0).length;
  const waiting = locks.reduce((sum, lock) => sum + lock.waiterCount, 0);
  const deadlocks = blocked.answer?.found.length ?? 0;
  const queues = locks
    .filter((lock) => lock.waiterCount > 0)
    .sort((one, other) => other.waiterCount - one.waiterCount || (one.name < other.name ? -1 : 1))
    .slice(0, 6);
  const sessions = (servers.answer?.servers ?? []).reduce(
    (/** @type {number} */ sum, /** @type {any} */ server) => sum + Number(server.sessions ?? 0),
    0,
  );
  return html`
    <section class="tiles" aria-label=${t('figures')}>
      <${Tile}
        label=${t('held')}
        value=${number(held)}
        of=${t('locks_of', { count: number(locks.length) })}
        to=${link(namespace, 'locks')}
        kind="held"
      />
      <${Tile}
        label=${t('waiting')}
        value=${number(waiting)}
        of=${t('in_queues', { count: number(locks.filter((lock) => lock.waiterCount > 0).length) })}
        to=${link(namespace, 'locks', '', { show: 'waiting' })}
        kind="waiting"
      />
      <${Tile}
        label=${t('leader_changes')}
        value=${counts.answer ? number(counts.answer.changes) : '…'}
        of=${t('since_opened', { count: number(live.replica.changes) })}
        to=${link(namespace, 'elections')}
        kind="changes"
      />
      <${Tile}
        label=${t('deadlocks')}
        value=${number(deadlocks) + (blocked.answer?.more ? '+' : '')}
        of=${deadlocks ? t('sessions_in_circle') : t('none')}
        to=${link(namespace, 'locks', '', { show: 'deadlocked' })}
        kind=${deadlocks ? 'bad' : ''}
      />
      <${Tile}
        label=${t('sessions')}
        value=${number(sessions)}
        of=${t('on_servers', { count: number(servers.answer?.servers?.length ?? 0) })}
        to=${link(namespace, 'sessions')}
        kind=""
      />
    </section>
    <div class="columns">
      <section class="panel wide" aria-labelledby="activity">
        <h2 id="activity">${t('activity')}</h2>
        <${Activity} counts=${live.activity} />
      </section>
      <section class="panel" aria-labelledby="store">
        <h2 id="store">${t('database')}</h2>
        <${Store} servers=${servers.answer} health=${health.answer} counts=${counts.answer} />
      </section>
    </div>
    <section class="panel" aria-labelledby="servers">
      <h2 id="servers">${t('servers')}</h2>
      ${servers.error ? html`<${Problem} error=${servers.error} />` : html`<${Servers} servers=${servers.answer?.servers ?? []} />`}
    </section>
    <div class="columns">
      <section class="panel" aria-labelledby="queues">
        <h2 id="queues">${t('longest_queues')}</h2>
        ${
          queues.length === 0
            ? html`<p class="dim">${t('no_waiters')}</p>`
            : html`<ol class="plain-list">
                ${queues.map(
                  (lock) =>
                    html`<li key=${lock.name}>
                      <a href=${link(namespace, 'lock', lock.name)} class="mono">${lock.name}</a>
                      <span class="queue-bar" aria-hidden="true"
                        ><span style=${{ width: `${(lock.waiterCount / queues[0].waiterCount) * 100}%` }}></span
                      ></span>
                      <span class="figure">${number(lock.waiterCount)}</span>
                    </li>`,
                )}
              </ol>`
        }
      </section>
      <section class="panel wide" aria-labelledby="latest">
        <h2 id="latest">
          ${t('latest')}
          <a class="more" href=${link(namespace, 'events')}>${t('all_events')}</a>
        </h2>
        ${
          live.feed.length === 0
            ? html`<p class="dim">${t('nothing_yet')}</p>`
            : html`<ul class="plain-list">
                ${live.feed
                  .slice(-7)
                  .reverse()
                  .map(
                    (event) =>
                      html`<li key=${`${event.revision}-${event.name ?? event.group}`}>
                        <time class="dim mono">${shownTime(time(event.time))}</time>
                        <a
                          class="mono"
                          href=${event.group ? link(namespace, 'group', event.group) : link(namespace, 'lock', event.name)}
                          >${event.name ?? event.group}</a
                        >
                        <span class="grow">${sentence(event)}</span>
                      </li>`,
                  )}
              </ul>`
        }
      </section>
    </div>
    <${Foot} cli=${tenure(place, ['top'])} grpcurl=${grpcurl(place, 'ServerService/ListServers', {})} />
  `;
}

/** @param {{ label: string, value: string, of: string, to: string, kind: string }} props */
const Tile = ({ label, value, of, to, kind }) =>
  html`<a class=${`tile ${kind}`} href=${to}>
    <span class="tile-label">${label}</span>
    <span class="tile-value">${value}</span>
    <span class="tile-of">${of}</span>
  </a>`;

/** What has happened in the last minutes, a column each few seconds. @param {{ counts: number[] }} props */
function Activity({ counts }) {
  const most = Math.max(4, ...counts);
  const sum = counts.reduce((all, count) => all + count, 0);
  return html`<svg
      class="activity"
      viewBox="0 0 600 84"
      preserveAspectRatio="none"
      role="img"
      aria-label=${t('activity_told', { count: sum })}
    >
      ${[0, 1, 2].map((line) => html`<line key=${line} class="grid" x1="0" x2="600" y1=${2 + line * 40} y2=${2 + line * 40} />`)}
      ${counts.map((count, index) => html`<rect key=${index} class="column" x=${index * 10 + 1} width="8" y=${82 - (count / most) * 80} height=${(count / most) * 80} />`)}
    </svg>
    <p class="axis dim">
      <span>${t('minutes_ago', { count: 5 })}</span><span>${t('at_most', { count: most })}</span
      ><span>${t('now')}</span>
    </p>`;
}

/** @param {{ servers: any, health: any, counts: any }} props */
function Store({ servers, health, counts }) {
  const left = span(servers?.leaseLeft);
  const rows = [
    [
      t('ready'),
      health
        ? health.ready
          ? html`<${Badge} kind="held">${t('yes')}<//>`
          : html`<${Badge} kind="bad">${(health.reasons ?? []).join(', ')}<//>`
        : '…',
    ],
    [t('kind'), counts?.store || '…'],
    [t('heartbeat_took'), servers ? shownSpan(span(servers.heartbeatTook)) : '…'],
    [t('lease_left'), servers ? (Number.isNaN(left) ? t('for_ever') : shownSpan(left)) : '…'],
    [t('append_median'), counts ? shownSpan(counts.append * 1000) : '…'],
    [t('store_errors'), counts ? number(counts.errors) : '…'],
  ];
  return html`<dl class="facts">
    ${rows.map(
      ([name, value]) =>
        html`<div key=${name}>
          <dt>${name}</dt>
          <dd>${value}</dd>
        </div>`,
    )}
  </dl>`;
}

/** @param {{ servers: import('../types.js').ServerInfo[] }} props */
const Servers = ({ servers }) =>
  html`<${Small}
    label=${t('servers')}
    columns=${[
      { key: 'server', title: t('server') },
      { key: 'address', title: t('address') },
      { key: 'state', title: t('state') },
      { key: 'heartbeat', title: t('last_heartbeat') },
      { key: 'sessions', title: t('sessions'), class: 'right' },
    ]}
  >
    ${servers.map((server) => {
      const since = span(server.sinceHeartbeat);
      const lease = span(server.lease);
      const share = Number.isFinite(since) ? Math.max(0, 1 - since / lease) : 1;
      return html`<tr key=${server.id}>
        <th scope="row">
          ${server.label} ${server.answering && html`<${Badge} kind="plain">${t('answering')}<//>`}
        </th>
        <td class="mono dim">${server.address || '–'}</td>
        <td>
          ${server.dead ? html`<${Badge} kind="bad">${t('dead')}<//>` : html`<${Badge} kind="held">${t('alive')}<//>`}
        </td>
        <td>
          ${
            Number.isFinite(since)
              ? html`<span class="ttl"
                  ><span class=${share < 0.5 ? 'bar low' : 'bar'} aria-hidden="true"
                    ><span class="fill" style=${{ transform: `scaleX(${share})` }}></span
                  ></span>
                  <span class="ttl-text">${t('ago', { span: shownSpan(since) })} / ${shownSpan(lease)}</span></span
                >`
              : html`<span class="dim">${server.dead ? '–' : t('needs_none')}</span>`
          }
        </td>
        <td class="right mono">${number(Number(server.sessions ?? 0))}</td>
      </tr>`;
    })}
  <//>`;
