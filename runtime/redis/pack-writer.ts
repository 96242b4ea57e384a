import { randomBytes } from 'node:crypto';
import type { AppendOutcome } from '../actor-store.ts';
import { isLog, isSharedLog, type Log, type Partition } from '../address.ts';
import type { Clock } from '../clock.ts';
import { type SvcError, toSvcError } from '../errors.ts';
import { Rounds } from '../kit/rounds.ts';
import type { Delivery } from '../message.ts';
import type { FcallBatcher } from './fcall-batcher.ts';
import { type Keys, type Routes, SLOT_TAGS } from './keys.ts';
import { integer, list, text } from './replies.ts';
import type { ServerTimes } from './wake-ups.ts';

/** Limits of a pack. It goes through Redis as one text, and a larger one would take too long. */
const MOST_MESSAGES = 256;
const MOST_BYTES = 128 * 1024;
/** How long an append of unknown outcome is remembered after a caller last asked for it. */
const DOUBT_MS = 600_000;

/** Answers of `append_pack` that are not message numbers (functions/append_pack.lua). */
const WRITTEN_BEFORE = 0;
const REFUSED = -1;

interface Waiting {
  readonly partition: Partition;
  /** Without its body while no caller waits: an outage leaves many of these, and a repeat brings the body again. */
  delivery: Delivery;
  readonly bound: number;
  /** Null while no caller waits: the last one got `unavailable` and may repeat the call. */
  caller: PromiseWithResolvers<AppendOutcome> | null;
}

interface Pack {
  readonly waiting: Waiting[];
  /**
   * Life of the server for which it was made. Another one refuses it, since that one may have lost what it says about this writer. For a
   * shared log the life that named the log for all of these partitions; '' while none is known.
   */
  readonly life: string;
  bytes: number;
  writer: string;
  number: number;
}

/** The packs of one writer whose outcome is not known, in order. */
interface Doubt {
  readonly log: Log;
  readonly writer: string;
  readonly packs: Pack[];
  closing: boolean;
  /** When a caller last asked, monotonic milliseconds. */
  askedAt: number;
}

/** The appends of this process to one log. */
interface Line {
  readonly log: Log;
  writer: string;
  number: number;
  /** Life of the server that answered last; '' before. */
  life: string;
  /** The pack that takes messages until it is sent. */
  open: Pack | null;
}

interface PackWriterParts {
  readonly clock: Pick<Clock, 'monotonic' | 'after'>;
  readonly calls: Pick<FcallBatcher, 'callLate'>;
  readonly keys: Keys;
  readonly times: ServerTimes;
  readonly routes: Routes;
  /** Appends a message by its id. `ageMs` is how long ago it was sent first. */
  readonly appendNamed: (
    partition: Partition,
    delivery: Delivery,
    bound: number,
    ageMs: number,
  ) => Promise<AppendOutcome>;
}

/**
 * Appends fresh messages in packs: all messages that one process sends to a log in one turn of the event loop become
 * one entry (functions/append_pack.lua). Writer and number identify a pack, so the ids of its messages are not stored.
 * When the outcome of a pack is unknown, the process continues under a new writer name. When a caller repeats a message
 * of that pack, the old writer is closed first: the answer says which of its packs were written, and no other will be.
 * A message that was appended by its id is repeated by its id, because packs are not compared with the ids that were seen.
 */
export class PackWriter {
  readonly #parts: PackWriterParts;
  readonly #rounds: Rounds;
  readonly #lines = new Map<Log, Line>();
  /** Doubts by message id. */
  readonly #doubts = new Map<string, Doubt>();
  /** Doubts by writer. */
  readonly #doubtful = new Map<string, Doubt>();
  /** Messages that proved to be written after their callers had left, with the time of that finding. */
  readonly #written = new Map<string, number>();
  /** Messages that were appended by their ids with an unknown outcome, with the time of the last try. */
  readonly #named = new Map<string, number>();

  constructor(parts: PackWriterParts) {
    this.#parts = parts;
    this.#rounds = new Rounds(parts.clock, SLOT_TAGS);
  }

  /** Appends a message. `ageMs` is how long ago the caller first sent it. */
  async append(partition: Partition, delivery: Delivery, bound: number, ageMs: number): Promise<AppendOutcome> {
    const caller = Promise.withResolvers<AppendOutcome>();
    const doubt = this.#doubts.get(delivery.id);
    if (this.#written.delete(delivery.id)) return { kind: 'accepted', seq: 0 };
    if (this.#named.has(delivery.id)) return this.#appendNamed(partition, delivery, bound, ageMs);
    if (doubt !== undefined) this.#askAgain(doubt, delivery, caller);
    else if (ageMs > DOUBT_MS) return { kind: 'late' };
    else {
      await this.#parts.times.nowOrRead(partition);
      this.#add({ partition, delivery, bound, caller });
    }
    return caller.promise;
  }

  #lineOf(log: Log): Line {
    let line = this.#lines.get(log);
    if (line === undefined) {
      line = { log, writer: newWriter(), number: 0, life: '', open: null };
      this.#lines.set(log, line);
    }
    return line;
  }

  #add(waiting: Waiting): void {
    const { routes } = this.#parts;
    const line = this.#lineOf(routes.of(waiting.partition));
    const life = isSharedLog(line.log) ? routes.lifeOf(waiting.partition) : line.life;
    const bytes = Buffer.byteLength(waiting.delivery.body);
    const hasRounds = this.#parts.keys.tagOf(line.log) !== '';
    if (hasRounds && waiting.delivery.awaited === true) this.#rounds.add(waiting.delivery.id);
    const { open } = line;
    const fits = open !== null && open.waiting.length < MOST_MESSAGES && open.bytes + bytes <= MOST_BYTES;
    if (fits && open.life === life) {
      open.waiting.push(waiting);
      open.bytes += bytes;
      return;
    }
    const pack: Pack = { waiting: [waiting], life, bytes, writer: '', number: 0 };
    line.open = pack;
    // One log has the calls of all partitions of a server, but where logs have tags a pack has few of the messages.
    if (hasRounds) this.#rounds.next(() => this.#send(line, pack));
    else this.#send(line, pack);
  }

  /** The reply to a message has come. */
  answered(messageId: string): void {
    this.#rounds.answered(messageId);
  }

  #send(line: Line, pack: Pack): void {
    const { log } = line;
    const isShared = isSharedLog(log);
    const { meta, mail, depths, held } = this.#parts.keys.of(log);
    this.#parts.calls
      .callLate('append_pack', log, (keys, args) => {
        // When this section is sent a second time, alone, the pack keeps its number.
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
        const sentAt = this.#parts.times.now(log) ?? 0;
        const partitions = isShared ? pack.waiting.map(({ partition }) => partition).join(',') : '';
        keys.push(meta, mail, depths, isShared ? meta : held);
        args.push(pack.writer, pack.number, sentAt, bound, pack.waiting.length, lengths, targets, bodies, partitions);
        args.push(pack.life);
      })
      .then(
        (reply) => this.#answered(line, pack, reply),
        (thrown: unknown) => this.#failed(line, pack, toSvcError(thrown)),
      );
  }

  #answered(line: Line, pack: Pack, reply: unknown): void {
    if (this.#doubtful.size + this.#written.size + this.#named.size > 0) this.#forgetOld();
    const [answer = REFUSED, now, life] = list(reply);
    this.#parts.times.tell(line.log, integer(now));
    line.life = text(life);
    if (typeof answer === 'string') {
      this.#moved(line, pack, answer, text(life));
      return;
    }
    const first = integer(answer);
    if (first > 0) for (const [at, one] of pack.waiting.entries()) accept(one, first + at, line.log);
    else if (first === WRITTEN_BEFORE) for (const one of pack.waiting) accept(one, 0, line.log);
    else {
      if (line.writer === pack.writer) renew(line);
      if (first === REFUSED) this.#appendEach(pack);
      else this.#close(this.#doubt(line.log, pack));
    }
  }

  /**
   * Handles a pack that was not and will not be written: its messages go to the log `to`, or to the log that their
   * partitions name.
   */
  #moved(line: Line, pack: Pack, to: string, life: string): void {
    const { routes } = this.#parts;
    if (line.writer === pack.writer) renew(line);
    if (isSharedLog(line.log)) this.#lines.delete(line.log);
    for (const one of pack.waiting) {
      if (to !== '' && isLog(to) && isSharedLog(to)) routes.learn(one.partition, to, life);
      else routes.forget(one.partition);
    }
    for (const one of pack.waiting) if (one.caller !== null) this.#add(one);
  }

  /**
   * Handles a pack that was not and will not be written because an actor may be over its bound: each message is
   * appended by itself.
   */
  #appendEach(pack: Pack): void {
    for (const { partition, caller, delivery, bound } of pack.waiting) {
      if (caller !== null) this.#appendNamed(partition, delivery, bound, 0).then(caller.resolve, caller.reject);
    }
  }

  /** Appends a message by its id. While the outcome is unknown, its repeats are appended by the id too. */
  async #appendNamed(partition: Partition, delivery: Delivery, bound: number, ageMs: number): Promise<AppendOutcome> {
    try {
      const outcome = await this.#parts.appendNamed(partition, delivery, bound, ageMs);
      this.#named.delete(delivery.id);
      return outcome;
    } catch (thrown) {
      this.#named.delete(delivery.id);
      this.#named.set(delivery.id, performance.now());
      throw thrown;
    }
  }

  #failed(line: Line, pack: Pack, error: SvcError): void {
    if (line.writer === pack.writer) renew(line);
    // A pack that was never sent leaves no doubt.
    if (pack.number > 0) this.#doubt(line.log, pack);
    else if (line.open === pack) line.open = null;
    for (const { delivery } of pack.waiting) this.#rounds.answered(delivery.id);
    reject(pack, error);
  }

  #doubt(log: Log, pack: Pack): Doubt {
    let doubt = this.#doubtful.get(pack.writer);
    if (doubt === undefined) {
      doubt = { log, writer: pack.writer, packs: [], closing: false, askedAt: 0 };
    }
    doubt.packs.push(pack);
    this.#asked(doubt);
    for (const { delivery } of pack.waiting) this.#doubts.set(delivery.id, doubt);
    this.#forgetOld();
    return doubt;
  }

  #forgetOld(): void {
    const before = performance.now() - DOUBT_MS;
    for (const doubt of this.#doubtful.values()) {
      if (doubt.askedAt >= before) break;
      this.#settle(doubt);
    }
    for (const ids of [this.#written, this.#named]) {
      for (const [id, at] of ids) {
        if (at >= before) break;
        ids.delete(id);
      }
    }
  }

  #settle(doubt: Doubt): void {
    this.#doubtful.delete(doubt.writer);
    for (const { waiting } of doubt.packs) for (const { delivery } of waiting) this.#doubts.delete(delivery.id);
  }

  #askAgain(doubt: Doubt, delivery: Delivery, caller: PromiseWithResolvers<AppendOutcome>): void {
    for (const { waiting } of doubt.packs) {
      for (const one of waiting) {
        if (one.delivery.id !== delivery.id) continue;
        // Two callers sent one message: both get its outcome.
        if (one.caller !== null) one.caller.promise.then(caller.resolve, caller.reject);
        else [one.delivery, one.caller] = [delivery, caller];
      }
    }
    this.#asked(doubt);
    this.#close(doubt);
  }

  /** Moves the doubt to the end: its caller asked last. */
  #asked(doubt: Doubt): void {
    doubt.askedAt = performance.now();
    this.#doubtful.delete(doubt.writer);
    this.#doubtful.set(doubt.writer, doubt);
  }

  /**
   * Closes a given-up writer to find out which of its packs were written. Messages that were not written are sent again
   * for callers that still wait.
   */
  #close(doubt: Doubt): void {
    if (doubt.closing) return;
    doubt.closing = true;
    const { calls, keys } = this.#parts;
    const { log, writer } = doubt;
    calls
      .callLate('close_writer', log, (names, args) => {
        names.push(keys.of(log).meta);
        args.push(writer, isSharedLog(log) ? 1 : 0);
      })
      .then(
        (reply) => {
          const last = integer(reply);
          this.#settle(doubt);
          for (const pack of doubt.packs) {
            const written = pack.number <= last;
            for (const one of pack.waiting) {
              if (written && one.caller === null) this.#written.set(one.delivery.id, performance.now());
              else if (written) accept(one, 0, log);
              else if (one.caller !== null) this.#add({ ...one });
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

function accept({ caller }: Waiting, seq: number, log: Log): void {
  caller?.resolve({ kind: 'accepted', seq, ...(isSharedLog(log) ? { log } : {}) });
}

function reject(pack: Pack, error: SvcError): void {
  for (const one of pack.waiting) {
    one.caller?.reject(error);
    one.caller = null;
    one.delivery = { ...one.delivery, body: '' };
  }
}
