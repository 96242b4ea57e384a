import type { CollectionSpec } from '../documents.ts';
import { SvcError } from '../errors.ts';
import { storeError } from './database.ts';
import type { DocumentsWriter } from './documents-thread.ts';
import type { DocumentOutcome, DocumentWrite } from './documents-write.ts';

interface Waiting {
  readonly write: DocumentWrite;
  readonly rows: number;
  readonly chars: number;
  readonly settle: (outcome: DocumentOutcome) => void;
}

/** Limits of one transaction. The event loop runs before the next one. */
const GROUP_ROWS = 256;

const GROUP_CHARS = 4_000_000;

/** A large document takes as long as some of this size. */
const ROW_CHARS = 2_048;

/** Most groups that are sent to the other thread at a time: while one is written, the next one is there already. */
const MOST_SENT = 2;

/** Most characters of waiting writes. Further writes are refused, so that a slow disk does not fill the memory. */
const MOST_WAITING_CHARS = 128_000_000;

/**
 * Group commit: writes of the same tick share one transaction and so one fsync (K10), and so do writes that arrive
 * while others are being written. A promise settles after COMMIT, never before.
 */
export class GroupCommit {
  readonly #writer: Pick<DocumentsWriter, 'apply'>;
  readonly #onFailed: () => void;
  #waiting: Waiting[] = [];
  #waitingChars = 0;
  #scheduled = false;
  #closed = false;
  readonly #sent = new Set<Promise<void>>();
  readonly #used = new Set<string>();
  /** Collections whose tables may not be there yet. */
  #unmade: CollectionSpec[] = [];
  /** Set while their tables are being created. */
  #making: Promise<void> | null = null;

  /** `onFailed`: called when a group could not be written. */
  constructor(writer: Pick<DocumentsWriter, 'apply'>, onFailed: () => void = () => {}) {
    this.#writer = writer;
    this.#onFailed = onFailed;
  }

  /**
   * Registers a collection. Its tables are created before its first read or write, in one transaction with those of the
   * collections registered until then: a start opens sixty collections, and each transaction makes SQLite read its schema
   * again.
   */
  use(spec: CollectionSpec): void {
    const key = JSON.stringify(spec);
    if (this.#used.has(key)) return;
    this.#used.add(key);
    this.#unmade.push(spec);
  }

  /** Makes a write. Returns how many documents were written or removed, once that is durable. */
  async run(write: DocumentWrite): Promise<number> {
    const made = this.#make();
    const written = this.#add(write);
    // A failure to create the tables is why they are missing.
    if (made !== null) await Promise.all([made, written]);
    return written;
  }

  /** Runs a read of committed data: nothing runs between the statements of a group. */
  async read<T>(work: () => T): Promise<T> {
    await this.#make();
    if (this.#closed) throw isClosed();
    try {
      return work();
    } catch (error) {
      throw storeError(error, 'documents');
    }
  }

  /** Creates missing tables before later writes; null when nothing is missing. */
  #make(): Promise<void> | null {
    const specs = this.#unmade;
    if (specs.length === 0) return this.#making;
    this.#unmade = [];
    const earlier = this.#making;
    const making = Promise.all([earlier, this.#add({ do: 'schema', specs })]).then(
      () => {
        if (this.#making === making) this.#making = null;
      },
      (error: unknown) => {
        if (this.#making === making) this.#making = null;
        this.#unmade.unshift(...specs);
        throw error;
      },
    );
    this.#making = making;
    return making;
  }

  #add(write: DocumentWrite): Promise<number> {
    if (this.#closed) return Promise.reject(isClosed());
    if (this.#waitingChars > MOST_WAITING_CHARS) return Promise.reject(isFull());
    return new Promise<number>((resolve, reject) => {
      const settle = (outcome: DocumentOutcome): void => {
        if (typeof outcome === 'number') resolve(outcome);
        else reject(outcome);
      };
      const [rows, chars] = sizeOf(write);
      this.#waiting.push({ write, rows, chars, settle });
      this.#waitingChars += chars;
      this.#schedule();
    });
  }

  /** Commits the waiting writes. Later writes are refused. */
  async close(): Promise<void> {
    this.#closed = true;
    while (this.#waiting.length > 0 || this.#sent.size > 0) {
      this.#flush();
      // `Promise.race` of an empty list never settles. Without sent groups, this thread has written everything.
      if (this.#sent.size > 0) await Promise.race(this.#sent);
    }
  }

  #schedule(): void {
    if (this.#scheduled) return;
    this.#scheduled = true;
    setImmediate(() => {
      this.#scheduled = false;
      this.#flush();
    });
  }

  #flush(): void {
    if (this.#waiting.length === 0 || this.#sent.size >= MOST_SENT) return;
    const group = this.#take();
    const rows = group.reduce((sum, one) => sum + Math.max(one.rows, one.chars / ROW_CHARS), 0);
    const outcomes = this.#writer.apply(
      group.map(({ write }) => write),
      rows,
    );
    if (!(outcomes instanceof Promise)) this.#settle(group, outcomes);
    else {
      const sent: Promise<void> = outcomes.then((all) => {
        this.#sent.delete(sent);
        this.#settle(group, all);
        if (this.#waiting.length > 0) this.#schedule();
      });
      this.#sent.add(sent);
    }
    if (this.#waiting.length > 0) this.#schedule();
  }

  #settle(group: readonly Waiting[], outcomes: readonly DocumentOutcome[]): void {
    if (outcomes.some((one) => one instanceof SvcError && one.code === 'unavailable')) this.#onFailed();
    for (const [index, { settle }] of group.entries()) settle(outcomes[index] ?? isClosed());
  }

  /** Takes the writes of the next group: at least one, however large it is. */
  #take(): Waiting[] {
    let [rows, chars] = [0, 0];
    const end = this.#waiting.findIndex((one, index) => {
      rows += one.rows;
      chars += one.chars;
      return index > 0 && (rows > GROUP_ROWS || chars > GROUP_CHARS);
    });
    const group = this.#waiting.splice(0, end === -1 ? this.#waiting.length : end);
    for (const one of group) this.#waitingChars -= one.chars;
    return group;
  }
}

/** Documents and characters of a write. */
function sizeOf(write: DocumentWrite): [rows: number, chars: number] {
  const charsOf = ([, id, , fields, rest]: readonly [string, string, number, string, string]): number =>
    id.length + fields.length + rest.length;
  if (write.do === 'put') return [write.rows.length, write.rows.reduce((sum, row) => sum + charsOf(row), 0)];
  return [1, write.do === 'insert' || write.do === 'replace' ? charsOf(write.row) : 100];
}

const isClosed = (): SvcError => new SvcError('unavailable', 'the document store is closed', { store: 'documents' });

const isFull = (): SvcError =>
  new SvcError('unavailable', 'too many writes wait for the document store', {
    store: 'documents',
    retryAfterMs: 1_000,
  });
