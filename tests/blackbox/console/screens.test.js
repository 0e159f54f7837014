// Each screen, in both themes and both languages.

import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { SCREENS, go, open, violations } from './pages.js';
import { Server, browser as launch } from './support.js';
import { fill } from './world.js';

/** @type {Server} */
let server;
/** @type {import('playwright-core').Browser} */
let browser;
let end = () => {};

before(async () => {
  server = await Server.start();
  [end, browser] = await Promise.all([fill(server), launch()]);
});

after(async () => {
  await browser?.close();
  end();
  await server?.end();
});

for (const colorScheme of /** @type {const} */ (['light', 'dark'])) {
  test(`each screen shows its data and is accessible (${colorScheme})`, async () => {
    const { page, close } = await open(browser, server, { colorScheme, hash: 'events' });
    for (const [name, screen] of Object.entries(SCREENS)) {
      await go(page, screen);
      assert.deepEqual(await violations(page), [], `${name} in ${colorScheme}`);
      assert.equal(await page.locator('h1').count(), 1, name);
      assert.equal(
        await page.evaluate(() => document.activeElement?.tagName),
        'H1',
        `${name}: its heading has the focus`,
      );
    }
    await close();
  });
}

test('what can be chosen is kept: language and theme', async () => {
  const { page, close } = await open(browser, server, { colorScheme: 'light', locale: 'ko-KR' });
  await page.getByRole('heading', { level: 1, name: '개요' }).waitFor();
  assert.equal(await page.evaluate(() => document.documentElement.lang), 'ko');
  const ground = () => page.evaluate(() => getComputedStyle(document.body).backgroundColor);
  const light = await ground();
  await page.getByLabel('테마').selectOption('dark');
  assert.notEqual(await ground(), light);
  await page.getByLabel('언어').selectOption('en');
  await page.getByRole('heading', { level: 1, name: 'Overview' }).waitFor();
  const dark = await ground();
  await page.reload();
  await page.getByRole('heading', { level: 1, name: 'Overview' }).waitFor();
  assert.equal(await ground(), dark);
  await close();
});

test('every screen is there in Korean, too', async () => {
  const { page, close } = await open(browser, server, { locale: 'ko-KR' });
  for (const [name, screen] of Object.entries(SCREENS)) {
    await go(page, screen);
    assert.match(await page.locator('main').innerText(), /[가-힣]/, name);
    assert.deepEqual(await violations(page), [], `${name} in Korean`);
  }
  await close();
});

test('a small screen has everything, too', async () => {
  const { page, close } = await open(browser, server, { viewport: { width: 400, height: 800 } });
  for (const screen of Object.values(SCREENS)) {
    await go(page, screen);
    assert.ok(
      await page.evaluate(() => document.documentElement.scrollWidth <= innerWidth),
      `${screen.hash} is too wide`,
    );
  }
  await close();
});

test('locks are found by a part of their name, by who holds them and by prefix', async () => {
  const { page, close } = await open(browser, server, { hash: 'locks' });
  const rows = () => page.locator('tbody th a').allInnerTexts();
  await page.getByRole('searchbox').fill('INVOICES');
  assert.deepEqual(await rows(), ['billing/invoices/2026-11']);
  await page.getByRole('searchbox').fill('booker');
  assert.deepEqual(await rows(), ['accounts', 'ledger']);
  await page.getByRole('searchbox').fill('no such lock');
  await page.getByRole('button', { name: 'Clear the search' }).click();
  await page.getByRole('navigation', { name: 'Prefixes' }).getByRole('link', { name: 'billing/' }).click();
  await page.waitForURL(/prefix=billing/);
  assert.deepEqual(await rows(), ['billing/invoices/2026-11', 'billing/nightly-report']);
  await page.getByRole('link', { name: 'With a queue' }).click();
  await page.waitForURL(/show=waiting/);
  assert.deepEqual(await rows(), ['billing/nightly-report']);
  await close();
});

test('the screen of a lock shows its holder, waiters and history', async () => {
  const { page, close } = await open(browser, server, SCREENS.lock);
  const holder = page.getByRole('region', { name: 'Holder', exact: true });
  await holder.getByText('report-7d9f').waitFor();
  const left = holder.getByRole('meter', { name: 'Time left of worker-1' });
  await left.waitFor();
  const [seconds, most] = await Promise.all(
    ['aria-valuenow', 'aria-valuemax'].map(async (name) => Number(await left.getAttribute(name))),
  );
  assert.ok(seconds > 2 && seconds <= most && most === 6, `${seconds} of ${most}`);
  assert.deepEqual(new Set(await page.locator('.queue .owner').allInnerTexts()), new Set(['worker-2', 'worker-3']));
  const picture = page.getByRole('img', { name: /Timeline of billing\/nightly-report: 7 holds/ });
  assert.equal(await picture.locator('.hold').count(), 7);
  assert.equal(await picture.locator('.bar-of.evicted').count(), 2);
  assert.equal(await picture.locator('.bar-of.lasting').count(), 1);
  const past = page.getByRole('region', { name: 'Past holders' }).getByRole('row').filter({ hasText: 'host is gone' });
  assert.match((await past.first().innerText()).replaceAll(/\s+/g, ' '), /worker-3.*evicted.*by kim: host is gone/);
  await close();
});

test('a page that may only read has the lines for acts, and says why', async () => {
  const { page, context, close } = await open(browser, server, SCREENS.lock);
  await context.grantPermissions(['clipboard-read', 'clipboard-write']);
  await page.getByRole('button', { name: 'Evict…' }).click();
  const dialog = page.getByRole('dialog', { name: 'Evict the holder of billing/nightly-report' });
  await dialog.getByText('this page may only read').waitFor();
  assert.equal(await dialog.getByRole('button', { name: 'Evict', exact: true }).count(), 0);
  await dialog.getByLabel('Who does it').fill('kim');
  await dialog.getByLabel('Why').fill("it's stuck");
  await dialog.getByRole('button', { name: 'Copy (CLI)' }).click();
  const line = await page.evaluate(() => navigator.clipboard.readText());
  assert.match(
    line,
    /^tenure --endpoints http:\/\/127\.0\.0\.1:\d+ evict --token=\d+ --operator=kim --note='it'\\''s stuck' -- billing\/nightly-report$/,
  );
  await dialog.getByRole('button', { name: 'Copy (grpcurl)' }).click();
  const other = await page.evaluate(() => navigator.clipboard.readText());
  assert.match(
    other,
    /^grpcurl -plaintext -d '\{"name":"billing\/nightly-report","token":"\d+","operator":"kim",.*\}' 127\.0\.0\.1:\d+ tenure\.v1\.LockService\/Evict$/,
  );
  assert.deepEqual(await violations(page), []);
  await page.keyboard.press('Escape');
  await dialog.waitFor({ state: 'detached' });
  assert.equal(await page.evaluate(() => document.activeElement?.textContent), 'Evict…', 'the focus is where it was');
  await close();
});

test('everything can be reached by the keyboard', async () => {
  const { page, close } = await open(browser, server, {});
  const focused = () => page.evaluate(() => document.activeElement?.textContent?.trim() ?? '');
  const tabTo = async (/** @type {string} */ text) => {
    for (let presses = 0; presses < 60; presses += 1) {
      if ((await focused()) === text) return;
      await page.keyboard.press('Tab');
    }
    assert.fail(`${text} is not reached; at ${await focused()}`);
  };
  await page.keyboard.press('Tab');
  assert.equal(await focused(), 'Skip to the content', 'the first thing');
  await tabTo('Locks');
  await page.keyboard.press('Enter');
  await page.getByRole('heading', { level: 1, name: 'Locks' }).waitFor();
  await tabTo('billing/nightly-report');
  await page.keyboard.press('Enter');
  await page.getByRole('heading', { level: 1, name: 'billing/nightly-report' }).waitFor();
  await tabTo('Evict…');
  await page.keyboard.press('Enter');
  await page.getByRole('dialog').waitFor();
  await page.keyboard.press('Escape');
  await page.getByRole('dialog').waitFor({ state: 'detached' });
  await close();
});
