import { randomUUID } from 'node:crypto';
import { type EffectContext, HandlerWaits } from '../../runtime/effect.ts';

/** The context that the effect runner gives to a handler: a first attempt that nothing aborts. `given` overrides its parts. */
export const effectContext = (given: Partial<EffectContext> = {}): EffectContext => ({
  effectId: randomUUID(),
  attempt: 1,
  tenant: 'acme',
  address: 'execution/acme/e1',
  trace: 'f'.repeat(32),
  signal: new AbortController().signal,
  progress: async () => true,
  parked: (waiting) => waiting,
  retryWhileUnavailable: (call) => call(),
  waitedFor: (wait) => {
    throw new HandlerWaits(wait);
  },
  ...given,
});

/** Runs a handler to its end as the effect runner does: after a wait it starts again, with the result of the wait. */
export async function runToEnd<T>(run: (context: EffectContext) => Promise<T>, context: EffectContext): Promise<T> {
  const startedAtMs = Date.now();
  try {
    return await run(context);
  } catch (thrown) {
    if (!(thrown instanceof HandlerWaits)) throw thrown;
    const waited = await thrown.wait(context.signal);
    return run({ ...context, resumed: { startedAtMs }, waitedFor: () => waited });
  }
}
