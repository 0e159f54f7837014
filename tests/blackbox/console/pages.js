// Helpers for pages.

import { readFileSync } from 'node:fs';
import assert from 'node:assert/strict';
import { PATIENCE } from './support.js';

/** The screens of a world (see world.js), and what each shows of it. */
export const SCREENS = {
  overview: { hash: 'overview', shows: 'billing/nightly-report' },
  locks: { hash: 'locks', shows: 'billing/nightly-report' },
  lock: { hash: `lock/${encodeURIComponent('billing/nightly-report')}`, shows: 'host is gone' },
  elections: { hash: 'elections', shows: 'service_leader' },
  groups: { hash: 'groups', shows: 'throughput' },
  group: { hash: 'group/throughput', shows: '500' },
  sessions: { hash: 'sessions', shows: 'worker-1' },
  events: { hash: 'events', shows: 'billing/invoices/2026-11' },
};

const axe = readFileSync(new URL('node_modules/axe-core/axe.min.js', import.meta.url), 'utf8');

/** Opens the console in a window of its own, which fails the test on an error of the page or a violation of its policy.
 * @param {import('playwright-core').Browser} browser @param {import('./support.js').Server} server
 * @param {import('playwright-core').BrowserContextOptions & { hash?: string, live?: boolean }} [options] */
export async function open(browser, server, { hash = 'overview', live = true, ...options } = {}) {
  const context = await browser.newContext({ viewport: { width: 1280, height: 800 }, locale: 'en-GB', ...options });
  context.setDefaultTimeout(PATIENCE);
  const page = await context.newPage();
  /** @type {string[]} */
  const problems = [];
  page.on('pageerror', (error) => problems.push(error.stack ?? error.message));
  page.on('console', (message) => {
    // The browser also reports a server that is unavailable or rejects a request.
    if (message.type() === 'error' && !/Failed to load resource|net::ERR_/.test(message.text()))
      problems.push(message.text());
  });
  page.on('request', (request) => {
    if (!request.url().startsWith(server.url) && !request.url().startsWith('data:'))
      problems.push(`elsewhere: ${request.url()}`);
  });
  await page.goto(`${server.url}/console/#/default/${hash}`);
  if (live) await page.locator('.connection.live').waitFor();
  return {
    page,
    context,
    async close() {
      await context.close();
      assert.deepEqual(problems, []);
    },
  };
}

/** Goes to a screen by its address, and waits until it shows this. @param {import('playwright-core').Page} page
 * @param {{ hash: string, shows: string }} screen */
export async function go(page, { hash, shows }) {
  await page.evaluate((hash) => void (location.hash = hash), `#/default/${hash}`);
  const at = hash.includes('/') ? hash.split('/').map(decodeURIComponent).join('/') : `${hash}/`;
  await page.locator(`main[data-at="${at}"]`).getByText(shows).first().waitFor();
}

/** The findings of an accessibility checker. @param {import('playwright-core').Page} page */
export async function violations(page) {
  // Through the debugger: the page's policy forbids additional scripts.
  await page.evaluate(axe);
  const found = await page.evaluate(async () => {
    // @ts-expect-error: it has just been added.
    const { violations } = await window.axe.run(document, { resultTypes: ['violations'] });
    return violations.map((/** @type {any} */ violation) => ({
      id: violation.id,
      where: violation.nodes.slice(0, 4).map(
        (/** @type {any} */ node) =>
          `${node.target.join(' ')}: ${node.any
            .concat(node.all)
            .map((/** @type {any} */ check) => check.message)
            .join('; ')}`,
      ),
    }));
  });
  return found;
}
