// How long a session is valid, and which keep-alives renew it.
import type { Moment } from '../clock.js';
import { fromWire } from '../convert.js';
import type { OpenState } from '../v1.js';
import type { Stream } from './stream.js';

/**
 * The validity of a session, as its server computed it: it counts from when the last acknowledged renewal was sent, never from
 * when the acknowledgement arrived.
 */
export class Validity {
  /** When the last acknowledged renewal was sent, or the declaration. */
  renewed: Moment = 0;
  /** What the server reported, once the session is open. */
  private state: OpenState | undefined;
  /** Keep-alives from this one on renew it ... */
  private renewedFrom = 0;
  /** ... until this one. */
  private pausedFrom = Infinity;
  /** The epoch of the last stream that reported it as open. */
  private epoch = 0;

  get isOpen(): boolean {
    return this.state !== undefined;
  }

  /** Whether it is not renewed, because the program makes no progress. */
  get isPaused(): boolean {
    return this.pausedFrom < Infinity;
  }

  /** When the next renewal is due, in milliseconds after the last one was sent. `Infinity` if it is not to be renewed. */
  get renewAfter(): number {
    return this.state && !this.isPaused ? fromWire(this.state.renewAfter) : Infinity;
  }

  /** How long a renewal lasts, in milliseconds: `Infinity` before it is open. */
  get validFor(): number {
    return this.state ? fromWire(this.state.validFor) : Infinity;
  }

  /** From when on the session is lost. */
  get until(): Moment {
    return this.renewed + this.validFor;
  }

  /** From when on the session is at risk. */
  get atRiskFrom(): Moment {
    return this.state ? Math.min(this.renewed + fromWire(this.state.warnAfter), this.until) : Infinity;
  }

  /** Keep-alives after this one do not renew it. */
  pause(last: number): void {
    this.pausedFrom = last + 1;
  }

  /** Keep-alives after this one renew it again. */
  resume(last: number): void {
    this.renewedFrom = last + 1;
    this.pausedFrom = Infinity;
  }

  /** It is open, according to the current stream. If it was declared on this stream after the Hello, that is later. */
  opened(state: OpenState, { epoch, hello, connected }: Stream): void {
    this.state = state;
    this.epoch = epoch;
    if (this.isRenewedBy(hello)) {
      this.renewed = Math.max(this.renewed, connected);
    }
  }

  /** A keep-alive was acknowledged on the current stream. If that has not reported the session, it may have ended. */
  keptAlive(number: number, sent: Moment, epoch: number): boolean {
    const isRenewed = this.epoch === epoch && this.isRenewedBy(number) && sent > this.renewed;
    this.renewed = isRenewed ? sent : this.renewed;
    return isRenewed;
  }

  private isRenewedBy(number: number): boolean {
    return number >= this.renewedFrom && number < this.pausedFrom;
  }
}
