/**
 * npm run traces:check [-- RUNS] [--store redis]: random runs of all kinds under kills and lost answers, 1,000 by default, and
 * a comparison of the raw ledger with the appended messages. SVC_SEED repeats a run's choices. Ends with code 1 for any
 * difference.
 */
import { parseArgs } from 'node:util';
import { seedOf } from './random.ts';
import { runTraces, traceLines } from './traces.ts';

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: { store: { type: 'string', default: 'sqlite' } },
});
/** 1,000 runs meet about 200 kills, on a busy machine as well. */
const RUNS_A_LIFE = [1, 9] as const;
const store = values.store === 'redis' ? 'redis' : 'sqlite';
const runs = Number(positionals[0] ?? 1_000);
const seed = seedOf(process.env);
console.log(`traces under kills on ${store}, seed ${seed}`);
const outcome = await runTraces({ store, runs, atATime: 12, seed, runsALife: RUNS_A_LIFE });
for (const line of traceLines(outcome)) console.log(line);
if (outcome.traces.broken.length > 0) process.exitCode = 1;
