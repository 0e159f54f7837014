// Makes server/console/screenshot.png, for the README: `node screenshot.js`, with a built server and command line.

import { open } from './pages.js';
import { Server, browser as launch } from './support.js';
import { fill } from './world.js';

const FILE = new URL('../../../server/console/screenshot.png', import.meta.url).pathname;
const LOCK = 'billing/nightly-report';

const pause = (/** @type {number} */ ms) => new Promise((resolve) => setTimeout(resolve, ms));

/** Past holds: the holder, the duration in milliseconds, and the kind of end. @type {[string, number, 'release' | 'close' | 'evict' | 'expire'][]} */
const PAST = [
  ['worker-1', 2600, 'close'],
  ['worker-2', 1500, 'release'],
  ['worker-3', 3200, 'evict'],
  ['worker-1', 1800, 'release'],
  ['worker-2', 1000, 'expire'],
  ['worker-3', 1400, 'close'],
];

const server = await Server.start();
let end = () => {};
try {
  for (const [index, [owner, held, how]] of PAST.entries()) {
    const session = `${owner}-${index}`;
    const ttl = how === 'expire' ? `${held + 700}ms` : '30s';
    const output = server.tenure(['acquire', LOCK, '-o', 'json', '--session', session, '--ttl', ttl, '--owner', owner]);
    await pause(held);
    if (how === 'release') server.tenure(['release', LOCK, '--session', session, '--token', JSON.parse(output).token]);
    else if (how === 'close') server.tenure(['close', session]);
    else if (how === 'evict') server.tenure(['evict', LOCK, '--operator', 'kim', '--note', 'host is gone']);
    else await pause(900);
    await pause(200);
  }
  end = await fill(server, { past: 0 });
  const browser = await launch();
  const { page, close } = await open(browser, server, {
    hash: `lock/${encodeURIComponent(LOCK)}`,
    colorScheme: process.argv.includes('--dark') ? 'dark' : 'light',
    viewport: { width: 1180, height: 760 },
  });
  await page.locator('.hold .bar-of.lasting').waitFor();
  await pause(4000);
  await page.screenshot({ path: FILE });
  await close();
  await browser.close();
} finally {
  end();
  await server.end();
}
