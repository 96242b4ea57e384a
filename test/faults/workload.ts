import { z } from 'zod';
import type { ActorDefinition } from '../../runtime/define-actor.ts';
import { defineActor } from '../../runtime/define-actor.ts';
import { defineEffect, type EffectHandler, EffectResult } from '../../runtime/effect.ts';
import { step, steps } from '../chaos/steps.ts';
import { ticker } from '../chaos/ticker.ts';

/** Fires `afterMs` after it was set, and counts how often. */
export const alarm = defineActor({
  kind: 'alarm',
  version: 1,
  state: z.object({ fired: z.number() }),
  initial: () => ({ fired: 0 }),
  messages: { Set: z.object({ afterMs: z.number() }), GoOff: z.object({}) },
  events: {},
  on: {
    Set(state, { afterMs }, turn) {
      turn.after('alarm', afterMs, 'GoOff', {});
      turn.reply(null);
      return state;
    },
    GoOff({ fired }) {
      return { fired: fired + 1 };
    },
  },
});

/** Blocks the event loop; other nodes keep their processor. */
function spinFor(ms: number): void {
  Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, ms);
}

const spin = defineEffect({
  kind: 'test.spin',
  input: z.object({ ms: z.number() }),
  async run({ ms }) {
    spinFor(ms);
    return null;
  },
});

/**
 * Blocks the event loop of its node: in a turn, which another node would repeat, or in an effect of mode once, which is
 * not repeated.
 */
export const spinner = defineActor({
  kind: 'spinner',
  version: 1,
  state: z.object({ spun: z.number() }),
  initial: () => ({ spun: 0 }),
  messages: { Spin: z.object({ ms: z.number() }), SpinOnce: z.object({ ms: z.number() }), Spun: EffectResult },
  events: {},
  on: {
    Spin({ spun }, { ms }, turn) {
      spinFor(ms);
      turn.reply(spun + 1);
      return { spun: spun + 1 };
    },
    SpinOnce(state, { ms }, turn) {
      turn.effect({ kind: 'test.spin', mode: 'once', input: { ms }, replyAs: 'Spun' });
      turn.reply(null);
      return state;
    },
    Spun: ({ spun }) => ({ spun: spun + 1 }),
  },
});

/** Actors that the nodes of these tests serve besides the product's own. */
export const actors: readonly ActorDefinition[] = [ticker, steps, alarm, spinner];
export const effects: readonly EffectHandler[] = [step, spin];
