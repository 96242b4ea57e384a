/**
 * npm run chaos [-- sqlite | redis]: 200 kills on each store. SVC_KILLS and SVC_SEED change number and moments.
 * Ends with code 1 when a promise was broken.
 */
import { runChaos } from './chaos.ts';
import { checkOutcome } from './checks.ts';
import { seedOf } from './random.ts';
import { reportLines } from './report.ts';
import type { StoreKind } from './stores.ts';

const asked = process.argv.slice(2);
const kinds: readonly StoreKind[] = ['sqlite', 'redis'];
const seed = seedOf(process.env);
console.log(`SVC_SEED=${seed}`);
for (const kind of kinds.filter((one) => asked.length === 0 || asked.includes(one))) {
  const options = { kind, kills: Number(process.env.SVC_KILLS ?? 200), seed, atATime: 12 };
  const outcome = await runChaos(options);
  console.log(reportLines(options, outcome, checkOutcome(outcome)).join('\n'));
}
