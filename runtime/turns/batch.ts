import type { MailboxEntry } from '../actor-store.ts';
import type { Address } from '../address.ts';
import type { EffectRequest } from '../define-actor.ts';
import { SvcError } from '../errors.ts';
import type { Message, Reply } from '../message.ts';
import { answerMessage, failure, RETRY_TIMER, retryMessage, timerId } from './kernel-messages.ts';
import type { ActorRecord, Stuck } from './record.ts';
import type { Resident } from './resident.ts';
import { refusedAfterTheEnd, runTurn } from './run-turn.ts';
import type { Decision } from './turn.ts';
import { type FailureRules, MOST_BEHIND, TurnFailed } from './turn-failure.ts';
import type { TurnRow } from './turn-row.ts';
import { beginWork, type Work, withoutSettled } from './work.ts';

/** Turns of one batch, in mailbox order; collects what the one commit will write. */
export class Batch {
  readonly works = new Map<Address, Work>();
  readonly rows: TurnRow[] = [];
  readonly sends: Message[] = [];
  readonly timersSet: { id: string; afterMs: number; message: Message }[] = [];
  readonly timersCleared: string[] = [];
  readonly effects: { id: string; request: EffectRequest; cause: Message }[] = [];
  readonly effectsCancelled: string[] = [];
  readonly replies: { message: Message; reply: Reply }[] = [];
  readonly handled = new Map<Address, number>();
  readonly #rules: FailureRules;
  readonly #now: number;
  readonly #micros: () => number;

  constructor(now: number, micros: () => number, rules: FailureRules) {
    this.#now = now;
    this.#micros = micros;
    this.#rules = rules;
  }

  /** Delivers one mailbox entry. `bodies` holds decoded forms of the messages a `$retry` will drain. */
  deliver(
    entry: MailboxEntry,
    message: Message,
    resident: Resident | null,
    bodies: ReadonlyMap<string, Message>,
  ): void {
    const started = this.#micros();
    const line = this.#outcomeOf(entry, message, resident, bodies);
    const waitMs = Math.max(0, this.#now - entry.at);
    this.rows.push({ ...line, now: this.#now, waitMs, turnUs: Math.round(this.#micros() - started) });
  }

  /** Dead-letters an entry that cannot be read, or whose actor cannot. */
  bury(entry: MailboxEntry, message: Message | null, error: SvcError): void {
    if (message !== null) {
      this.#countHandled(message);
      this.#answer(message, failure(new SvcError('dead_lettered')));
    }
    const waitMs = Math.max(0, this.#now - entry.at);
    this.rows.push({ outcome: 'dead-lettered', now: this.#now, waitMs, turnUs: 0, error: error.message });
  }

  #outcomeOf(
    entry: MailboxEntry,
    message: Message,
    resident: Resident | null,
    bodies: ReadonlyMap<string, Message>,
  ): Pick<TurnRow, 'outcome' | 'error' | 'drained'> {
    if (resident === null) {
      this.#countHandled(message);
      this.#answer(message, failure(new SvcError('not_found', 'no such actor kind')));
      return { outcome: 'refused', error: 'unknown actor kind' };
    }
    const work = this.#workOf(resident);
    if (message.origin === 'timer' && !this.#takeTimer(work, message)) return { outcome: 'stale' };
    if (message.timer === RETRY_TIMER) return this.#drain(work, bodies);
    if (work.record.stuck !== null) return this.#defer(work, work.record.stuck, entry.body, bodies);
    const error = this.#errorOf(message);
    if (error === undefined) return this.#run(work, message);
    return this.#stumble(work, { body: entry.body, message, error, attempts: 1, behind: [] });
  }

  #errorOf(message: Message): string | undefined {
    return this.#rules.failAll ?? this.#rules.failing.get(message.id);
  }

  /** A message that waits behind a failing one. When too many do, the failing one gets its last attempt at once. */
  #defer(
    work: Work,
    stuck: Stuck,
    body: string,
    bodies: ReadonlyMap<string, Message>,
  ): Pick<TurnRow, 'outcome' | 'drained'> {
    const behind = [...stuck.behind, body];
    this.#change(work, { ...work.record, stuck: { ...stuck, behind } });
    if (behind.length < MOST_BEHIND) return { outcome: 'deferred' };
    const timers = { ...work.record.timers };
    this.#clearTimer(work, timers, RETRY_TIMER);
    this.#change(work, { ...work.record, timers });
    return { ...this.#drain(work, bodies), outcome: 'deferred' };
  }

  #retryIn(work: Work, afterMs: number, message: Message): void {
    this.timersSet.push({ id: timerId(work.resident.address, RETRY_TIMER), afterMs, message });
    this.#change(work, { ...work.record, timers: { ...work.record.timers, [RETRY_TIMER]: message.id } });
  }

  #run(work: Work, message: Message): { outcome: 'done' | 'refused'; error?: string } {
    const { resident } = work;
    const turn = runTurn(resident.definition, work.record, message, resident.tenant, this.#now);
    if (turn.kind === 'failed') throw new TurnFailed(message.id, turn.error);
    const result = refusedAfterTheEnd(resident.definition, work.record, turn);
    this.#countHandled(message);
    const settled = withoutSettled(work.record, message);
    if (settled !== work.record) this.#change(work, settled);
    if (result.kind === 'refused') {
      this.#answer(message, failure(result.error));
      return { outcome: 'refused', error: `${result.error.code}: ${result.error.message}` };
    }
    this.#apply(work, message, result.state, result.decision);
    this.#answer(message, result.decision.reply);
    return { outcome: 'done' };
  }

  #apply(work: Work, message: Message, state: unknown, decision: Decision): void {
    const unchanged =
      state === work.record.state &&
      decision.events.length + decision.timersSet.length + decision.timersCleared.length === 0 &&
      decision.effects.length + decision.effectsCancelled.length === 0;
    for (const send of decision.sends) this.sends.push(send);
    if (unchanged && work.record.revision > 0) return;

    const timers = { ...work.record.timers };
    for (const name of decision.timersCleared) this.#clearTimer(work, timers, name);
    for (const timer of decision.timersSet) {
      timers[timer.name] = timer.message.id;
      this.timersSet.push({
        id: timerId(work.resident.address, timer.name),
        afterMs: timer.afterMs,
        message: timer.message,
      });
    }
    let effects = work.record.effects;
    for (const effect of decision.effects) {
      effects = [...effects, effect.id];
      this.effects.push({ ...effect, cause: message });
    }
    for (const id of decision.effectsCancelled) effects = this.#cancelEffect(effects, id);
    if (work.resident.definition.done?.(state) === true) {
      for (const name of Object.keys(timers)) this.#clearTimer(work, timers, name);
      for (const id of effects) effects = this.#cancelEffect(effects, id);
    }
    for (const event of decision.events) work.events.push({ ...event, at: this.#now });
    const lastEvent = work.record.lastEvent + decision.events.length;
    this.#change(work, { ...work.record, revision: work.record.revision + 1, lastEvent, timers, effects, state });
  }

  /** A message whose handler threw: kept aside with a retry timer, or dead-lettered after the last attempt. */
  #stumble(
    work: Work,
    head: { body: string; message: Message; error: string; attempts: number; behind: readonly string[] },
  ): { outcome: 'retried' | 'dead-lettered'; error: string } {
    if (head.attempts >= this.#rules.maxAttempts || head.behind.length >= MOST_BEHIND) {
      this.#countHandled(head.message);
      this.#answer(head.message, failure(new SvcError('dead_lettered')));
      return { outcome: 'dead-lettered', error: head.error };
    }
    const stuck = {
      body: head.body,
      type: head.message.type,
      attempts: head.attempts,
      error: head.error.slice(0, 1_000),
      behind: [...head.behind],
    };
    this.#change(work, { ...work.record, stuck });
    const delayMs = Math.min(this.#rules.initialDelayMs * 2 ** (head.attempts - 1), this.#rules.maxDelayMs);
    this.#retryIn(work, delayMs, retryMessage(head.message, head.attempts));
    return { outcome: 'retried', error: head.error };
  }

  /** The retry timer fired: the failing message first, then those behind it, until one fails again. */
  #drain(work: Work, bodies: ReadonlyMap<string, Message>): Pick<TurnRow, 'outcome' | 'drained'> {
    const { stuck } = work.record;
    if (stuck === null) return { outcome: 'stale' };
    const queue = [stuck.body, ...stuck.behind];
    const drained: { body: string; outcome: string; error?: string }[] = [];
    this.#change(work, { ...work.record, stuck: null });
    for (let index = 0; index < queue.length; index += 1) {
      const body = queue[index] ?? '';
      const message = bodies.get(body);
      if (message === undefined) throw new Error('a message set aside was not decoded');
      if (index === this.#rules.drainLimit) {
        const waiting = { body, type: message.type, attempts: 0, error: stuck.error, behind: queue.slice(index + 1) };
        this.#change(work, { ...work.record, stuck: waiting });
        this.#retryIn(work, 0, retryMessage(message, 0));
        break;
      }
      const attempts = index === 0 ? stuck.attempts + 1 : 1;
      const error = this.#errorOf(message);
      const isFirstTry = index > 0 || stuck.attempts === 0;
      const timerGone = message.origin === 'timer' && isFirstTry && !this.#takeTimer(work, message);
      const line = timerGone
        ? { outcome: 'stale' }
        : error === undefined
          ? this.#run(work, message)
          : this.#stumble(work, { body, message, error, attempts, behind: queue.slice(index + 1) });
      drained.push({ body, ...line });
      if (line.outcome === 'retried') break;
    }
    return { outcome: 'done', drained };
  }

  /** A timer counts only while it is the pending one of its name: a cleared or replaced one is dropped. */
  #takeTimer(work: Work, message: Message): boolean {
    const name = message.timer ?? '';
    // A timer that waits behind a failing message stays pending until it is really handled.
    if (work.record.timers[name] !== message.id) return false;
    if (work.record.stuck !== null && name !== RETRY_TIMER) return true;
    const { [name]: _fired, ...timers } = work.record.timers;
    this.#change(work, { ...work.record, timers });
    return true;
  }

  #clearTimer(work: Work, timers: Record<string, string>, name: string): void {
    if (timers[name] === undefined) return;
    delete timers[name];
    this.timersCleared.push(timerId(work.resident.address, name));
  }

  #cancelEffect(effects: readonly string[], id: string): readonly string[] {
    if (!effects.includes(id)) return effects;
    this.effectsCancelled.push(id);
    return effects.filter((other) => other !== id);
  }

  #answer(message: Message, reply: Reply | null): void {
    if (message.session !== undefined) {
      this.replies.push({ message, reply: reply ?? { ok: true, value: null } });
    } else if (message.replyAs !== undefined && message.from !== null && reply !== null) {
      this.sends.push(answerMessage(message, message.from, message.replyAs, reply));
    }
  }

  #countHandled(message: Message): void {
    if (message.origin === 'client') this.handled.set(message.to, (this.handled.get(message.to) ?? 0) + 1);
  }

  #workOf(resident: Resident): Work {
    let work = this.works.get(resident.address);
    if (work === undefined) {
      work = beginWork(resident);
      this.works.set(resident.address, work);
    }
    return work;
  }

  #change(work: Work, record: ActorRecord): void {
    work.record = record;
    work.dirty = true;
  }
}
