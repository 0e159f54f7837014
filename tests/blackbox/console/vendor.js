// The libraries of the page are files of npm packages, except for the paths of their imports. This compares them, or writes them
// with `--write`, after a change of a version in package.json.

import { readFileSync, writeFileSync } from 'node:fs';

const here = (/** @type {string} */ path) => new URL(path, import.meta.url);
const read = (/** @type {string} */ path) => readFileSync(here(path), 'utf8');
const page = '../../../server/console/page/vendor/';
const version = (/** @type {string} */ name) => JSON.parse(read(`node_modules/${name}/package.json`)).version;

/** Without references that browsers would not find. @param {string} text */
const plain = (text) =>
  text.replace(/^\/\/# sourceMappingURL.*\n?/m, '').replaceAll('from"preact"', 'from"./preact.js"');

const licences = ['preact', 'htm']
  .map((name) => `${name} ${version(name)}, as npm has it:\n\n${read(`node_modules/${name}/LICENSE`).trim()}\n`)
  .join('\n\n');

/** @type {Record<string, string>} */
const files = {
  'preact.js': plain(read('node_modules/preact/dist/preact.mjs')),
  'hooks.js': plain(read('node_modules/preact/hooks/dist/hooks.mjs')),
  'htm.js': plain(read('node_modules/htm/dist/htm.module.js')),
  'LICENSES.txt': licences,
};

let stale = 0;
for (const [name, text] of Object.entries(files)) {
  if (process.argv.includes('--write')) writeFileSync(here(page + name), text);
  else if (read(page + name) !== text) {
    console.error(`${name} is not what package.json says: node vendor.js --write`);
    stale += 1;
  }
}
process.exitCode = stale > 0 ? 1 : 0;
