import type { Clock } from '../../runtime/clock.ts';
import type { Collection } from '../../runtime/documents.ts';
import { SvcError } from '../../runtime/errors.ts';
import { SYSTEM_TENANT } from '../../runtime/identity.ts';
import type { Members } from '../../runtime/members.ts';
import { ENDED, type FaultRecord, REQUESTED, wordOf } from './fault-record.ts';

const PATIENCE_MS = 5_000;
const LOOK_EVERY_MS = 25;
/** A word may be lost. */
const SAY_AGAIN_EVERY_LOOKS = 20;

/** The caller's side: tells the node that has to act, and waits for what it records. */
export class FaultWait {
  readonly #records: Collection<FaultRecord>;
  readonly #members: Pick<Members, 'signal'>;
  readonly #clock: Clock;

  constructor(parts: {
    readonly records: Collection<FaultRecord>;
    readonly members: Pick<Members, 'signal'>;
    readonly clock: Clock;
  }) {
    this.#records = parts.records;
    this.#members = parts.members;
    this.#clock = parts.clock;
  }

  /** The record once the fault was done. Throws what the node refused it with, `unavailable` after 5 s without either. */
  async until(asked: FaultRecord): Promise<FaultRecord> {
    const deadline = this.#clock.monotonic() + PATIENCE_MS;
    for (let look = 0; this.#clock.monotonic() < deadline; look += 1) {
      if (look % SAY_AGAIN_EVERY_LOOKS === 0) await this.#members.signal(asked.node, wordOf(asked.id));
      const now = await this.#records.get(SYSTEM_TENANT, asked.id);
      if (now?.version === ENDED) return doneOrThrown(now);
      await this.#pause();
    }
    return this.#giveUp(asked);
  }

  /** Takes the fault back, unless the node has taken it already: then it may still come. */
  async #giveUp(asked: FaultRecord): Promise<never> {
    const reason = `Node ${asked.node} did not answer within ${PATIENCE_MS / 1_000} s.`;
    const back = { ...asked, version: ENDED, state: 'refused' as const, code: 'unavailable' as const, reason };
    const takenBack = await this.#records.replace(back, REQUESTED);
    const says = takenBack ? `${reason} The fault was taken back.` : `${reason} The fault may still come.`;
    throw new SvcError('unavailable', says);
  }

  #pause(): Promise<void> {
    return new Promise((resolve) => this.#clock.after(LOOK_EVERY_MS, resolve));
  }
}

function doneOrThrown(record: FaultRecord): FaultRecord {
  if (record.state === 'done') return record;
  throw new SvcError(record.code ?? 'internal', record.reason ?? undefined);
}
