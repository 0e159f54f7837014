// Pauses between tries: longer each time, and never the same for all clients.

/** Doubling pauses with jitter: each is drawn from the upper half of its step. */
export class Backoff {
  private tries = 0;

  constructor(
    private readonly first: number,
    private readonly longest: number,
  ) {}

  /** The pause before the next try, in milliseconds. */
  nextPause(): number {
    const step = Math.min(this.first * 2 ** this.tries, this.longest);
    this.tries = Math.min(this.tries + 1, 16);
    return step * (0.5 + Math.random() / 2);
  }

  /** It went well: the next pause is short again. */
  reset(): void {
    this.tries = 0;
  }
}

/** Pauses between tries of what was refused for now. */
export function commandBackoff(): Backoff {
  return new Backoff(20, 500);
}

/** Pauses between tries to become something, a leader or a member, that fail. */
export function campaignBackoff(): Backoff {
  return new Backoff(50, 500);
}

/** Pauses between rounds of connecting in vain. */
export function connectBackoff(): Backoff {
  return new Backoff(50, 1000);
}
