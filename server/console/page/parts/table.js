// Tables: of the long ones only the rows that can be seen are in the document, of the short ones all.

import { classes, html, useEffect, useLayoutEffect, useRef, useState } from '../html.js';

/** The height of a row: styles/tables.css has the same. In pixels. */
export const ROW = 34;

/** So many rows above and below what can be seen are there, too. */
const MORE = 8;

/** @typedef {{ key: string, title: any, class?: string }} Column */

/** @param {Column[]} columns */
const heads = (columns) =>
  columns.map((column) => html`<th scope="col" class=${column.class} key=${column.key}>${column.title}</th>`);

/** A short table, whose rows are given as they are. @param {{ label: string, columns: Column[], tall?: boolean, children?: any }} props */
export const Small = ({ label, columns, tall, children }) =>
  html`<div class=${classes('scroll-x', tall && 'tall')} role="group" aria-label=${label} tabindex="0">
    <table class="small">
      <thead>
        <tr>
          ${heads(columns)}
        </tr>
      </thead>
      <tbody>
        ${children}
      </tbody>
    </table>
  </div>`;

/**
 * @template T
 * @param {{ label: string, columns: Column[], rows: T[], id: (row: T) => string, cells: (row: T, index: number) => any[],
 *   seen?: (rows: T[]) => void, empty: any, rowClass?: (row: T) => string }} props
 */
export function Table({ label, columns, rows, id, cells, seen, empty, rowClass }) {
  const box = useRef(/** @type {HTMLElement | null} */ (null));
  const [view, setView] = useState({ top: 0, height: 600 });
  useLayoutEffect(() => {
    const element = /** @type {HTMLElement} */ (box.current);
    let due = 0;
    const look = () => {
      due ||= requestAnimationFrame(() => {
        due = 0;
        setView({ top: element.scrollTop, height: element.clientHeight });
      });
    };
    element.addEventListener('scroll', look, { passive: true });
    const observer = new ResizeObserver(look);
    observer.observe(element);
    look();
    return () => {
      element.removeEventListener('scroll', look);
      observer.disconnect();
      cancelAnimationFrame(due);
    };
  }, []);
  const most = Math.ceil(view.height / ROW) + 2 * MORE;
  const first = Math.max(0, Math.min(Math.floor(view.top / ROW) - MORE, rows.length - most));
  const shown = rows.slice(first, first + most);
  const last = first + shown.length;
  const ids = shown.map(id).join('\n');
  useEffect(() => seen?.(shown), [ids]);
  return html`<div class="table-box" ref=${box} role="group" aria-label=${label} tabindex="0">
    <table aria-rowcount=${rows.length + 1} class="rows">
      <caption class="unseen">
        ${label}
      </caption>
      <thead>
        <tr aria-rowindex="1">
          ${heads(columns)}
        </tr>
      </thead>
      <tbody>
        ${
          first > 0 &&
          html`<tr class="space" aria-hidden="true" key="above">
            <td colspan=${columns.length} height=${first * ROW}></td>
          </tr>`
        }
        ${shown.map((row, index) => {
          const [head, ...rest] = cells(row, first + index);
          return html`<tr key=${id(row)} aria-rowindex=${first + index + 2} class=${rowClass?.(row)}>
            <th scope="row" class=${columns[0].class}>${head}</th>
            ${rest.map((cell, at) => html`<td class=${columns[at + 1].class} key=${columns[at + 1].key}>${cell}</td>`)}
          </tr>`;
        })}
        ${
          last < rows.length &&
          html`<tr class="space" aria-hidden="true" key="below">
            <td colspan=${columns.length} height=${(rows.length - last) * ROW}></td>
          </tr>`
        }
      </tbody>
    </table>
    ${rows.length === 0 && html`<div class="empty">${empty}</div>`}
  </div>`;
}
