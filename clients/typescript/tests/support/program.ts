// Programs of this package, as `npm run build` has built them: examples, and the driver.
import type { ChildProcess } from 'node:child_process';
import { spawn } from 'node:child_process';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { onTestFinished } from 'vitest';
import type { Server } from './server.js';
import { eventually, within } from './wait.js';

export class Program {
  readonly lines: string[] = [];
  private readonly child: ChildProcess;

  /** Runs until the test is over. */
  constructor(name: string, server: Server, ...args: string[]) {
    const file = fileURLToPath(new URL(`../../dist/${name}.js`, import.meta.url));
    const env = { ...process.env, TENURE_ENDPOINTS: server.endpoint, TENURE_NAMESPACE: '' };
    this.child = spawn(process.execPath, [file, ...args], { env, stdio: ['pipe', 'pipe', 'inherit'] });
    if (this.child.stdout !== null) {
      createInterface({ input: this.child.stdout }).on('line', (line) => this.lines.push(line));
    }
    onTestFinished(() => void this.child.kill('SIGKILL'));
  }

  signal(signal: NodeJS.Signals): void {
    this.child.kill(signal);
  }

  write(line: string): void {
    this.child.stdin?.write(`${line}\n`);
  }

  /** Waits for a line that matches. */
  async says(pattern: RegExp): Promise<string> {
    const find = () => this.lines.find((line) => pattern.test(line));
    await eventually(() => find() !== undefined).catch(() => {
      throw new Error(`it did not say ${String(pattern)}, but: ${this.lines.join(' | ')}`);
    });
    return find() ?? '';
  }

  /** Waits for its end. Answers what it said. */
  async ends(): Promise<string[]> {
    await eventually(() => this.child.exitCode !== null || this.child.signalCode !== null);
    return this.lines;
  }
}

/** A driver, asked one request after the other. */
export class Driver {
  readonly program: Program;
  private last = 0;

  constructor(server: Server) {
    this.program = new Program('driver/main', server);
    this.send({ do: 'connect', client: 'c', endpoints: [server.endpoint] });
  }

  /** Asks, without waiting for the answer. Answers the request's id. */
  send(request: Record<string, unknown>): number {
    this.last += 1;
    this.program.write(JSON.stringify({ id: this.last, ...request }));
    return this.last;
  }

  async answer(id: number): Promise<Record<string, unknown>> {
    return JSON.parse(await this.program.says(new RegExp(`^\\{"id":${id},`))) as Record<string, unknown>;
  }

  ask(request: Record<string, unknown>): Promise<Record<string, unknown>> {
    return within(20_000, this.answer(this.send(request)));
  }
}
