import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type ChaosSettings, createChaos } from '../../cluster/chaos/create-chaos.ts';
import type { Address, Partition } from '../../runtime/address.ts';
import type { Clock } from '../../runtime/clock.ts';
import { systemClock } from '../../runtime/clock.ts';
import type { Identity } from '../../runtime/identity.ts';
import { openStores } from '../../runtime/open-stores.ts';
import { systemRandom } from '../../runtime/random.ts';
import type { ChaosApi, FaultPort } from '../../usecases/ports/faults.ts';

export const ADMIN: Identity = {
  kind: 'operator',
  subject: 'ada',
  tenant: 'svc-system',
  roles: ['svc:admin'],
  tier: 'enterprise',
};
export const ON: ChaosSettings = { enabled: true, tenants: ['acme', 'svc-system'] };
export const ACTOR: Address = 'execution/acme/one';

/** Records the calls by which the kernel would end the process, instead of executing them. */
export class NotedFaults implements FaultPort {
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

export class Ended extends Error {
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
export function hurriedClock(): Clock {
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
export async function chaosUnderTest() {
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
