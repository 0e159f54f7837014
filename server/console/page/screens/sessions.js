// Sessions: who is there, for how long without a renewal, at which server, and what each holds and waits for.

import { call, list } from '../api.js';
import { shownSpan, span } from '../clock.js';
import { useAnswer, useRemaining } from '../context.js';
import { html, useState } from '../html.js';
import { grpcurl, tenure } from '../lines.js';
import { Bar } from '../parts/bar.js';
import { Foot } from '../parts/copy.js';
import { Badge, Empty, Loading, Metadata, Mode, Problem } from '../parts/states.js';
import { Small, Table } from '../parts/table.js';
import { link } from '../route.js';
import { named, number, t } from '../text.js';

/** @typedef {import('../types.js').Session} Session */
/** @typedef {import('../types.js').Claim} Claim */

/** So many sessions are asked for; and up to so many, often. */
const MOST = 10_000;
const FEW = 1000;

/** @param {{ label?: string, id: string }[] | undefined} servers @param {string | undefined} id */
const home = (servers, id) => servers?.find((server) => server.id === id)?.label ?? id ?? '–';

/** @param {Session} session @param {string} state */
const names = (session, state) =>
  (session.claims ?? []).filter((claim) => claim.state === state).flatMap((claim) => claim.names);

/** @param {{ names: string[], namespace: string }} props */
const Names = ({ names, namespace }) =>
  names.length === 0
    ? html`<span class="dim">–</span>`
    : html`<span class="names" title=${names.join(', ')}>
        ${names.slice(0, 2).map((name) => html`<a key=${name} class="mono" href=${link(namespace, 'lock', name)}>${name}</a>`)}
        ${names.length > 2 && html`<span class="dim">${t('and_more', { count: number(names.length - 2) })}</span>`}
      </span>`;

/** @param {{ context: import('../context.js').Context }} props */
export function Sessions({ context }) {
  const { place, route, remaining } = context;
  const { namespace } = route;
  const [search, setSearch] = useState('');
  const [seen, setSeen] = useState(/** @type {Session[]} */ ([]));
  const { answer, error } = useAnswer(
    (signal) => list('SessionService/ListSessions', { namespace }, 'sessions', MOST, signal),
    (last) => ((last?.found.length ?? 0) > FEW ? 15_000 : 3000),
    [namespace],
  );
  const servers = useAnswer((signal) => call('ServerService/ListServers', { namespace }, signal), 10_000, [namespace]);
  const lives = useRemaining(
    remaining,
    seen.map((session) => session.id),
  );
  if (!answer) return error ? html`<${Problem} error=${error} />` : html`<${Loading} />`;
  const wanted = search.toLowerCase();
  const all = /** @type {Session[]} */ (answer.found);
  const rows = all.filter((session) =>
    `${session.id} ${session.owner ?? ''} ${session.identity ?? ''}`.toLowerCase().includes(wanted),
  );
  const hasIdentities = all.some((session) => session.identity);
  return html`
    <div class="tools" role="search">
      <label class="search">
        <span class="unseen">${t('search_sessions')}</span>
        <input
          type="search"
          value=${search}
          placeholder=${t('search_sessions')}
          onInput=${(/** @type {any} */ event) => setSearch(event.target.value)}
        />
      </label>
      <span class="count">${t('rows_of', { count: number(rows.length), all: number(all.length) })}</span>
    </div>
    ${error && html`<${Problem} error=${error} />`}
    ${answer.more && html`<p class="notice">${t('more_sessions', { count: number(MOST) })}</p>`}
    <${Table}
      label=${t('sessions')}
      rows=${rows}
      id=${(/** @type {Session} */ session) => session.id}
      seen=${setSeen}
      columns=${[
        { key: 'owner', title: t('owner'), class: 'c-owner' },
        { key: 'id', title: t('session'), class: 'c-holder' },
        { key: 'ttl', title: t('ttl'), class: 'c-ttl' },
        { key: 'holds', title: t('holds'), class: 'c-wide' },
        { key: 'waits', title: t('waits_for'), class: 'c-wide' },
        { key: 'home', title: t('home'), class: 'c-home' },
        ...(hasIdentities ? [{ key: 'identity', title: t('identity'), class: 'c-owner' }] : []),
      ]}
      cells=${(/** @type {Session} */ session) => [
        html`<span class="owner">${session.owner || '–'}</span>`,
        html`<a class="mono" href=${link(namespace, 'session', session.id)}>${session.id}</a>`,
        html`<${Bar} life=${lives.get(session.id)} owner=${session.owner || session.id} />`,
        html`<${Names} names=${names(session, 'CLAIM_STATE_HELD')} namespace=${namespace} />`,
        html`<${Names} names=${names(session, 'CLAIM_STATE_WAITING')} namespace=${namespace} />`,
        home(servers.answer?.servers, session.home),
        ...(hasIdentities ? [session.identity || html`<span class="dim">–</span>`] : []),
      ]}
      empty=${html`<${Empty} title=${all.length === 0 ? t('no_sessions') : t('nothing_found')} />`}
    />
    <${Foot} cli=${tenure(place, ['sessions'])} grpcurl=${grpcurl(place, 'SessionService/ListSessions', {})} />
  `;
}

/** @param {{ context: import('../context.js').Context }} props */
export function SessionScreen({ context }) {
  const { place, route, remaining } = context;
  const { namespace, name } = route;
  const { answer, error } = useAnswer(
    (signal) => call('SessionService/GetSession', { namespace, sessionId: name }, signal),
    2000,
    [namespace, name],
  );
  const servers = useAnswer((signal) => call('ServerService/ListServers', { namespace }, signal), 10_000, [namespace]);
  const lives = useRemaining(remaining, [name]);
  const foot = html`<${Foot}
    cli=${tenure(place, ['sessions'], { names: [name] })}
    grpcurl=${grpcurl(place, 'SessionService/GetSession', { sessionId: name })}
  />`;
  const isOver = error && 'code' in error && error.code === 'NOT_FOUND';
  if (isOver)
    return html`<div class="panel empty">
        <${Empty} title=${t('session_over')} />
      </div>
      ${foot}`;
  if (error && !answer) return html`<${Problem} error=${error} />${foot}`;
  if (!answer) return html`<${Loading} />`;
  /** @type {Session} */
  const session = answer.session;
  const claims = session.claims ?? [];
  return html`
    ${error && html`<${Problem} error=${error} />`}
    <div class="columns">
      <section class="panel" aria-labelledby="facts">
        <h2 id="facts">${t('facts')}</h2>
        <dl class="facts">
          <div>
            <dt>${t('owner')}</dt>
            <dd>${session.owner || '–'}</dd>
          </div>
          <div>
            <dt>${t('ttl')}</dt>
            <dd>
              <${Bar} life=${lives.get(name)} owner=${session.owner || name} />
            </dd>
          </div>
          <div>
            <dt>${t('disconnect_grace')}</dt>
            <dd>${session.disconnectGrace ? shownSpan(span(session.disconnectGrace)) : t('none')}</dd>
          </div>
          <div>
            <dt>${t('home')}</dt>
            <dd>${home(servers.answer?.servers, session.home)}</dd>
          </div>
          <div>
            <dt>${t('identity')}</dt>
            <dd>${session.identity || t('no_authentication')}</dd>
          </div>
          <div>
            <dt>${t('opened_revision')}</dt>
            <dd class="mono">${session.openedRevision}</dd>
          </div>
        </dl>
        <${Metadata} metadata=${session.metadata} />
      </section>
      <section class="panel wide" aria-labelledby="claims">
        <h2 id="claims">${t('holds_and_waits')}</h2>
        ${
          claims.length === 0
            ? html`<p class="dim">${t('nothing')}</p>`
            : html`<${Small}
                label=${t('holds_and_waits')}
                columns=${[
                  { key: 'locks', title: t('locks') },
                  { key: 'state', title: t('state') },
                  { key: 'token', title: t('token'), class: 'right' },
                ]}
              >
                ${claims.map(
                  (claim) =>
                    html`<tr key=${claim.id}>
                      <th scope="row">
                        ${claim.names.map((lock) => html`<a key=${lock} class="mono block" href=${link(namespace, 'lock', lock)}>${lock}</a>`)}
                      </th>
                      <td>
                        <${State} claim=${claim} />
                        <${Mode} claim=${claim} />
                      </td>
                      <td class="right mono">${claim.token && claim.token !== '0' ? claim.token : '–'}</td>
                    </tr>`,
                )}
              <//>`
        }
      </section>
    </div>
    ${foot}
  `;
}

/** @param {{ claim: Claim }} props */
const State = ({ claim }) => {
  if (claim.deadlock?.length)
    return html`<${Badge} kind="bad" title=${claim.deadlock.join(' → ')}>${t('deadlock')}<//>`;
  const kind =
    claim.state === 'CLAIM_STATE_HELD' ? 'held' : claim.state === 'CLAIM_STATE_WAITING' ? 'waiting' : 'lingering';
  return html`<${Badge} kind=${kind}>${named(claim.state)}<//>`;
};
