/**
 * npm run faults [-- CASE …] [--store sqlite|redis] [--rounds N] [--minutes N]: faults from outside, each in many rounds
 * on each of its stores, and a table at the end. SVC_SEED repeats a run's choices. `--minutes` ends a case on a store
 * after that time. Ends with code 1 when a round hung, ended a node, lost or silently repeated something.
 */
import { availableParallelism } from 'node:os';
import { parseArgs } from 'node:util';
import { SeededRandom, seedOf } from '../../kill/random.ts';
import { percentile } from '../../kill/recovery.ts';
import { type StoreKind, storesMissing } from '../../kill/stores.ts';
import { FAULT_CASES } from './cases.ts';
import type { FaultCase, FaultWorld, RoundOutcome } from './fault-case.ts';

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: { store: { type: 'string' }, rounds: { type: 'string' }, minutes: { type: 'string' } },
});
const unknown = positionals.filter((name) => !FAULT_CASES.some((one) => one.name === name));
if (unknown.length > 0) {
  console.error(`no case ${unknown.join(', ')}; there are: ${FAULT_CASES.map(({ name }) => name).join(', ')}`);
  process.exit(2);
}
const firstSeed = seedOf(process.env);
const minutes = Number(values.minutes ?? 60);
console.log(`SVC_SEED=${firstSeed}, ${availableParallelism()} cores`);

interface Row {
  readonly of: FaultCase;
  readonly store: StoreKind;
  readonly outcomes: readonly RoundOutcome[];
  readonly failure: string | null;
  readonly tookMs: number;
}

const rows: Row[] = [];
for (const of of FAULT_CASES) {
  if (positionals.length > 0 && !positionals.includes(of.name)) continue;
  for (const store of of.stores) {
    if (values.store !== undefined && values.store !== store) continue;
    const missing = await storesMissing(store);
    if (missing !== false) {
      console.error(`SKIPPED ${of.name} on ${store}: ${missing}`);
      process.exitCode = 1;
      continue;
    }
    rows.push(await repeat(of, store, Number(values.rounds ?? of.rounds)));
  }
}
console.log(`\n${table(rows).join('\n')}`);
if (rows.some(({ outcomes, failure }) => failure !== null || outcomes.some(isBroken))) process.exitCode = 1;

async function repeat(of: FaultCase, store: StoreKind, rounds: number): Promise<Row> {
  const seeds = new SeededRandom(firstSeed);
  const outcomes: RoundOutcome[] = [];
  const begunAt = performance.now();
  let world: FaultWorld | null = null;
  let failure: string | null = null;
  try {
    world = await of.open(store, firstSeed);
    while (outcomes.length < rounds && performance.now() - begunAt < minutes * 60_000) {
      const seed = seeds.between(1, 1_000_000_000);
      const outcome = await world.round(seed).catch((error: unknown) => {
        throw new Error(`round ${outcomes.length + 1}, seed ${seed}: ${text(error)}`, { cause: error });
      });
      outcomes.push(outcome);
      if (isBroken(outcome)) console.log(`BROKEN ${of.name} ${store} seed ${seed}: ${JSON.stringify(outcome)}`);
    }
  } catch (error) {
    failure = text(error);
    console.log(`FAILED ${of.name} ${store}: ${failure}`);
  }
  await world?.close();
  const row = { of, store, outcomes, failure, tookMs: performance.now() - begunAt };
  console.log(table([row]).at(-1));
  return row;
}

function isBroken({ hung, nodesEnded, lost, repeated }: RoundOutcome): boolean {
  return hung + nodesEnded + lost + repeated > 0;
}

function text(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}

function table(of: readonly Row[]): string[] {
  return [
    '| Case | Store | Rounds | Runs | Hung | Nodes ended | Lost | Silently repeated | Recovery p50, p99 (s) | Minutes |',
    '|---|---|---|---|---|---|---|---|---|---|',
    ...of.map(({ of: { name }, store, outcomes, failure, tookMs }) => {
      const sum = (pick: (outcome: RoundOutcome) => number): number =>
        outcomes.reduce((all, one) => all + pick(one), 0);
      const times = outcomes.flatMap(({ recoveryMs }) => (recoveryMs === null ? [] : [recoveryMs]));
      const seconds = (fraction: number): string => (percentile(times, fraction) / 1_000).toFixed(2);
      const recovery = times.length === 0 ? '–' : `${seconds(0.5)}, ${seconds(0.99)}`;
      const rounds = failure === null ? `${outcomes.length}` : `${outcomes.length}, then failed`;
      const counts = [sum((one) => one.runs), sum((one) => one.hung), sum((one) => one.nodesEnded)];
      const more = [sum((one) => one.lost), sum((one) => one.repeated)];
      return `| ${[name, store, rounds, ...counts, ...more, recovery, (tookMs / 60_000).toFixed(1)].join(' | ')} |`;
    }),
  ];
}
