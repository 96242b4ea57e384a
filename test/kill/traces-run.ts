/**
 * npm run traces:check [-- RUNS] [--store redis]: random runs of all kinds under kills and lost answers, 1,000 by
 * default, and the raw ledger compared with what was appended. SVC_SEED repeats a run's choices. Ends with code 1 when
 * something is broken.
 */
import { parseArgs } from 'node:util';
import { seedOf } from './random.ts';
import { runTraces, traceLines } from './traces.ts';

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: { store: { type: 'string', default: 'sqlite' } },
});
/** On Redis leases of the node before must end, and its work be taken over, before the node works again. */
const LIVES_MS = { sqlite: [1_500, 9_000], redis: [10_000, 30_000] } as const;
const store = values.store === 'redis' ? 'redis' : 'sqlite';
const runs = Number(positionals[0] ?? 1_000);
const seed = seedOf(process.env);
console.log(`traces under kills on ${store}, seed ${seed}`);
const outcome = await runTraces({ store, runs, atATime: 12, seed, livesMs: LIVES_MS[store] });
for (const line of traceLines(outcome)) console.log(line);
if (outcome.traces.broken.length > 0) process.exitCode = 1;
