// What operators do to a hold: end it, or hand it over. Each asks for the lock's name and for a reason; each shows what it does as lines to
// copy, and is nothing but these lines where the page may not act.

import { html, useEffect, useRef, useState } from '../html.js';
import { call } from '../api.js';
import { seconds } from '../clock.js';
import { grpcurl, tenure } from '../lines.js';
import { preferences, setOperator } from '../preferences.js';
import { t } from '../text.js';
import { Lines } from './copy.js';

/** @typedef {import('../types.js').Lock} Lock */

/** How long the holder may go on, in milliseconds: the console waits for an answer no longer than a minute. */
const DRAIN = { default: 10_000, least: 100, most: 50_000 };

/** What is asked of the server, and the same as a line. @param {'evict' | 'transfer'} act
 * @param {{ name: string, token: string, to: string, drain: number, operator: string, note: string }} filled */
function asked(act, { name, token, to, drain, operator, note }) {
  const by = { operator, ...(note && { note }) };
  const options = {
    token: token !== '0' && token,
    to: act === 'transfer' && to,
    drain: act === 'transfer' && drain !== DRAIN.default && `${drain}ms`,
    operator,
    note,
  };
  const given = Object.fromEntries(Object.entries(options).filter(([, value]) => value));
  const request =
    act === 'evict'
      ? { name, ...(token && { token }), ...by }
      : {
          name,
          ...(token && { token }),
          ...(to && { toSessionId: to }),
          ...(drain !== DRAIN.default && { drain: seconds(drain) }),
          ...by,
        };
  return { request, options: given };
}

/**
 * @param {{ act: 'evict' | 'transfer', lock: Lock, place: import('../lines.js').Place, canAct: boolean, close: (done?: string) => void }} props
 */
export function Act({ act, lock, place, canAct, close }) {
  const dialog = useRef(/** @type {HTMLDialogElement | null} */ (null));
  const [token, setToken] = useState(lock.holders[0]?.token ?? '');
  const [to, setTo] = useState('');
  const [drain, setDrain] = useState(DRAIN.default);
  const [operator, setName] = useState(preferences.operator);
  const [note, setNote] = useState('');
  const [typed, setTyped] = useState('');
  const [busy, setBusy] = useState(false);
  const [problem, setProblem] = useState('');
  useEffect(() => {
    const element = /** @type {HTMLDialogElement} */ (dialog.current);
    const before = document.activeElement;
    element.showModal();
    return () => before instanceof HTMLElement && before.focus();
  }, []);
  const filled = {
    name: lock.name,
    token,
    to,
    drain,
    operator: operator || 'me',
    note,
  };
  const { request, options } = asked(act, filled);
  const method = act === 'evict' ? 'LockService/Evict' : 'LockService/Transfer';
  const isReady = typed === lock.name && note.trim() !== '' && operator.trim() !== '' && !busy;
  const send = async (/** @type {Event} */ event) => {
    event.preventDefault();
    if (!isReady) return;
    setBusy(true);
    setProblem('');
    setOperator(operator);
    try {
      await call(method, { namespace: place.namespace, ...request });
      close(
        t(act === 'evict' ? 'evicted_done' : 'transferred_done', {
          name: lock.name,
        }),
      );
    } catch (error) {
      setProblem(/** @type {Error} */ (error).message || t('unreachable'));
      setBusy(false);
    }
  };
  const heading = t(act === 'evict' ? 'evict_title' : 'transfer_title', {
    name: lock.name,
  });
  return html`<dialog ref=${dialog} aria-labelledby="act-title" onClose=${() => close()} class="act">
    <form onSubmit=${send}>
      <h2 id="act-title">${heading}</h2>
      <p>${t(act === 'evict' ? 'evict_what' : 'transfer_what')}</p>
      ${!canAct && html`<p class="notice">${t('read_only_why')}</p>`}
      <div class="fields">
        ${
          lock.holders.length > 1 &&
          html`<label>
            ${t('which_hold')}
            <select value=${token} onChange=${(/** @type {any} */ event) => setToken(event.target.value)}>
              ${lock.holders.map(
                (holder) =>
                  html`<option key=${holder.id} value=${holder.token}>
                    ${holder.token} · ${holder.owner || holder.sessionId}
                  </option>`,
              )}
              ${act === 'evict' && html`<option value="">${t('all_holders')}</option>`}
            </select>
          </label>`
        }
        ${
          act === 'transfer' &&
          html`<label>
              ${t('to_whom')}
              <select value=${to} onChange=${(/** @type {any} */ event) => setTo(event.target.value)}>
                <option value="">${t('first_in_queue')}</option>
                ${lock.waiters.map((waiter) => html`<option key=${waiter.id} value=${waiter.sessionId}>${waiter.owner ? `${waiter.owner} · ` : ''}${waiter.sessionId}</option>`)}
              </select>
            </label>
            <label>
              ${t('drain_label')}
              <input
                type="number"
                min=${DRAIN.least / 1000}
                max=${DRAIN.most / 1000}
                step="0.1"
                value=${drain / 1000}
                onInput=${(/** @type {any} */ event) => setDrain(Math.min(DRAIN.most, Math.max(DRAIN.least, Math.round(event.target.valueAsNumber * 1000) || DRAIN.default)))}
              />
            </label>`
        }
        <label>
          ${t('who_acts')}
          <input
            type="text"
            autocomplete="username"
            maxlength="255"
            value=${operator}
            required=${canAct}
            onInput=${(/** @type {any} */ event) => setName(event.target.value)}
          />
        </label>
        <label>
          ${t('reason_label')}
          <input
            type="text"
            autocomplete="off"
            maxlength="255"
            value=${note}
            required=${canAct}
            onInput=${(/** @type {any} */ event) => setNote(event.target.value)}
          />
        </label>
        ${
          canAct &&
          html`<label>
            <span>${t('type_name')} <code>${lock.name}</code></span>
            <input
              type="text"
              autocomplete="off"
              autocapitalize="off"
              spellcheck=${false}
              value=${typed}
              onInput=${(/** @type {any} */ event) => setTyped(event.target.value)}
            />
          </label>`
        }
      </div>
      <${Lines} cli=${tenure(place, [act], { options, names: [lock.name] })} grpcurl=${grpcurl(place, method, request)} />
      ${problem && html`<p class="problem" role="alert">${problem}</p>`}
      <div class="buttons">
        <button type="button" onClick=${() => close()}>${t(canAct ? 'cancel' : 'close')}</button>
        ${
          canAct &&
          html`<button type="submit" class=${act === 'evict' ? 'danger' : 'primary'} disabled=${!isReady}>
            ${busy ? t(act === 'evict' ? 'evicting' : 'transferring') : t(act)}
          </button>`
        }
      </div>
    </form>
  </dialog>`;
}
