import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Address } from '../../runtime/address.ts';
import { systemClock } from '../../runtime/clock.ts';
import { EffectRunner } from '../../runtime/effects/effect-runner.ts';
import { EmbeddedEffectQueue } from '../../runtime/effects/embedded-effect-queue.ts';
import { SvcError } from '../../runtime/errors.ts';
import { SqliteActorStore } from '../../runtime/sqlite/actor-store.ts';
import { MemoryEffectLedger, type TestLedger } from '../support/memory-effect-ledger.ts';
import { effect, PARTITION, runnerOptions } from '../support/open-effect.ts';
import { StoreEffectLedger } from '../support/store-effect-ledger.ts';
import { waitUntil } from '../support/wait-until.ts';
import { effectQueueContract, type QueueAdapter, type Victim } from './effect-queue.ts';

const onFault = (error: unknown) => {
  throw error;
};

/** In one process a dead node is a runner whose store has fallen silent and whose queue is gone. */
async function victim(ledger: TestLedger, queue: EmbeddedEffectQueue): Promise<Victim> {
  let dead = false;
  const cut = async (): Promise<boolean> => {
    if (dead) throw new SvcError('unavailable');
    return true;
  };
  const store = {
    keepEffect: (...args: Parameters<TestLedger['keepEffect']>) => cut().then(() => ledger.keepEffect(...args)),
    progressEffect: cut,
    settleEffect: cut,
    reopenEffect: cut,
    onEffectCancelled: () => () => {},
  };
  const addresses = new Set<Address>();
  const hang = effect('test.hang', (_, { address }) => {
    addresses.add(address);
    return new Promise<never>(() => {});
  });
  // A dead process logs nothing.
  const onFault = () => {};
  const runner = new EffectRunner(runnerOptions({ store, queue, handlers: [hang], node: 'node-v', onFault }));
  await runner.start();
  return {
    async kill() {
      await waitUntil('the work of the runner to begin', () => addresses.size > 0);
      dead = true;
      // A silent store ends no work by itself, but a dead process does no work.
      for (const address of addresses) runner.cut(address);
    },
    async lateResult(effectId) {
      await ledger.settleEffect(PARTITION, effectId, 1, { id: 'late', to: 'probe/acme/x', body: '{}' });
    },
  };
}

function embedded(name: string, ledger: () => Promise<TestLedger>, stop: () => Promise<void>): QueueAdapter {
  let last: EmbeddedEffectQueue | undefined;
  return {
    name: `the embedded queue with records ${name}`,
    start: async () => {},
    stop,
    ledger,
    async connect(records) {
      last = new EmbeddedEffectQueue({ ledger: records, clock: systemClock, onFault });
      await last.open();
      return last;
    },
    async victim(records) {
      if (last === undefined) throw new Error('connect first');
      return victim(records, last);
    },
  };
}

effectQueueContract(
  embedded(
    'in memory',
    async () => new MemoryEffectLedger(),
    async () => {},
  ),
  // The same queue: only the records are elsewhere.
  3,
);

const directories: string[] = [];
effectQueueContract(
  embedded(
    'in SQLite',
    async () => {
      const directory = await mkdtemp(join(tmpdir(), 'svc-effects-'));
      directories.push(directory);
      const store = new SqliteActorStore({ directory });
      await store.open();
      return StoreEffectLedger.over(store, PARTITION);
    },
    async () => {
      for (const directory of directories) await rm(directory, { recursive: true });
    },
  ),
);
