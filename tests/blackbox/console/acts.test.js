// A server with authentication: signing in, what the policy allows to see and do, and the actions of operators.

import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { open, violations } from './pages.js';
import { Server, browser as launch, newToken } from './support.js';

const POLICY = `
[[roles.operator]]
verbs = ["read", "watch", "operate"]

[[roles.worker]]
verbs = ["acquire", "read", "watch"]

[[roles.onlooker]]
verbs = ["read", "watch"]
names = ["billing"]

[[grants]]
identity = "token:operator"
roles = ["operator"]

[[grants]]
identity = "token:worker"
roles = ["worker"]

[[grants]]
identity = "token:onlooker"
roles = ["onlooker"]
`;

const tokens = { operator: newToken('operator'), worker: newToken('worker'), onlooker: newToken('onlooker') };
const lines = Object.values(tokens)
  .map(({ line }) => `${line}\n`)
  .join('');
const worker = { TENURE_TOKEN: tokens.worker.token };

/** @type {Server} */
let server;
/** @type {import('playwright-core').Browser} */
let browser;
/** @type {ReturnType<Server['client']>[]} */
const clients = [];

before(async () => {
  const settings = ['--tokens-file', '@tokens', '--policy', '@policy'];
  [server, browser] = await Promise.all([Server.start(settings, { tokens: lines, policy: POLICY }), launch()]);
});

after(async () => {
  await browser?.close();
  clients.forEach((client) => client.kill());
  await server?.end();
});

/** @param {import('playwright-core').Page} page @param {string} token */
async function signIn(page, token) {
  await page.getByLabel('Token').fill(token);
  await page.getByRole('button', { name: 'Sign in' }).click();
}

test('a wrong token is reported, and a right one is used until the page is reloaded', async () => {
  const { page, close } = await open(browser, server, { live: false });
  await page.getByRole('heading', { name: 'Sign in' }).waitFor();
  assert.deepEqual(await violations(page), []);
  await signIn(page, 'wrong');
  await page.getByRole('alert').getByText('unknown token').waitFor();
  await signIn(page, tokens.operator.token);
  await page.locator('.connection.live').waitFor();
  const kept = await page.evaluate(() =>
    JSON.stringify([{ ...localStorage }, { ...sessionStorage }, document.cookie, location.href]),
  );
  assert.ok(!kept.includes(tokens.operator.token), 'nothing keeps it');
  await page.getByRole('button', { name: 'Sign out' }).click();
  await page.getByRole('heading', { name: 'Sign in' }).waitFor();
  await signIn(page, tokens.operator.token);
  await page.locator('.connection.live').waitFor();
  await page.reload();
  await page.getByRole('heading', { name: 'Sign in' }).waitFor();
  await close();
});

test('an operator evicts a holder, by its name typed and for a reason', async () => {
  server.tenure(['acquire', 'jobs/import', '--session', 'stuck', '--ttl', '10m', '--owner', 'host-9'], worker);
  const { page, close } = await open(browser, server, { hash: 'lock/jobs%2Fimport', live: false });
  await signIn(page, tokens.operator.token);
  await page.getByRole('region', { name: 'Holder', exact: true }).getByText('host-9').waitFor();
  await page.getByRole('button', { name: 'Evict…' }).click();
  const dialog = page.getByRole('dialog', { name: 'Evict the holder of jobs/import' });
  const evict = dialog.getByRole('button', { name: 'Evict', exact: true });
  await dialog.getByLabel('Who does it').fill('kim');
  assert.ok(await evict.isDisabled(), 'neither a reason nor the name');
  await dialog.getByLabel('Why, for history').fill('hangs since noon');
  await dialog.getByLabel('Type the name').fill('jobs/impor');
  assert.ok(await evict.isDisabled(), 'not the name');
  await dialog.getByLabel('Type the name').fill('jobs/import');
  assert.deepEqual(await violations(page), []);
  assert.match(
    await dialog.getByRole('group', { name: 'Line for CLI' }).innerText(),
    /--token-file token evict --token=\d+ --operator=kim --note='hangs since noon' -- jobs\/import$/,
  );
  assert.match(
    await dialog.getByRole('group', { name: 'Line for grpcurl' }).innerText(),
    /-H "authorization: Bearer \$TOKEN" -d .*LockService\/Evict$/,
  );
  await evict.click();
  await dialog.waitFor({ state: 'detached' });
  await page.getByText('Evicted: jobs/import').waitFor();
  await page.getByRole('region', { name: 'Holder', exact: true }).getByText('No holder.').waitFor();
  await page.locator('.small tbody tr').filter({ hasText: 'evicted by kim: hangs since noon' }).waitFor();
  await close();
});

test('an operator hands a lock over to another who waits', async () => {
  const start = (/** @type {string} */ owner) =>
    clients.push(server.client(['elect', 'boss', '--owner', owner, '--ttl', '5s', '--', 'sleep', '600'], worker));
  start('host-a');
  const { page, close } = await open(browser, server, { hash: 'lock/boss', live: false });
  await signIn(page, tokens.operator.token);
  const holder = page.getByRole('region', { name: 'Holder', exact: true });
  await holder.getByText('host-a').waitFor();
  start('host-b');
  await page
    .getByRole('region', { name: /^Queue/ })
    .getByText('host-b')
    .waitFor();
  await page.getByRole('button', { name: 'Transfer…' }).click();
  const dialog = page.getByRole('dialog', { name: 'Hand over boss' });
  await dialog.getByLabel('Who does it').fill('kim');
  await dialog.getByLabel('Why, for history').fill('host-a goes');
  await dialog.getByLabel('Type the name').fill('boss');
  await dialog.getByRole('button', { name: 'Transfer', exact: true }).click();
  await page.getByText('Handed over: boss').waitFor();
  await holder.getByText('host-b').waitFor();
  await page.locator('.picture .bar-of.transferred').waitFor();
  await close();
});

test('a rejection by the policy is shown in the dialog and on the screen', async () => {
  server.tenure(['acquire', 'billing/report', '--session', 'one', '--ttl', '10m', '--owner', 'host-1'], worker);
  server.tenure(['acquire', 'secret', '--session', 'other', '--ttl', '10m', '--owner', 'host-2'], worker);
  const { page, close } = await open(browser, server, { hash: 'locks', live: false });
  await signIn(page, tokens.onlooker.token);
  await page.getByRole('alert').getByText('watch').waitFor();
  await page.getByLabel('Show only this name and names below it').fill('billing');
  await page.getByRole('button', { name: 'Show', exact: true }).click();
  await page.locator('.connection.live').waitFor();
  await page.getByRole('link', { name: 'billing/report' }).click();
  assert.deepEqual(await page.getByText('secret').allInnerTexts(), []);
  await page.getByRole('button', { name: 'Evict…' }).click();
  const dialog = page.getByRole('dialog');
  await dialog.getByLabel('Who does it').fill('lee');
  await dialog.getByLabel('Why, for history').fill('I want to');
  await dialog.getByLabel('Type the name').fill('billing/report');
  await dialog.getByRole('button', { name: 'Evict', exact: true }).click();
  await dialog.getByRole('alert').getByText('operate').waitFor();
  await page.keyboard.press('Escape');
  await page.getByRole('region', { name: 'Holder', exact: true }).getByText('host-1').waitFor();
  await close();
});
