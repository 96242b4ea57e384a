import type { ClaimOutcome } from '../../runtime/actor-store.ts';
import { EffectRunner } from '../../runtime/effects/effect-runner.ts';
import type { RunnerStore } from '../../runtime/effects/effect-runner-claim.ts';
import { BullmqEffectQueue } from '../../runtime/redis/bullmq-effect-queue.ts';
import { effect, runnerOptions } from './open-effect.ts';

/**
 * A node in a process of its own, to be killed: takes jobs from BullMQ at argv[2] and runs `test.hang`. The parent
 * keeps the effect records, and answers calls for them over the process channel.
 */
let calls = 0;
const answers = new Map<number, (value: never) => void>();
process.on('message', ({ call, value }: { call: number; value: never }) => answers.get(call)?.(value));

function ask<T>(method: string, ...args: readonly unknown[]): Promise<T> {
  const call = ++calls;
  return new Promise<T>((resolve) => {
    answers.set(call, resolve);
    process.send?.({ call, method, args });
  });
}

const store: RunnerStore = {
  keepEffect: (...args) => ask('keepEffect', ...args),
  progressEffect: (...args) => ask('progressEffect', ...args),
  settleEffect: (...args) => ask('settleEffect', ...args),
  reopenEffect: (...args) => ask('reopenEffect', ...args),
  onEffectCancelled: () => () => {},
};
const [, , url] = process.argv;
if (url === undefined) throw new Error('usage: effect-node.ts REDIS_URL');
const queue = new BullmqEffectQueue({
  urls: url,
  ledger: { claimEffect: (...args) => ask<ClaimOutcome>('claimEffect', ...args) },
  onFault: (error) => console.error(error),
});
await queue.open();
const hang = effect('test.hang', () => new Promise<never>(() => {}));
await new EffectRunner(runnerOptions({ store, queue, handlers: [hang], node: 'node-v' })).start();
process.send?.({ ready: true });
