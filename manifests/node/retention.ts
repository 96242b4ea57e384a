import { z } from 'zod';

const DAY_MS = 86_400_000;
const MOST_MS = 36_500 * DAY_MS;
const WITHOUT_END = -1;

const orWithoutEnd = (from: number, to: number, expected: string) =>
  z
    .number()
    .int()
    .refine((value) => value === WITHOUT_END || (value >= from && value <= to), expected);

const bytes = orWithoutEnd(1_024, Number.MAX_SAFE_INTEGER, 'expected bytes, at least 1024, or -1 for no limit');
const milliseconds = (from: number) =>
  orWithoutEnd(from, MOST_MS, `expected milliseconds from ${from} to ${MOST_MS}, or -1 for no limit`);

/** How long and how much is kept, whichever comes first: the words of Kafka; -1 is without end. */
const rule = (from: number) => ({ retention_ms: milliseconds(from), retention_bytes: bytes });
const RUNS = rule(1_000);
/** A webhook that comes again within a day is a duplicate, so its stimulus is known for that long. */
const STIMULI = rule(DAY_MS);

const ruleOf = (fields: typeof RUNS, retentionMs: number) =>
  z
    .strictObject({
      retention_ms: fields.retention_ms.default(retentionMs),
      retention_bytes: fields.retention_bytes.default(WITHOUT_END),
    })
    .prefault({});
const ownRuleOf = (fields: typeof RUNS) =>
  z.strictObject({ retention_ms: fields.retention_ms.optional(), retention_bytes: fields.retention_bytes.optional() });

const Tenant = z.strictObject({
  runs: ownRuleOf(RUNS).optional(),
  stimuli: ownRuleOf(STIMULI).optional(),
  ledger: ownRuleOf(RUNS).optional(),
  dead_letters: ownRuleOf(RUNS).optional(),
});

/** `spec.retention`: what is removed by itself (docs/retention-and-backup.md). */
export const NodeRetention = z.strictObject({
  /** From the end of one sweep to the next. */
  interval_secs: z.number().int().min(1).max(86_400).default(60),
  /** Ended executions and workflow runs, with all that is theirs. */
  runs: ruleOf(RUNS, 30 * DAY_MS),
  stimuli: ruleOf(STIMULI, 30 * DAY_MS),
  /** The record of all deliveries. */
  ledger: ruleOf(RUNS, 7 * DAY_MS),
  /** Messages whose handler failed for good. */
  dead_letters: ruleOf(RUNS, 30 * DAY_MS),
  /** By tenant; what is not said is as above. */
  tenants: z
    .record(z.string().min(1).max(128), Tenant)
    .refine((tenants) => Object.keys(tenants).length <= 10_000, 'expected at most 10000 tenants')
    .default({}),
});
export type NodeRetention = z.output<typeof NodeRetention>;
