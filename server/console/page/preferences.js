// What whoever sits there likes: language, theme, and by which name acts are recorded. Kept by the browser; nothing of it is secret.

const KEYS = /** @type {const} */ ({
  language: 'tenure-language',
  theme: 'tenure-theme',
  operator: 'tenure-operator',
});

/** @param {keyof typeof KEYS} what */
function read(what) {
  try {
    return localStorage.getItem(KEYS[what]) ?? '';
  } catch {
    return '';
  }
}

/** @param {keyof typeof KEYS} what @param {string} value */
function write(what, value) {
  try {
    localStorage.setItem(KEYS[what], value);
  } catch {
    // It is then for this page only.
  }
}

const preferred = () =>
  (navigator.languages ?? [navigator.language]).find((language) => /^(en|ko)\b/i.test(language)) ?? 'en';

export const preferences = {
  /** @type {'en' | 'ko'} */
  language: /^ko/i.test(read('language') || preferred()) ? 'ko' : 'en',
  /** @type {'auto' | 'light' | 'dark'} */
  theme: /** @type {any} */ (['light', 'dark'].includes(read('theme')) ? read('theme') : 'auto'),
  operator: read('operator'),
};

/** @param {'en' | 'ko'} language */
export function setLanguage(language) {
  preferences.language = language;
  write('language', language);
  document.documentElement.lang = language;
}

/** @param {'auto' | 'light' | 'dark'} theme */
export function setTheme(theme) {
  preferences.theme = theme;
  write('theme', theme);
  if (theme === 'auto') delete document.documentElement.dataset.theme;
  else document.documentElement.dataset.theme = theme;
}

/** @param {string} operator */
export function setOperator(operator) {
  preferences.operator = operator;
  write('operator', operator);
}
