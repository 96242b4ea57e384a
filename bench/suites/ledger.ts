import { mkdtemp, rm, stat } from 'node:fs/promises';
import { loadavg, tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Address, Partition } from '../../runtime/address.ts';
import { systemClock } from '../../runtime/clock.ts';
import type { Documents } from '../../runtime/documents.ts';
import { SYSTEM_TENANT } from '../../runtime/identity.ts';
import { KeptFrom } from '../../runtime/ledger/kept-from.ts';
import { KeyMerge } from '../../runtime/ledger/key-merge.ts';
import { KeyRuns } from '../../runtime/ledger/key-runs.ts';
import { KeyedLedger } from '../../runtime/ledger/keyed-ledger.ts';
import { keysOfTurn } from '../../runtime/ledger/keys.ts';
import { LedgerWriter, ledgerPart } from '../../runtime/ledger/writing/ledger-writer.ts';
import type { Message } from '../../runtime/message.ts';
import type { ProjectedCommit } from '../../runtime/projection/views.ts';
import { systemRandom } from '../../runtime/random.ts';
import { FileBlobs } from '../../runtime/sqlite/blobs.ts';
import { SqliteDocuments } from '../../runtime/sqlite/documents.ts';
import { createPayloads } from '../../runtime/turns/payload.ts';
import { PAYLOAD } from '../counter.ts';
import { type Plan, type Section, table, whole } from '../report.ts';
import { freshUnderAsks, overRest, type Times } from '../tracing/live-ledger.ts';

/** Tenant of the local operator, who reads over REST. */
const TENANT = SYSTEM_TENANT;
const PARTITIONS = 64;
/** Deliveries of one write of the ledger: 10,000 a second. */
const ROUND = 4_800;
const ACTORS = 10_000;
/** Deliveries of the trace that is read in full. */
const TRACE = 'f'.repeat(32);
const TRACED = 10_000;
const LOOK_UPS = 2_000;
const PAGE = 1_000;
/** Runs that wait, of which `why` is asked, and starts whose deliveries are looked for. */
const LIVE = { waiting: 100, looks: 1_000, probes: 100 } as const;
const BUSY = { inFlight: 64, probes: 25, runMs: 10_000 } as const;
const NONE: ReadonlyMap<string, Message> = new Map();

/** Makes the deliveries of rounds: client calls of many actors, and one long run among them. */
class Deliveries {
  /** A sample of all messages, and one of messages that caused others. */
  readonly messages: string[] = [];
  readonly causes: string[] = [];
  readonly #all: number;
  #made = 0;
  #traced = 0;
  #last: string | null = null;

  constructor(all: number) {
    this.#all = all;
  }

  get isDone(): boolean {
    return this.#made >= this.#all;
  }

  round(): ProjectedCommit[][] {
    const partitions = Array.from({ length: PARTITIONS }, (): Message[] => []);
    for (let count = 0; count < ROUND; count += 1) partitions[this.#made % PARTITIONS]?.push(this.#call());
    // The run goes on for a fifth of the time: most of it in one partition, the rest where its children are.
    const due = Math.floor(TRACED * Math.min(1, Math.max(0, (this.#made / this.#all - 0.4) / 0.2)));
    while (this.#traced < due) {
      const partition = this.#traced % 4 === 0 ? this.#traced % PARTITIONS : 7;
      partitions[partition]?.push(this.#step(partition));
    }
    return partitions.map((messages, at) => [commitOf(`default:${at}`, messages)]);
  }

  #call(): Message {
    this.#made += 1;
    const id = systemRandom.uuid();
    // Every fifth one follows from the call before it.
    const cause = this.#made % 5 === 0 ? this.#last : null;
    if (this.#made % 97 === 0) this.messages.push(id);
    if (cause !== null && this.#made % 95 === 0) this.causes.push(cause);
    this.#last = id;
    return messageOf(id, `counter/${TENANT}/${this.#made % ACTORS}`, systemRandom.hex(16), cause);
  }

  #step(partition: number): Message {
    this.#traced += 1;
    const to: Address = `run/${TENANT}/${partition === 7 ? 'long' : `child-${partition}`}`;
    return messageOf(systemRandom.uuid(), to, TRACE, this.#last);
  }
}

const messageOf = (id: string, to: Address, trace: string, cause: string | null): Message => ({
  id,
  to,
  from: null,
  cause,
  trace,
  origin: 'client',
  type: 'Add',
  payload: { payload: PAYLOAD },
});

const positions = new Map<Partition, number>();

function commitOf(partition: Partition, messages: readonly Message[]): ProjectedCommit {
  const first = positions.get(partition) ?? 0;
  positions.set(partition, first + messages.length);
  const now = Date.now();
  const rows = messages.map(() => ({ outcome: 'done', now, waitMs: 1, turnUs: 14 }) as const);
  const bodies = messages.map((message) => JSON.stringify(message));
  return {
    upTo: first + messages.length,
    epoch: 1,
    node: 'bench',
    entries: bodies.map((body, at) => ({ seq: first + at + 1, at: now, body })),
    targets: messages.map(({ to }) => to),
    partitions: messages.map(() => partition),
    rows,
    keys: messages.map((message, at) => keysOfTurn(message, bodies[at] ?? '', rows[at], NONE)),
  };
}

async function write(documents: Documents, deliveries: Deliveries): Promise<number> {
  const keys = await KeyRuns.open({ documents, clock: systemClock });
  const kept = await KeptFrom.open(documents);
  const warn = (message: string, error: unknown): void => console.error(message, error);
  const parts = { documents, keys, kept, node: 'bench', clock: systemClock, random: systemRandom, warn };
  const writer = await LedgerWriter.open(parts);
  const merge = await KeyMerge.open({ ...parts, sweeps: () => true });
  let usedUs = 0;
  while (!deliveries.isDone) {
    const round = deliveries.round();
    const before = process.cpuUsage();
    await writer.write(round.map((commits) => ledgerPart(null, commits)));
    await merge.step();
    const { user, system } = process.cpuUsage(before);
    usedUs += user + system;
  }
  return usedUs;
}

/** Milliseconds of each look-up, sorted. */
async function timesOf(ids: readonly string[], look: (id: string) => Promise<readonly unknown[]>): Promise<number[]> {
  const times: number[] = [];
  for (let count = 0; count < LOOK_UPS; count += 1) {
    const id = ids[Math.floor(systemRandom.fraction() * ids.length)] ?? '';
    const at = performance.now();
    const found = await look(id);
    times.push(performance.now() - at);
    if (found.length === 0) throw new Error(`${id} was not found`);
  }
  return times.sort((a, b) => a - b);
}

async function timeOf(work: () => Promise<unknown>): Promise<number> {
  const at = performance.now();
  await work();
  return performance.now() - at;
}

function p50AndP99(times: Times): string {
  const part = (of: number): string => (times[Math.floor(times.length * of)] ?? 0).toFixed(2);
  return `${part(0.5)} and ${part(0.99)} ms`;
}

/**
 * Look-ups by key in a ledger of many deliveries on SQLite, with an empty cache at the start.
 * `SVC_BENCH_DELIVERIES=10000000` says how many; default a million.
 */
export async function ledgerLookUps(plan: Plan): Promise<Section> {
  const all = Number(process.env.SVC_BENCH_DELIVERIES ?? (plan.repetitions === 1 ? 50_000 : 1_000_000));
  const directory = await mkdtemp(join(tmpdir(), 'svc-bench-'));
  const documents = new SqliteDocuments({ directory });
  const blobs = new FileBlobs({ directory });
  await Promise.all([documents.open(), blobs.open()]);
  const deliveries = new Deliveries(all);
  const usedUs = await write(documents, deliveries);
  const keys = await KeyRuns.open({ documents, clock: systemClock });
  const kept = await KeptFrom.open(documents);
  const ledger = await KeyedLedger.open({ documents, payloads: createPayloads(blobs), clock: systemClock, keys, kept });
  const runs = (await keys.heads()).length;
  let found = 0;
  const whole10k = await timeOf(async () => {
    for (let after: string | undefined; ; ) {
      const page = await ledger.trace(TENANT, TRACE, { limit: PAGE, after });
      found += page.deliveries.length;
      if (page.next === null) return;
      after = page.next;
    }
  });
  const message = await timesOf(deliveries.messages, (id) => ledger.message(TENANT, id));
  const causes = await timesOf(deliveries.causes, (id) => ledger.causedBy(TENANT, id));
  const actor = await timeOf(() => ledger.actor(`counter/${TENANT}/5`, { limit: 100, newestFirst: true }));
  const recent = await timeOf(() => ledger.recent(TENANT, { limit: 100, roots: true }));
  await documents.close();
  const { size } = await stat(join(directory, 'documents.db'));
  const live = await overRest(directory, { ...LIVE, trace: TRACE, messages: deliveries.messages });
  const underAsks = await freshUnderAsks(directory, { ...BUSY, tenant: TENANT });
  await rm(directory, { recursive: true, force: true });
  const rows = [
    ['a trace of 10,000 in full', `${whole10k.toFixed(0)} ms (${whole(found)} found)`, '1,500 ms'],
    ['a message, p50 and p99', p50AndP99(message), '20 ms'],
    ['what a message caused, p50 and p99', p50AndP99(causes), '50 ms'],
    ['the same trace over REST', `${live.wholeTraceMs.toFixed(0)} ms (${whole(live.found)} found)`, '1,500 ms'],
    ['a message over REST, p50 and p99', p50AndP99(live.message), '20 ms'],
    ['`why` of a run that waits, over REST, p50 and p99', p50AndP99(live.why), '20 ms'],
    ['readable after its commit, over REST, p50 and p99', p50AndP99(live.fresh), '1,000 ms'],
    [`the same under ${whole(underAsks.perSecond)} asks/s, p50 and p99`, p50AndP99(underAsks.fresh), '1,000 ms'],
    ['the newest 100 of an actor', `${actor.toFixed(1)} ms`, ''],
    ['the newest 100 roots', `${recent.toFixed(1)} ms`, ''],
    ['bytes a delivery, with keys', (size / all).toFixed(0), ''],
    ['CPU of the write and the merges, µs a delivery', (usedUs / all).toFixed(1), ''],
    ['runs of keys', `${runs}`, ''],
  ];
  return {
    title: `Look-ups in a ledger of ${whole(all)} deliveries`,
    text: `${table(['what', 'measured', 'bar'], rows)}\n\nLoad of the machine at the end: ${loadavg()
      .map((load) => load.toFixed(1))
      .join(', ')}.`,
  };
}
