// How long a session may be believed in: pure arithmetic, with the time passed in.
//
// A session without a disconnect grace is good for its TTL from the sending of the last renewal that was answered. One with
// a grace ends that long after the server has seen its stream break, and the client may be the last to see that: so it is
// good for no longer than the grace from then. What is shorter of the two is its window, by which all the rest is measured.
import type { Moment } from './clock.js';

/** By how much the clocks of this machine and of the server may differ in rate: one part in a hundred. */
const DRIFT_DIVISOR = 100;
/** What is taken off besides, so that the program is told before the deadline and not at it: a twentieth of it ... */
const MARGIN_DIVISOR = 20;
/** ... but at least this (timers are not sharper than a few milliseconds) ... */
const MARGIN_MIN_MS = 10;
/** ... and at most this. */
const MARGIN_MAX_MS = 500;
/** A session is at risk when this part of its window is left: one renewal was missed. */
const RISK_DIVISOR = 3;
/** Renewals are this many to a window. */
const RENEWALS_PER_WINDOW = 3;
/** How long an answer to a renewal may take before the stream counts as broken, as a part of the window. */
const SILENCE_DIVISOR = 4;

/** How far along its validity a session is. */
export type Phase = 'healthy' | 'at_risk' | 'over';

/** The validity of one session. Once over it stays over: a late answer revives nothing. */
export class Validity {
  private expires: Moment;
  private over = false;

  /** Of a session that was opened by a command sent at `heard`. */
  constructor(
    private ttlNow: number,
    private graceNow: number | undefined,
    private heard: Moment,
  ) {
    this.expires = deadline(ttlNow, heard);
  }

  /** A renewal that was sent at `sent` was answered with `ttl`. Nothing comes of it if that is too late. */
  renewed(ttl: number, sent: Moment, now: Moment): void {
    this.attached(ttl, this.graceNow, sent, now);
  }

  /** A command to attach it that was sent at `sent` was answered. Nothing comes of it if that is too late. */
  attached(ttl: number, disconnectGrace: number | undefined, sent: Moment, now: Moment): void {
    if (this.phase(now) === 'over') {
      return;
    }
    this.ttlNow = ttl;
    this.graceNow = disconnectGrace;
    // Answers may overtake each other; the one that was asked for last tells most.
    this.heard = Math.max(this.heard, sent);
    // A TTL that was promised before stands. A grace does not: with the new stream the new one is in force.
    this.expires = Math.max(this.expires, deadline(ttl, sent));
    this.phase(now);
  }

  /** Ends it, for another reason than the time. */
  end(): void {
    this.over = true;
  }

  /** Where it stands at `now`. */
  phase(now: Moment): Phase {
    if (now >= this.until) {
      this.over = true;
    }
    if (this.over) {
      return 'over';
    }
    return now >= this.riskFrom ? 'at_risk' : 'healthy';
  }

  /** When the phase changes next if nothing is heard. Nothing if it is over. */
  nextChange(now: Moment): Moment | undefined {
    switch (this.phase(now)) {
      case 'healthy':
        return this.riskFrom;
      case 'at_risk':
        return this.until;
      case 'over':
        return undefined;
    }
  }

  /** The moment at which it is over if nothing is heard. */
  get until(): Moment {
    return this.graceNow === undefined ? this.expires : Math.min(this.expires, deadline(this.graceNow, this.heard));
  }

  /** The TTL that the server answered last. */
  get ttl(): number {
    return this.ttlNow;
  }

  /** The disconnect grace that the server answered last. */
  get disconnectGrace(): number | undefined {
    return this.graceNow;
  }

  /** For how long a renewal is good: the TTL, or the disconnect grace if there is one and it is shorter. */
  get window(): number {
    return Math.min(this.ttlNow, this.graceNow ?? this.ttlNow);
  }

  private get riskFrom(): Moment {
    return this.until - this.window / RISK_DIVISOR;
  }
}

/** The time between two renewals. */
export function renewalPeriod(window: number): number {
  return window / RENEWALS_PER_WINDOW;
}

/** How long a renewal may stay unanswered before the stream counts as broken. */
export function silenceLimit(window: number): number {
  return window / SILENCE_DIVISOR;
}

function deadline(window: number, sent: Moment): Moment {
  const margin = Math.min(Math.max(window / MARGIN_DIVISOR, MARGIN_MIN_MS), MARGIN_MAX_MS);
  return sent + Math.max(0, window - window / DRIFT_DIVISOR - margin);
}
