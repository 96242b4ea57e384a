/**
 * npm run traces:check [-- RUNS]: random runs of all kinds under kills and lost answers, 1,000 by default, and the raw
 * ledger compared with what was appended. SVC_SEED repeats a run's choices. Ends with code 1 when something is broken.
 */
import { seedOf } from './random.ts';
import { runTraces, traceLines } from './traces.ts';

const runs = Number(process.argv[2] ?? 1_000);
const seed = seedOf(process.env);
console.log(`traces under kills, seed ${seed}`);
const outcome = await runTraces({ runs, atATime: 12, seed, livesMs: [1_500, 9_000] });
for (const line of traceLines(outcome)) console.log(line);
if (outcome.traces.broken.length > 0) process.exitCode = 1;
