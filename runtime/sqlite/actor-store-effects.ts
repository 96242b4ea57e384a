import type { DatabaseSync } from 'node:sqlite';
import type { ClaimOutcome, EffectError, EffectMode, EffectOpen, EffectRow } from '../actor-store.ts';
import { type Address, addressOf, parseAddress } from '../address.ts';
import { errorLine, readErrorLine } from '../effect-ledger.ts';
import type { Delivery } from '../message.ts';
import type { MailboxTable } from './actor-store-mailbox.ts';
import type { Notices } from './actor-store-notices.ts';
import type { PartitionState } from './actor-store-partition.ts';
import { integer, type Row, text, textOrNull } from './database.ts';

/** Number of claim ids that are kept, one for each attempt, so that late copies of claims are recognised. */
const KNOWN_CLAIMS = 4;
/** Wait that the answer to a late copy of a claim asks for, milliseconds. */
const STALE_MS = 500;

interface Claim {
  readonly id: string;
  readonly runner: string;
  readonly ttlMs: number;
  readonly over: string;
  readonly claim: string;
  readonly now: number;
}

/** Effect records: they decide what is to be done, not the jobs of a queue (E1, E2). */
export class EffectTable {
  readonly #mailbox: MailboxTable;
  readonly #notices: Notices;
  readonly #insert;
  readonly #delete;
  readonly #all;
  readonly #any;
  readonly #one;
  readonly #start;
  readonly #keep;
  readonly #runs;
  readonly #settle;
  readonly #reopen;
  readonly #note;

  constructor(database: DatabaseSync, mailbox: MailboxTable, notices: Notices) {
    this.#mailbox = mailbox;
    this.#notices = notices;
    const running = "partition = ? AND id = ? AND status = 'started' AND attempt = ?";
    this.#insert = database.prepare(
      `INSERT INTO effects (partition, id, queue, address, mode, status, attempt, until, runner, body)
       VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`,
    );
    this.#delete = database.prepare('DELETE FROM effects WHERE partition = ? AND id = ?');
    this.#any = database.prepare('SELECT 1 FROM effects LIMIT 1');
    this.#all = database.prepare(
      'SELECT id, queue, address, mode, status, attempt, runner, until FROM effects WHERE partition = ?',
    );
    this.#one = database.prepare('SELECT * FROM effects WHERE partition = ? AND id = ?');
    this.#start = database.prepare(
      `UPDATE effects SET status = 'started', attempt = ?, until = ?, runner = ? WHERE partition = ? AND id = ?`,
    );
    this.#keep = database.prepare(`UPDATE effects SET until = ? WHERE ${running}`);
    this.#runs = database.prepare(`SELECT 1 FROM effects WHERE ${running}`);
    this.#settle = database.prepare(`DELETE FROM effects WHERE ${running}`);
    // The ids of claims, the fairness key and the last error stay.
    const claimant = 'substr(runner, 1, instr(runner || char(10), char(10)) - 1)';
    this.#reopen = database.prepare(
      `UPDATE effects SET status = 'open', until = ?, runner = substr(runner, instr(runner || char(10), char(10)))
       WHERE ${running} AND ${claimant} = ifnull(?, ${claimant})`,
    );
    this.#note = database.prepare('UPDATE effects SET runner = ? WHERE partition = ? AND id = ?');
  }

  /** Whether an effect is open in any partition. */
  isAnyOpen(): boolean {
    return this.#any.get() !== undefined;
  }

  open(state: PartitionState, effect: EffectOpen, now: number): void {
    const { id, queue, address, mode, body, fairnessKey = '', started } = effect;
    const [status, attempt, until] =
      started === undefined ? (['open', 0, 0] as const) : (['started', 1, now + started.ttlMs] as const);
    const claimant = claimantText(started?.runner ?? '', '', fairnessKey);
    this.#insert.run(state.id, id, queue, address, mode, status, attempt, until, claimant, body);
  }

  cancel(state: PartitionState, id: string): void {
    if (this.#delete.run(state.id, id).changes > 0) this.#notices.cancel(id);
  }

  body(state: PartitionState, id: string): string | null {
    const row = this.#one.get(state.id, id);
    return row === undefined ? null : text(row, 'body');
  }

  list(state: PartitionState): EffectRow[] {
    return this.#all.all(state.id).map(effectIn);
  }

  row(state: PartitionState, id: string): EffectRow | null {
    const row = this.#one.get(state.id, id);
    return row === undefined ? null : effectIn(row);
  }

  claim(state: PartitionState, { id, runner, ttlMs, over, claim, now }: Claim): ClaimOutcome {
    const row = this.#one.get(state.id, id);
    if (row === undefined) return { kind: 'gone' };
    const started = text(row, 'status') === 'started';
    const until = integer(row, 'until');
    const once = modeIn(row) === 'once';
    const { runner: by, claims, fairnessKey, error } = claimantIn(row);
    const again = claims.includes(claim);
    const body = text(row, 'body');
    if (again && claims[0] === claim && started && by === runner) {
      const attempt = integer(row, 'attempt');
      this.#keep.run(now + ttlMs, state.id, id, attempt);
      return { kind: 'claimed', attempt, body };
    }
    // That attempt ended, and the answer to its claim was lost: a late copy of the claim starts nothing.
    if (again) return { kind: 'busy', by, retryAfterMs: STALE_MS, once };
    const dead = started && (by === over || isLaterLife(by, runner));
    if (until > now && !dead) return { kind: 'busy', by, retryAfterMs: until - now, once };
    if (started && once) return { kind: 'in_doubt', attempt: integer(row, 'attempt'), body };
    const attempt = integer(row, 'attempt') + 1;
    const known = [claim, ...claims].filter((each) => each !== '').slice(0, KNOWN_CLAIMS);
    this.#start.run(attempt, now + ttlMs, claimantText(runner, known.join(' '), fairnessKey, error), state.id, id);
    return { kind: 'claimed', attempt, body };
  }

  keep(state: PartitionState, id: string, attempt: number, until: number): boolean {
    return this.#keep.run(until, state.id, id, attempt).changes > 0;
  }

  progress(state: PartitionState, id: string, attempt: number, chunk: Delivery, now: number): boolean {
    if (!this.runs(state, id, attempt)) return false;
    this.#mailbox.deliverOnce(state, chunk, now);
    return true;
  }

  runs(state: PartitionState, id: string, attempt: number): boolean {
    return this.#runs.get(state.id, id, attempt) !== undefined;
  }

  settle(state: PartitionState, id: string, attempt: number, body: string, now: number): boolean {
    if (this.#settle.run(state.id, id, attempt).changes === 0) return false;
    this.#mailbox.deliver(state, body, now);
    return true;
  }

  /** Deletes an effect whose result was handled. No other call has to be informed. */
  close(state: PartitionState, id: string): void {
    this.#delete.run(state.id, id);
  }

  reopen(
    state: PartitionState,
    id: string,
    attempt: number,
    until: number,
    runner?: string,
    error?: EffectError,
  ): boolean {
    if (this.#reopen.run(until, state.id, id, attempt, runner ?? null).changes === 0) return false;
    const row = error === undefined ? undefined : this.#one.get(state.id, id);
    if (row === undefined || error === undefined) return true;
    const { claims, fairnessKey } = claimantIn(row);
    this.#note.run(claimantText('', claims.join(' '), fairnessKey, errorLine(error)), state.id, id);
    return true;
  }
}

interface Claimant {
  readonly runner: string;
  /** Ids of claims, newest first. */
  readonly claims: readonly string[];
  readonly fairnessKey: string;
  /** `CODE MESSAGE` of the last attempt that failed. */
  readonly error: string;
}

/**
 * Parses the column `runner`: `node/incarnation`, the ids of the last claims, the effect's fairness key and its last
 * error, in lines. Each may be absent.
 */
function claimantIn(row: Row): Claimant {
  const [runner = '', claims = '', fairnessKey = '', error = ''] = (textOrNull(row, 'runner') ?? '').split('\n');
  return { runner, claims: claims.split(' ').filter((claim) => claim !== ''), fairnessKey, error };
}

const claimantText = (
  ...lines: readonly [runner: string, claims: string, fairnessKey: string, error?: string]
): string => lines.join('\n').trimEnd();

function notesIn(row: Row): Pick<EffectRow, 'fairnessKey' | 'lastError'> {
  const { fairnessKey, error } = claimantIn(row);
  const lastError = readErrorLine(error);
  return { ...(fairnessKey === '' ? {} : { fairnessKey }), ...(lastError === undefined ? {} : { lastError }) };
}

/** Whether `runner` (`node/incarnation`) is another incarnation of the node that `claimedBy` names. */
function isLaterLife(claimedBy: string, runner: string): boolean {
  if (claimedBy === runner) return false;
  const nodeOf = (name: string) => name.slice(0, name.lastIndexOf('/') + 1);
  return nodeOf(runner) !== '' && nodeOf(claimedBy) === nodeOf(runner);
}

function modeIn(row: Row): EffectMode {
  return text(row, 'mode') === 'once' ? 'once' : 'repeatable';
}

function addressIn(row: Row): Address {
  const { kind, tenant, id } = parseAddress(text(row, 'address'));
  return addressOf(kind, tenant, id);
}

const effectIn = (row: Row): EffectRow => ({
  ...notesIn(row),
  id: text(row, 'id'),
  queue: text(row, 'queue'),
  address: addressIn(row),
  mode: modeIn(row),
  status: text(row, 'status') === 'started' ? 'started' : 'open',
  attempt: integer(row, 'attempt'),
  runner: claimantIn(row).runner,
  until: integer(row, 'until'),
});
