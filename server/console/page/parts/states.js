// What is shown instead of what is asked for, and small things that many screens show.

import { html } from '../html.js';
import { link } from '../route.js';
import { named, t } from '../text.js';

/** @param {{ error: any }} props */
export const Problem = ({ error }) =>
  html`<div class="problem" role="alert">
    <strong>${t('problem')}</strong>
    <p>${error.code === 'UNREACHABLE' ? t('unreachable') : error.message}</p>
    ${error.reason && html`<p class="dim"><code>${error.code} ${error.reason}</code></p>`}
  </div>`;

export const Loading = () => html`<div class="empty" role="status">${t('loading')}</div>`;

/** @param {{ title: any, children?: any }} props */
export const Empty = ({ title, children }) =>
  html`<div>
    <p class="empty-title">${title}</p>
    ${children}
  </div>`;

/** @param {{ kind: string, children?: any, title?: string }} props */
export const Badge = ({ kind, children, title }) =>
  html`<span class=${`badge ${kind}`} title=${title}>${children}</span>`;

/** Why something ended. @param {{ reason: string | undefined }} props */
export const Reason = ({ reason }) =>
  html`<span class=${`reason ${(reason ?? '').replace('END_REASON_', '').toLowerCase()}`}
    ><i class="dot" aria-hidden="true"></i>${named(reason)}</span
  >`;

/** Whose something is: the owner, and the session behind it. @param {{ namespace: string, of: { sessionId: string, owner?: string } }} props */
export const Who = ({ namespace, of }) =>
  html`<span class="who">
    ${of.owner && html`<span class="owner">${of.owner}</span>`}
    <a class="mono dim" href=${link(namespace, 'session', of.sessionId)}>${of.sessionId}</a>
  </span>`;

/** @param {{ metadata: Record<string, string> | undefined }} props */
export const Metadata = ({ metadata }) => {
  const entries = Object.entries(metadata ?? {});
  if (entries.length === 0) return null;
  return html`<dl class="metadata">
    ${entries.map(
      ([key, value]) =>
        html`<div key=${key}>
          <dt>${key}</dt>
          <dd>${value}</dd>
        </div>`,
    )}
  </dl>`;
};

/** How a claim shares its lock. @param {{ claim: import('../types.js').Claim }} props */
export const Mode = ({ claim }) =>
  claim.mode === 'MODE_PERMITS'
    ? html`<${Badge} kind="plain" title=${t('permits_told', { permits: claim.permits ?? 1, limit: claim.limit ?? '?' })}
        >${t('permits', { permits: claim.permits ?? 1, limit: claim.limit ?? '?' })}<//
      >`
    : claim.mode === 'MODE_SHARED'
      ? html`<${Badge} kind="plain">${named('MODE_SHARED')}<//>`
      : null;

/** @param {{ lock: import('../types.js').Lock }} props */
export const Standing = ({ lock }) => {
  const holder = lock.holders[0];
  if (holder?.state === 'CLAIM_STATE_LINGERING')
    return html`<${Badge} kind="lingering">${named('CLAIM_STATE_LINGERING')}<//>`;
  if (holder?.transfer) return html`<${Badge} kind="waiting">${t('handing_over')}<//>`;
  if (holder) return html`<${Badge} kind="held">${named('CLAIM_STATE_HELD')}<//>`;
  return html`<${Badge} kind="free">${t('free')}<//>`;
};
