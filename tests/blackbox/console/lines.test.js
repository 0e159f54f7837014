// Lines to copy mean to a shell, and to the command line, what the page shows: whatever others have named.

import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { test } from 'node:test';

import { grpcurl, tenure } from '../../../server/console/page/lines.js';

const PLACE = { endpoint: 'here:7420', tls: true, token: true, namespace: 'default' };
const NAMES = [
  '--endpoints=http://evil:1',
  '-h',
  '$(exit 7)',
  "it's",
  'a b',
  '=ls',
  '~root',
  '`id`',
  'a;b',
  '*',
  '--',
  'plain/name',
];

/** The words that a shell makes of a line, without its program. @param {string} line */
const words = (line) => {
  const [program] = line.split(' ', 1);
  const script = `${program}() { for word in "$@"; do printf '%s\\0' "$word"; done; }; ${line}`;
  return execFileSync('sh', ['-c', script], { encoding: 'utf8' }).split('\0').slice(0, -1);
};

test('names come after all options, as they are', () => {
  for (const name of NAMES) {
    const before = ['--endpoints', 'https://here:7420', '--ca-cert', 'ca.crt', '--token-file', 'token', 'sessions'];
    assert.deepEqual(words(tenure(PLACE, ['sessions'], { names: [name] })), [...before, '--', name]);
  }
});

test('values belong to their options, as they are', () => {
  for (const value of NAMES) {
    const place = { ...PLACE, namespace: value };
    const made = words(tenure(place, ['transfer'], { options: { to: value, note: value }, names: [value] }));
    assert.deepEqual(made.slice(6), [
      `--namespace=${value}`,
      'transfer',
      `--to=${value}`,
      `--note=${value}`,
      '--',
      value,
    ]);
  }
});

test('a request is one word', () => {
  for (const name of NAMES) {
    const made = words(grpcurl({ ...PLACE, token: false }, 'LockService/GetLock', { name }));
    assert.deepEqual(made, [
      '-cacert',
      'ca.crt',
      '-d',
      JSON.stringify({ name }),
      'here:7420',
      'tenure.v1.LockService/GetLock',
    ]);
  }
});
