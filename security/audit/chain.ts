import type { EntryRecord } from '../../manifests/audit/entries.ts';
import { type ChainEnd, emptyChain, nextRecord } from '../../manifests/audit/record.ts';
import type { Clock } from '../../runtime/clock.ts';
import type { Collection } from '../../runtime/documents.ts';
import { sleep } from '../../runtime/kit/waits.ts';
import { type Block, blockOf, type PendingEntry } from './blocks.ts';

/** Most records of one document. */
const BLOCK_RECORDS = 200;

const RETRY_MS = 100;

const MOST_RETRY_MS = 5_000;

interface Pending extends PendingEntry {
  readonly written: (sequence: number) => void;
}

interface ChainParts {
  readonly tenant: string;
  readonly node: string;
  /** Id of this process. */
  readonly writer: string;
  readonly blocks: Pick<Collection<Block>, 'insert' | 'get' | 'find'>;
  readonly clock: Clock;
  readonly warn: (message: string, error: unknown) => void;
  /** Called with the records of each block that is durable. */
  readonly onWritten: (tenant: string, records: readonly EntryRecord[]) => void;
}

/**
 * The chain that this node writes for one tenant. Entries that arrive while a block is written go into the next block together.
 * A block whose write failed is written again, unchanged, until it is stored.
 */
export class Chain {
  readonly #parts: ChainParts;
  readonly #pending: Pending[] = [];
  /** Last record in the store; null: unknown. */
  #end: ChainEnd | null = null;
  /** Linked and not known to be stored. */
  #block: { readonly entries: readonly Pending[]; readonly records: readonly EntryRecord[] } | null = null;
  #isWriting = false;

  constructor(parts: ChainParts) {
    this.#parts = parts;
  }

  get pending(): number {
    return this.#pending.length + (this.#block?.entries.length ?? 0);
  }

  get end(): ChainEnd | null {
    return this.#end;
  }

  /** Resolves with the sequence when the entry is durable. Waits for as long as the store is down. */
  append(entry: PendingEntry): Promise<number> {
    const { promise, resolve } = Promise.withResolvers<number>();
    this.#pending.push({ ...entry, written: resolve });
    if (!this.#isWriting) void this.#write();
    return promise;
  }

  /** Writes until nothing is pending. Never throws. */
  async #write(): Promise<void> {
    this.#isWriting = true;
    // Entries of the same turn of the event loop go into one block.
    await Promise.resolve();
    let waitMs = RETRY_MS;
    while (this.pending > 0) {
      try {
        await this.#writeBlock();
        waitMs = RETRY_MS;
      } catch (thrown) {
        this.#parts.warn(`the audit of tenant ${this.#parts.tenant} could not be written`, thrown);
        await sleep(this.#parts.clock, waitMs);
        waitMs = Math.min(waitMs * 2, MOST_RETRY_MS);
      }
    }
    this.#isWriting = false;
  }

  async #writeBlock(): Promise<void> {
    const { tenant, node, writer, blocks, onWritten } = this.#parts;
    this.#end ??= await this.#stored();
    this.#block ??= link(this.#end, this.#pending.splice(0, BLOCK_RECORDS));
    const { entries, records } = this.#block;
    const block = blockOf({ tenant, node, writer }, records);
    if (!(await blocks.insert(block)) && !(await this.#isOurs(block))) {
      // Another process writes the chain of this node. The entries are linked again, behind its end.
      this.#parts.warn(`another process writes the audit of node ${node}, tenant ${tenant}`, null);
      this.#pending.unshift(...entries);
      this.#block = null;
      this.#end = null;
      return;
    }
    this.#end = records.at(-1) ?? this.#end;
    this.#block = null;
    onWritten(tenant, records);
    for (const [index, { written }] of entries.entries()) written(records[index]?.sequence ?? 0);
  }

  /** Whether the stored block is this one: the store wrote it although the call failed. */
  async #isOurs({ tenant, id, writer, records }: Block): Promise<boolean> {
    const stored = await this.#parts.blocks.get(tenant, id);
    return stored?.writer === writer && stored.records.at(-1)?.hash === records.at(-1)?.hash;
  }

  async #stored(): Promise<ChainEnd> {
    const { tenant, node, blocks } = this.#parts;
    const sort = [['last', 'desc']] as const;
    const [newest] = await blocks.find({ tenant, where: { node }, sort, limit: 1 });
    return newest?.records.at(-1) ?? emptyChain;
  }
}

function link(end: ChainEnd, entries: readonly Pending[]) {
  const records: EntryRecord[] = [];
  for (const { body, at } of entries) records.push(nextRecord(records.at(-1) ?? end, body, at));
  return { entries, records };
}
