import { z } from 'zod';
import { manifestYaml } from '../../fields.ts';
import { RUN_KINDS, RUN_OUTCOMES, RUN_STATUSES, WAIT_KINDS } from '../../runs/run.ts';
import type { RunFilter } from '../../runs/run-filter.ts';
import { WaitReason } from './executions.ts';
import { ForkedFromSchema, jsonObject } from './fields.ts';

const MOST_VALUES = 32;

/** A parameter that may be repeated. */
export const several = <T extends z.ZodType>(value: T) =>
  z
    .preprocess((given) => (typeof given === 'string' ? [given] : given), z.array(value).min(1).max(MOST_VALUES))
    .optional();

const LABEL = /^([^=:]{1,63})[=:](.{0,200})$/s;

const time = (what: string) =>
  z.iso
    .datetime({ offset: true, error: 'expected an ISO 8601 time such as 2026-01-31T12:00:00Z' })
    .transform((given) => new Date(given).toISOString())
    .optional()
    .describe(what);

const text = (most: number) => z.string().min(1).max(most);

/** The conditions of a list of runs, as query of a URL. */
export const runFilterFields = {
  status: several(z.enum(RUN_STATUSES)).describe('Any of these; may be repeated.'),
  outcome: z.enum(RUN_OUTCOMES).optional().describe('How it ended.'),
  kind: z.enum(RUN_KINDS).optional(),
  name: text(256).optional().describe('Name of the agent or workflow.'),
  version: text(100).optional(),
  label: several(z.string().regex(LABEL, 'expected KEY=VALUE')).describe(
    '`KEY=VALUE` given at the start; may be repeated, and all must match.',
  ),
  from: time('Started at this time or later.'),
  to: time('Started before this time.'),
  tag: several(text(128)).describe('Tags that its node must have; all must match.'),
  node: text(256).optional().describe('Id of the node that handled its last message.'),
  wait_reason: several(z.enum(WAIT_KINDS)).describe('What an unfinished one waits for; any of these.'),
  error_code: text(256).optional(),
  parent: text(256).optional().describe('Id of the run, panel of judges or stimulus that started it.'),
  trace_id: z
    .string()
    .regex(/^[0-9a-f]{32}$/, 'expected the id of a trace: 32 lower-case hex digits')
    .optional()
    .describe('Runs of this trace.'),
  text: text(256).optional().describe('The beginning of the id, or a part of the name.'),
};

const RunFilterQuery = z.object(runFilterFields);

/** Translates the query of a URL for the use case. */
export function runFilterOf(query: z.output<typeof RunFilterQuery>): RunFilter {
  const { label, tag, wait_reason, error_code, trace_id, ...rest } = query;
  const labels = label?.map((given) => {
    const [, key = '', value = ''] = LABEL.exec(given) ?? [];
    return [key, value] as const;
  });
  const { status, outcome, kind, name, version, from, to, node, parent, text: part } = rest;
  return {
    status,
    outcome,
    kind,
    name,
    version,
    labels,
    from,
    to,
    tags: tag,
    node,
    waitReason: wait_reason,
    errorCode: error_code,
    parent,
    traceId: trace_id,
    text: part,
  };
}

export const ForkBody = z.strictObject({
  message_id: z
    .string()
    .min(1)
    .max(200)
    .optional()
    .describe('Message of the run, after which the fork is live. Default: the last one after which it had not ended.'),
  input: z
    .union([z.string(), jsonObject], { error: 'expected text or an object' })
    .optional()
    .describe('Another input: a text of an execution; of a workflow run, members that replace those of the original.'),
  context: jsonObject.optional().describe('Of an execution: values for the prompt template that are changed.'),
  blackboard: jsonObject.optional().describe('Of a workflow run: entries that are changed.'),
  version: z.string().min(1).max(64).optional().describe('Another deployed version.'),
  manifest: manifestYaml.optional().describe('Another manifest, YAML. It needs the right to deploy.'),
  reason: z.string().min(1).max(1_000).optional().describe('Why, for people; shown with the fork.'),
});

export const ForkedRun = z
  .object({
    id: z.string().describe('Of the new run.'),
    kind: z.enum(RUN_KINDS),
    forked_from: ForkedFromSchema,
    waiting_for: WaitReason.optional().describe('Why it cannot begin yet: tags that no live node has.'),
  })
  .meta({ id: 'ForkedRun' });

export const RunSchema = z
  .object({
    id: z.string(),
    kind: z.enum(RUN_KINDS),
    status: z.enum(RUN_STATUSES),
    outcome: z.enum(RUN_OUTCOMES).nullable().describe('Null while it is unfinished.'),
    name: z.string().describe('Of the agent or workflow.'),
    version: z.string(),
    definition_id: z.string().describe('UUID of the agent or workflow.'),
    labels: z.record(z.string(), z.string()).describe('Given at its start.'),
    started_at: z.string(),
    ended_at: z.string().nullable(),
    duration_ms: z.number().nullable().describe('Null while it is unfinished.'),
    tags: z.array(z.string()).readonly().describe('Tags that its node must have.'),
    node: z.string().nullable().describe('Node that handled its last message.'),
    wait_reason: z.enum(WAIT_KINDS).nullable().describe('What it waits for; null once it has ended.'),
    state_name: z.string().nullable().describe('Current state of a workflow.'),
    error_code: z.string().nullable(),
    reason: z.string().nullable().describe('Short text for people: the failure, or why it was cancelled.'),
    trace_id: z.string().nullable(),
    forked_from: ForkedFromSchema.nullable().describe('The run that it was forked from.'),
    parent: z
      .object({ kind: z.string(), id: z.string() })
      .nullable()
      .describe('What started it: a workflow run, a stimulus, a panel of judges.'),
  })
  .meta({ id: 'Run' });
