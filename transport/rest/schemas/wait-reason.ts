import { z } from 'zod';

/** Answers are never changed once they are made. */
const list = <T extends z.ZodType>(item: T) => z.array(item).readonly();

const OwnWait = z.object({
  kind: z.enum(['node', 'timer', 'approval', 'child', 'judges', 'effect', 'volumes', 'turn']),
  reason: z.string().describe('For people, such as "waiting for a node with tags gpu".'),
  state_name: z.string().optional().describe('Of a workflow.'),
  tags: list(z.string()).optional().describe('What no live node has.'),
  approval_id: z.string().optional(),
  child_execution_ids: list(z.string()).optional(),
  judges: list(z.object({ agent: z.string(), execution_id: z.string(), status: z.enum(['asked', 'judging']) }))
    .optional()
    .describe('Those that have not answered.'),
  effects: list(
    z.object({
      effect_id: z.string(),
      kind: z.string().describe('Such as model.generate.'),
      status: z
        .enum(['open', 'started', 'retrying', 'answered'])
        .describe(
          'open: no node has begun it; started: the attempt runs; retrying: the next begins at retry_at; answered: its result is about to be handled.',
        ),
      attempt: z.number().int(),
      runner: z.string().optional().describe('Node and its life, NODE/UUID.'),
      retry_at: z.string().optional(),
      held_by: z
        .string()
        .optional()
        .describe('What keeps a started one from going on: a model or server that does not answer.'),
    }),
  ).optional(),
  until: z.string().optional().describe('When a timer of its own ends the wait.'),
});

/** What an unfinished execution, of an agent or a workflow, waits for. */
export const WaitReason = OwnWait.extend({
  child: OwnWait.optional().describe('What the child it waits for waits for itself.'),
});
