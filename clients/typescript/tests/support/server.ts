// A real server on a free port, with a database file of its own.
import type { ChildProcess } from 'node:child_process';
import { execFileSync, spawn } from 'node:child_process';
import { createSocket } from 'node:dgram';
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { connect, createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { onTestFinished } from 'vitest';
import { Client } from '../../src/index.js';
import type { ClientOptions } from '../../src/index.js';
import { eventually } from './wait.js';

function program(): string {
  const { TENURED } = process.env;
  if (TENURED === undefined) {
    throw new Error('set TENURED to the path of a `tenured`');
  }
  return TENURED;
}

/** Below the range of ephemeral ports, so that no outgoing connection takes the port of a server that is stopped. */
const FIRST_PORT = 10_000;
const PORTS = 10_000;

/** A port without a listener. Until this process ends, no other test gets it: the UDP port of the same number is in use. */
async function freePort(): Promise<number> {
  for (let tries = 0; tries < PORTS; tries += 1) {
    const port = FIRST_PORT + Math.floor(Math.random() * PORTS);
    try {
      const claim = createSocket('udp4').unref();
      claim.bind({ address: '127.0.0.1', port, exclusive: true });
      await once(claim, 'listening');
      const probe = createServer().listen(port, '127.0.0.1');
      await once(probe, 'listening');
      probe.close();
      await once(probe, 'close');
      return port;
    } catch {
      // It is taken.
    }
  }
  throw new Error('no port is free');
}

async function isServing(port: number): Promise<boolean> {
  const socket = connect(port, '127.0.0.1');
  const isOpen = await new Promise<boolean>((resolve) => {
    socket.once('connect', () => resolve(true));
    socket.once('error', () => resolve(false));
  });
  socket.destroy();
  return isOpen;
}

/** A new token, and its line for the server's file of tokens. */
export function newToken(name: string): { token: string; line: string } {
  const output = execFileSync(program(), ['new-token', name], { encoding: 'utf8' });
  const [token = '', line = ''] = output.match(/^ +\S.*$/gm)?.map((text) => text.trim()) ?? [];
  return { token, line };
}

export class Server {
  private child: ChildProcess | undefined;
  private readonly folder = mkdtempSync(join(tmpdir(), 'tenure-'));

  private constructor(
    private readonly port: number,
    private readonly settings: readonly string[],
  ) {}

  /** Serves until the test is over, with these settings besides. */
  static async start(...settings: string[]): Promise<Server> {
    const server = new Server(await freePort(), settings);
    onTestFinished(async () => {
      await server.kill();
      rmSync(server.folder, { recursive: true });
    });
    await server.run();
    return server;
  }

  get endpoint(): string {
    return `http://127.0.0.1:${this.port}`;
  }

  /** Of one that speaks TLS. */
  get secureEndpoint(): string {
    return `https://localhost:${this.port}`;
  }

  /** A client, until the test is over. */
  client(options: ClientOptions = {}): Client {
    const client = Client.connect({ endpoints: this.endpoint, ...options });
    onTestFinished(() => client.close().catch(() => undefined));
    return client;
  }

  /** Serves again, on the same port and the same file. */
  async run(): Promise<void> {
    this.child = spawn(
      program(),
      [
        ['--data-dir', this.folder],
        ['--store-url', `sqlite:${join(this.folder, 'tenure.db')}`],
        ['--listen', `127.0.0.1:${this.port}`],
        ['--admin-listen', '127.0.0.1:0'],
        ['--drain-timeout', '1s'],
        ['--log-level', 'warn'],
        this.settings,
      ].flat(),
      { stdio: ['ignore', 'ignore', 'inherit'] },
    );
    await eventually(() => isServing(this.port));
  }

  kill(): Promise<void> {
    return this.end('SIGKILL');
  }

  /** Drains and stops. */
  stop(): Promise<void> {
    return this.end('SIGTERM');
  }

  signal(signal: NodeJS.Signals): void {
    this.child?.kill(signal);
  }

  private async end(signal: NodeJS.Signals): Promise<void> {
    const { child } = this;
    this.child = undefined;
    if (child?.exitCode === null) {
      child.kill(signal);
      await once(child, 'exit');
    }
  }
}
