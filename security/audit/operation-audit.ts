import { randomUUID } from 'node:crypto';
import type { EntryBody, EntryRecord, OperationEntry } from '../../manifests/audit/entries.ts';
import type { ChainEnd } from '../../manifests/audit/record.ts';
import type { Clock } from '../../runtime/clock.ts';
import type { Collection } from '../../runtime/documents.ts';
import { SvcError } from '../../runtime/errors.ts';
import { SYSTEM_TENANT } from '../../runtime/identity.ts';
import {
  type AuditedCall,
  type AuditedEnd,
  type AuditedOperation,
  endOf,
  type Occurrence,
  type OperationAudit,
} from './api.ts';
import type { Block } from './blocks.ts';
import { Chain } from './chain.ts';
import { OpenChains } from './open-chains.ts';
import { OF_CALLERS, OF_STORAGE, Repeats } from './repeats.ts';

/** Most entries of all tenants that wait for the store. */
const MOST_PENDING = 10_000;

/** How long an operation waits for its entry with `fail_closed`. */
const WAIT_MS = 3_000;

/** Reason in the last entry of an unused chain that is closed. */
const UNUSED = 'the node had no further entry of this tenant';

const MOST_TEXT = 200;

const MOST_ROLES = 20;

/** Trace id of entries without a trace. */
const NO_TRACE = '0'.repeat(32);

export interface OperationAuditParts {
  readonly node: string;
  readonly version: string;
  readonly blocks: Collection<Block>;
  readonly clock: Clock;
  readonly warn: (message: string, error: unknown) => void;
  readonly failClosed: boolean;
  /** Called for each chain that is opened, also for one that was closed before. */
  readonly onOpened?: (tenant: string) => void;
  /** Called with records that are durable. */
  readonly onWritten?: (tenant: string, records: readonly EntryRecord[]) => void;
  /** Whether the end of a chain is in a statement. Default: none is made. */
  readonly isStated?: ((tenant: string, end: ChainEnd) => boolean) | undefined;
  /** False: the queue of the sink is full, so with `fail_closed` operations are refused. */
  readonly sinkTakes?: (() => boolean) | undefined;
}

/** Writes the audit of operations: one chain for each tenant, made by this node. Unused chains are closed. */
export class ChainedAudit implements OperationAudit {
  readonly #parts: OperationAuditParts;
  readonly #chains: OpenChains;
  readonly #repeats: Repeats;
  readonly #occurrences: Repeats;
  readonly #lost = new Map<string, number>();
  readonly #writer = randomUUID();
  #pending = 0;

  constructor(parts: OperationAuditParts) {
    this.#parts = parts;
    this.#chains = new OpenChains({
      clock: parts.clock,
      make: (tenant) => this.#chain(tenant),
      open: (tenant, chain) => this.#opened(tenant, chain),
      close: (_tenant, chain) => void this.#counted(chain, { kind: 'closed', reason: UNUSED }),
      mayForget: (tenant, end) => parts.isStated?.(tenant, end) ?? true,
    });
    this.#repeats = new Repeats(parts.clock, (tenant, entry) => this.#write(tenant, entry), OF_CALLERS);
    const write = (tenant: string, entry: OperationEntry): void => this.#write(tenant, entry, MOST_PENDING / 2);
    this.#occurrences = new Repeats(parts.clock, write, OF_STORAGE);
  }

  /** The ends of the chains that this process wrote and that may not be stated yet, by tenant. */
  ends(): Iterable<readonly [tenant: string, end: ChainEnd]> {
    return this.#chains.ends();
  }

  /** Chains in memory. */
  get chains(): number {
    return this.#chains.size;
  }

  async begin(call: AuditedCall): Promise<AuditedOperation> {
    if (!this.#parts.failClosed) return { end: async (end) => this.#recordEnd(call, end) };
    if (this.#parts.sinkTakes?.() === false)
      throw notWritten('Nothing was done: the audit sink does not take entries fast enough.');
    const tenant = tenantOf(call);
    const entry = entryOf(call, { outcome: 'begun', error: null, reason: null }, null);
    const begun = await this.#durable(tenant, entry, 'Nothing was done');
    return {
      end: async (end) => {
        const ended = entryOf(call, { error: null, reason: null, ...end }, begun);
        await this.#durable(tenant, ended, 'The operation ran, but its end is not recorded');
      },
    };
  }

  denied(call: AuditedCall, error: SvcError): void {
    this.#repeats.add(tenantOf(call), entryOf(call, { error: null, reason: null, ...endOf(error) }, null));
  }

  /** Records an event that is no call. It waits for nothing, also with `fail_closed`. */
  occurred(occurrence: Occurrence): void {
    this.#occurrences.add(occurrence.tenant, occurrenceEntry(occurrence));
  }

  /** Writes the counted repeats, closes the chains, and waits for the store for at most `waitMs`. */
  async close(reason: string, waitMs: number): Promise<void> {
    this.#repeats.flush();
    this.#occurrences.flush();
    // The numbers of dropped entries are in no chain yet.
    const tenants = new Set([...this.#chains.end(), ...this.#lost.keys()]);
    const all = [...tenants].map((tenant) => this.#append(tenant, { kind: 'closed', reason }));
    await this.#within(Promise.all(all), waitMs);
  }

  #recordEnd(call: AuditedCall, end: AuditedEnd): void {
    const entry = entryOf(call, { error: null, reason: null, ...end }, null);
    const tenant = tenantOf(call);
    if (end.outcome === 'ok') this.#write(tenant, entry);
    else this.#repeats.add(tenant, entry);
  }

  /** Writes without waiting. An entry for which there is no space is counted, and the number is written later. */
  #write(tenant: string, entry: OperationEntry, most = MOST_PENDING): void {
    if (this.#pending >= most) {
      this.#lost.set(tenant, (this.#lost.get(tenant) ?? 0) + entry.count);
      return;
    }
    void this.#append(tenant, entry);
  }

  /** Resolves with the sequence. Throws `unavailable`. */
  async #durable(tenant: string, entry: OperationEntry, otherwise: string): Promise<number> {
    if (this.#pending >= MOST_PENDING) throw notWritten(`${otherwise}: too many audit entries wait to be written.`);
    const sequence = await this.#within(this.#append(tenant, entry), WAIT_MS);
    if (sequence === null) throw notWritten(`${otherwise}: the audit entry was not written in time.`);
    return sequence;
  }

  async #append(tenant: string, body: EntryBody): Promise<number> {
    const chain = this.#chains.of(tenant);
    const lost = this.#lost.get(tenant);
    if (lost !== undefined) {
      this.#lost.delete(tenant);
      void this.#counted(chain, { kind: 'lost', count: lost });
    }
    return this.#counted(chain, body);
  }

  async #counted(chain: Chain, body: EntryBody): Promise<number> {
    this.#pending += 1;
    const at = new Date(this.#parts.clock.now()).toISOString();
    const sequence = await chain.append({ body, at });
    this.#pending -= 1;
    return sequence;
  }

  #chain(tenant: string): Chain {
    const { node, blocks, clock, warn, onWritten = () => {} } = this.#parts;
    return new Chain({ tenant, node, writer: this.#writer, blocks, clock, warn, onWritten });
  }

  #opened(tenant: string, chain: Chain): void {
    const { node, version, onOpened } = this.#parts;
    onOpened?.(tenant);
    void this.#counted(chain, { kind: 'opened', node, tenant, version });
  }

  /** The result of `work`, or null after `waitMs`. */
  async #within<T>(work: Promise<T>, waitMs: number): Promise<T | null> {
    const late = Promise.withResolvers<null>();
    const cancel = this.#parts.clock.after(waitMs, () => late.resolve(null));
    try {
      return await Promise.race([work, late.promise]);
    } finally {
      cancel();
    }
  }
}

/** The chain of a caller that was not identified is that of the node's own tenant. */
const tenantOf = ({ caller }: AuditedCall): string => caller?.tenant ?? SYSTEM_TENANT;

const notWritten = (why: string): SvcError => new SvcError('unavailable', why, { retryAfterMs: 1_000 });

interface End {
  readonly outcome: OperationEntry['outcome'];
  readonly error: string | null;
  readonly reason: string | null;
  readonly target?: string | null;
}

function entryOf(call: AuditedCall, end: End, begun: number | null): OperationEntry {
  const { operation, caller, trace, via, address } = call;
  const target = end.target ?? call.target;
  return {
    kind: 'operation',
    operation,
    subject: clipped(caller?.subject ?? null),
    caller: caller?.kind ?? null,
    roles: (caller?.roles ?? []).slice(0, MOST_ROLES).map((role) => role.slice(0, MOST_TEXT)),
    target: clipped(target),
    outcome: end.outcome,
    error: end.error,
    reason: clipped(end.reason),
    trace,
    via,
    address: end.outcome === 'denied' ? address : null,
    count: 1,
    begun,
  };
}

const occurrenceEntry = ({ operation, subject, target, outcome, error }: Occurrence): OperationEntry => ({
  kind: 'operation',
  operation,
  subject: clipped(subject),
  caller: subject === null ? null : 'actor',
  roles: [],
  target: clipped(target),
  outcome,
  error,
  reason: null,
  trace: NO_TRACE,
  via: 'node',
  address: null,
  count: 1,
  begun: null,
});

const clipped = (text: string | null): string | null => text?.slice(0, MOST_TEXT) ?? null;
