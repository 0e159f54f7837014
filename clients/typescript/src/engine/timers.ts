// What is to be done later. Pure: the time is passed in.
import type { Moment } from '../clock.js';

/** Something that is due at a moment, and is done then unless it was cleared. */
export interface Timer {
  readonly at: Moment;
  action: ((now: Moment) => void) | undefined;
}

/** Timers in order of time: a binary heap. */
export class Timers {
  private heap: Timer[] = [];

  set(at: Moment, action: (now: Moment) => void): Timer {
    const timer: Timer = { at, action };
    let place = this.heap.push(timer) - 1;
    while (place > 0) {
      const parent = (place - 1) >> 1;
      if (this.at(parent) <= at) {
        break;
      }
      this.swap(place, parent);
      place = parent;
    }
    return timer;
  }

  /** When the next one is due. */
  get next(): Moment | undefined {
    while (this.heap[0] !== undefined && this.heap[0].action === undefined) {
      this.pop();
    }
    return this.heap[0]?.at;
  }

  /** Does what is due, the earliest first. */
  due(now: Moment): void {
    for (let next = this.next; next !== undefined && next <= now; next = this.next) {
      this.pop()?.action?.(now);
    }
  }

  private pop(): Timer | undefined {
    const first = this.heap[0];
    const last = this.heap.pop();
    if (last !== undefined && this.heap.length > 0) {
      this.heap[0] = last;
      this.sink();
    }
    return first;
  }

  private sink(): void {
    let place = 0;
    for (;;) {
      const left = 2 * place + 1;
      const least = this.at(left + 1) < this.at(left) ? left + 1 : left;
      if (this.at(place) <= this.at(least)) {
        return;
      }
      this.swap(place, least);
      place = least;
    }
  }

  private at(place: number): Moment {
    return this.heap[place]?.at ?? Infinity;
  }

  private swap(one: number, other: number): void {
    const [a, b] = [this.heap[one], this.heap[other]];
    if (a !== undefined && b !== undefined) {
      this.heap[one] = b;
      this.heap[other] = a;
    }
  }
}

/** Clears a timer, if there is one. */
export function clear(timer: Timer | undefined): void {
  if (timer !== undefined) {
    timer.action = undefined;
  }
}
