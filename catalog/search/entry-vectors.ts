import { createHash } from 'node:crypto';
import type { Clock } from '../../runtime/clock.ts';
import type { Collection, CollectionSpec, StoredDocument } from '../../runtime/documents.ts';
import type { Embeddings } from '../api.ts';
import type { SearchEntry } from './entry.ts';

/** A stored vector, by the hash of its text and model, so that restarts and other nodes need not call the model again. */
export interface VectorRecord extends StoredDocument {
  readonly vector: string;
}

export const SEARCH_VECTORS: CollectionSpec = { name: 'search_vectors', unique: [], indexes: [] };

const MAX_TEXT_CHARS = 8_192;

/** Maximum number of texts in one call of the model. */
const BATCH = 64;

const PAGE = 1_000;

/** The vectors of the agents or workflows of one tenant. */
export class EntryVectors {
  readonly #tenant: string;
  readonly #stored: Collection<VectorRecord>;
  readonly #embeddings: EmbeddingsBreaker;
  readonly #warn: (message: string, error: unknown) => void;
  readonly #hashes = new Map<string, string>();
  readonly #uses = new Map<string, number>();
  readonly #vectors = new Map<string, Vector>();
  /** Texts by hash whose stored vectors are not read yet; `#unmade` has the texts without a stored vector. */
  readonly #unread = new Map<string, string>();
  readonly #unmade = new Map<string, string>();
  readonly #obsolete = new Set<string>();
  #filling: Promise<void> | null = null;

  constructor(parts: {
    readonly tenant: string;
    readonly stored: Collection<VectorRecord>;
    readonly embeddings: EmbeddingsBreaker;
    readonly warn: (message: string, error: unknown) => void;
  }) {
    this.#tenant = parts.tenant;
    this.#stored = parts.stored;
    this.#embeddings = parts.embeddings;
    this.#warn = parts.warn;
  }

  of(entryId: string): Vector | undefined {
    const hash = this.#hashes.get(entryId);
    return hash === undefined ? undefined : this.#vectors.get(hash);
  }

  /** Marks the entry's vector as needed; `load` and `fill` get it. */
  want(entry: SearchEntry, instruction: string): void {
    const labels = Object.values(entry.labels).join(', ');
    const text = [entry.name, entry.description, labels, instruction].join('\n').slice(0, MAX_TEXT_CHARS);
    const hash = createHash('sha256').update(`${this.#embeddings.model}\n${text}`).digest('hex');
    if (this.#hashes.get(entry.id) === hash) return;
    this.forget(entry.id);
    this.#hashes.set(entry.id, hash);
    this.#uses.set(hash, (this.#uses.get(hash) ?? 0) + 1);
    this.#obsolete.delete(hash);
    if (!this.#vectors.has(hash) && !this.#unmade.has(hash)) this.#unread.set(hash, text);
  }

  forget(entryId: string): void {
    const hash = this.#hashes.get(entryId);
    if (hash === undefined) return;
    this.#hashes.delete(entryId);
    const uses = (this.#uses.get(hash) ?? 0) - 1;
    if (uses > 0) {
      this.#uses.set(hash, uses);
      return;
    }
    this.#uses.delete(hash);
    this.#vectors.delete(hash);
    this.#unread.delete(hash);
    this.#unmade.delete(hash);
    this.#obsolete.add(hash);
  }

  /** Reads stored vectors, and deletes those that no entry needs. */
  async load(): Promise<void> {
    const wanted = [...this.#unread];
    for (let from = 0; from < wanted.length; from += PAGE) {
      const some = new Map(wanted.slice(from, from + PAGE));
      const where = { id: { in: [...some.keys()] } };
      const found = await this.#stored.find({ tenant: this.#tenant, where, limit: PAGE });
      for (const { id, vector } of found) {
        const read = vectorOfText(vector);
        if (read === null) continue;
        if (this.#uses.has(id)) this.#vectors.set(id, read);
        some.delete(id);
      }
      for (const [hash, text] of some) if (this.#uses.has(hash)) this.#unmade.set(hash, text);
    }
    for (const [hash] of wanted) this.#unread.delete(hash);
    for (const hash of this.#obsolete) await this.#stored.delete(this.#tenant, hash);
    this.#obsolete.clear();
  }

  /**
   * Calls the model for missing vectors. Waits only when few are missing; many are made in the background, and searches use
   * words only meanwhile.
   */
  async fill(): Promise<void> {
    if (this.#unmade.size === 0) return;
    this.#filling ??= this.#fillAll().finally(() => {
      this.#filling = null;
    });
    if (this.#unmade.size <= BATCH) await this.#filling;
  }

  async #fillAll(): Promise<void> {
    try {
      while (this.#unmade.size > 0) {
        const batch = [...this.#unmade].slice(0, BATCH);
        const made = await this.#embeddings.embed(batch.map(([, text]) => text));
        if (made === null) return;
        for (const [at, [hash]] of batch.entries()) {
          this.#unmade.delete(hash);
          const vector = made[at] ?? null;
          if (vector === null || !this.#uses.has(hash)) continue;
          this.#vectors.set(hash, vector);
          await this.#stored.insert({ tenant: this.#tenant, id: hash, version: 1, vector: textOfVector(vector) });
        }
      }
    } catch (thrown) {
      this.#warn('vectors of catalog entries could not be stored; the model is asked for them again', thrown);
    }
  }
}

/**
 * A direction as whole numbers from -127 to 127. It takes a quarter of the memory of floats and changes cosines in the third
 * decimal place only.
 */
export interface Vector {
  readonly parts: Int8Array;
  readonly length: number;
}

/** Null when the numbers have no direction, such as all zeros. */
function vectorOf(numbers: readonly number[]): Vector | null {
  const most = numbers.reduce((max, number) => Math.max(max, Math.abs(number)), 0);
  if (!Number.isFinite(most) || most === 0) return null;
  return withLength(Int8Array.from(numbers, (number) => Math.round((number / most) * 127)));
}

/** The form in which a vector is stored. */
export const textOfVector = ({ parts }: Vector): string =>
  Buffer.from(parts.buffer, parts.byteOffset, parts.byteLength).toString('base64');

/** Null when the text contains no vector. */
export function vectorOfText(text: string): Vector | null {
  const parts = new Int8Array(Buffer.from(text, 'base64'));
  return parts.length === 0 ? null : withLength(parts);
}

function withLength(parts: Int8Array): Vector | null {
  const square = parts.reduce((sum, part) => sum + part * part, 0);
  return square === 0 ? null : { parts, length: Math.sqrt(square) };
}

/** -1 to 1; 0 for vectors of different lengths. */
export function cosine(one: Vector, other: Vector): number {
  const { parts } = one;
  if (parts.length !== other.parts.length) return 0;
  let sum = 0;
  for (let at = 0; at < parts.length; at += 1) sum += (parts[at] ?? 0) * (other.parts[at] ?? 0);
  return sum / (one.length * other.length);
}

/** Pause after a failure before the model is called again. */
const PAUSE_MS = 10_000;

/** Minimum time between two failures in the log. */
const QUIET_MS = 60_000;

/** Circuit breaker for embeddings. After a failure, searches use words only, without waiting again, and the log says so. */
export class EmbeddingsBreaker {
  readonly model: string;
  readonly #embeddings: Embeddings;
  readonly #clock: Clock;
  readonly #warn: (message: string, error: unknown) => void;
  #pausedUntil = Number.NEGATIVE_INFINITY;
  #quietUntil = Number.NEGATIVE_INFINITY;

  constructor(embeddings: Embeddings, clock: Clock, warn: (message: string, error: unknown) => void) {
    this.model = embeddings.model;
    this.#embeddings = embeddings;
    this.#clock = clock;
    this.#warn = warn;
  }

  /** A vector for each text, null for a text without direction; null as a whole while the model does not answer. */
  async embed(texts: readonly string[]): Promise<(Vector | null)[] | null> {
    if (this.#clock.monotonic() < this.#pausedUntil) return null;
    try {
      return (await this.#embeddings.embed(texts)).map((numbers) => vectorOf(numbers));
    } catch (thrown) {
      const now = this.#clock.monotonic();
      this.#pausedUntil = now + PAUSE_MS;
      if (now >= this.#quietUntil) {
        this.#quietUntil = now + QUIET_MS;
        this.#warn('the model of spec.cortex.embeddings does not answer; searches use words alone', thrown);
      }
      return null;
    }
  }
}
