// The options of a session.
import { randomBytes } from 'node:crypto';
import { hostname } from 'node:os';
import { basename } from 'node:path';
import { toWire } from '../convert.js';
import type { DeclaredSession } from '../v1.js';
import { duration, positive } from './client.js';

const DEFAULT_TTL_MS = 10_000;
/** The contract's bound of an owner label. */
const OWNER_BYTES = 255;

/** Labels. At most 4096 bytes in total, keys and values together. */
export type Metadata = Readonly<Record<string, string>>;

/** How to open a session. Durations are milliseconds. */
export interface SessionOptions {
  /** How long the session outlives this program: 500 ms to 24 h unless the server is configured otherwise. Default: 10 s. */
  ttlMs?: number;
  /**
   * How long the session outlives this program's connection: 100 ms to the TTL. The client applies the same rule to itself: when
   * no renewal was acknowledged for the grace, the session is lost. Choose it longer than it takes to reach another server, or,
   * with only one server, to restart it. Default: none, the TTL alone applies.
   */
  disconnectGraceMs?: number;
  /** The owner label, for people. At most 255 bytes. Default: `PROGRAM@HOST`. */
  owner?: string;
  /** Labels. At most 4096 bytes in total. Default: none. */
  metadata?: Metadata;
  /** The session's id: 1 to 128 bytes. Rejected while another program has a session of this id open. Default: a fresh one. */
  id?: string;
  /**
   * Renews the session only while the program makes progress: while its opening, or the last `tick` of the session, is less than
   * this ago. Without progress the session is lost, with all its holds. More than 0. Default: renewed while the client runs.
   */
  stallAfterMs?: number;
}

/** The session as it is declared. Throws `InvalidError` for what no server checks. */
export function sessionToDeclare(options: SessionOptions): DeclaredSession {
  const { ttlMs = DEFAULT_TTL_MS, disconnectGraceMs: graceMs, stallAfterMs } = options;
  const { owner = defaultOwner(), metadata = {}, id = uuid() } = options;
  const ttl = toWire(duration('ttlMs', ttlMs));
  const disconnectGrace = graceMs === undefined ? undefined : toWire(duration('disconnectGraceMs', graceMs));
  positive('stallAfterMs', stallAfterMs ?? 1);
  return { sessionId: id, ttl, disconnectGrace, owner, metadata };
}

/** The file name of the running script, and the host. */
export function defaultOwner(script = process.argv[1] ?? process.execPath, host = hostname()): string {
  const bytes = Buffer.from(`${basename(script)}@${host}`.replaceAll(/\p{Cc}/gu, ''));
  let length = Math.min(bytes.length, OWNER_BYTES);
  // Not within a character of several bytes.
  while (length < bytes.length && (bytes[length]! & 0xc0) === 0x80) {
    length -= 1;
  }
  return bytes.toString('utf8', 0, length);
}

/** A UUID of version 7: by time, then random. */
export function uuid(): string {
  const bytes = randomBytes(16);
  bytes.writeUIntBE(Date.now(), 0, 6);
  bytes.writeUInt8(0x70 | (bytes.readUInt8(6) & 0x0f), 6);
  bytes.writeUInt8(0x80 | (bytes.readUInt8(8) & 0x3f), 8);
  return bytes.toString('hex').replace(/^(.{8})(.{4})(.{4})(.{4})(.{12})$/, '$1-$2-$3-$4-$5');
}
