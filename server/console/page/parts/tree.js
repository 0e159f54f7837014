// The names as a tree, by the slashes in them.

import { html, useMemo, useState } from '../html.js';
import { number, t } from '../text.js';

/** So many branches of one are shown. */
const BRANCHES = 100;

/** @typedef {{ path: string, label: string, count: number, children: Map<string, Node> }} Node */

/** Only what has something below it: names themselves are in the table. @param {string[]} names @returns {Node} */
export function grow(names) {
  /** @type {Node} */
  const root = {
    path: '',
    label: '',
    count: names.length,
    children: new Map(),
  };
  for (const name of names) {
    let node = root;
    for (let end = name.indexOf('/'); end >= 0; end = name.indexOf('/', end + 1)) {
      const path = name.slice(0, end + 1);
      const label = path.slice(node.path.length, -1) || '/';
      let child = node.children.get(path);
      if (!child) node.children.set(path, (child = { path, label, count: 0, children: new Map() }));
      child.count += 1;
      node = child;
    }
  }
  return root;
}

/** @param {{ names: string[], stamp: number, prefix: string, to: (prefix: string) => string }} props */
export function Tree({ names, stamp, prefix, to }) {
  const root = useMemo(() => grow(names), [stamp]);
  return html`<ul>
    <li>
      <span class="branch">
        <a href=${to('')} aria-current=${prefix === '' ? 'true' : undefined}>${t('all_names')}</a>
        <span class="figure">${number(root.count)}</span>
      </span>
      <${Branches} node=${root} prefix=${prefix} to=${to} />
    </li>
  </ul>`;
}

/** @param {{ node: Node, prefix: string, to: (prefix: string) => string }} props */
function Branches({ node, prefix, to }) {
  const children = [...node.children.values()];
  if (children.length === 0) return null;
  return html`<ul>
    ${children.slice(0, BRANCHES).map((child) => html`<${Branch} key=${child.path} node=${child} prefix=${prefix} to=${to} />`)}
    ${children.length > BRANCHES && html`<li class="dim">${t('and_more', { count: number(children.length - BRANCHES) })}</li>`}
  </ul>`;
}

/** @param {{ node: Node, prefix: string, to: (prefix: string) => string }} props */
function Branch({ node, prefix, to }) {
  const [isOpen, setOpen] = useState(prefix.startsWith(node.path));
  const has = node.children.size > 0;
  return html`<li>
    <span class="branch">
      ${
        has
          ? html`<button
              type="button"
              class="fold"
              aria-expanded=${isOpen}
              aria-label=${t('fold', { name: node.path })}
              onClick=${() => setOpen(!isOpen)}
            >
              <svg viewBox="0 0 10 10" width="10" height="10" aria-hidden="true">
                <path d="M3 1l4 4-4 4" />
              </svg>
            </button>`
          : html`<span class="fold"></span>`
      }
      <a href=${to(node.path)} aria-current=${prefix === node.path ? 'true' : undefined} class="mono">${node.label}/</a>
      <span class="figure">${number(node.count)}</span>
    </span>
    ${isOpen && html`<${Branches} node=${node} prefix=${prefix} to=${to} />`}
  </li>`;
}
