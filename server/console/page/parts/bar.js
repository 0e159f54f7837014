// How long a session lives on, as a bar that runs out by itself: what the server told, counted on from when it was asked.

import { html, useEffect, useRef } from '../html.js';
import { shownSpan } from '../clock.js';
import { t } from '../text.js';

const isStill = () => matchMedia('(prefers-reduced-motion: reduce)').matches;

/** @param {{ life: import('../remaining.js').Life | undefined, owner: string }} props */
export function Bar({ life, owner }) {
  const fill = useRef(/** @type {HTMLElement | null} */ (null));
  const left = life && !life.gone ? Math.max(0, life.until - performance.now()) : 0;
  const share = life && life.ttl > 0 ? Math.min(1, left / life.ttl) : 0;
  const isKnown = Boolean(life) && Number.isFinite(life?.until);
  const low = share < 0.34;
  useEffect(() => {
    const element = fill.current;
    if (!element || !isKnown) return;
    element.style.transform = `scaleX(${share})`;
    if (isStill() || left === 0) return;
    const run = element.animate([{ transform: `scaleX(${share})` }, { transform: 'scaleX(0)' }], {
      duration: left,
      fill: 'forwards',
    });
    return () => run.cancel();
  }, [life?.until, life?.gone, isKnown]);
  if (life && !isKnown && !life.gone) {
    return html`<span class="bar-unknown" title=${t('ttl_elsewhere')}
      >${t('ttl_of', { ttl: shownSpan(life.ttl) })}</span
    >`;
  }
  if (!life) return html`<span class="bar-unknown">…</span>`;
  const shown = life.gone ? t('ended') : `${shownSpan(left)} / ${shownSpan(life.ttl)}`;
  return html`<span class="ttl">
    <span
      class=${low ? 'bar low' : 'bar'}
      role="meter"
      aria-label=${t('ttl_left', { owner })}
      aria-valuemin="0"
      aria-valuemax=${Math.round(life.ttl / 1000) || 1}
      aria-valuenow=${Math.round(left / 1000)}
      aria-valuetext=${shown}
      ><span class="fill" ref=${fill}></span
    ></span>
    <span class="ttl-text" aria-hidden="true">${shown}</span>
  </span>`;
}
