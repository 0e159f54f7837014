// Renewals of many sessions at once.
import type { Moment } from '../clock.js';
import { fromWire } from '../convert.js';
import { RefusedError } from '../errors.js';
import type { KeepAliveResponse } from '../generated/tenure/v1/session.js';
import { silenceLimit } from '../validity.js';
import type { Engine } from './engine.js';
import type { LiveSession } from './session.js';

/** The most sessions that one keep-alive renews: the contract's bound. */
const SESSIONS_PER_KEEP_ALIVE = 1000;

/** Renews these sessions. */
export function sendKeepAlive(engine: Engine, sessions: LiveSession[], now: Moment): void {
  for (let first = 0; first < sessions.length; first += SESSIONS_PER_KEEP_ALIVE) {
    const batch = sessions.slice(first, first + SESSIONS_PER_KEEP_ALIVE);
    batch.forEach((session) => session.renewing(now));
    const limit = Math.min(...batch.map((session) => silenceLimit(session.presence.window)));
    const command = engine.send(
      {
        $case: 'keepAlive',
        value: { namespace: engine.namespace, sessionIds: batch.map((session) => session.id) },
      },
      {
        keepAlive: (answer, sent, now) => kept(engine, answer, sent, now),
        refusal: (refusal) => void engine.isForNow(RefusedError.from(refusal)),
      },
      now,
    );
    if (command !== undefined) {
      engine.expectAnswer(command, now + limit);
    }
  }
}

function kept(engine: Engine, answer: KeepAliveResponse, sent: Moment, now: Moment): void {
  for (const { sessionId, ttl, refusal } of answer.sessions) {
    const session = engine.sessions.get(sessionId);
    if (session === undefined) {
      continue;
    }
    if (ttl !== undefined && refusal === undefined) {
      session.renewed(fromWire(ttl), sent, now);
      continue;
    }
    const refused = RefusedError.from(refusal);
    if (session.endedBy(refused, now)) {
      continue;
    }
    if (refused.reason === 'NOT_ATTACHED') {
      session.moved(now);
    } else {
      engine.isForNow(refused);
    }
  }
}
