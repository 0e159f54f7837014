// Real servers, real clients, and a real browser.

import { spawn, execFileSync } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { chromium } from 'playwright-core';

const built = (/** @type {string} */ name) => new URL(`../../../target/debug/${name}`, import.meta.url).pathname;
const TENURED = process.env.TENURED ?? built('tenured');
const TENURE = process.env.TENURE ?? built('tenure');

/** The limit of each wait, in milliseconds. */
export const PATIENCE = 60_000;

/** Waits until a condition holds. @param {string} what @param {() => unknown} is */
export async function until(what, is) {
  const deadline = performance.now() + PATIENCE;
  for (;;) {
    const answer = await is();
    if (answer) return answer;
    if (performance.now() > deadline) throw new Error(`it takes too long until ${what}`);
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
}

async function freePort() {
  const listener = createServer().listen(0, '127.0.0.1');
  await once(listener, 'listening');
  const address = listener.address();
  listener.close();
  await once(listener, 'close');
  return typeof address === 'object' && address ? address.port : 0;
}

/** The environment without the caller's settings of clients and servers. */
const environment = () =>
  Object.fromEntries(Object.entries(process.env).filter(([name]) => !/^(TENURE|OTEL)_/.test(name)));

/** @type {Set<() => void>} Functions that end running processes and remove folders, for a test that fails or is stopped. */
const endings = new Set();

process.on('exit', () => endings.forEach((end) => end()));
for (const signal of /** @type {const} */ (['SIGINT', 'SIGTERM'])) process.once(signal, () => process.exit(1));

/** Ends a process when this one exits. @param {import('node:child_process').ChildProcess} child @param {() => void} end */
function endsWithThis(child, end) {
  endings.add(end);
  child.once('exit', () => endings.delete(end));
}

/** A `tenured` on free ports, with a folder of its own. */
export class Server {
  /** @param {string[]} settings More of its settings. @param {Record<string, string>} [files] Files in its folder; `@name` in a setting is the path of one. */
  static async start(settings = [], files = {}) {
    const folder = mkdtempSync(join(tmpdir(), 'tenure-console-'));
    for (const [name, text] of Object.entries(files)) writeFileSync(join(folder, name), text);
    const server = new Server(
      folder,
      await freePort(),
      await freePort(),
      settings.map((setting) => setting.replace(/^@/, `${folder}/`)),
    );
    await server.run();
    return server;
  }

  /** @param {string} folder @param {number} port @param {number} admin @param {string[]} settings */
  constructor(folder, port, admin, settings) {
    this.folder = folder;
    this.port = port;
    this.admin = admin;
    this.settings = settings;
    this.url = `http://127.0.0.1:${admin}`;
    this.log = '';
    /** @type {import('node:child_process').ChildProcess | undefined} */
    this.child = undefined;
  }

  /** Starts it, again if it was stopped, on the same ports and the same state. */
  async run() {
    const addresses = ['--listen', `127.0.0.1:${this.port}`, '--admin-listen', `127.0.0.1:${this.admin}`];
    const settings = [
      '--data-dir',
      this.folder,
      ...(this.settings.includes('--label') ? [] : ['--label', 'host-1']),
      ...addresses,
      ...this.settings,
    ];
    const child = spawn(TENURED, settings, { env: environment(), stdio: ['ignore', 'pipe', 'pipe'] });
    this.child = child;
    endsWithThis(child, () => void child.kill('SIGKILL'));
    child.stdout.on('data', (text) => (this.log += text));
    child.stderr.on('data', (text) => (this.log += text));
    const isReady = async () => {
      if (child.exitCode !== null) throw new Error(`the server has ended:\n${this.log}`);
      return (await fetch(`${this.url}/readyz`).catch(() => null))?.ok;
    };
    await until('the server is ready', isReady);
  }

  /** Runs a task on its database while it is stopped. @param {string[]} words */
  task(words) {
    execFileSync(TENURED, ['--data-dir', this.folder, ...this.settings, ...words], { env: environment() });
  }

  /** @param {NodeJS.Signals} [signal] */
  async stop(signal = 'SIGTERM') {
    const { child } = this;
    if (!child || child.exitCode !== null || child.signalCode !== null) return;
    const ended = once(child, 'exit');
    child.kill(signal);
    await ended;
  }

  async end() {
    await this.stop('SIGKILL');
    rmSync(this.folder, { recursive: true, force: true });
  }

  /** Starts a client that runs until it is killed or the test ends. @param {string[]} words @param {Record<string, string>} [more] */
  client(words, more = {}) {
    const endpoint = { TENURE_ENDPOINTS: `http://127.0.0.1:${this.port}` };
    // In a process group of its own, so that its children can be ended with it.
    const child = spawn(TENURE, words, {
      env: { ...environment(), ...endpoint, ...more },
      stdio: 'ignore',
      detached: true,
    });
    const kill = () => {
      try {
        process.kill(-Number(child.pid), 'SIGKILL');
      } catch {
        // It has ended.
      }
    };
    endsWithThis(child, kill);
    return { kill };
  }

  /** Runs a client to its end. @param {string[]} words @param {Record<string, string>} [more] */
  tenure(words, more = {}) {
    const endpoint = { TENURE_ENDPOINTS: `http://127.0.0.1:${this.port}` };
    return execFileSync(TENURE, words, {
      env: { ...environment(), ...endpoint, ...more },
      encoding: 'utf8',
      stdio: ['ignore', 'pipe', 'pipe'],
    });
  }

  /** A call as the page makes it. @param {string} method @param {object} request @param {Record<string, string>} [headers] */
  async call(method, request, headers = {}) {
    const answer = await fetch(`${this.url}/console/api/tenure.v1.${method}`, {
      method: 'POST',
      headers: { 'content-type': 'application/json', ...headers },
      body: JSON.stringify(request),
    });
    return { status: answer.status, answer: await answer.json() };
  }
}

/** A new token, and its line for the server's file of tokens. @param {string} name */
export function newToken(name) {
  const output = execFileSync(TENURED, ['new-token', name], { encoding: 'utf8' });
  const [token = '', line = ''] = output.match(/^ +\S.*$/gm)?.map((text) => text.trim()) ?? [];
  return { token, line };
}

/** Starts a browser with a profile of its own, which it forgets. */
export const browser = () =>
  chromium.launch({
    executablePath: process.env.CHROMIUM ?? '/usr/bin/chromium',
    args: [
      '--no-sandbox',
      '--disable-gpu',
      '--disable-quic',
      '--no-first-run',
      '--disable-background-networking',
      '--disable-component-update',
      '--disable-sync',
    ],
  });
