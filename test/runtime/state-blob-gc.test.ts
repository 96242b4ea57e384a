import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { type Address, addressOf } from '../../runtime/address.ts';
import type { Clock } from '../../runtime/clock.ts';
import { StateBlobGc } from '../../runtime/dispatch/state-blob-gc.ts';
import { SvcError } from '../../runtime/errors.ts';
import { job } from '../support/actors.ts';

const KEPT_MS = 60_000;

/** Time that passes when a test says so. */
class HandClock implements Clock {
  #at = 0;
  readonly #timers = new Map<object, { readonly dueAt: number; readonly call: () => void }>();

  now = (): number => this.#at;
  monotonic = (): number => this.#at;
  after(delayMs: number, call: () => void): () => void {
    const key = {};
    this.#timers.set(key, { dueAt: this.#at + delayMs, call });
    return () => void this.#timers.delete(key);
  }

  async pass(ms: number): Promise<void> {
    const until = this.#at + ms;
    for (;;) {
      const [due] = [...this.#timers]
        .filter(([, { dueAt }]) => dueAt <= until)
        .toSorted(([, a], [, b]) => a.dueAt - b.dueAt);
      if (due === undefined) break;
      const [key, { dueAt, call }] = due;
      this.#timers.delete(key);
      this.#at = Math.max(this.#at, dueAt);
      call();
      await settled();
    }
    this.#at = until;
  }
}

/** What was begun has run as far as it can without time. */
const settled = async (): Promise<void> => {
  for (let round = 0; round < 50; round += 1) await new Promise<void>((resume) => setImmediate(resume));
};

function setup() {
  const clock = new HandClock();
  const discarded: string[] = [];
  const warnings: string[] = [];
  const stored = new Map<Address, string>();
  const archived = new Map<Address, string>();
  const faults: Error[] = [];
  const busy = new Set<Address>();
  const states = new StateBlobGc({
    isBusy: (address) => busy.has(address),
    store: {
      async load(_, addresses) {
        const fault = faults.shift();
        if (fault !== undefined) throw fault;
        return addresses.map((address) => stored.get(address) ?? null);
      },
    },
    archive: { loadRecord: async (address) => archived.get(address) ?? null },
    registry: { definitionOf: () => job },
    payloads: {
      async discard(packed) {
        discarded.push(packed);
      },
    },
    clock,
    keptMs: KEPT_MS,
    warn: (message, error) => warnings.push(`${message}: ${String(error)}`),
  });
  const add = (text: string, address = addressOf('job', 'acme', 'a')): void =>
    states.add({ partition: 'default:0', address, text });
  return { clock, discarded, warnings, stored, archived, faults, busy, states, add };
}

const A = addressOf('job', 'acme', 'a');

describe('states that commits have replaced', () => {
  it('are deleted after their time, not before, in order', async () => {
    const { clock, discarded, states, add } = setup();
    add('@acme/1');
    await clock.pass(KEPT_MS / 2);
    add('@acme/2');
    await clock.pass(KEPT_MS / 2 - 1);
    assert.deepEqual(discarded, []);
    await clock.pass(1);
    assert.deepEqual(discarded, ['@acme/1']);
    await clock.pass(KEPT_MS);
    assert.deepEqual(discarded, ['@acme/1', '@acme/2']);
    assert.equal(states.size, 0);
  });

  it('stay when the store names them again, as after a failover that lost the commit', async () => {
    const { clock, discarded, stored, states, add } = setup();
    stored.set(A, '@acme/1');
    add('@acme/1');
    await clock.pass(2 * KEPT_MS);
    assert.deepEqual([discarded, states.size], [[], 0]);
  });

  it('stay while messages of their actor are handled, whose commit may name them again', async () => {
    const { clock, discarded, stored, busy, states, add } = setup();
    busy.add(A);
    add('@acme/1');
    add('@acme/2');
    await clock.pass(2 * KEPT_MS);
    assert.deepEqual([discarded, states.size], [[], 2]);
    stored.set(A, '@acme/1');
    busy.delete(A);
    await clock.pass(KEPT_MS);
    assert.deepEqual([discarded, states.size], [['@acme/2'], 0]);
  });

  it('stay when the archive names them', async () => {
    const { clock, discarded, archived, states, add } = setup();
    archived.set(A, '@acme/1');
    add('@acme/1');
    await clock.pass(2 * KEPT_MS);
    assert.deepEqual([discarded, states.size], [[], 0]);
  });

  it('are tried again while the store is away, each with a warning and never with a failure', async () => {
    const { clock, discarded, warnings, faults, add } = setup();
    faults.push(new SvcError('unavailable'), new SvcError('unavailable'));
    add('@acme/1');
    add('@acme/2');
    await clock.pass(KEPT_MS);
    assert.deepEqual([discarded, warnings.length], [[], 2]);
    await clock.pass(KEPT_MS);
    assert.deepEqual([discarded, warnings.length], [['@acme/1', '@acme/2'], 2]);
  });

  it('are given up when one cannot be deleted at all', async () => {
    const { clock, discarded, warnings, faults, states, add } = setup();
    faults.push(new Error('broken'));
    add('@acme/1');
    add('@acme/2');
    await clock.pass(2 * KEPT_MS);
    assert.deepEqual([discarded, warnings.length, states.size], [['@acme/2'], 1, 0]);
  });

  it('are deleted at a stop, but for those of the last seconds', async () => {
    const { clock, discarded, states, add } = setup();
    add('@acme/1');
    await clock.pass(10_000);
    add('@acme/2');
    await states.stop();
    assert.deepEqual(discarded, ['@acme/1']);
    await clock.pass(2 * KEPT_MS);
    assert.deepEqual(discarded, ['@acme/1']);
  });

  it('take a bounded part of memory, and the number of forgotten ones is reported', async () => {
    const { clock, discarded, warnings, states, add } = setup();
    for (let n = 0; n < 50_100; n += 1) add(`@acme/${n}`);
    assert.equal(states.size, 50_000);
    await states.stop();
    assert.equal(discarded.length, 0);
    assert.match(warnings.join(), /^100 replaced states stay stored/);
    await clock.pass(KEPT_MS);
  });
});
