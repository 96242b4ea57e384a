import { type Address, parseAddress, tenantOf } from '../address.ts';
import type { Blobs } from '../blobs.ts';
import type { ActorDefinition, EffectRequest } from '../define-actor.ts';
import { ownerPart } from '../documents/blob-reference.ts';
import { SvcError } from '../errors.ts';
import { type Json, plainJson } from '../json.ts';
import type { Message } from '../message.ts';
import type { RetrySettings } from '../turns/actor-draft.ts';
import type { BatchWrites } from '../turns/batch-writes.ts';
import { type LedgerLine, replayActor } from '../turns/replay.ts';
import { ForkedWork, withNewIds } from './forked-work.ts';

/** The parts of an actor's record that its fork needs besides the open work. */
interface Kept {
  /** Kinds of effects that start children, whose id is `execution_id` of the input. Kept when they have ended too. */
  readonly starts: ReadonlySet<string>;
  /** Kinds of actors to which the messages are kept: those that answer later. */
  readonly actors: ReadonlySet<string>;
}

/** An actor as it was after one of its messages, with everything that was open then. */
export interface ForkPoint {
  /** The message that created the actor. */
  readonly first: Message;
  readonly messageId: string;
  /** Recorded time of its turn, Unix ms. */
  readonly at: number;
  readonly state: Json;
  readonly isDone: boolean;
  readonly events: readonly { readonly name: string; readonly payload: Json }[];
  /** Timers that were set and had not fired. */
  readonly timers: readonly {
    readonly name: string;
    readonly after_ms: number;
    readonly type: string;
    readonly payload: Json;
  }[];
  /** Effects that were requested and not settled, and the starts of children whose ids are in the state. */
  readonly effects: readonly AskedEffect[];
  /** Messages to the kept kinds of actors whose ids are in the state, oldest first. */
  readonly sent: readonly { readonly to: Address; readonly type: string; readonly payload: Json }[];
}

interface AskedEffect {
  readonly id: string;
  readonly request: EffectRequest;
}

/**
 * Replays an actor up to the last of its lines, or with `untilEnd` up to the last one after which it had not ended, and
 * returns what was open then. Throws `failed_precondition` when the replay differs from the record, when a message of
 * the actor was failing, and when nothing had changed the actor.
 */
export async function forkPoint(
  definition: ActorDefinition,
  address: Address,
  lines: AsyncIterable<LedgerLine>,
  { retry, kept, untilEnd }: { readonly retry: RetrySettings; readonly kept: Kept; readonly untilEnd: boolean },
): Promise<ForkPoint> {
  const open = new OpenWork(kept);
  const { record, events, difference, handled } = await replayActor(definition, address, lines, {
    retry,
    until: untilEnd ? ({ state }) => definition.done?.(state) === true : undefined,
    onWrites: (line, writes) => open.note(line, writes),
  });
  if (difference !== null) {
    const text = `the run cannot be forked: its replay differs from the record at message ${difference.message.id}`;
    throw new SvcError('failed_precondition', text);
  }
  const { first, last } = open;
  if (handled === 0 || first === null || last === null || record.revision === 0)
    throw new SvcError('failed_precondition', 'the run had not begun at this message');
  if (record.stuck !== null) {
    const text = `a message of the run was failing at this message (${record.stuck.type}): fork at an earlier one`;
    throw new SvcError('failed_precondition', text);
  }
  const state = plainJson(record.state);
  const text = JSON.stringify(state);
  return {
    first,
    messageId: last.message.id,
    at: last.row?.now ?? last.at,
    state,
    isDone: definition.done?.(record.state) === true,
    events: events.map(({ name, payload }) => ({ name, payload: plainJson(payload) })),
    timers: open.timersOf(record.timers),
    effects: open.effectsOf(record.effects, text),
    sent: open.sent.filter(({ to }) => text.includes(parseAddress(to).id)),
  };
}

/** Collects what turns ask for. */
class OpenWork {
  first: Message | null = null;
  last: LedgerLine | null = null;
  readonly sent: { to: Address; type: string; payload: Json }[] = [];
  readonly #kept: Kept;
  readonly #effects = new Map<string, EffectRequest>();
  readonly #starts: { readonly id: string; readonly child: string }[] = [];
  /** By the id of the message that the timer sends. */
  readonly #timers = new Map<string, ForkPoint['timers'][number]>();

  constructor(kept: Kept) {
    this.#kept = kept;
  }

  note(line: LedgerLine, { effects, timersSet, sends, drafts }: BatchWrites): void {
    this.first ??= line.message;
    this.last = line;
    for (const { id, request } of effects) {
      this.#effects.set(id, request);
      const child = this.#kept.starts.has(request.kind) ? request.input.execution_id : undefined;
      if (typeof child === 'string') this.#starts.push({ id, child });
    }
    for (const { afterMs, message } of timersSet) {
      const { id, timer: name = '', type, payload } = message;
      this.#timers.set(id, { name, after_ms: afterMs, type, payload });
    }
    for (const { to, type, payload } of sends) {
      if (this.#kept.actors.has(parseAddress(to).kind)) this.sent.push({ to, type, payload });
    }
    for (const { record } of drafts.values()) this.#forget(record.effects, Object.values(record.timers));
  }

  /** Requests may be large, and most effects have ended. */
  #forget(effects: readonly string[], timers: readonly string[]): void {
    const kept = new Set([...effects, ...this.#starts.map(({ id }) => id)]);
    for (const id of this.#effects.keys()) if (!kept.has(id)) this.#effects.delete(id);
    for (const id of this.#timers.keys()) if (!timers.includes(id)) this.#timers.delete(id);
  }

  effectsOf(open: readonly string[], state: string): AskedEffect[] {
    const started = this.#starts.filter(({ child }) => state.includes(child)).map(({ id }) => id);
    return [...new Set([...open, ...started])].flatMap((id) => {
      const request = this.#effects.get(id);
      return request === undefined ? [] : [{ id, request }];
    });
  }

  timersOf(pending: Readonly<Record<string, string>>): ForkPoint['timers'] {
    return Object.values(pending).flatMap((id) => this.#timers.get(id) ?? []);
  }
}

/**
 * The work with which a fork begins, with copies of the payloads in Blobs that it refers to, such as the earlier part of a long
 * conversation. Those of the original are removed with the original. Throws `failed_precondition` when one is removed already.
 * The same call again makes the same copies.
 */
export async function withOwnPayloads(
  work: ForkedWork,
  { original, fork }: { readonly original: Address; readonly fork: Address },
  blobs: Pick<Blobs, 'get' | 'put'>,
): Promise<ForkedWork> {
  const plain = plainJson(work);
  const copies = new Map<string, string>();
  const tenant = tenantOf(original);
  for (const ref of referencesIn(plain, ownerPart(original))) {
    const bytes = await bytesOf(blobs, tenant, ref);
    copies.set(ref, await blobs.put(tenant, bytes, fork));
  }
  return copies.size === 0 ? work : ForkedWork.parse(withNewIds(plain, copies));
}

async function bytesOf(blobs: Pick<Blobs, 'get'>, tenant: string, ref: string): Promise<Uint8Array> {
  try {
    return await blobs.get(tenant, ref);
  } catch (thrown) {
    if (!(thrown instanceof SvcError) || thrown.code !== 'not_found') throw thrown;
    throw new SvcError('failed_precondition', 'the run cannot be forked: a payload that it needs was removed');
  }
}

/** The texts in a value that are references to payloads of this owner. */
function referencesIn(value: Json, owner: string): ReadonlySet<string> {
  const found = new Set<string>();
  const isReference = new RegExp(`^[0-9a-f]{64}\\.${owner}$`);
  const look = (one: Json): void => {
    if (typeof one === 'string') {
      if (isReference.test(one)) found.add(one);
    } else if (one !== null && typeof one === 'object') {
      for (const member of Object.values(one)) look(member);
    }
  };
  look(value);
  return found;
}
