// Who held a lock, for how long, and why it ended: as a picture, a lane for each owner. The table beside it says the same in words.

import { html, useLayoutEffect, useRef, useState } from '../html.js';
import { serverNow, shownDate, shownSpan, shownTime, time } from '../clock.js';
import { named, t } from '../text.js';

/** @typedef {import('../types.js').Hold} Hold */

/** In pixels. */
const LANE = 26;
const BAR = 16;
const AXIS = 24;
const NAMES = 150;
const STRIP = 140;

/** So many lanes are drawn; the rest share the last. */
const LANES = 10;

/** Between two marks of the axis, in seconds. */
const STEPS = [1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1800, 3600, 7200, 10800, 21600, 43200, 86400];

/** @param {string | undefined} reason */
export const kind = (reason) => (reason ? reason.replace('END_REASON_', '').toLowerCase() : 'lasting');

/** How a lane is called. @param {Hold} hold */
const lane = (hold) => hold.owner || hold.sessionId;

/** A hold in words. @param {Hold} hold */
export function told(hold) {
  const facts = {
    who: lane(hold),
    token: hold.token ?? '?',
    held: shownSpan(held(hold)),
    from: shownDate(time(hold.grantedTime)),
  };
  const end = hold.endReason ? named(hold.endReason) : t('lasts');
  return `${t('hold_told', facts)} – ${end}`;
}

/** How long it was held; of one that lasts, until now. @param {Hold} hold */
export function held(hold) {
  if (hold.endedTime || !hold.grantedTime) return Number.parseFloat(hold.held ?? 'NaN') * 1000;
  return Math.max(0, serverNow() - time(hold.grantedTime));
}

/** The width of an element, as it changes. @param {{ current: HTMLElement | null }} box @param {number} begin */
function useWidth(box, begin) {
  const [width, setWidth] = useState(begin);
  useLayoutEffect(() => {
    const element = /** @type {HTMLElement} */ (box.current);
    const observer = new ResizeObserver(() => setWidth(Math.max(240, Math.floor(element.clientWidth))));
    observer.observe(element);
    return () => observer.disconnect();
  }, []);
  return width;
}

/** From when to when a hold is drawn, by the server's clock. @param {Hold} hold @param {number} now @param {number} since */
function stretch(hold, now, since) {
  const from = hold.grantedTime ? time(hold.grantedTime) : since;
  const to = hold.endedTime ? time(hold.endedTime) : now;
  return { from, to: Math.max(to, from) };
}

/** The owners, whoever held last first; and for each hold its lane. @param {Hold[]} holds */
function lanes(holds) {
  /** @type {string[]} */
  const names = [];
  for (const hold of holds) if (!names.includes(lane(hold))) names.push(lane(hold));
  const shown =
    names.length > LANES ? [...names.slice(0, LANES - 1), t('others', { count: names.length - LANES + 1 })] : names;
  return {
    shown,
    of: (/** @type {Hold} */ hold) => Math.min(names.indexOf(lane(hold)), shown.length - 1),
  };
}

/** @param {number} from @param {number} to @param {number} width */
function marks(from, to, width) {
  const wanted = (to - from) / 1000 / Math.max(2, Math.floor(width / 110));
  const step = (STEPS.find((step) => step >= wanted) ?? 86400) * 1000;
  const zone = new Date(to).getTimezoneOffset() * 60_000;
  const found = [];
  // One at the very end would be cut.
  const last = to - ((to - from) * 30) / width;
  for (let at = Math.ceil((from - zone) / step) * step + zone; at <= last; at += step) found.push(at);
  const isFine = step < 60_000;
  return found.map((at) => ({
    at,
    label: isFine ? shownTime(at) : shownTime(at).slice(0, 5),
  }));
}

/**
 * @param {{ holds: Hold[], losses: { time: string }[], from: number, label: string, chosen?: string,
 *   choose?: (hold: Hold) => void }} props `from`: the beginning, by the server's clock.
 */
export function Timeline({ holds, losses, from, label, chosen, choose }) {
  const box = useRef(/** @type {HTMLElement | null} */ (null));
  const width = useWidth(box, 800);
  const now = serverNow();
  const to = now + (now - from) * 0.02;
  const left = Math.min(NAMES, width * 0.3);
  const x = (/** @type {number} */ at) => left + ((Math.max(at, from) - from) / (to - from)) * (width - left - 8);
  const visible = holds.filter((hold) => stretch(hold, now, from).to >= from);
  const { shown, of } = lanes(visible);
  const height = AXIS + Math.max(1, shown.length) * LANE + 6;
  return html`<div class="picture" ref=${box}>
    <svg width=${width} height=${height} viewBox=${`0 0 ${width} ${height}`} role="img" aria-label=${label}>
      <defs>
        <pattern id="waited" width="6" height="6" patternUnits="userSpaceOnUse" patternTransform="rotate(45)">
          <rect class="hatch" width="2" height="6" />
        </pattern>
      </defs>
      ${marks(from, to, width - left).map(
        ({ at, label }) =>
          html`<g key=${at}>
            <line class="grid" x1=${x(at)} x2=${x(at)} y1=${AXIS - 4} y2=${height} />
            <text class="tick" x=${x(at)} y="14" text-anchor="middle">${label}</text>
          </g>`,
      )}
      ${shown.map(
        (name, index) =>
          html`<g key=${name}>
            <line class="lane" x1="0" x2=${width} y1=${AXIS + index * LANE} y2=${AXIS + index * LANE} />
            <text class="lane-name" x="0" y=${AXIS + index * LANE + 17}
              >${shortened(name, left)}<title>${name}</title></text
            >
          </g>`,
      )}
      ${visible.map((hold) => {
        const { from: begin, to: end } = stretch(hold, now, from);
        const [x1, x2] = [x(begin), x(end)];
        const y = AXIS + of(hold) * LANE + (LANE - BAR) / 2;
        const wide = Math.max(3, x2 - x1);
        const id = `${hold.claimId}-${hold.token}`;
        const waits = hold.queuedTime ? x1 - x(time(hold.queuedTime)) : 0;
        return html`<g key=${id} class=${chosen === id ? 'hold chosen' : 'hold'} onClick=${() => choose?.(hold)}>
          <title>${told(hold)}</title>
          ${waits > 2 && html`<rect class="wait" x=${x1 - waits} y=${y + BAR / 2 - 3} width=${waits} height="6" fill="url(#waited)" />`}
          <rect class=${`bar-of ${kind(hold.endReason)}`} x=${x1} y=${y} width=${wide} height=${BAR} rx="3" />
          ${wide > 60 && html`<text class="bar-text" x=${x1 + 6} y=${y + 12}>${shortened(`${hold.token ?? ''} · ${shownSpan(held(hold))}`, wide)}</text>`}
          ${hold.endReason && html`<${End} kind=${kind(hold.endReason)} x=${x1 + wide} y=${y} />`}
        </g>`;
      })}
      ${losses.map(
        (loss) =>
          html`<line
            key=${loss.time}
            class="loss"
            x1=${x(time(loss.time))}
            x2=${x(time(loss.time))}
            y1=${AXIS}
            y2=${height}
          >
            <title>${t('history_lost_here')}</title>
          </line>`,
      )}
      <line class="now" x1=${x(now)} x2=${x(now)} y1=${AXIS - 4} y2=${height} />
    </svg>
  </div>`;
}

/** How it ended, by a form and not by a colour alone. @param {{ kind: string, x: number, y: number }} props */
function End({ kind, x, y }) {
  const middle = y + BAR / 2;
  const cross = `M${x - 4} ${middle - 4}l8 8m0-8l-8 8`;
  if (kind === 'expired' || kind === 'disconnected') return html`<path class=${`end ${kind}`} d=${cross} />`;
  if (kind === 'evicted') return html`<path class="end evicted" d=${`M${x} ${middle - 6}l6 6-6 6-6-6z`} />`;
  if (kind === 'transferred') return html`<path class="end transferred" d=${`M${x - 3} ${middle - 5}l6 5-6 5`} />`;
  return html`<path class=${`end ${kind}`} d=${`M${x} ${y}v${BAR}`} />`;
}

/** About what fits. @param {string} text @param {number} width In pixels. */
function shortened(text, width) {
  const most = Math.max(1, Math.floor((width - 10) / 7));
  return text.length > most ? `${text.slice(0, most - 1)}…` : text;
}

/** The same as one strip without words, for a row. @param {{ holds: Hold[], from: number, label: string }} props */
export function Strip({ holds, from, label }) {
  const now = serverNow();
  const x = (/** @type {number} */ at) => ((Math.max(at, from) - from) / (now - from)) * STRIP;
  return html`<svg class="strip" width=${STRIP} height="18" viewBox=${`0 0 ${STRIP} 18`} role="img" aria-label=${label}>
    <rect class="strip-ground" x="0" y="3" width=${STRIP} height="12" rx="2" />
    ${holds
      .filter((hold) => stretch(hold, now, from).to >= from)
      .map((hold) => {
        const { from: begin, to: end } = stretch(hold, now, from);
        return html`<rect
          key=${hold.token}
          class=${`bar-of ${kind(hold.endReason)}`}
          x=${x(begin)}
          y="3"
          width=${Math.max(2, x(end) - x(begin) - 1)}
          height="12"
          rx="2"
          ><title>${told(hold)}</title></rect
        >`;
      })}
  </svg>`;
}

/** What forms and colours say. */
export const Legend = () =>
  html`<ul class="legend" aria-label=${t('legend')}>
    ${['lasting', 'released', 'transferred', 'expired', 'disconnected', 'closed', 'evicted'].map(
      (reason) =>
        html`<li key=${reason}>
          <svg width="22" height="16" viewBox="0 0 22 16" aria-hidden="true">
            <rect class=${`bar-of ${reason}`} x="0" y="2" width="15" height="12" rx="2" />
            ${reason !== 'lasting' && html`<${End} kind=${reason} x=${15} y=${0} />`}
          </svg>
          ${reason === 'lasting' ? t('lasts') : named(`END_REASON_${reason.toUpperCase()}`)}
        </li>`,
    )}
  </ul>`;
