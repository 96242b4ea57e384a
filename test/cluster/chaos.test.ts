import assert from 'node:assert/strict';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import { type ChaosSettings, createChaos } from '../../cluster/chaos/create-chaos.ts';
import { signalOf } from '../../cluster/chaos/fault-record.ts';
import type { Address, Partition } from '../../runtime/address.ts';
import { type Clock, systemClock } from '../../runtime/clock.ts';
import { tokenOf } from '../../runtime/documents/pages.ts';
import type { Identity } from '../../runtime/identity.ts';
import { openStores } from '../../runtime/open-stores.ts';
import { systemRandom } from '../../runtime/random.ts';
import type { ChaosApi, FaultPort } from '../../usecases/ports/faults.ts';
import { waitUntil } from '../support/wait-until.ts';

const ADMIN: Identity = {
  kind: 'operator',
  subject: 'ada',
  tenant: 'svc-system',
  roles: ['svc:admin'],
  tier: 'enterprise',
};
const ON: ChaosSettings = { enabled: true, tenants: ['acme', 'svc-system'] };
const ACTOR: Address = 'execution/acme/one';

/** Records the calls by which the kernel would end the process, instead of executing them. */
class NotedFaults implements FaultPort {
  readonly acts: string[] = [];
  owner: string | null;
  /** Runs first in every step. */
  before: () => Promise<void> | void = () => undefined;
  holds = true;

  constructor(owner: string) {
    this.owner = owner;
  }

  async killActor(address: Address): Promise<boolean> {
    await this.before();
    this.acts.push(`kill ${address}`);
    return this.holds;
  }
  async dropPartition(partition: Partition): Promise<boolean> {
    await this.before();
    this.acts.push(`drop ${partition}`);
    return this.holds;
  }
  stallMs(ms: number): void {
    this.acts.push(`stall ${ms}`);
  }
  /** A call that ends the process does not return, so this one throws. */
  exit(): never {
    this.acts.push('exit');
    throw new Ended();
  }
  async ownerOf(): Promise<{ partition: Partition; node: string | null }> {
    return { partition: 'default:7', node: this.owner };
  }
}

class Ended extends Error {
  override readonly name = 'Ended';
}

/** The timers of an ended process do not fire. */
const untilEnded = (call: () => void) => () => {
  try {
    call();
  } catch (thrown) {
    if (!(thrown instanceof Ended)) throw thrown;
  }
};

const clockOfEnding: Clock = {
  ...systemClock,
  after: (delayMs, call) => systemClock.after(delayMs, untilEnded(call)),
};

/** A clock that advances as soon as something waits for it. */
function hurriedClock(): Clock {
  let passed = 0;
  return {
    now: () => systemClock.now(),
    monotonic: () => passed,
    after(delayMs, call) {
      const timer = setImmediate(() => {
        passed += delayMs;
        call();
      });
      return () => clearImmediate(timer);
    },
  };
}

/** Nodes of one fleet over SQLite files that they share. */
async function chaosUnderTest() {
  const directory = await mkdtemp(join(tmpdir(), 'svc-chaos-'));
  const stores = await openStores({ dataDir: directory, warn: () => undefined });
  const open: ChaosApi[] = [];
  const warnings: string[] = [];
  return {
    stores,
    warnings,
    async node(name: string, settings: ChaosSettings = ON, clock: Clock = clockOfEnding, owner = name) {
      await stores.store.announce({ node: name, incarnation: `${name}-1`, card: '{}' }, 60_000, true);
      const faults = new NotedFaults(owner);
      const chaos = await createChaos({
        members: stores.store,
        documents: stores.documents,
        node: name,
        faults,
        settings,
        clock,
        random: systemRandom,
        warn: (message) => void warnings.push(message),
      });
      open.push(chaos);
      return { chaos, faults };
    },
    async [Symbol.asyncDispose]() {
      for (const chaos of open) chaos.close();
      await stores.close();
      await rm(directory, { recursive: true, force: true });
    },
  };
}

const code = (wanted: string, says?: RegExp) => (thrown: unknown) => {
  assert.ok(thrown instanceof Error && 'code' in thrown, String(thrown));
  assert.equal(thrown.code, wanted, thrown.message);
  if (says !== undefined) assert.match(thrown.message, says);
  return true;
};

describe('fault injection', () => {
  it('the node that serves the actor executes the fault, whichever node was asked', async () => {
    await using at = await chaosUnderTest();
    const here = await at.node('a', ON, undefined, 'b');
    const there = await at.node('b');
    const killed = await here.chaos.inject({ kind: 'kill-actor', address: ACTOR }, ADMIN);
    assert.deepEqual(
      [killed.kind, killed.target, killed.tenant, killed.by, killed.state, killed.node],
      ['kill-actor', ACTOR, 'acme', 'ada', 'done', 'b'],
    );
    await here.chaos.inject({ kind: 'kill-owner', address: ACTOR }, ADMIN);
    assert.deepEqual(there.faults.acts, [`kill ${ACTOR}`, 'drop default:7']);
    assert.deepEqual(here.faults.acts, []);
  });

  it('a fault is on record before it acts', async () => {
    await using at = await chaosUnderTest();
    const { chaos, faults } = await at.node('a');
    let seen: unknown[] = [];
    faults.before = async () => {
      seen = (await chaos.list({ limit: 10 })).items.map(({ state, target }) => [state, target]);
    };
    await chaos.inject({ kind: 'kill-actor', address: ACTOR }, ADMIN);
    assert.deepEqual(seen, [['requested', ACTOR]]);
  });

  it('a process ends, and freezes, only after it has recorded that it does', async () => {
    await using at = await chaosUnderTest();
    const { chaos } = await at.node('a');
    const other = await at.node('b');
    const killed = await chaos.inject({ kind: 'kill-node', node: 'b' }, ADMIN);
    assert.deepEqual([killed.state, killed.tenant, killed.node], ['done', 'svc-system', 'b']);
    await waitUntil('the process ends', () => other.faults.acts.includes('exit'));
    const frozen = await chaos.inject({ kind: 'freeze-node', node: 'b', ms: 1_500 }, ADMIN);
    assert.deepEqual([frozen.state, frozen.ms], ['done', 1_500]);
    await waitUntil('the process stalls', () => other.faults.acts.includes('stall 1500'));
  });

  it('no fault is executed when chaos is off on the asked or on the executing node', async () => {
    await using at = await chaosUnderTest();
    const off = { enabled: false, tenants: ['acme', 'svc-system'] };
    const asking = await at.node('a', ON, undefined, 'b');
    const refusing = await at.node('b', off);
    await assert.rejects(
      asking.chaos.inject({ kind: 'kill-actor', address: ACTOR }, ADMIN),
      code('forbidden', /spec\.chaos\.enabled is false on node b/),
    );
    await assert.rejects(asking.chaos.inject({ kind: 'kill-node', node: 'b' }, ADMIN), code('forbidden'));
    await assert.rejects(
      refusing.chaos.inject({ kind: 'kill-node', node: 'a' }, ADMIN),
      code('forbidden', /on node b/),
    );
    assert.deepEqual([...asking.faults.acts, ...refusing.faults.acts], []);
    const { items: faults, counts } = await asking.chaos.list({ limit: 10 });
    assert.deepEqual(
      faults.map(({ state, kind }) => `${kind} ${state}`).sort(),
      ['kill-actor refused', 'kill-node refused'],
      'what was refused elsewhere is on record',
    );
    assert.deepEqual(Object.values(counts), [0, 0, 0, 0]);
  });

  it('a tenant that is not named is safe, on either side; nodes are safe unless svc-system is named', async () => {
    await using at = await chaosUnderTest();
    const asking = await at.node('a', { enabled: true, tenants: ['acme'] }, undefined, 'b');
    const other = await at.node('b', { enabled: true, tenants: ['svc-system'] });
    await assert.rejects(
      asking.chaos.inject({ kind: 'kill-actor', address: 'execution/globex/one' }, ADMIN),
      code('forbidden', /spec\.chaos\.tenants of node a does not name globex/),
    );
    await assert.rejects(
      asking.chaos.inject({ kind: 'kill-owner', address: ACTOR }, ADMIN),
      code('forbidden', /of node b does not name acme/),
    );
    for (const request of [
      { kind: 'kill-node', node: 'b' },
      { kind: 'freeze-node', node: 'b', ms: 5 },
    ] as const) {
      await assert.rejects(asking.chaos.inject(request, ADMIN), code('forbidden', /does not name svc-system/));
    }
    assert.deepEqual([...asking.faults.acts, ...other.faults.acts], []);
  });

  it('a signal that arrives twice executes the fault once', async () => {
    await using at = await chaosUnderTest();
    const { chaos, faults } = await at.node('a');
    const { id } = await chaos.inject({ kind: 'kill-actor', address: ACTOR }, ADMIN);
    for (let n = 0; n < 5; n += 1) await at.stores.store.signal('a', signalOf(id));
    await chaos.inject({ kind: 'kill-owner', address: ACTOR }, ADMIN);
    assert.deepEqual(faults.acts, [`kill ${ACTOR}`, 'drop default:7']);
  });

  it('a signal without a record executes nothing', async () => {
    await using at = await chaosUnderTest();
    const { chaos, faults } = await at.node('a');
    for (const word of [signalOf('unknown'), 'chaos:', 'kill-node', '{"kind":"kill-node"}']) {
      await at.stores.store.signal('a', word);
    }
    await chaos.inject({ kind: 'kill-actor', address: ACTOR }, ADMIN);
    assert.deepEqual(faults.acts, [`kill ${ACTOR}`]);
  });

  it('a node that does not answer is unavailable after 5 s, and ignores the fault when it sees it later', async () => {
    await using at = await chaosUnderTest();
    const clock = hurriedClock();
    const { chaos } = await at.node('a', ON, clock);
    await at.stores.store.announce({ node: 'deaf', incarnation: 'deaf-1', card: '{}' }, 60_000, true);
    await assert.rejects(
      chaos.inject({ kind: 'kill-node', node: 'deaf' }, ADMIN),
      code('unavailable', /deaf did not answer within 5 s\. The fault was withdrawn/),
    );
    assert.ok(clock.monotonic() >= 5_000);
    const [fault] = (await chaos.list({ limit: 1 })).items;
    assert.deepEqual([fault?.state, fault?.node], ['refused', 'deaf']);
    const late = await at.node('deaf');
    await at.stores.store.signal('deaf', signalOf(fault?.id ?? ''));
    await late.chaos.inject({ kind: 'kill-owner', address: ACTOR }, ADMIN);
    assert.deepEqual(late.faults.acts, ['drop default:7']);
  });

  it('errors name what is missing: an unknown node, an actor without a node, an actor that is not in memory', async () => {
    await using at = await chaosUnderTest();
    const { chaos, faults } = await at.node('a');
    await assert.rejects(chaos.inject({ kind: 'kill-node', node: 'z' }, ADMIN), code('not_found', /no live node z/));
    faults.holds = false;
    await assert.rejects(chaos.inject({ kind: 'kill-actor', address: ACTOR }, ADMIN), code('failed_precondition'));
    await assert.rejects(chaos.inject({ kind: 'kill-owner', address: ACTOR }, ADMIN), code('failed_precondition'));
    faults.owner = null;
    await assert.rejects(
      chaos.inject({ kind: 'kill-actor', address: ACTOR }, ADMIN),
      code('unavailable', /No node owns/),
    );
  });

  it('every fault that was done is counted by kind, over all nodes', async () => {
    await using at = await chaosUnderTest();
    const a = await at.node('a', ON, undefined, 'b');
    const b = await at.node('b');
    for (let n = 0; n < 3; n += 1) await a.chaos.inject({ kind: 'kill-actor', address: ACTOR }, ADMIN);
    await b.chaos.inject({ kind: 'kill-owner', address: ACTOR }, ADMIN);
    b.faults.holds = false;
    await assert.rejects(a.chaos.inject({ kind: 'kill-owner', address: ACTOR }, ADMIN));
    const { counts, items: faults, next_page_token } = await a.chaos.list({ limit: 2 });
    assert.deepEqual(counts, { 'kill-actor': 3, 'kill-owner': 1, 'kill-node': 0, 'freeze-node': 0 });
    assert.equal(faults.length, 2);
    assert.equal(faults[0]?.state, 'refused');
    const rest = await a.chaos.list({ limit: 9, pageToken: next_page_token });
    assert.deepEqual([rest.counts, rest.items.length, rest.next_page_token], [counts, 3, undefined]);
    assert.equal(new Set([...faults, ...rest.items].map(({ id }) => id)).size, 5);
    const foreign = tokenOf('another list', ['x']);
    await assert.rejects(a.chaos.list({ limit: 9, pageToken: foreign }), code('invalid_argument', /page_token/));
    assert.deepEqual(at.warnings, []);
  });
});
