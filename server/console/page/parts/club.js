// A group as a picture: its value, who leads, who is in it, and what each is assigned.

import { html, useLayoutEffect, useRef, useState } from '../html.js';
import { t } from '../text.js';

/** @typedef {import('../types.js').Group} Group */
/** @typedef {import('../types.js').Member} Member */

/** In pixels. */
const ROW = 40;
const BOX = 30;

/** So many members are drawn. */
export const DRAWN = 40;

/** @param {string} text @param {number} width */
function shortened(text, width) {
  const most = Math.max(1, Math.floor(width / 7.2));
  const line = text.replaceAll(/\s+/g, ' ');
  return line.length > most ? `${line.slice(0, most - 1)}…` : line;
}

/** What each is assigned, if all of it are numbers. @param {Member[]} members */
function shares(members) {
  const numbers = members.map((member) => (member.assignment?.trim() ? Number(member.assignment) : NaN));
  return numbers.length > 0 && numbers.every((number) => Number.isFinite(number) && number >= 0) ? numbers : null;
}

/** @param {{ group: Group, compact?: boolean }} props */
export function Club({ group, compact = false }) {
  const box = useRef(/** @type {HTMLElement | null} */ (null));
  const [width, setWidth] = useState(720);
  useLayoutEffect(() => {
    const element = /** @type {HTMLElement} */ (box.current);
    const observer = new ResizeObserver(() => setWidth(Math.max(300, Math.floor(element.clientWidth))));
    observer.observe(element);
    return () => observer.disconnect();
  }, []);
  const members = group.members ?? [];
  const drawn = members.slice(0, compact ? 6 : DRAWN);
  const numbers = shares(members);
  const most = numbers ? Math.max(1, ...numbers) : 1;
  const height = Math.max(2, drawn.length) * ROW + 8;
  const left = Math.min(180, width * 0.28);
  const boxes = { x: left + 60, width: Math.min(230, width * 0.34) };
  const assigned = boxes.x + boxes.width + 26;
  const middle = height / 2;
  const label = t('group_picture', {
    group: group.name,
    members: members.length,
    leader: group.leader?.owner || group.leader?.sessionId || '–',
  });
  return html`<div class="picture" ref=${box}>
    <svg width=${width} height=${height} viewBox=${`0 0 ${width} ${height}`} role="img" aria-label=${label}>
      ${drawn.map((member, index) => {
        const y = index * ROW + ROW / 2 + 4;
        const leads = group.leader?.member === member.number;
        return html`<path
          key=${member.number}
          class=${leads ? 'tie leads' : 'tie'}
          d=${`M${left} ${middle}C${left + 30} ${middle} ${boxes.x - 30} ${y} ${boxes.x} ${y}`}
        />`;
      })}
      <rect class="club" x="0" y=${middle - 26} width=${left} height="52" rx="6" />
      <text class="club-name" x="12" y=${middle - 5}>${shortened(group.name, left - 20)}</text>
      <text class="club-config" x="12" y=${middle + 14}>
        ${group.config === undefined ? t('no_config') : shortened(`= ${group.config}`, left - 20)}
      </text>
      ${drawn.map((member, index) => {
        const y = index * ROW + 4 + (ROW - BOX) / 2;
        const leads = group.leader?.member === member.number;
        const room = Math.max(40, width - assigned - 90);
        const number = numbers?.[index];
        return html`<g key=${member.number}>
          <title>${`${member.owner || member.sessionId} #${member.number}`}</title>
          <rect
            class=${leads ? 'member leads' : 'member'}
            x=${boxes.x}
            y=${y}
            width=${boxes.width}
            height=${BOX}
            rx="6"
          />
          ${leads && html`<path class="crown" d=${`M${boxes.x + 10} ${y + 20}v-10l4 4 4-6 4 6 4-4v10z`} />`}
          <text class="member-name" x=${boxes.x + (leads ? 34 : 12)} y=${y + 20}>
            ${shortened(member.owner || member.sessionId, boxes.width - (leads ? 44 : 22))}
          </text>
          <path
            class=${group.assignmentsCurrent ? 'gives' : 'gives stale'}
            d=${`M${boxes.x + boxes.width} ${y + BOX / 2}H${assigned - 6}`}
          />
          ${
            number !== undefined &&
            html`<rect
              class=${group.assignmentsCurrent ? 'share' : 'share stale'}
              x=${assigned}
              y=${y + 7}
              width=${Math.max(2, (number / most) * room)}
              height=${BOX - 14}
              rx="3"
            />`
          }
          <text
            class="assignment"
            x=${number === undefined ? assigned + 2 : assigned + Math.max(2, (number / most) * room) + 8}
            y=${y + 20}
          >
            ${member.assignment === undefined ? t('nothing_assigned') : shortened(member.assignment, width - assigned - 10)}
          </text>
        </g>`;
      })}
      ${drawn.length === 0 && html`<text class="assignment" x=${left + 24} y=${middle + 4}>${t('no_members')}</text>`}
    </svg>
    ${members.length > drawn.length && html`<p class="dim">${t('and_more', { count: members.length - drawn.length })}</p>`}
  </div>`;
}
