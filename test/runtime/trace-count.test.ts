import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { z } from 'zod';
import type { Address } from '../../runtime/address.ts';
import { type ActorDefinition, defineActor } from '../../runtime/define-actor.ts';
import type { Message } from '../../runtime/message.ts';
import type { Activation } from '../../runtime/turns/actor-draft.ts';
import { Batch } from '../../runtime/turns/batch.ts';
import { initialRecord } from '../../runtime/turns/loading.ts';
import { decodeRecord, encodeRecord } from '../../runtime/turns/record.ts';
import { MOST_OF_TRACE, nextTrace } from '../../runtime/turns/trace-count.ts';

const T0 = 'a'.repeat(32);
const [T1, T2] = [nextTrace(T0), nextTrace(nextTrace(T0))];
const retry = { maxAttempts: 3, initialDelayMs: 5, maxDelayMs: 20, drainLimit: 10 };

const Steps = z.object({ left: z.number() });

/** Sends itself messages; tells who sent the first one when it has sent them all. */
const walker = defineActor({
  kind: 'walker',
  version: 1,
  state: z.object({ steps: z.number(), from: z.string().nullable() }),
  initial: () => ({ steps: 0, from: null }),
  messages: { Step: Steps, Look: z.object({}), Looked: z.json() },
  events: {},
  on: {
    Step(state, { left }, turn) {
      const from = state.from ?? turn.sender;
      if (left > 0) turn.tell(turn.self, 'Step', { left: left - 1 });
      else if (from?.startsWith('hub/')) turn.tell('hub/t/1', 'Ended', {});
      return { steps: state.steps + 1, from };
    },
    Look(state, _asked, turn) {
      turn.after('again', 10, 'Step', { left: 0 });
      turn.effect({ kind: 'look', mode: 'repeatable', input: {}, replyAs: 'Looked' });
      return { ...state, steps: state.steps + 1 };
    },
    Looked: (state) => state,
  },
});

/** Has walkers walk, one after the other. */
const hub = defineActor({
  kind: 'hub',
  version: 1,
  state: z.object({ begun: z.number() }),
  initial: () => ({ begun: 0 }),
  messages: { Begin: z.object({}), Ended: z.object({}) },
  events: {},
  on: {
    Begin(state, _asked, turn) {
      turn.tell('walker/t/1', 'Step', { left: 499 });
      return { begun: state.begun + 1 };
    },
    Ended(state, _asked, turn) {
      turn.tell(`walker/t/${state.begun + 1}`, 'Step', { left: 499 });
      return { begun: state.begun + 1 };
    },
  },
});

const kinds: Readonly<Record<string, ActorDefinition>> = { walker, hub };

/** Actors in memory, whose records pass through their encoding at each delivery. */
class ActorSet {
  readonly delivered: Message[] = [];
  readonly #records = new Map<Address, string>();
  #queue: Message[];
  last = new Batch(0, () => 0, retry);

  constructor(...first: readonly Message[]) {
    this.#queue = [...first];
  }

  send(message: Message): void {
    this.#queue.push(message);
  }

  run(most = Number.POSITIVE_INFINITY): void {
    for (let message = this.#queue.shift(); message !== undefined; message = this.#queue.shift()) {
      this.#deliver(message);
      if (this.delivered.length >= most) return;
    }
  }

  recordOf = (address: Address): string => this.#records.get(address) ?? '';

  countOf = (trace: string): number => this.delivered.filter((one) => one.trace === trace).length;

  #deliver(message: Message): void {
    const [kind = '', tenant = '', id = ''] = message.to.split('/');
    const definition = kinds[kind];
    assert.ok(definition !== undefined);
    const text = this.#records.get(message.to) ?? null;
    const address = message.to;
    const record = text === null ? initialRecord(definition, { address, tenant, id }) : decodeRecord(definition, text);
    const self: Activation = {
      address,
      partition: 'p:0',
      term: 0,
      tenant,
      definition,
      record,
      text,
      owned: false,
      size: 0,
    };
    this.last = new Batch(1_000, () => 0, retry);
    const body = JSON.stringify(message);
    this.last.deliver({ seq: this.delivered.length + 1, at: 1_000, body }, message, self, new Map());
    for (const draft of this.last.writes.drafts.values()) this.#records.set(address, encodeRecord(1, draft.record));
    this.delivered.push(message);
    this.#queue.push(...this.last.writes.sends);
  }
}

const call = (to: Address, type: string, payload: Message['payload'], trace = T0): Message => ({
  id: `${trace.slice(0, 4)}-${type}`,
  to,
  from: null,
  cause: null,
  trace,
  origin: 'client',
  type,
  payload,
});

describe('a trace', () => {
  test('is one to its end up to 10,000 deliveries; beyond that it goes on in a linked one, and so on', () => {
    const actors = new ActorSet(call('walker/t/1', 'Step', { left: 2.4 * MOST_OF_TRACE - 1 }));
    actors.run();
    assert.equal(actors.delivered.length, 2.4 * MOST_OF_TRACE);
    assert.deepEqual([T0, T1, T2].map(actors.countOf), [MOST_OF_TRACE, MOST_OF_TRACE, 0.4 * MOST_OF_TRACE]);
    const byId = new Map(actors.delivered.map((one) => [one.id, one]));
    const crossing = actors.delivered.filter(({ cause, trace }) => byId.get(cause ?? '')?.trace !== trace);
    assert.deepEqual(
      crossing.map(({ trace }) => trace),
      [T0, T1, T2],
    );
  });

  test('counts the deliveries of many actors, whatever each of them sees', () => {
    const actors = new ActorSet(call('hub/t/1', 'Begin', {}));
    actors.run(15_000);
    // Each walker has 500 deliveries and the hub one more: none of them sees 10,000.
    assert.equal(actors.countOf(T0) + actors.countOf(T1), 15_000);
    assert.ok(actors.countOf(T0) <= MOST_OF_TRACE && actors.countOf(T0) > MOST_OF_TRACE - 20, `${actors.countOf(T0)}`);
  });

  test('a late message of the earlier trace, and what follows from it, goes on in the linked one', () => {
    const actors = new ActorSet(call('walker/t/1', 'Step', { left: MOST_OF_TRACE }));
    actors.run();
    const late = { ...call('walker/t/1', 'Look', {}), from: 'hub/t/1', reported: [9_999, 0] } as const;
    actors.send(late);
    actors.run();
    const { timersSet, effects } = actors.last.writes;
    assert.deepEqual([timersSet[0]?.message.trace, effects[0]?.cause.trace, effects[0]?.cause.id], [T1, T1, late.id]);
    // It does not count for the linked one.
    actors.send({ ...call('walker/t/1', 'Step', { left: 3 }, T1), id: 'more' });
    actors.run();
    assert.equal(actors.countOf(nextTrace(T1)), 0);
  });

  test('that is short costs its messages nothing, and an actor of single calls nothing at all', () => {
    const actors = new ActorSet(call('walker/t/1', 'Step', { left: 10 }));
    actors.run();
    assert.equal(
      actors.delivered.some((one) => 'reported' in one),
      false,
    );
    for (const trace of ['1', '2', '3']) actors.send(call('walker/t/2', 'Step', { left: 0 }, trace.repeat(32)));
    actors.run();
    assert.deepEqual(Object.keys(JSON.parse(actors.recordOf('walker/t/2'))), ['v', 'r', 'e', 's']);
  });
});
