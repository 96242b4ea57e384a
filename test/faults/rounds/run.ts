/**
 * npm run faults [-- CASE …] [--store sqlite|redis] [--slice K/N] [--rounds N] [--minutes N] [--table FILE] [--plan]: faults
 * from outside, each in many rounds on each of its stores, and a table in Markdown at the end, which FILE has after each
 * case too. A case has 100 rounds where one takes less than 5 s, else 20. `--slice 2/4` is the second of four parts that take
 * about as long as each other; `--plan` says what would run and for how long, and runs nothing. SVC_SEED repeats a run's
 * choices. `--minutes` ends a case on a store after that time; `--notes` prints what each round has to say. A case that
 * fails is the end of that case alone. Ends with code 1 when a case failed, or a round hung, ended a node, lost or silently
 * repeated something.
 */
import { writeFile } from 'node:fs/promises';
import { availableParallelism } from 'node:os';
import { parseArgs } from 'node:util';
import { SeededRandom, seedOf } from '../../kill/random.ts';
import { type StoreKind, storesMissing } from '../../kill/stores.ts';
import { FAULT_CASES } from './cases.ts';
import type { FaultCase, FaultStores, RoundOutcome } from './fault-case.ts';
import { minutesOf, planned, sliceOf } from './plan.ts';
import { isBroken, lineOf, type Row, table } from './table.ts';

const MANY_ROUNDS = 100;
const FEW_ROUNDS = 20;
/** A case whose rounds take less than this on average has many rounds; its first rounds decide. */
const SHORT_MS = 5_000;
const JUDGED_BY = 5;
/** Every round bounds its waits; a round that does not end ends its case. */
const ROUND_MS = 10 * 60_000;

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    store: { type: 'string' },
    rounds: { type: 'string' },
    minutes: { type: 'string' },
    table: { type: 'string' },
    slice: { type: 'string' },
    plan: { type: 'boolean' },
    notes: { type: 'boolean' },
  },
});
const unknown = positionals.filter((name) => !FAULT_CASES.some((one) => one.name === name));
if (unknown.length > 0) {
  console.error(`no case ${unknown.join(', ')}; there are: ${FAULT_CASES.map(({ name }) => name).join(', ')}`);
  process.exit(2);
}
const firstSeed = seedOf(process.env);
const minutes = Number(values.minutes ?? 60);
const wanted = values.rounds === undefined ? null : Number(values.rounds);
console.log(`SVC_SEED=${firstSeed}, ${availableParallelism()} cores`);

const chosen = planned(positionals, values.store);
const [part, parts] = (values.slice ?? '1/1').split('/').map(Number);
const plan = sliceOf(chosen, part ?? 1, parts ?? 1);
console.log(`${plan.length} rows, about ${minutesOf(plan)} min on a machine of their own`);
if (values.plan === true) {
  for (const { of, store, minutes: about } of plan) console.log(`${of.name} ${store} ${about}`);
  process.exit();
}

const rows: Row[] = [];
for (const { of, store } of plan) {
  const missing = storesMissing(store);
  if (missing !== false) {
    console.error(`SKIPPED ${of.name} on ${store}: ${missing}`);
    process.exitCode = 1;
    continue;
  }
  const row = await repeat(of, store);
  console.log(lineOf(row));
  rows.push(row);
  if (values.table !== undefined) await writeFile(values.table, `${table(rows).join('\n')}\n`);
}
console.log(`\n${table(rows).join('\n')}`);
if (rows.some(({ outcomes, failure }) => failure !== null || outcomes.some(isBroken))) process.exitCode = 1;
// Open handles of a case that failed must not keep this process alive.
process.exit();

async function repeat(of: FaultCase, store: StoreKind): Promise<Row> {
  const seeds = new SeededRandom(firstSeed);
  const outcomes: RoundOutcome[] = [];
  const begunAt = performance.now();
  let setup: FaultStores | null = null;
  let failure: string | null = null;
  try {
    setup = await of.open(store, firstSeed);
    const firstAt = performance.now();
    const isDue = (): boolean =>
      outcomes.length < roundsOf(outcomes.length, performance.now() - firstAt) &&
      performance.now() - begunAt < minutes * 60_000;
    while (isDue()) {
      const seed = seeds.between(1, 1_000_000_000);
      const outcome = await bounded(setup.round(seed)).catch((error: unknown) => {
        throw new Error(`round ${outcomes.length + 1}, seed ${seed}: ${text(error)}`, { cause: error });
      });
      outcomes.push(outcome);
      if (values.notes === true) for (const note of outcome.notes ?? []) console.log(`${of.name} ${store}: ${note}`);
      if (isBroken(outcome)) console.log(`BROKEN ${of.name} ${store} seed ${seed}: ${JSON.stringify(outcome)}`);
    }
  } catch (error) {
    failure = text(error);
    console.log(`FAILED ${of.name} ${store}: ${failure}`);
  }
  try {
    if (setup !== null) await bounded(setup.close());
  } catch (error) {
    failure ??= `closing: ${text(error)}`;
    console.log(`FAILED ${of.name} ${store}: ${failure}`);
  }
  return { of, store, outcomes, failure, tookMs: performance.now() - begunAt };
}

function roundsOf(done: number, tookMs: number): number {
  if (wanted !== null) return wanted;
  return done < JUDGED_BY || tookMs / done >= SHORT_MS ? FEW_ROUNDS : MANY_ROUNDS;
}

async function bounded<T>(work: Promise<T>): Promise<T> {
  const late = Promise.withResolvers<never>();
  const timer = setTimeout(() => late.reject(new Error(`it did not end within ${ROUND_MS / 60_000} min`)), ROUND_MS);
  try {
    return await Promise.race([work, late.promise]);
  } finally {
    clearTimeout(timer);
  }
}

function text(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
