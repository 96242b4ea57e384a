import { z } from 'zod';
import { ForkedFromSchema, list } from '../operations/schemas/fields.ts';

/** Fields of every link. */
const common = {
  id: z.string().nullable().describe('Id of what the link names; null when it has none or the reader may not see it.'),
  reason: z.string().describe('The link in plain words, as the sentence has it.'),
  until: z
    .string()
    .nullable()
    .describe('ISO 8601: when this wait ends or is tried again by itself; null when it is not.'),
};

const link = <K extends string, S extends z.ZodRawShape>(kind: K, shape: S) =>
  z.object({ kind: z.literal(kind), ...common, ...shape });

/** A list that is only read. */

const text = z.string().nullable();

const count = z.number().int();

const ErrorPart = z.object({ code: z.string(), message: z.string() });

/** A live node and its missing tags. */
const NearNode = z.object({
  node_id: z.string(),
  lacks: list(z.string()).describe('Needed tags that it lacks.'),
  reason: z.string(),
});

const run = {
  status: text.describe('Of the run; null while it has not begun.'),
  name: text.describe('Name of the agent or workflow.'),
  iteration: count.nullable().describe('The running or last iteration of an agent; null for a workflow.'),
};

/** One link of the chain from a run to the last cause. `docs/reference/why.md` describes each kind. */
export const WhyLink = z
  .discriminatedUnion('kind', [
    link('execution', run),
    link('workflow', run),
    link('child', { ...run, of: z.enum(['execution', 'workflow']) }),
    link('judge', run),
    link('state', { entered_at: text }),
    link('judges', { judges: count, answered: count }),
    link('approval', {
      prompt: z.string(),
      by: z.string().describe('Who may answer.'),
      default_response: text.describe('Given at `until`; null: the state fails then.'),
    }),
    link('effect', {
      effect: z.string().describe('Its kind, such as model.generate.'),
      status: z.enum(['open', 'started', 'retrying', 'answered']),
      attempt: count.describe('The running attempt, or the last one.'),
      node: text.describe('The node that runs it.'),
      last_error: ErrorPart.nullable(),
      others: count.describe('Further effects that the run waits for at the same time.'),
    }),
    link('timer', {}),
    link('node', {
      tags: list(z.string()),
      nearly: list(NearNode).describe('Live nodes that lack least, at most five.'),
    }),
    link('draining', { tags: list(z.string()) }),
    link('failover', {}),
    link('version', { of: z.enum(['node', 'actor', 'agent', 'workflow']) }),
    link('mailbox', {
      depth: count.describe('Client messages that wait for this actor itself.'),
      oldest_at: text,
      node: text.describe('The node that should handle them.'),
    }),
    link('stuck', { message_type: z.string(), attempts: count, error: z.string() }),
    link('rate_limit', {}),
    link('quota', {}),
    link('target', {}),
    link('place', {}),
    link('store', {}),
    link('volumes', {}),
    link('turn', {}),
    link('attempt', { error: ErrorPart, exit_code: count.nullable() }),
    link('verdict', { validator: z.string(), score: z.number() }),
    link('error', { error: ErrorPart }),
    link('cancel', {}),
    link('more', {}),
  ])
  .meta({ id: 'WhyLink' });

export type WhyLink = z.output<typeof WhyLink>;

type WhyKind = WhyLink['kind'];

export type LinkOf<Kind extends WhyKind> = Extract<WhyLink, { kind: Kind }>;

/** Why a run waits, or why it ended so. */
export const Why = z
  .object({
    waiting: z.boolean().describe('Whether the run has not ended.'),
    sentence: z.string(),
    chain: list(WhyLink).describe('From the run to the last cause.'),
    links: list(z.object({ trace_id: z.string(), relation: z.literal('next') }))
      .optional()
      .describe('Traces in which the run continues; absent while it has only one.'),
    forked_from: ForkedFromSchema.optional().describe('The run that it was forked from.'),
  })
  .meta({ id: 'Why' });

export type Why = z.output<typeof Why>;

/** The first characters of a UUID, enough for people to find it. */
export const short = (id: string): string => (id.length > 12 ? `${id.slice(0, 8)}…` : id);

/** `2026-01-01 18:00:00 UTC` */
export const timeText = (iso: string): string => `${iso.slice(0, 19).replace('T', ' ')} UTC`;
