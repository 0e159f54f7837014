import js from '@eslint/js';

const browser = [
  'AbortController AbortSignal BigInt CSS DOMException Event HTMLElement HTMLDialogElement Node ResizeObserver TextDecoder URLSearchParams',
  'addEventListener cancelAnimationFrame clearInterval clearTimeout document fetch getSelection localStorage location matchMedia navigator',
  'performance removeEventListener requestAnimationFrame setInterval setTimeout',
];
const node = 'AbortController URL clearTimeout console fetch performance process setTimeout TextDecoder';

const globals = (/** @type {string[]} */ ...lists) =>
  Object.fromEntries(lists.flatMap((list) => list.split(' ')).map((name) => [name, 'readonly']));

export default [
  js.configs.recommended,
  { files: ['page/**/*.js'], languageOptions: { globals: globals(...browser) } },
  // What is evaluated in the page stands in the tests.
  { files: ['*.js', 'tests/**/*.js'], languageOptions: { globals: globals(node, ...browser) } },
];
