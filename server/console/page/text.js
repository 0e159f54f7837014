// The page's texts, in the language that is wanted.

import { en } from './en.js';
import { ko } from './ko.js';
import { preferences } from './preferences.js';

const LANGUAGES = { en, ko };

/** @typedef {keyof typeof en} Key */

/** A text; what stands in braces is filled in. A `count` of one has a text of its own where the language has one.
 * @param {Key} key @param {Record<string, string | number>} [facts] */
export function t(key, facts = {}) {
  /** @type {Record<string, string>} */
  const texts = LANGUAGES[preferences.language];
  const one = String(facts.count) === '1' ? texts[`${key}_one`] : undefined;
  const text = one ?? texts[key] ?? key;
  return text.replaceAll(/\{(\w+)\}/g, (all, name) => String(facts[name] ?? all));
}

/** The text for a name of the contract, such as END_REASON_EXPIRED; the name itself if there is none. @param {string | undefined} name */
export function named(name) {
  const key = /** @type {Key} */ (`name_${name}`);
  return en[key] ? t(key) : (name ?? '');
}

/** A count, with marks between thousands. @param {number} count */
export const number = (count) => count.toLocaleString(preferences.language === 'ko' ? 'ko-KR' : 'en-GB');
