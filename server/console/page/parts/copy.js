// Lines to copy.

import { html, useRef, useState } from '../html.js';
import { t } from '../text.js';

/** @param {string} text */
async function copied(text) {
  try {
    await navigator.clipboard.writeText(text);
    return true;
  } catch {
    return false;
  }
}

/** One line, with a button that copies it; where that is not allowed, it is selected instead. @param {{ line: string, label: string }} props */
function Line({ line, label }) {
  const [done, setDone] = useState('');
  const code = useRef(/** @type {HTMLElement | null} */ (null));
  const copy = async () => {
    const isCopied = await copied(line);
    if (!isCopied && code.current) getSelection()?.selectAllChildren(code.current);
    setDone(isCopied ? t('copied') : t('selected'));
    setTimeout(() => setDone(''), 2000);
  };
  return html`<div class="line">
    <span class="line-kind">${label}</span>
    <code ref=${code} tabindex="0" role="group" aria-label=${t('line_of', { kind: label })}>${line}</code>
    <button type="button" class="quiet" onClick=${copy}>
      ${done || t('copy')}<span class="unseen"> (${label})</span>
    </button>
    <span class="unseen" role="status">${done}</span>
  </div>`;
}

/** What the page does, as somebody else would do it. @param {{ cli?: string, grpcurl?: string }} props */
export const Lines = ({ cli, grpcurl }) =>
  html`<div class="lines">
    ${cli && html`<${Line} line=${cli} label="CLI" />`} ${grpcurl && html`<${Line} line=${grpcurl} label="grpcurl" />`}
  </div>`;

/** The same, at the foot of a screen. @param {{ cli: string, grpcurl: string, more?: { cli: string, grpcurl: string } }} props */
export const Foot = ({ cli, grpcurl, more }) =>
  html`<details class="foot">
    <summary>${t('same_elsewhere')}</summary>
    <${Lines} cli=${cli} grpcurl=${grpcurl} />
    ${more && html`<${Lines} ...${more} />`}
  </details>`;
