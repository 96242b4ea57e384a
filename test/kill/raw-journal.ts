import { setTimeout as pause } from 'node:timers/promises';
import { Redis } from 'ioredis';
import { z } from 'zod';
import { waitUntil } from '../support/wait-until.ts';

/** Messages and results that Redis received, read from its streams before they are trimmed. */
export interface RawJournal {
  /** Last handling of each appended message, and of each result, by id, or by reference for a message in Blobs. */
  readonly outcomes: ReadonlyMap<string, string>;
  /** Messages that were appended or handled twice, and rows with other turns than messages. */
  readonly gaps: readonly string[];
}

interface Entry {
  readonly seq: number;
  /** Id of the message, or its reference. */
  readonly name: string;
}

const Message = z.union([z.looseObject({ id: z.string() }).transform(({ id }) => id), z.string()]);

const Row = z.looseObject({
  turns: z.array(z.looseObject({ outcome: z.string() })),
  results: z.array(z.tuple([z.number(), Message]).rest(z.unknown())).default([]),
});

const NOT_HANDLED = 'not handled';

const LOOK_MS = 40;
/** Entries stay until the ledger has them, so for at least half a second. */
const KEYS_EVERY_MS = 120;
const AT_ONCE = '1000';

/**
 * Reads the mailboxes and journals of a Redis while nodes use it, with its own commands and parser, so that the checks use no
 * code of the product. An entry stays in its stream until the ledger has it.
 */
export class JournalFollower {
  readonly #redis: Redis;
  readonly #last = new Map<string, string>();
  /** By log, in their order. */
  readonly #entries = new Map<string, Entry[]>();
  readonly #rows = new Map<string, { readonly id: string; readonly after: number; readonly text: string }[]>();
  readonly #following: Promise<void>;
  #isOver = false;

  constructor(url: string) {
    this.#redis = new Redis(url);
    this.#following = this.#follow();
    // Awaited in `stop`.
    this.#following.catch(() => undefined);
  }

  /** Resolves when the ledger has everything: the journals of all logs are empty. */
  async untilTrimmed(timeoutMs: number): Promise<void> {
    const look = async (): Promise<boolean> => {
      const journals = [...this.#last.keys()].filter((key) => key.endsWith(':journal'));
      const lengths = await Promise.all(journals.map((key) => this.#redis.xlen(key)));
      return lengths.every((length) => length === 0);
    };
    await waitUntil('the journals to be empty', look, timeoutMs);
  }

  /** Reads the remaining entries. Call it when the nodes have ended. */
  async stop(): Promise<RawJournal> {
    this.#isOver = true;
    await this.#following;
    await this.#redis.quit();
    const gaps: string[] = [];
    const outcomes = new Map<string, string>();
    const places = new Map<string, string>();
    for (const [log, entries] of this.#entries) {
      for (const { name, seq } of entries) {
        const place = `${log} ${seq}`;
        if (places.has(name)) gaps.push(`message ${name}: appended at ${places.get(name)} and at ${place}`);
        places.set(name, place);
        outcomes.set(name, NOT_HANDLED);
      }
    }
    for (const [log, rows] of this.#rows) this.#handled(log, rows, outcomes, gaps);
    return { outcomes, gaps };
  }

  /** Stops without a result. */
  close(): void {
    this.#redis.disconnect();
  }

  #handled(
    log: string,
    rows: readonly { readonly id: string; readonly after: number; readonly text: string }[],
    outcomes: Map<string, string>,
    gaps: string[],
  ): void {
    const entries = this.#entries.get(log) ?? [];
    for (const { id, after, text } of rows) {
      const upTo = Number(id.slice(0, id.indexOf('-')));
      const { turns, results } = Row.parse(JSON.parse(text));
      // Numbers grow, with gaps where a partition gets another log.
      const taken = entries.filter(({ seq }) => seq > after && seq <= upTo);
      const names = [...taken.map(({ name }) => name), ...results.map(([, name]) => name)];
      if (names.length !== turns.length) gaps.push(`${log} ${id}: ${turns.length} turns of ${names.length} messages`);
      for (const [index, { outcome }] of turns.entries()) {
        const name = names[index];
        if (name === undefined || outcome === 'postponed') continue;
        const before = outcomes.get(name) ?? NOT_HANDLED;
        if (before !== NOT_HANDLED) gaps.push(`message ${name}: handled again (${before}, ${outcome}) at ${log} ${id}`);
        outcomes.set(name, outcome);
      }
    }
  }

  async #follow(): Promise<void> {
    for (let keysAt = 0; ; ) {
      const isLast = this.#isOver;
      if (isLast || performance.now() - keysAt > KEYS_EVERY_MS) {
        await this.#findStreams();
        keysAt = performance.now();
      }
      const hasMore = await this.#read();
      if (isLast && !hasMore) return;
      if (!hasMore) await pause(LOOK_MS);
    }
  }

  async #findStreams(): Promise<void> {
    for (let cursor = '0'; ; ) {
      const [next, keys] = await this.#redis.scan(cursor, 'COUNT', 2_000, 'TYPE', 'stream');
      for (const key of keys) if (/:(mail|journal)$/.test(key) && !this.#last.has(key)) this.#last.set(key, '0-0');
      if (next === '0') return;
      cursor = next;
    }
  }

  /** Whether there may be more entries. */
  async #read(): Promise<boolean> {
    const keys = [...this.#last.keys()];
    if (keys.length === 0) return false;
    const streams = await this.#redis.xread('COUNT', AT_ONCE, 'STREAMS', ...keys, ...this.#last.values());
    for (const [key, items] of streams ?? []) {
      const log = key.slice(0, key.lastIndexOf(':'));
      for (const [id, fields] of items) {
        this.#last.set(key, id);
        if (key.endsWith(':mail')) entriesOf(this.#entries, log, id, fields);
        else
          listOf(this.#rows, log).push({ id, after: Number(fieldOf(fields, 'f')), text: fieldOf(fields, 'r') ?? '' });
      }
    }
    return (streams ?? []).length > 0;
  }
}

/** One message, or several that one writer appended together. */
function entriesOf(all: Map<string, Entry[]>, log: string, id: string, fields: readonly string[]): void {
  const entries = listOf(all, log);
  const first = Number(id.slice(0, id.indexOf('-')));
  const text = fieldOf(fields, 'b') ?? '';
  const lengths = fieldOf(fields, 'n')?.split(',').map(Number) ?? [text.length];
  let at = 0;
  for (const [index, length] of lengths.entries()) {
    const body = text.slice(at, at + length);
    entries.push({ seq: first + index, name: body.startsWith('@') ? body : Message.parse(JSON.parse(body)) });
    at += length;
  }
}

function fieldOf(fields: readonly string[], name: string): string | undefined {
  for (let at = 0; at < fields.length; at += 2) if (fields[at] === name) return fields[at + 1];
  return undefined;
}

function listOf<T>(all: Map<string, T[]>, log: string): T[] {
  const known = all.get(log) ?? [];
  all.set(log, known);
  return known;
}
