import type { StoreKind } from '../kill/stores.ts';
import { sample } from '../support/size.ts';
import type { ChurnOptions } from './scenarios/churn.ts';
import type { ProgramsOptions } from './scenarios/programs-under-kills.ts';
import type { RegisterOptions } from './scenarios/register-under-faults.ts';
import type { RetentionSoakOptions } from './scenarios/retention-soak.ts';
import type { RollingOptions } from './scenarios/rolling.ts';
import type { ScaleOptions } from './scenarios/scale.ts';
import type { StepsOptions } from './scenarios/steps-under-kills.ts';
import type { Death, TakeoverOptions } from './scenarios/takeover.ts';

/** How large each scenario is: whole for `npm run chaos`, small for the tests (10 to 40 s each), smaller in a normal run than in a long one. */

const BY_LEASE = { p50Ms: 6_000, p99Ms: 8_000 };
const BY_SIGHT = { p50Ms: 1_000, p99Ms: 2_000 };

export const wholeTakeover = (death: Death, watched: boolean, seed: number): TakeoverOptions => ({
  death,
  watched,
  seed,
  nodes: 3,
  rounds: 30,
  actors: 20,
  pauseMs: 0,
  bars: death === 'freeze' || (death === 'kill' && !watched) ? BY_LEASE : BY_SIGHT,
});
export const smallTakeover = (death: Death, watched: boolean, seed: number): TakeoverOptions => {
  const whole = wholeTakeover(death, watched, seed);
  // Limits apply to a machine without other work; a test only shows that it happens soon.
  const bars = { p50Ms: whole.bars.p50Ms + 4_000, p99Ms: whole.bars.p99Ms + 12_000 };
  const pauseMs = sample({ normal: 200, long: 0 });
  return { ...whole, rounds: death === 'kill' ? sample({ normal: 1, long: 3 }) : 1, actors: 8, pauseMs, bars };
};

export const wholeSteps = (seed: number): StepsOptions => ({
  nodes: 3,
  runs: 100,
  steps: 20,
  stepMs: 50,
  kill: { everyMs: 2_000 },
  mode: 'repeatable',
  compared: true,
  barMs: null,
  seed,
});
export const wholeStepsOneKill = (seed: number): StepsOptions => ({
  ...wholeSteps(seed),
  kill: { onceAfterMs: 1_000 },
  barMs: 1_000,
});
export const smallSteps = (mode: StepsOptions['mode'], seed: number): StepsOptions => ({
  ...wholeSteps(seed),
  runs: sample({ normal: 6, long: 20 }),
  steps: sample({ normal: 14, long: 40 }),
  kill: { everyMs: 500 },
  compared: sample({ normal: false, long: true }),
  mode,
});

export const wholePrograms = (seed: number): ProgramsOptions => ({
  nodes: 3,
  programs: 10_000,
  actors: 10_000,
  forMs: 300_000,
  everyMs: { killNode: 5_000, killAdapter: 20_000, restartStore: 60_000 },
  ambiguity: 0.02,
  seed,
});
export const smallPrograms = (seed: number): ProgramsOptions => ({
  ...wholePrograms(seed),
  ...sample({
    normal: {
      programs: 120,
      actors: 120,
      forMs: 5_000,
      everyMs: { killNode: 2_500, killAdapter: 3_500, restartStore: 4_500 },
    },
    long: {
      programs: 300,
      actors: 300,
      forMs: 15_000,
      everyMs: { killNode: 4_000, killAdapter: 6_000, restartStore: 8_000 },
    },
  }),
});

export const wholeRegister = (seed: number): RegisterOptions => ({
  nodes: 3,
  registers: 3,
  clients: 5,
  forMs: 60_000,
  ambiguity: 0.03,
  leaseTtlMs: 2_000,
  seed,
});
export const smallRegister = (seed: number): RegisterOptions => ({
  ...wholeRegister(seed),
  forMs: sample({ normal: 3_000, long: 15_000 }),
});
/** Seeds of the register that the tests run. */
export const REGISTER_SEEDS = sample({ normal: 1, long: 3 });

export const wholeChurn = (seed: number): ChurnOptions => ({
  most: 8,
  changes: 60,
  everyMs: 5_000,
  perBatch: 100,
  seed,
});
export const smallChurn = (seed: number): ChurnOptions => ({
  ...wholeChurn(seed),
  most: 4,
  changes: sample({ normal: 3, long: 5 }),
  perBatch: sample({ normal: 25, long: 50 }),
});

export const wholeRolling = (seed: number): RollingOptions => ({
  nodes: 5,
  // On two cores with five nodes and their stores a higher load would test only the machine.
  atATime: 8,
  actors: 40,
  thinkMs: 20,
  restMs: 0,
  barMs: 2_000,
  packaged: true,
  seed,
});
export const smallRolling = (seed: number): RollingOptions => ({
  ...wholeRolling(seed),
  nodes: 3,
  atATime: sample({ normal: 2, long: 6 }),
  actors: sample({ normal: 4, long: 10 }),
  thinkMs: sample({ normal: 300, long: 20 }),
  restMs: sample({ normal: 300, long: 0 }),
  barMs: 15_000,
  packaged: sample({ normal: false, long: true }),
});

export const wholeScale = (seed: number): ScaleOptions => ({ nodes: [1, 2, 4], forMs: 10_000, inFlight: 128, seed });
export const smallScale = (seed: number): ScaleOptions => ({
  nodes: [1, 2],
  forMs: sample({ normal: 500, long: 2_000 }),
  inFlight: 32,
  seed,
});

export const wholeRetention = (store: StoreKind, seed: number): RetentionSoakOptions => ({
  store,
  forMs: 900_000,
  retentionMs: 120_000,
  sampleMs: 30_000,
  // FerretDB, which replaces MongoDB here, scans a collection for every query that is not by id. With more runs at a
  // time the figures would only show how it slows down.
  startsPerSecond: store === 'sqlite' ? 10 : 2,
  seed,
});
export const smallRetention = (store: StoreKind, seed: number): RetentionSoakOptions => ({
  ...wholeRetention(store, seed),
  forMs: sample({ normal: 10_000, long: 20_000 }),
  retentionMs: 2_000,
  sampleMs: 1_000,
});
