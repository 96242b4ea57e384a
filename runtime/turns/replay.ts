import { type Address, type Partition, parseAddress } from '../address.ts';
import type { ActorEvent } from '../client.ts';
import type { ActorDefinition } from '../define-actor.ts';
import { SvcError } from '../errors.ts';
import type { Message } from '../message.ts';
import type { LedgerLine } from '../projection/ledger-reader.ts';
import { Batch } from './batch.ts';
import { initialRecord } from './loading.ts';
import type { ActorRecord } from './record.ts';
import { RETRY_TIMER, type RetrySettings, type TurnRow } from './work.ts';

/** What is replayed lives in no store. */
const NOWHERE: Partition = 'replay:0';

export interface Replayed {
  readonly record: ActorRecord;
  readonly events: readonly (Omit<ActorEvent, 'payload'> & { readonly payload: unknown })[];
}

/**
 * Rebuilds an actor from its deliveries up to any of them (design K5): turns are pure, their time is recorded, and a
 * handler that threw then is not run again. `retry` holds the settings under which the deliveries were handled.
 * Throws `failed_precondition` for a line without its turn, from a node that kept no ledger.
 */
export async function replayActor(
  definition: ActorDefinition,
  address: Address,
  lines: AsyncIterable<LedgerLine> | Iterable<LedgerLine>,
  options: { readonly retry: RetrySettings; readonly upTo?: number },
): Promise<Replayed> {
  const { tenant, id } = parseAddress(address);
  const upTo = options.upTo ?? Number.POSITIVE_INFINITY;
  let record = initialRecord(definition, { address, tenant, id });
  const events: { seq: number; at: number; name: string; payload: unknown }[] = [];
  const bodies = new Map<string, Message>();
  for await (const { seq, at, row, body, message } of lines) {
    if (seq > upTo) break;
    if (row === null) throw new SvcError('failed_precondition', `delivery ${seq} has no turn in the ledger`);
    bodies.set(body, message);
    // Never run, or out of attempts at once: it changed nothing.
    if (row.outcome === 'dead-lettered') continue;
    const batch = batchOf(row, message, bodies, options.retry);
    const self = { address, partition: NOWHERE, tenant, definition };
    batch.deliver({ seq, at, body }, message, { ...self, record, text: null, owned: false, size: 0 }, bodies);
    for (const work of batch.writes.works.values()) {
      for (const [index, event] of work.events.entries()) events.push({ ...event, seq: work.firstEvent + index });
      record = work.record;
    }
    if (record.stuck === null) bodies.clear();
  }
  return { record, events };
}

/** A batch of one delivery under the conditions that its row tells. */
function batchOf(row: TurnRow, message: Message, bodies: ReadonlyMap<string, Message>, retry: RetrySettings): Batch {
  const failing = new Map<string, string>();
  const note = (failed: Message | undefined, line: { readonly outcome: string; readonly error?: string }): void => {
    if (failed === undefined || (line.outcome !== 'retried' && line.outcome !== 'dead-lettered')) return;
    failing.set(failed.id, line.error ?? '');
  };
  if (message.timer !== RETRY_TIMER) note(message, row);
  for (const line of row.drained ?? []) note(bodies.get(line.body), line);
  const drainLimit = Math.max(1, row.drained?.length ?? 0);
  return new Batch(row.now, () => 0, { ...retry, drainLimit, failing, failAll: undefined });
}
