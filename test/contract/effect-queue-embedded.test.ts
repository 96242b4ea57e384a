import { systemClock } from '../../runtime/clock.ts';
import { EffectRunner } from '../../runtime/effect-runner.ts';
import { EmbeddedEffectQueue } from '../../runtime/embedded-effect-queue.ts';
import { SvcError } from '../../runtime/errors.ts';
import { effect, PARTITION, runnerOptions } from '../support/effect-world.ts';
import type { MemoryEffectLedger } from '../support/memory-effect-ledger.ts';
import { effectQueueContract, type Victim } from './effect-queue.ts';

const onFault = (error: unknown) => {
  throw error;
};

/** In one process a dead node is a runner whose store has fallen silent and whose queue is gone. */
async function victim(ledger: MemoryEffectLedger, queue: EmbeddedEffectQueue): Promise<Victim> {
  let dead = false;
  const cut = async (): Promise<boolean> => {
    if (dead) throw new SvcError('unavailable');
    return true;
  };
  const store = {
    keepEffect: (...args: Parameters<MemoryEffectLedger['keepEffect']>) => cut().then(() => ledger.keepEffect(...args)),
    progressEffect: cut,
    settleEffect: cut,
    reopenEffect: cut,
    onEffectCancelled: () => () => {},
  };
  const hang = effect('test.hang', () => new Promise<never>(() => {}));
  // A dead process logs nothing.
  const onFault = () => {};
  const runner = new EffectRunner(runnerOptions({ store, queue, handlers: [hang], node: 'node-v', onFault }));
  await runner.start();
  return {
    async kill() {
      dead = true;
    },
    async lateResult(effectId) {
      await ledger.settleEffect(PARTITION, effectId, 1, { id: 'late', to: 'probe/acme/x', body: '{}' });
    },
  };
}

const queues: EmbeddedEffectQueue[] = [];

effectQueueContract({
  name: 'the embedded queue',
  start: async () => {},
  stop: async () => {},
  async connect(ledger) {
    const queue = new EmbeddedEffectQueue({ ledger, clock: systemClock, onFault });
    await queue.open();
    queues.push(queue);
    return queue;
  },
  async victim(ledger) {
    const queue = queues.at(-1);
    if (queue === undefined) throw new Error('connect first');
    return victim(ledger, queue);
  },
});
