// Elections.
import type { ElectionOptions, Hold } from 'tenure-client';
import { cancelled } from './locks.js';
import type { Handler } from './request.js';
import { Things } from './request.js';
import { clientsByName, ownSession } from './sessions.js';
import { leaderToWire } from './watches.js';
import { Cancelled } from './wire.js';

const electionsByName = new Things<Leading>('election');

/** A candidate that leads repeatedly, with a body that waits for a request to resign. */
class Leading {
  private readonly stopping = new AbortController();
  private readonly news = new EventTarget();
  private terms = 0;
  private leading: { hold: Hold; resign: () => void } | undefined;
  private ended: Promise<unknown> = Promise.resolve();

  start(lead: (body: (hold: Hold, signal: AbortSignal) => Promise<void>, signal: AbortSignal) => Promise<never>): void {
    this.ended = lead((hold, signal) => this.body(hold, signal), this.stopping.signal);
    this.ended.catch(() => undefined);
  }

  private async body(hold: Hold, signal: AbortSignal): Promise<void> {
    this.terms += 1;
    const resigned = new Promise<void>((resolve) => this.set({ hold, resign: resolve }));
    await Promise.race([resigned, cancelled(signal)]).finally(() => this.set(undefined));
  }

  private set(leading: { hold: Hold; resign: () => void } | undefined): void {
    this.leading = leading;
    this.news.dispatchEvent(new Event('news'));
  }

  /** Waits until it leads, or until it does not. Rejects when it has ended instead. */
  async until(leads: boolean, signal: AbortSignal): Promise<{ token: bigint | undefined; terms: number }> {
    while ((this.leading !== undefined) !== leads) {
      const news = new Promise((resolve) => this.news.addEventListener('news', resolve, { once: true }));
      await Promise.race([news, this.ended, cancelled(signal)]);
    }
    return { token: this.leading?.hold.token, terms: this.terms };
  }

  resign(): void {
    this.leading?.resign();
  }

  async stop(): Promise<void> {
    this.stopping.abort(new Cancelled());
    await this.ended.catch(() => undefined);
  }
}

export const elections: Record<string, Handler> = {
  lead: (request) => {
    const options = ownSession(request) as ElectionOptions;
    const election = clientsByName.get(request).election(request.text('name'), options);
    const leading = new Leading();
    electionsByName.set(request, leading);
    leading.start((body, signal) => election.lead(body, { signal }));
    return {};
  },
  await_leading: (request) => electionsByName.get(request).until(true, request.signal),
  await_not_leading: async (request) => {
    await electionsByName.get(request).until(false, request.signal);
    return {};
  },
  resign: (request) => {
    electionsByName.get(request).resign();
    return {};
  },
  stop: async (request) => {
    await electionsByName.get(request).stop();
    return {};
  },
  leader: async (request) => {
    const { signal } = request;
    const leader = await clientsByName.get(request).election(request.text('name')).leader({ signal });
    return { leader: leaderToWire(leader) };
  },
};
