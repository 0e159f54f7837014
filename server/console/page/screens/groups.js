// Groups: who is in them, who leads, and what each is assigned.

import { useLive } from '../context.js';
import { html, useState } from '../html.js';
import { grpcurl, tenure } from '../lines.js';
import { Club } from '../parts/club.js';
import { Foot } from '../parts/copy.js';
import { Badge, Empty, Metadata, Who } from '../parts/states.js';
import { Table } from '../parts/table.js';
import { link } from '../route.js';
import { number, t } from '../text.js';

/** @typedef {import('../types.js').Group} Group */
/** @typedef {import('../types.js').Member} Member */

/** So many are drawn. */
const DRAWN = 60;

/** @param {{ context: import('../context.js').Context }} props */
export function Groups({ context }) {
  const { live, place, route } = context;
  const { namespace } = route;
  useLive(live);
  const [search, setSearch] = useState('');
  const groups = [...live.replica.groups.values()].sort((one, other) => (one.name < other.name ? -1 : 1));
  const found = groups.filter((group) => group.name.toLowerCase().includes(search.toLowerCase()));
  return html`
    <div class="tools" role="search">
      <label class="search">
        <span class="unseen">${t('search_groups')}</span>
        <input
          type="search"
          value=${search}
          placeholder=${t('search_groups')}
          onInput=${(/** @type {any} */ event) => setSearch(event.target.value)}
        />
      </label>
      <span class="count" role="status"
        >${t('rows_of', { count: number(found.length), all: number(groups.length) })}</span
      >
    </div>
    ${live.moreGroups && html`<p class="notice">${t('more_groups')}</p>`}
    ${
      found.length === 0
        ? html`<div class="panel empty">
            <${Empty} title=${live.state === 'live' ? t('no_groups') : t('loading')}
              ><code>${tenure(place, ['group', 'join', 'throughput', '--assign', './divide'])}</code><//
            >
          </div>`
        : html`<div class="cards">
            ${found.slice(0, DRAWN).map(
              (group) =>
                html`<section class="panel card" key=${group.name} aria-label=${group.name}>
                  <div class="panel-head">
                    <h2>
                      <a class="mono" href=${link(namespace, 'group', group.name)}>${group.name}</a>
                    </h2>
                    <span class="dim">${t('members_count', { count: number(group.members?.length ?? 0) })}</span>
                    <${Current} group=${group} />
                  </div>
                  <${Club} group=${group} compact />
                </section>`,
            )}
          </div>`
    }
    <${Foot} cli=${tenure(place, ['group', 'ls'])} grpcurl=${grpcurl(place, 'GroupService/ListGroups', {})} />
  `;
}

/** Whether the assignments are those for this membership and value. @param {{ group: Group }} props */
const Current = ({ group }) =>
  (group.members?.length ?? 0) === 0
    ? null
    : group.assignmentsCurrent
      ? html`<${Badge} kind="held">${t('assignments_current')}<//>`
      : html`<${Badge} kind="waiting"
          >${group.assignmentsRevision && group.assignmentsRevision !== '0' ? t('assignments_stale') : t('assignments_none')}<//
        >`;

/** @param {{ context: import('../context.js').Context }} props */
export function GroupScreen({ context }) {
  const { live, place, route } = context;
  const { namespace, name } = route;
  useLive(live);
  /** @type {Group} */
  const group = live.replica.groups.get(name) ?? { name };
  const members = group.members ?? [];
  return html`
    <div class="tools">
      <${Current} group=${group} />
      <span class="dim">${t('members_count', { count: number(members.length) })}</span>
    </div>
    <section class="panel" aria-labelledby="picture">
      <h2 id="picture">${t('members_and_assignments')}</h2>
      <${Club} group=${group} />
    </section>
    <div class="columns">
      <section class="panel" aria-labelledby="facts">
        <h2 id="facts">${t('facts')}</h2>
        <dl class="facts">
          <div>
            <dt>${t('leader')}</dt>
            <dd>${group.leader ? html`<${Who} namespace=${namespace} of=${group.leader} />` : '–'}</dd>
          </div>
          <div>
            <dt>${t('token')}</dt>
            <dd class="mono">${group.leader?.token ?? '–'}</dd>
          </div>
          <div>
            <dt>${t('membership_revision')}</dt>
            <dd class="mono">${group.membershipRevision ?? '–'}</dd>
          </div>
          <div>
            <dt>${t('config_revision')}</dt>
            <dd class="mono">${group.configRevision ?? '–'}</dd>
          </div>
          <div>
            <dt>${t('assignments_revision')}</dt>
            <dd class="mono">${group.assignmentsRevision ?? '–'}</dd>
          </div>
        </dl>
      </section>
      <section class="panel wide" aria-labelledby="config">
        <h2 id="config">${t('config')}</h2>
        ${group.config === undefined ? html`<p class="dim">${t('no_config')}</p>` : html`<pre class="value" tabindex="0" role="group" aria-label=${t('config')}>${group.config}</pre>`}
      </section>
    </div>
    <section class="panel" aria-labelledby="members">
      <h2 id="members">${t('members')}</h2>
      <${Table}
        label=${t('members')}
        rows=${members}
        id=${(/** @type {Member} */ member) => member.number}
        columns=${[
          { key: 'number', title: '#', class: 'c-token' },
          { key: 'leads', title: t('leader'), class: 'c-count' },
          { key: 'who', title: t('member'), class: 'c-wide' },
          { key: 'metadata', title: t('metadata'), class: 'c-wide' },
          { key: 'assignment', title: t('assignment'), class: 'c-wide' },
        ]}
        cells=${(/** @type {Member} */ member) => [
          html`<span class="mono">${member.number}</span>`,
          group.leader?.member === member.number ? html`<${Badge} kind="held">${t('leads')}<//>` : '',
          html`<${Who} namespace=${namespace} of=${member} />`,
          html`<${Metadata} metadata=${member.metadata} />`,
          html`<span class="mono" title=${member.assignment}>${member.assignment ?? '–'}</span>`,
        ]}
        empty=${html`<${Empty} title=${t('no_members')} />`}
      />
    </section>
    <${Foot}
      cli=${tenure(place, ['group', 'get'], { names: [name] })}
      grpcurl=${grpcurl(place, 'GroupService/GetGroup', { group: name })}
    />
  `;
}
