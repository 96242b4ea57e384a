import type { Address, Partition, SharedLog } from '../../address.ts';
import type { ProjectedCommit } from '../../projection/views.ts';
import type { TurnRow } from '../../turns/actor-draft.ts';
import { UNREADABLE } from '../../turns/loading.ts';
import { type DeliveryKeys, saysItsKeys } from '../keys.ts';

/** Offsets of the numbers of a commit in its bytes. The turns follow as JSON, with a comma behind each. */
export const COMMIT = { bytes: 0, turns: 4, epoch: 8, node: 16, end: 24 } as const;

/**
 * Where the numbers of a delivery are in its bytes, which follow the turns: `turn`, `message` and `more` are the lengths
 * of its turn, its message as JSON, and what the message does not say as JSON.
 */
export const DELIVERY = { seq: 0, at: 8, partition: 16, turn: 20, message: 24, more: 28, end: 32 } as const;

/** The keys of a delivery that its message does not contain: of a retry, of a message in Blobs, of an unreadable one. */
export interface MoreOfDelivery {
  readonly to: Address;
  readonly keys: Pick<DeliveryKeys, 'id' | 'cause' | 'trace' | 'effect' | 'drained'> | null;
}

/** Commits one behind the other, in memory that threads share. */
export interface RecordedPiece {
  readonly bytes: SharedArrayBuffer;
  readonly from: number;
  readonly to: number;
}

/** Deliveries of one log, in order. */
export interface RecordedDeliveries {
  /** Null: each partition has a log of its own. */
  readonly log: SharedLog | null;
  /** Partitions and nodes by the numbers that the deliveries have. */
  readonly partitions: readonly Partition[];
  readonly nodes: readonly (string | null)[];
  readonly pieces: readonly RecordedPiece[];
}

interface Chunk {
  readonly bytes: Buffer<SharedArrayBuffer>;
  readonly view: DataView<SharedArrayBuffer>;
  from: number;
  to: number;
}

/**
 * Bytes of the first chunk of a log, and of further ones. Where each partition has a log of its own, most have few commits between two
 * writes. A commit that is larger has a chunk of its own.
 */
const SIZES = { first: 16_384, further: 262_144 } as const;
type Size = keyof typeof SIZES;
/** Most bytes of each size that are kept for further commits. */
const MOST_FREE_BYTES = 4 * 1024 * 1024;
/** Most bytes of a character. */
const CHAR_BYTES = 3;

/** Memory for commits, used again and again. */
export class RecordedChunks {
  readonly #free: Record<Size, Chunk[]> = { first: [], further: [] };

  take(least: number, isFirst: boolean): Chunk {
    const size = isFirst && least <= SIZES.first ? 'first' : 'further';
    const free = least > SIZES[size] ? undefined : this.#free[size].pop();
    if (free !== undefined) return Object.assign(free, { from: 0, to: 0 });
    const shared = new SharedArrayBuffer(Math.max(least, SIZES[size]));
    return { bytes: Buffer.from(shared), view: new DataView(shared), from: 0, to: 0 };
  }

  give(chunk: Chunk): void {
    const { length } = chunk.bytes;
    for (const size of ['first', 'further'] as const) {
      const free = this.#free[size];
      if (length === SIZES[size] && (free.length + 1) * length <= MOST_FREE_BYTES) free.push(chunk);
    }
  }
}

/**
 * The deliveries of commits of one log that are not in the ledger yet. They are written as bytes when they are committed,
 * so that no object or text of them outlives the commit, and the thread that packs them reads them where they are.
 */
export class RecordedCommits {
  readonly #log: SharedLog | null;
  readonly #memory: RecordedChunks;
  readonly #partitions = new Names<Partition>();
  readonly #nodes = new Names<string | null>();
  #chunks: Chunk[] = [];

  constructor(log: SharedLog | null, memory = new RecordedChunks()) {
    this.#log = log;
    this.#memory = memory;
  }

  /** Adds the deliveries of a commit. Those that were postponed are recorded when they are handled. */
  add(commit: ProjectedCommit): { readonly bytes: number; readonly deliveries: number } {
    const texts = textsOf(commit);
    const deliveries = texts.all.length;
    if (deliveries === 0) return { bytes: 0, deliveries };
    let chars = COMMIT.end + texts.turns.length;
    for (const { message, more } of texts.all) chars += DELIVERY.end + message.length + more.length;
    // Nearly all texts are ASCII.
    const bytes = this.#write(commit, texts, chars, true) ?? this.#write(commit, texts, CHAR_BYTES * chars, false);
    return { bytes: bytes ?? 0, deliveries };
  }

  /** Writes a commit of at most `most` bytes. Null: it is not in ASCII. */
  #write({ epoch, node }: ProjectedCommit, { turns, all }: CommitTexts, most: number, isAscii: boolean): number | null {
    const chunk = this.#chunkFor(most);
    const { bytes, view, to: first } = chunk;
    let end = first + COMMIT.end;
    const put = (text: string): number => {
      const length = text === '' ? 0 : bytes.write(text, end);
      end += length;
      return length;
    };
    view.setUint32(first + COMMIT.turns, put(turns));
    if (isAscii && end - first - COMMIT.end !== turns.length) return null;
    view.setFloat64(first + COMMIT.epoch, epoch);
    view.setUint32(first + COMMIT.node, this.#nodes.numberOf(node));
    for (const { seq, at, partition, turn, message, more } of all) {
      const from = end;
      end += DELIVERY.end;
      view.setFloat64(from + DELIVERY.seq, seq);
      view.setFloat64(from + DELIVERY.at, at);
      view.setUint32(from + DELIVERY.partition, this.#partitions.numberOf(partition));
      view.setUint32(from + DELIVERY.turn, isAscii ? turn.length : Buffer.byteLength(turn));
      view.setUint32(from + DELIVERY.message, put(message));
      view.setUint32(from + DELIVERY.more, put(more));
      if (isAscii && end - from - DELIVERY.end !== message.length + more.length) return null;
    }
    view.setUint32(first + COMMIT.bytes, end - first);
    chunk.to = end;
    return end - first;
  }

  #chunkFor(most: number): Chunk {
    const last = this.#chunks.at(-1);
    if (last !== undefined && last.bytes.length - last.to >= most) return last;
    const chunk = this.#memory.take(most, last === undefined);
    this.#chunks.push(chunk);
    return chunk;
  }

  /** The oldest deliveries, in `bytes` of commits. They stay until they are released. */
  first(bytes: number): RecordedDeliveries {
    const pieces: RecordedPiece[] = [];
    let left = bytes;
    for (const { bytes: all, from, to } of this.#chunks) {
      if (left <= 0) break;
      pieces.push({ bytes: all.buffer, from, to: Math.min(to, from + left) });
      left -= to - from;
    }
    return { log: this.#log, partitions: this.#partitions.all, nodes: this.#nodes.all, pieces };
  }

  /** Frees the oldest deliveries, in `bytes` of commits. Nothing may read them any more. */
  release(bytes: number): void {
    let left = bytes;
    while (left > 0) {
      const [chunk] = this.#chunks;
      if (chunk === undefined) return;
      const part = Math.min(left, chunk.to - chunk.from);
      left -= part;
      chunk.from += part;
      if (chunk.from < chunk.to) return;
      this.#chunks.shift();
      this.#memory.give(chunk);
    }
  }

  /** Forgets all deliveries. A thread may still read them. */
  clear(): void {
    this.#chunks = [];
  }
}

/** The texts of a commit. */
interface CommitTexts {
  /** All turns, with a comma behind each but the last. */
  readonly turns: string;
  readonly all: readonly DeliveryTexts[];
}

interface DeliveryTexts {
  readonly seq: number;
  readonly at: number;
  readonly partition: Partition;
  readonly turn: string;
  readonly message: string;
  readonly more: string;
}

function textsOf(commit: ProjectedCommit): CommitTexts {
  const all: DeliveryTexts[] = [];
  let areKnown = commit.turns !== undefined && commit.rowTexts?.length === commit.entries.length;
  for (let index = 0; index < commit.entries.length; index += 1) {
    const [entry, partition, row] = [commit.entries[index], commit.partitions[index], commit.rows[index]];
    if (entry === undefined || partition === undefined || row?.outcome === 'postponed') {
      areKnown = false;
      continue;
    }
    const { seq, at, body } = entry;
    const to = commit.targets[index] ?? UNREADABLE;
    const known = commit.rowTexts?.[index] ?? JSON.stringify(row ?? null);
    let [turn, message, more] = [known, body, ''];
    if (to === UNREADABLE || !saysItsKeys(body, row)) {
      const keys = to === UNREADABLE ? null : (commit.keys[index] ?? null);
      turn = withEnvelope(row, known, keys);
      if (to === UNREADABLE || !body.startsWith('{')) message = JSON.stringify(body);
      more = JSON.stringify({ to, keys } satisfies MoreOfDelivery);
      if (turn !== known) areKnown = false;
    }
    all.push({ seq, at, partition, turn, message, more });
  }
  const turns = areKnown ? commit.turns : undefined;
  return { turns: turns ?? all.map(({ turn }) => turn).join(','), all };
}

/** An object without a turn does not fit the row's schema, so a node without a ledger keeps no envelope. */
const withEnvelope = (row: TurnRow | undefined, text: string, keys: DeliveryKeys | null): string =>
  keys?.envelope == null || row === undefined ? text : JSON.stringify({ ...row, envelope: keys.envelope });

/** Numbers names in the order in which they come. */
class Names<Name> {
  readonly #numbers = new Map<Name, number>();

  numberOf(name: Name): number {
    const known = this.#numbers.get(name);
    if (known !== undefined) return known;
    const number = this.#numbers.size;
    this.#numbers.set(name, number);
    return number;
  }

  get all(): Name[] {
    return [...this.#numbers.keys()];
  }
}
