// One request, and the things of the driver that requests name.
import { DriverError } from './wire.js';

/** What carries out a request. Nothing answered is an empty answer. */
export type Handler = (request: Request) => Promise<object | undefined> | object | undefined;

export class Request {
  constructor(
    private readonly fields: Record<string, unknown>,
    /** Fires when the request is cancelled. */
    readonly signal: AbortSignal,
  ) {}

  has(field: string): boolean {
    return this.fields[field] !== undefined && this.fields[field] !== null;
  }

  get<T>(field: string): T | undefined {
    return this.has(field) ? (this.fields[field] as T) : undefined;
  }

  need(field: string): unknown {
    if (!this.has(field)) {
      throw new DriverError(`the field "${field}" is missing`);
    }
    return this.fields[field];
  }

  text(field: string): string {
    return String(this.need(field));
  }

  revision(field: string): bigint | undefined {
    return this.has(field) ? BigInt(this.fields[field] as string | number) : undefined;
  }

  /** Options of the client by the names of the protocol's fields: those that are there. */
  options(names: Readonly<Record<string, string>>): Record<string, unknown> {
    const given = Object.entries(names).filter(([field]) => this.has(field));
    return Object.fromEntries(given.map(([field, option]) => [option, this.fields[field]]));
  }
}

/** Things of one kind, by the names that requests give them. */
export class Things<T> {
  private readonly things = new Map<string, T>();

  constructor(private readonly kind: string) {}

  set(request: Request, thing: T): void {
    this.things.set(request.text(this.kind), thing);
  }

  get(request: Request): T {
    const name = request.text(this.kind);
    const thing = this.things.get(name);
    if (thing === undefined) {
      throw new DriverError(`there is no ${this.kind} "${name}"`);
    }
    return thing;
  }
}
