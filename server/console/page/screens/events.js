// What happens, as it happens.

import { shownDate, time } from '../clock.js';
import { useLive } from '../context.js';
import { classes, html, useRef, useState } from '../html.js';
import { grpcurl, tenure } from '../lines.js';
import { sentence, word } from '../parts/event.js';
import { Foot } from '../parts/copy.js';
import { Empty } from '../parts/states.js';
import { Table } from '../parts/table.js';
import { link } from '../route.js';
import { number, t } from '../text.js';

/** Which events each choice shows. */
const KINDS = /** @type {const} */ ({
  all: () => true,
  grants: (/** @type {string} */ type) => type === 'EVENT_TYPE_GRANTED' || type === 'EVENT_TYPE_TRANSFERRED',
  ends: (/** @type {string} */ type) => type === 'EVENT_TYPE_ENDED' || type === 'EVENT_TYPE_LINGERING',
  operators: () => true,
  groups: (/** @type {string} */ type) => type.startsWith('GROUP_'),
});

const CHOICES = /** @type {(keyof typeof KINDS)[]} */ (Object.keys(KINDS));

/** @param {{ context: import('../context.js').Context }} props */
export function Events({ context }) {
  const { live, place, route } = context;
  const { namespace } = route;
  useLive(live);
  const [search, setSearch] = useState(route.query.get('q') ?? '');
  const [choice, setChoice] = useState(/** @type {keyof typeof KINDS} */ ('all'));
  const frozen = useRef(/** @type {{ feed: any[], count: number } | null} */ (null));
  const [isPaused, setPaused] = useState(false);
  const feed = frozen.current?.feed ?? live.feed;
  const missed = frozen.current ? live.count - frozen.current.count : 0;
  const pause = () => {
    frozen.current = isPaused ? null : { feed: live.feed.slice(), count: live.count };
    setPaused(!isPaused);
  };
  const wanted = search.toLowerCase();
  const rows = feed
    .filter(
      (event) =>
        KINDS[choice](event.type) &&
        (choice !== 'operators' || event.operator) &&
        (wanted === '' ||
          `${event.name ?? event.group} ${event.claim?.owner ?? ''} ${event.claim?.sessionId ?? ''}`
            .toLowerCase()
            .includes(wanted)),
    )
    .reverse();
  return html`
    <div class="tools" role="search">
      <label class="search">
        <span class="unseen">${t('search_events')}</span>
        <input
          type="search"
          value=${search}
          placeholder=${t('search_events')}
          onInput=${(/** @type {any} */ event) => setSearch(event.target.value)}
        />
      </label>
      <div class="chips" role="group" aria-label=${t('show')}>
        ${CHOICES.map((kind) => html`<button key=${kind} type="button" class=${classes('chip', kind === choice && 'on')} aria-pressed=${kind === choice} onClick=${() => setChoice(kind)}>${t(`events_${kind}`)}</button>`)}
      </div>
      <button type="button" aria-pressed=${isPaused} onClick=${pause}>
        ${isPaused ? t('go_on', { count: number(missed) }) : t('pause')}
      </button>
      <span class="count">${t('events_count', { count: number(rows.length) })}</span>
    </div>
    <${Table}
      label=${t('events')}
      rows=${rows}
      id=${(/** @type {any} */ event) => `${event.revision} ${event.name ?? event.group} ${event.type}`}
      columns=${[
        { key: 'revision', title: t('revision'), class: 'c-token' },
        { key: 'time', title: t('time'), class: 'c-time' },
        { key: 'name', title: t('lock_or_group'), class: 'c-name' },
        { key: 'type', title: t('event'), class: 'c-type' },
        { key: 'what', title: t('what_happened'), class: 'c-wide' },
      ]}
      cells=${(/** @type {any} */ event) => [
        html`<span class="mono dim">${event.revision}</span>`,
        html`<time class="mono">${shownDate(time(event.time))}</time>`,
        html`<a
          class="mono"
          href=${event.group ? link(namespace, 'group', event.group) : link(namespace, 'lock', event.name)}
          >${event.name ?? event.group}</a
        >`,
        html`<span class=${`type ${event.type.replace(/^(GROUP_)?EVENT_TYPE_/, '').toLowerCase()}`}
          >${word(event)}</span
        >`,
        html`<span>${sentence(event)}</span>`,
      ]}
      empty=${html`<${Empty} title=${feed.length === 0 ? t('nothing_yet') : t('nothing_found')}><p>${t('events_from_now')}</p><//>`}
    />
    <${Foot} cli=${tenure(place, ['watch'])} grpcurl=${grpcurl(place, 'WatchService/Watch', {})} />
  `;
}
