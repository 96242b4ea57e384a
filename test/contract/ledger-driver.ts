import type { Address, Partition, SharedLog } from '../../runtime/address.ts';
import type { Collection, Documents } from '../../runtime/documents.ts';
import { KeptFrom } from '../../runtime/ledger/kept-from.ts';
import { KeyMerge } from '../../runtime/ledger/key-merge.ts';
import { KeyRuns } from '../../runtime/ledger/key-runs.ts';
import { KeyedLedger } from '../../runtime/ledger/keyed-ledger.ts';
import { keysOfTurn } from '../../runtime/ledger/keys.ts';
import type { LedgerDelivery } from '../../runtime/ledger/ledger-reader.ts';
import { deliveriesOf, linesOf } from '../../runtime/ledger/lines.ts';
import { unpackLines } from '../../runtime/ledger/packing.ts';
import { placeOfSegment } from '../../runtime/ledger/segment-names.ts';
import { LEDGER, type LedgerSegment } from '../../runtime/ledger/segments.ts';
import { LedgerWriter, ledgerPart } from '../../runtime/ledger/writing/ledger-writer.ts';
import type { Message } from '../../runtime/message.ts';
import type { ProjectedCommit } from '../../runtime/projection/views.ts';
import { systemRandom } from '../../runtime/random.ts';
import type { TurnRow } from '../../runtime/turns/actor-draft.ts';
import { createPayloads } from '../../runtime/turns/payload.ts';
import { CutOff } from '../support/cut-off.ts';
import { HandClock } from '../support/hand-clock.ts';

export const TENANTS = ['acme', 'beta'] as const;
export const NODES = ['node-a', 'node-b'] as const;
export const TRACES = ['t0', 't1', 't2'] as const;
const PARTITIONS: readonly Partition[] = ['default:0', 'default:1', 'default:2'];

/** No message of these tests is in Blobs. */
const payloads = createPayloads({
  open: async () => {},
  close: async () => {},
  put: () => Promise.reject(new Error('no blobs here')),
  get: () => Promise.reject(new Error('no blobs here')),
  delete: async () => {},
  deleteOwned: async () => {},
});

/** Whole numbers below a limit, the same ones for the same seed. */
export function numbersFrom(seed: number): (below: number) => number {
  let state = seed | 0;
  return (below) => {
    state = Math.imul(state ^ (state >>> 15), 0x2c1b3c6d) + 0x9e3779b9;
    return ((state ^ (state >>> 13)) >>> 0) % below;
  };
}

export const nameOf = ({ partition, seq, part = -1 }: LedgerDelivery): string => `${partition} ${seq} ${part}`;

/** Two nodes that write the ledger, and one more that reads it, over the same documents. */
interface LogCommits {
  readonly sharedLog: SharedLog | null;
  readonly commits: readonly ProjectedCommit[];
}

export class LedgerDriver {
  readonly clock = new HandClock();
  readonly cutOff = new Map<string, CutOff>();
  /** Names of the deliveries in rounds that are complete. */
  readonly complete = new Set<string>();
  /** Commits of a round that was cut off: the next holder writes them again. */
  pending: LogCommits[] = [];
  reader!: KeyedLedger;
  readonly #documents: Documents;
  readonly #writers = new Map<string, LedgerWriter>();
  readonly #merges = new Map<string, KeyMerge>();
  #segments!: Collection<LedgerSegment>;
  #kept!: KeptFrom;
  #position = 0;
  #at = 1_700_000_000_000;
  #messages = 0;

  static async open(documents: Documents): Promise<LedgerDriver> {
    const driver = new LedgerDriver(documents);
    driver.#segments = await documents.collection<LedgerSegment>(LEDGER);
    driver.#kept = await KeptFrom.open(documents);
    await driver.clock.pass(1_700_000_000_000);
    for (const node of NODES) await driver.restart(node);
    const keys = await KeyRuns.open({ documents, clock: driver.clock });
    driver.reader = await KeyedLedger.open({ documents, payloads, clock: driver.clock, keys, kept: driver.#kept });
    return driver;
  }

  private constructor(documents: Documents) {
    this.#documents = documents;
  }

  /** A new process of a node. */
  async restart(node: string): Promise<void> {
    const cutOff = new CutOff();
    const documents = cutOff.documents(this.#documents);
    const { clock } = this;
    const keys = await KeyRuns.open({ documents, clock });
    const kept = await KeptFrom.open(documents);
    const parts = { documents, keys, kept, node, clock, random: systemRandom };
    const sweeps = (): boolean => node === NODES[0];
    const warn = (message: string, error: unknown): never => {
      throw new Error(message, { cause: error });
    };
    this.cutOff.set(node, cutOff);
    this.#writers.set(node, await LedgerWriter.open(parts));
    this.#merges.set(node, await KeyMerge.open({ ...parts, sweeps, warn }));
  }

  /** Writes a round of a node: commits of an earlier round that was cut off, and new deliveries. */
  async write(node: string, number: (below: number) => number): Promise<void> {
    const parts = [...this.pending, ...this.#partsOf(this.#commitsOf(node, number), number)];
    this.pending = parts;
    await this.#writers.get(node)?.write(parts.map(({ sharedLog, commits }) => ledgerPart(sharedLog, commits)));
    this.pending = [];
    for (const { partitions, entries, rows } of parts.flatMap(({ commits }) => commits)) {
      for (const [at, { seq }] of entries.entries()) {
        this.complete.add(`${partitions[at]} ${seq} -1`);
        for (const part of rows[at]?.drained?.keys() ?? []) this.complete.add(`${partitions[at]} ${seq} ${part}`);
      }
    }
  }

  async merge(node: string): Promise<void> {
    await this.#merges.get(node)?.step();
  }

  async prune(node: string): Promise<void> {
    await this.#merges.get(node)?.prune();
  }

  /** Removes the oldest segments of a tenant, as retention does. */
  async retain(tenant: string, count: number): Promise<void> {
    const old = await this.#segments.find({ tenant, sort: [['to_at', 'asc']], limit: Math.max(1, count) });
    const last = old.at(-1);
    if (count === 0 || last === undefined) return;
    await this.#kept.note(tenant, last.to_at);
    for (const { id } of old) await this.#segments.delete(tenant, id);
  }

  /** All deliveries of a tenant that are in segments, by a scan. */
  async scan(tenant: string): Promise<LedgerDelivery[]> {
    const found = new Map<string, LedgerDelivery>();
    for (const { id, node, lines } of await this.#segments.find({ tenant, limit: 1_000 })) {
      for (const line of linesOf(await unpackLines(lines), null)) {
        for (const one of await deliveriesOf(payloads, { place: placeOfSegment({ id }), node }, line))
          found.set(nameOf(one), one);
      }
    }
    return [...found.values()];
  }

  /** Partitions have logs of their own, or share one. */
  #partsOf(commits: readonly ProjectedCommit[], number: (below: number) => number): LogCommits[] {
    if (number(2) === 0) return [{ sharedLog: `log-${number(2)}`, commits }];
    return [...Map.groupBy(commits, ({ partitions }) => partitions[0]).values()].map((some) => ({
      sharedLog: null,
      commits: some,
    }));
  }

  #commitsOf(node: string, number: (below: number) => number): ProjectedCommit[] {
    return PARTITIONS.slice(number(3)).map((partition): ProjectedCommit => {
      const seqs = Array.from({ length: number(6) }, () => this.#step());
      const all = seqs.map((seq) => ({ ...this.#delivery(partition, number), seq }));
      return {
        upTo: seqs.at(-1) ?? 0,
        epoch: 1,
        node,
        entries: all.map(({ seq, at, body }) => ({ seq, at, body })),
        targets: all.map(({ message }) => message.to),
        partitions: all.map(() => partition),
        rows: all.map(({ row }) => row),
        keys: all.map(({ message, body, row, drained }) => keysOfTurn(message, body, row, drained)),
      };
    });
  }

  /** Positions of a partition grow over all its logs, and those of a log over all its partitions. */
  #step(): number {
    this.#position += 1;
    return this.#position;
  }

  #delivery(partition: Partition, number: (below: number) => number) {
    // The time of a delivery may lie behind that of an earlier one.
    this.#at += number(4);
    const at = this.#at - number(3);
    const tenant = TENANTS[number(2)] ?? 'acme';
    const message = this.#message(tenant, partition, number);
    const drained = number(8) === 0 ? [{ ...message, id: this.#id(), trace: TRACES[number(3)] ?? 't0' }] : [];
    const bodies = new Map(drained.map((one) => [JSON.stringify(one), one]));
    const turns = [...bodies.keys()].map((body) => ({ body, outcome: 'done', attempt: 2 }) as const);
    const turn: TurnRow = { outcome: 'done', now: at + 5, waitMs: 5, turnUs: 10 };
    const row = turns.length === 0 ? turn : { ...turn, drained: turns };
    return { at, message, body: JSON.stringify(message), row, drained: bodies };
  }

  #message(tenant: string, partition: Partition, number: (below: number) => number): Message {
    const to: Address = `counter/${tenant}/${partition === 'default:2' ? 'moves' : `a${number(2)}`}`;
    const isResult = number(4) === 0;
    return {
      id: this.#id(),
      to,
      from: null,
      cause: number(3) === 0 ? null : `m${number(Math.max(1, this.#messages))}`,
      trace: TRACES[number(3)] ?? 't0',
      origin: isResult ? 'effect' : 'client',
      type: 'Add',
      payload: isResult ? { effectId: `e${number(4)}` } : { text: 'x'.repeat(number(40)) },
    };
  }

  #id(): string {
    this.#messages += 1;
    return `m${this.#messages}`;
  }
}
