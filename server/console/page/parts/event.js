// What happened, in words.

import { html } from '../html.js';
import { named, t } from '../text.js';
import { shownSpan, span } from '../clock.js';
import { Reason } from './states.js';

/** @param {{ owner?: string, sessionId?: string } | undefined} of */
const who = (of) => of?.owner || of?.sessionId || '';

/** An event of a lock or of a group. @param {any} event */
export function sentence(event) {
  if (event.group) return groupSentence(event);
  const facts = {
    who: who(event.claim),
    token: event.claim?.token ?? '',
    from: who(event.previous),
  };
  switch (event.type) {
    case 'EVENT_TYPE_QUEUED':
      return t('event_queued', facts);
    case 'EVENT_TYPE_GRANTED':
      return t('event_granted', facts);
    case 'EVENT_TYPE_LINGERING':
      return html`${t('event_lingering', facts)} ${by(event)}`;
    case 'EVENT_TYPE_ENDED': {
      const wasHeld = event.claim?.token && event.claim.token !== '0';
      const vacant = event.vacant && html`<span class="dim">${t('event_vacant')}</span>`;
      return html`${t(wasHeld ? 'event_ended' : 'event_left', facts)} <${Reason} reason=${event.endReason} /> ${by(event)} ${vacant}`;
    }
    case 'EVENT_TYPE_TRANSFER_STARTED':
      return html`${t('event_transfer_started', { ...facts, ...handoff(event.claim?.transfer) })} ${by(event)}`;
    case 'EVENT_TYPE_TRANSFER_CANCELLED':
      return t('event_transfer_cancelled', facts);
    case 'EVENT_TYPE_TRANSFERRED':
      return t('event_transferred', facts);
    case 'EVENT_TYPE_UPDATED':
      return t('event_updated', facts);
    case 'EVENT_TYPE_CONFIGURED':
      return html`${t('event_configured')} ${by(event)}`;
    default:
      return event.type;
  }
}

/** @param {{ toSessionId?: string, drain?: string } | undefined} transfer */
const handoff = (transfer) => ({
  to: transfer?.toSessionId || t('first_in_queue'),
  drain: shownSpan(span(transfer?.drain)),
});

/** @param {any} event */
const by = ({ operator, note }) =>
  operator ? html`<span class="dim">${t('by_operator', { operator })}${note ? `: ${note}` : ''}</span>` : null;

/** @param {any} event */
function groupSentence(event) {
  const facts = { who: who(event.member), number: event.member?.number ?? '' };
  switch (event.type) {
    case 'GROUP_EVENT_TYPE_JOINED':
      return t('group_joined', facts);
    case 'GROUP_EVENT_TYPE_LEFT':
      return html`${t('group_left', facts)} <${Reason} reason=${event.endReason} />`;
    case 'GROUP_EVENT_TYPE_CONFIGURED':
      return event.config === undefined
        ? t('group_cleared')
        : t('group_configured', { config: event.config.slice(0, 80) });
    case 'GROUP_EVENT_TYPE_ASSIGNED':
      return t('group_assigned');
    default:
      return event.type;
  }
}

/** The kind of an event, as one word. @param {any} event */
export const word = (event) => named(event.type);
