import { randomBytes } from 'node:crypto';
import type { AppendOutcome, Delivery } from '../actor-store.ts';
import type { Partition } from '../address.ts';
import { type SvcError, toSvcError } from '../errors.ts';
import type { Keys } from './keys.ts';
import { integer, list } from './reply.ts';
import type { SectionCalls } from './sections.ts';
import type { ServerTimes } from './server-times.ts';

/** A pack goes through Redis as one text: bounds on how long that takes. */
const MOST_MESSAGES = 256;
const MOST_CHARACTERS = 128 * 1024;
/** An append of unknown outcome is remembered so long after its caller asked last. */
const DOUBT_MS = 600_000;

/** Answers of `append_pack` that are no message number (functions/append_pack.lua). */
const WRITTEN_BEFORE = 0;
const REFUSED = -1;

interface Waiting {
  readonly delivery: Delivery;
  readonly bound: number;
  /** Null while no caller waits: it was told `unavailable` and may come again. */
  caller: PromiseWithResolvers<AppendOutcome> | null;
}

interface Pack {
  readonly waiting: Waiting[];
  characters: number;
  writer: string;
  number: number;
}

/** The packs of one writer whose outcome is not known, in order. */
interface Doubt {
  readonly partition: Partition;
  readonly writer: string;
  readonly packs: Pack[];
  closing: boolean;
  /** Monotonic ms when a caller asked last. */
  askedAt: number;
}

/** What this process appends to one partition. */
interface Line {
  writer: string;
  number: number;
  /** Takes messages until it is sent. */
  open: Pack | null;
}

export interface PackWriterParts {
  readonly calls: Pick<SectionCalls, 'callLate'>;
  readonly keys: Keys;
  readonly times: ServerTimes;
  readonly appendNamed: (partition: Partition, delivery: Delivery, bound: number) => Promise<AppendOutcome>;
}

/**
 * Appends fresh messages in packs: all that one process sends to a partition in one turn of the event loop is one entry
 * (functions/append_pack.lua). A pack is known by writer and number, so no id is kept for its messages.
 *
 * When the outcome of a pack is not known, its writer is given up and the line goes on with a new one. A caller that
 * repeats a message of that pack has the old writer closed first: the answer tells which packs were written, and no other
 * will be.
 */
export class PackWriter {
  readonly #parts: PackWriterParts;
  readonly #lines = new Map<Partition, Line>();
  /** By message id. */
  readonly #doubts = new Map<string, Doubt>();
  /** By writer. */
  readonly #doubtful = new Map<string, Doubt>();
  /** Messages that turned out to be written while their callers were away, with the time of that. */
  readonly #written = new Map<string, number>();

  constructor(parts: PackWriterParts) {
    this.#parts = parts;
  }

  /** `ageMs`: how long ago the caller sent it first. */
  async append(partition: Partition, delivery: Delivery, bound: number, ageMs: number): Promise<AppendOutcome> {
    const caller = Promise.withResolvers<AppendOutcome>();
    const doubt = this.#doubts.get(delivery.id);
    if (this.#written.delete(delivery.id)) return { kind: 'accepted', seq: 0 };
    if (doubt !== undefined) this.#askAgain(doubt, delivery.id, caller);
    else if (ageMs > DOUBT_MS) return { kind: 'late' };
    else {
      await this.#parts.times.nowOrAsked(partition);
      this.#add(partition, { delivery, bound, caller });
    }
    return caller.promise;
  }

  #lineOf(partition: Partition): Line {
    let line = this.#lines.get(partition);
    if (line === undefined) {
      line = { writer: newWriter(), number: 0, open: null };
      this.#lines.set(partition, line);
    }
    return line;
  }

  #add(partition: Partition, waiting: Waiting): void {
    const line = this.#lineOf(partition);
    const { length } = waiting.delivery.body;
    const { open } = line;
    const fits = open !== null && open.waiting.length < MOST_MESSAGES && open.characters + length <= MOST_CHARACTERS;
    if (fits) {
      open.waiting.push(waiting);
      open.characters += length;
      return;
    }
    const pack: Pack = { waiting: [waiting], characters: length, writer: '', number: 0 };
    line.open = pack;
    this.#send(partition, line, pack);
  }

  #send(partition: Partition, line: Line, pack: Pack): void {
    const { meta, mail, depths, held } = this.#parts.keys.of(partition);
    this.#parts.calls
      .callLate('append_pack', partition, (keys, args) => {
        // The same section again, alone: the pack keeps its number.
        if (pack.number === 0) {
          if (line.open === pack) line.open = null;
          line.number += 1;
          pack.writer = line.writer;
          pack.number = line.number;
        }
        const bound = Math.min(...pack.waiting.map((one) => one.bound));
        const lengths = pack.waiting.map(({ delivery }) => delivery.body.length).join(',');
        const targets = pack.waiting.map(({ delivery }) => delivery.to).join('\n');
        const bodies = pack.waiting.map(({ delivery }) => delivery.body).join('');
        const sentAt = this.#parts.times.now(partition) ?? 0;
        keys.push(meta, mail, depths, held);
        args.push(pack.writer, pack.number, sentAt, bound, pack.waiting.length, lengths, targets, bodies);
      })
      .then(
        (reply) => this.#answered(partition, line, pack, reply),
        (thrown: unknown) => this.#failed(partition, line, pack, toSvcError(thrown)),
      );
  }

  #answered(partition: Partition, line: Line, pack: Pack, reply: unknown): void {
    const [answer, now] = list(reply).map(integer);
    if (now !== undefined) this.#parts.times.tell(partition, now);
    const first = answer ?? REFUSED;
    if (first > 0) for (const [at, one] of pack.waiting.entries()) accept(one, first + at);
    else if (first === WRITTEN_BEFORE) for (const one of pack.waiting) accept(one, 0);
    else {
      if (line.writer === pack.writer) renew(line);
      if (first === REFUSED) this.#appendNamed(partition, pack);
      else this.#close(this.#doubt(partition, pack));
    }
  }

  /** Of a pack that was not written, nor will be: an actor may be over its bound. Each message learns that by itself. */
  #appendNamed(partition: Partition, pack: Pack): void {
    for (const { caller, delivery, bound } of pack.waiting) {
      if (caller !== null) this.#parts.appendNamed(partition, delivery, bound).then(caller.resolve, caller.reject);
    }
  }

  #failed(partition: Partition, line: Line, pack: Pack, error: SvcError): void {
    if (line.writer === pack.writer) renew(line);
    // Never sent: nothing to be in doubt about.
    if (pack.number > 0) this.#doubt(partition, pack);
    else if (line.open === pack) line.open = null;
    reject(pack, error);
  }

  #doubt(partition: Partition, pack: Pack): Doubt {
    let doubt = this.#doubtful.get(pack.writer);
    if (doubt === undefined) {
      doubt = { partition, writer: pack.writer, packs: [], closing: false, askedAt: 0 };
      this.#doubtful.set(pack.writer, doubt);
    }
    doubt.packs.push(pack);
    doubt.askedAt = performance.now();
    for (const { delivery } of pack.waiting) this.#doubts.set(delivery.id, doubt);
    this.#forgetOld();
    return doubt;
  }

  #forgetOld(): void {
    const before = performance.now() - DOUBT_MS;
    for (const doubt of this.#doubtful.values()) if (doubt.askedAt < before) this.#settle(doubt);
    for (const [id, at] of this.#written) {
      if (at >= before) break;
      this.#written.delete(id);
    }
  }

  #settle(doubt: Doubt): void {
    this.#doubtful.delete(doubt.writer);
    for (const { waiting } of doubt.packs) for (const { delivery } of waiting) this.#doubts.delete(delivery.id);
  }

  #askAgain(doubt: Doubt, id: string, caller: PromiseWithResolvers<AppendOutcome>): void {
    for (const { waiting } of doubt.packs) {
      for (const one of waiting) {
        if (one.delivery.id !== id) continue;
        // Two callers of one message: both get what it comes to.
        if (one.caller !== null) one.caller.promise.then(caller.resolve, caller.reject);
        else one.caller = caller;
      }
    }
    doubt.askedAt = performance.now();
    this.#close(doubt);
  }

  /** Learns what of a given-up writer was written; what was not goes out again, for those who still wait. */
  #close(doubt: Doubt): void {
    if (doubt.closing) return;
    doubt.closing = true;
    const { calls, keys } = this.#parts;
    const { partition, writer } = doubt;
    calls
      .callLate('close_writer', partition, (names, args) => {
        names.push(keys.of(partition).meta);
        args.push(writer);
      })
      .then(
        (reply) => {
          const last = integer(reply);
          this.#settle(doubt);
          for (const pack of doubt.packs) {
            const written = pack.number <= last;
            for (const one of pack.waiting) {
              if (written && one.caller === null) this.#written.set(one.delivery.id, performance.now());
              else if (written) accept(one, 0);
              else if (one.caller !== null) this.#add(partition, { ...one });
            }
          }
        },
        (thrown: unknown) => {
          doubt.closing = false;
          for (const pack of doubt.packs) reject(pack, toSvcError(thrown));
        },
      );
  }
}

const newWriter = (): string => randomBytes(9).toString('base64url');

function renew(line: Line): void {
  line.writer = newWriter();
  line.number = 0;
}

function accept({ caller }: Waiting, seq: number): void {
  caller?.resolve({ kind: 'accepted', seq });
}

function reject(pack: Pack, error: SvcError): void {
  for (const one of pack.waiting) {
    one.caller?.reject(error);
    one.caller = null;
  }
}
