import { SvcError } from '../errors.ts';
import { backoffMs } from '../kit/waits.ts';
import type { MailboxEntry, Message } from '../message.ts';
import {
  type Activation,
  type ActorDraft,
  type DrainedTurn,
  type FailureRules,
  failure,
  MOST_BEHIND,
  RETRY_TIMER,
  retryMessage,
  type TurnRow,
  withoutSettled,
} from './actor-draft.ts';
import { BatchWrites } from './batch-writes.ts';
import { decisionDigest, MOST_SUMMED_CHARS, stateDigest } from './digest.ts';
import type { Stuck } from './record.ts';
import { refusedAfterTheEnd, runTurn } from './turn.ts';

type Outcome = 'done' | 'refused' | 'retried' | 'dead-lettered';

/** A message whose turn is due, with those that wait behind it. */
interface Head {
  readonly body: string;
  readonly message: Message;
  /** Attempts, this one included. */
  readonly attempts: number;
  readonly behind: readonly string[];
}

/** Runs the turns of one batch in mailbox order and collects the writes of its one commit. */
export class Batch {
  readonly writes = new BatchWrites();
  readonly rows: TurnRow[] = [];
  readonly #rules: FailureRules;
  #now: number;
  readonly #micros: () => number;

  constructor(now: number, micros: () => number, rules: FailureRules) {
    this.#now = now;
    this.#micros = micros;
    this.#rules = rules;
  }

  /** The time of the turns that follow, which is never before that of the earlier ones. */
  continueAt(now: number): void {
    this.#now = now;
  }

  /**
   * Delivers one mailbox entry and records its outcome. An error in place of the message or the actor dead-letters it;
   * null means that the kind of actor is unknown. `bodies` holds the decoded messages that a `$retry` will replay.
   */
  deliver(
    entry: MailboxEntry,
    message: Message | SvcError,
    activation: Activation | SvcError | null,
    bodies: ReadonlyMap<string, Message>,
  ): void {
    const { deadLetterAll } = this.#rules;
    if (message instanceof SvcError) this.#deadLetter(entry, null, message);
    else if (deadLetterAll !== undefined) this.#deadLetter(entry, message, deadLetterAll);
    else if (activation instanceof SvcError) this.#deadLetter(entry, message, activation);
    else {
      const started = this.#micros();
      const line =
        activation === null ? this.#refuseUnknown(message) : this.#handle(entry, message, activation, bodies);
      // The same object, because its digest may get the state later.
      this.rows.push(Object.assign(line, this.#times(entry), { turnUs: Math.round(this.#micros() - started) }));
    }
  }

  /** Postpones an entry, because its actor is not in memory. */
  postpone(entry: MailboxEntry): void {
    this.rows.push({ outcome: 'postponed', ...this.#times(entry), turnUs: 0 });
  }

  #deadLetter(entry: MailboxEntry, message: Message | null, error: SvcError): void {
    if (message !== null) {
      this.writes.countHandled(message);
      this.writes.answer(message, failure(new SvcError('dead_lettered')));
    }
    this.rows.push({ outcome: 'dead-lettered', ...this.#times(entry), turnUs: 0, error: error.message });
  }

  #times({ at }: MailboxEntry): Pick<TurnRow, 'now' | 'waitMs'> {
    return { now: this.#now, waitMs: Math.max(0, this.#now - at) };
  }

  #refuseUnknown(message: Message): Pick<TurnRow, 'outcome' | 'error'> {
    this.writes.countHandled(message);
    this.writes.answer(message, failure(new SvcError('not_found', 'this node has no such actor kind')));
    return { outcome: 'refused', error: 'unknown actor kind' };
  }

  #handle(
    entry: MailboxEntry,
    message: Message,
    activation: Activation,
    bodies: ReadonlyMap<string, Message>,
  ): Pick<TurnRow, 'outcome' | 'error' | 'drained' | 'digest'> {
    const draft = this.writes.draftOf(activation);
    if (message.origin === 'timer' && !this.writes.takeTimer(draft, message)) return { outcome: 'stale' };
    if (message.timer === RETRY_TIMER) return this.#replayDeferred(draft, bodies);
    if (draft.record.stuck !== null) return this.#queueBehind(draft, draft.record.stuck, entry.body, bodies);
    return this.#run(draft, { body: entry.body, message, attempts: 1, behind: [] });
  }

  #errorOf(message: Message): string | undefined {
    return this.#rules.failAll ?? this.#rules.failing?.get(message.id);
  }

  /** Queues a message behind a failing one. When too many wait, the failing one gets its last attempt at once. */
  #queueBehind(
    draft: ActorDraft,
    stuck: Stuck,
    body: string,
    bodies: ReadonlyMap<string, Message>,
  ): Pick<TurnRow, 'outcome' | 'drained'> {
    const behind = [...stuck.behind, body];
    this.writes.change(draft, { ...draft.record, stuck: { ...stuck, behind } });
    if (behind.length < MOST_BEHIND) return { outcome: 'deferred' };
    this.writes.clearRetry(draft);
    return { ...this.#replayDeferred(draft, bodies), outcome: 'deferred' };
  }

  /**
   * Runs one turn. The decisions of a handler that threw are dropped, and its input is frozen, so the turns before and
   * after it are not affected (K6).
   */
  #run(draft: ActorDraft, head: Head): Pick<TurnRow, 'error' | 'digest'> & { readonly outcome: Outcome } {
    const { activation } = draft;
    const { message } = head;
    const known = this.#errorOf(message);
    if (known !== undefined) return this.#scheduleRetry(draft, head, known);
    const turn = runTurn(activation.definition, draft.record, message, activation.tenant, this.#now);
    if (turn.kind === 'failed') return this.#scheduleRetry(draft, head, turn.error.message);
    const result = refusedAfterTheEnd(activation.definition, draft.record, turn);
    this.writes.countHandled(message);
    const settled = withoutSettled(draft.record, message);
    if (settled !== draft.record) this.writes.change(draft, settled);
    if (result.kind === 'refused') {
      this.writes.answer(message, failure(result.error));
      return { outcome: 'refused', error: `${result.error.code}: ${result.error.message}` };
    }
    const changed = result.state !== draft.record.state;
    if (changed) sumEarlier(draft);
    this.writes.apply(draft, message, result, this.#now);
    if (this.#rules.digests !== true) return { outcome: 'done' };
    const line = { outcome: 'done', digest: decisionDigest(result.decision, this.writes.texts) } as const;
    if (changed) draft.unsummed = line;
    return line;
  }

  /**
   * Handles a message whose handler threw: it is kept in the record with a retry timer, or dead-lettered after the last
   * attempt.
   */
  #scheduleRetry(
    draft: ActorDraft,
    head: Head,
    error: string,
  ): { outcome: 'retried' | 'dead-lettered'; error: string } {
    if (head.attempts >= this.#rules.maxAttempts || head.behind.length >= MOST_BEHIND) {
      this.writes.countHandled(head.message);
      this.writes.answer(head.message, failure(new SvcError('dead_lettered')));
      return { outcome: 'dead-lettered', error };
    }
    const stuck = {
      body: head.body,
      type: head.message.type,
      attempts: head.attempts,
      error: error.slice(0, 1_000),
      behind: [...head.behind],
    };
    this.writes.change(draft, { ...draft.record, stuck });
    const delayMs = backoffMs(head.attempts - 1, this.#rules.initialDelayMs, this.#rules.maxDelayMs);
    this.writes.retryIn(draft, delayMs, retryMessage(head.message, head.attempts));
    return { outcome: 'retried', error };
  }

  /** Runs when the retry timer fires: the failing message first, then those behind it, until one fails again. */
  #replayDeferred(draft: ActorDraft, bodies: ReadonlyMap<string, Message>): Pick<TurnRow, 'outcome' | 'drained'> {
    const { stuck } = draft.record;
    if (stuck === null) return { outcome: 'stale' };
    const queue = [stuck.body, ...stuck.behind];
    const drained: DrainedTurn[] = [];
    this.writes.change(draft, { ...draft.record, stuck: null });
    for (let index = 0; index < queue.length; index += 1) {
      const body = queue[index] ?? '';
      const message = bodies.get(body);
      if (message === undefined) throw new Error('a deferred message was not decoded');
      if (index === this.#rules.drainLimit) {
        const waiting = { body, type: message.type, attempts: 0, error: stuck.error, behind: queue.slice(index + 1) };
        this.writes.change(draft, { ...draft.record, stuck: waiting });
        this.writes.retryIn(draft, 0, retryMessage(message, 0));
        break;
      }
      const attempts = index === 0 ? stuck.attempts + 1 : 1;
      const isFirstTry = index > 0 || stuck.attempts === 0;
      const timerGone = message.origin === 'timer' && isFirstTry && !this.writes.takeTimer(draft, message);
      const started = this.#micros();
      const line: Pick<TurnRow, 'outcome' | 'error' | 'digest'> = timerGone
        ? { outcome: 'stale' }
        : this.#run(draft, { body, message, attempts, behind: queue.slice(index + 1) });
      const turnUs = Math.round(this.#micros() - started);
      drained.push(Object.assign(line, { body, ...(attempts === 1 ? {} : { attempt: attempts }), turnUs }));
      if (line.outcome === 'retried') break;
    }
    return { outcome: 'done', drained };
  }
}

/** Completes the digest of an earlier turn of this batch before a further turn changes the state. */
function sumEarlier(draft: ActorDraft): void {
  if (draft.unsummed === null) return;
  const isLarge = draft.activation.size > MOST_SUMMED_CHARS;
  sumState(draft, isLarge ? null : JSON.stringify(draft.record.state));
}

/** Completes the digest of the last turn that changed the state. `text` is the state as JSON. */
export function sumState(draft: ActorDraft, text: string | null): void {
  if (draft.unsummed === null) return;
  draft.unsummed.digest = `${draft.unsummed.digest ?? ''}${stateDigest(text)}`;
  draft.unsummed = null;
}
