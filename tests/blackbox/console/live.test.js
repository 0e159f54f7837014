// Screens show events at once, also after a restart of the server.

import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { open } from './pages.js';
import { Server, browser as launch } from './support.js';

/** @type {Server} */
let server;
/** @type {import('playwright-core').Browser} */
let browser;
/** @type {ReturnType<Server['client']>[]} */
const clients = [];

const run = (/** @type {string[]} */ words) => {
  const client = server.client(words);
  clients.push(client);
  return client;
};

before(async () => {
  [server, browser] = await Promise.all([Server.start(), launch()]);
});

after(async () => {
  await browser?.close();
  clients.forEach((client) => client.kill());
  await server?.end();
});

test('when a holder is killed, the page shows who holds the lock next, and why the last hold ended', async () => {
  const first = run(['lock', 'leader', '--ttl', '3s', '--owner', 'host-a', '--', 'sleep', '600']);
  const { page, close } = await open(browser, server, { hash: 'lock/leader' });
  const holder = page.getByRole('region', { name: 'Holder', exact: true });
  await holder.getByText('host-a').waitFor();
  run(['lock', 'leader', '--ttl', '3s', '--owner', 'host-b', '--', 'sleep', '600']);
  await page
    .getByRole('region', { name: /^Queue/ })
    .getByText('host-b')
    .waitFor();
  first.kill();
  await holder.getByText('host-b').waitFor();
  // Its guard, if it still runs, closes its session.
  const why = /expired|closed/;
  const past = page.locator('.small tbody tr').filter({ hasText: 'host-a' });
  await past.getByText(why).waitFor();
  await page.locator('.picture .bar-of.expired, .picture .bar-of.closed').waitFor();
  await page.evaluate(() => void (location.hash = '#/default/events'));
  await page.getByRole('row').filter({ hasText: why }).filter({ hasText: 'leader' }).waitFor();
  await close();
});

test('members of a group come and go on the screen', async () => {
  const { page, close } = await open(browser, server, { hash: 'groups' });
  await page.getByText('There are no groups').waitFor();
  run(['group', 'join', 'club', '--ttl', '3s', '--owner', 'ann']);
  await page.getByRole('img', { name: 'Group club: 1 members, led by ann' }).waitFor();
  const second = run(['group', 'join', 'club', '--ttl', '3s', '--owner', 'bob']);
  await page.getByRole('img', { name: 'Group club: 2 members, led by ann' }).waitFor();
  second.kill();
  await page.getByRole('img', { name: 'Group club: 1 members, led by ann' }).waitFor();
  await close();
});

test('after the server was away, the page goes on where it was', async () => {
  server.tenure(['acquire', 'kept', '--session', 'keeper', '--ttl', '10m', '--owner', 'keeper']);
  const { page, close } = await open(browser, server, { hash: 'locks' });
  await page.getByRole('link', { name: 'kept' }).waitFor();
  const asked = page.waitForRequest(
    (request) => request.url().endsWith('WatchService/Watch') && (request.postDataJSON().afterRevision ?? '') !== '',
  );
  await server.stop();
  await page.getByText('Reconnecting… Showing the last known state').waitFor();
  assert.ok(await page.getByRole('link', { name: 'kept' }).isVisible(), 'what was there last is still shown');
  await server.run();
  server.tenure(['acquire', 'new', '--session', 'keeper']);
  await page.locator('.connection.live').waitFor();
  await page.getByRole('link', { name: 'new' }).waitFor();
  assert.ok((await asked).postDataJSON().afterRevision > 0, 'it resumed');
  await page.locator('.notice').waitFor({ state: 'detached' });
  await close();
});

test('if the database has lost what the page had seen, the page says so and starts over', async () => {
  const other = await Server.start();
  try {
    other.tenure(['acquire', 'before', '--session', 's', '--ttl', '10m']);
    const { page, close } = await open(browser, other, { hash: 'locks' });
    await page.getByRole('link', { name: 'before' }).waitFor();
    await other.stop();
    other.task(['mark-restored']);
    await other.run();
    await page.getByText('History was lost in the database').waitFor();
    await page.getByRole('link', { name: 'before' }).waitFor();
    await page.getByRole('button', { name: 'OK' }).click();
    await page.getByText('History was lost in the database').waitFor({ state: 'detached' });
    await close();
  } finally {
    await other.end();
  }
});

test('an address that changes before the page listens is not missed', async () => {
  const page = await browser.newPage();
  await page.addInitScript(() => {
    const listen = window.addEventListener.bind(window);
    window.addEventListener = (/** @type {string} */ type, /** @type {any} */ heard) => {
      if (type !== 'hashchange') return listen(type, heard);
      location.hash = '#/default/locks';
      // After the event.
      setTimeout(() => listen(type, heard), 100);
    };
  });
  await page.goto(`${server.url}/console/#/default/overview`);
  await page.locator('main[data-at="locks/"]').waitFor();
  await page.close();
});

test('a rejection by the service is shown with its message', async () => {
  const { page, close } = await open(browser, server, { live: false });
  await page.evaluate(() => void (location.hash = '#/Not_One/locks'));
  await page.getByText("namespace: 1 to 63 of a-z, 0-9 and '-'").first().waitFor();
  await page.getByText('Rejected', { exact: true }).waitFor();
  await page.getByLabel('Namespace').fill('another');
  await page.getByLabel('Namespace').press('Enter');
  await page.locator('.connection.live').waitFor();
  await close();
});

test('who waits for each other in a circle is shown', async () => {
  const ask = (/** @type {string[]} */ words) => clients.push(server.client(words));
  server.tenure(['acquire', 'left', '--session', 'ann', '--ttl', '10m']);
  server.tenure(['acquire', 'right', '--session', 'bob', '--ttl', '10m']);
  ask(['acquire', 'right', '--session', 'ann', '--wait', '60s']);
  ask(['acquire', 'left', '--session', 'bob', '--wait', '60s']);
  const { page, close } = await open(browser, server);
  const tile = page.getByRole('link', { name: /^Deadlocked/ });
  await tile.filter({ hasText: '2' }).waitFor();
  await tile.click();
  await page.getByText(/^2 of/).waitFor();
  await page.getByRole('link', { name: 'left' }).click();
  await page.locator('.queue').getByText('Deadlock').waitFor();
  await close();
});
