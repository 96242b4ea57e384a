import { z } from 'zod';
import { nextPageField, pageFields } from './fields.ts';

export const MOST_JOIN_TOKENS_LISTED = 1_000;
const DAY_SECONDS = 86_400;

export const JoinTokenIdParams = z.object({ id: z.guid('invalid join token id').describe('UUID') });

const texts = z.array(z.string().min(1).max(300)).max(32);
const roles = z.array(z.enum(['WORKER', 'HYBRID']));

export const NewJoinTokenBody = z.strictObject({
  names: texts.optional().describe('Node ids, also with `*` at the end; default any.'),
  tags: texts.optional().describe('Tags that the node may register with; default none.'),
  addresses: texts
    .optional()
    .describe('Where the node may be reached: IP addresses, networks, host names; default where it calls from.'),
  roles: roles.min(1).optional().describe('Default WORKER.'),
  uses: z.number().int().min(1).max(1_000).optional().describe('How many nodes may join with it; default 1.'),
  expires_in: z
    .number()
    .int()
    .min(60)
    .max(30 * DAY_SECONDS)
    .optional()
    .describe('Seconds from now; default one hour.'),
});

export const JoinTokensQuery = z.object(pageFields(100, MOST_JOIN_TOKENS_LISTED));

const list = <T extends z.ZodType>(item: T) => z.array(item).readonly();

export const JoinTokenAnswer = z.object({
  id: z.string(),
  names: list(z.string()),
  tags: list(z.string()),
  addresses: list(z.string()),
  roles: roles.readonly(),
  uses: z.number().int(),
  used_by: list(z.object({ node_id: z.string(), from: z.string(), at: z.string() })),
  refusals: z.number().int().describe('How often a node was refused with it.'),
  status: z.enum(['active', 'used_up', 'expired', 'revoked']),
  created_at: z.string(),
  created_by: z.string(),
  expires_at: z.string(),
});

export const MadeJoinTokenAnswer = JoinTokenAnswer.extend({
  token: z.string().describe('Shown this once; the node keeps a hash.'),
});
export const JoinTokenListAnswer = z.object({ join_tokens: z.array(JoinTokenAnswer), ...nextPageField });
