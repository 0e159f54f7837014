import js from '@eslint/js';

const browser =
  'AbortController AbortSignal BigInt DOMException HTMLElement HTMLDialogElement ResizeObserver TextDecoder URLSearchParams ' +
  'addEventListener cancelAnimationFrame clearInterval clearTimeout document fetch getSelection innerWidth getComputedStyle ' +
  'localStorage location matchMedia navigator performance removeEventListener requestAnimationFrame sessionStorage ' +
  'setInterval setTimeout window';
const node = 'URL console process';

/** @param {string} names */
const readable = (names) => Object.fromEntries(names.split(' ').map((name) => [name, 'readonly']));

export default [
  js.configs.recommended,
  // The tests have functions that run in the page.
  { languageOptions: { globals: readable(`${browser} ${node}`) } },
];
