import { z } from 'zod';
import { operation } from './operation.ts';
import { nextPageField, pageAsked, pageFields } from './schemas/fields.ts';

const MOST_JOIN_TOKENS_LISTED = 1_000;

const DAY_SECONDS = 86_400;

const JoinTokenIdParams = z.object({ id: z.guid('invalid join token id').describe('UUID') });

const texts = z.array(z.string().min(1).max(300)).max(32);

const roles = z.array(z.enum(['WORKER', 'HYBRID']));

const NewJoinTokenBody = z.strictObject({
  names: texts.optional().describe('Node ids, also with `*` at the end; default any.'),
  tags: texts.optional().describe('Tags that the node may register with; default: none.'),
  addresses: texts
    .optional()
    .describe(
      'Addresses at which the node may be reached: IP addresses, networks, host names; default: the address it calls from.',
    ),
  roles: roles.min(1).optional().describe('Default: WORKER.'),
  uses: z.number().int().min(1).max(1_000).optional().describe('Number of nodes that may join with it; default 1.'),
  expires_in: z
    .number()
    .int()
    .min(60)
    .max(30 * DAY_SECONDS)
    .optional()
    .describe('Seconds from now; default one hour.'),
});

const JoinTokensQuery = z.object(pageFields(100, MOST_JOIN_TOKENS_LISTED));

const tokenList = <T extends z.ZodType>(item: T) => z.array(item).readonly();

const JoinTokenUse = z.object({ node_id: z.string(), from: z.string(), at: z.string() }).meta({ id: 'JoinTokenUse' });

const JoinTokenAnswer = z
  .object({
    id: z.string(),
    names: tokenList(z.string()),
    tags: tokenList(z.string()),
    addresses: tokenList(z.string()),
    roles: roles.readonly(),
    uses: z.number().int(),
    used_by: tokenList(JoinTokenUse),
    refusals: z.number().int().describe('Number of nodes refused with it.'),
    status: z.enum(['active', 'used_up', 'expired', 'revoked']),
    created_at: z.string(),
    created_by: z.string(),
    expires_at: z.string(),
  })
  .meta({ id: 'JoinToken' });

const MadeJoinTokenAnswer = JoinTokenAnswer.extend({
  token: z.string().describe('Returned in this answer only; the node stores a hash.'),
});

const JoinTokenListAnswer = z.object({ join_tokens: z.array(JoinTokenAnswer), ...nextPageField });

const common = { tag: 'cluster', needs: ['cluster', 'joinTokens'] } as const;

const path = '/v1/cluster/join-tokens';

/** Operations on the tokens with which new nodes join the fleet. */
export const JOIN_TOKEN_OPERATIONS = [
  operation({
    ...common,
    name: 'join_tokens.create',
    summary: 'Make a join token',
    description: 'A node joins with it once, within the hour, by default. The token is shown this once.',
    access: 'operate',
    input: { body: NewJoinTokenBody },
    answer: MadeJoinTokenAnswer,
    rest: { method: 'POST', path, style: 'coded' },
    commands: ['node token create'],
    handle: ({ joinTokens }, { identity, body: { expires_in, ...asked } }) =>
      joinTokens.create(identity, { ...asked, expiresInSeconds: expires_in }),
  }),
  operation({
    ...common,
    name: 'join_tokens.list',
    summary: 'List join tokens and who used them, the newest first',
    access: 'inspect',
    input: { query: JoinTokensQuery },
    answer: JoinTokenListAnswer,
    rest: { method: 'GET', path, style: 'coded' },
    commands: ['node token list'],
    async handle({ joinTokens }, { query }) {
      const { items, ...next } = await joinTokens.list(pageAsked(query, MOST_JOIN_TOKENS_LISTED));
      return { join_tokens: items, ...next };
    },
  }),
  operation({
    ...common,
    name: 'join_tokens.revoke',
    summary: 'Revoke a join token',
    description: 'It lets no node in any more, and nodes that came in by it get no new node token.',
    access: 'operate',
    input: { params: JoinTokenIdParams },
    answer: JoinTokenAnswer,
    rest: { method: 'DELETE', path: `${path}/:id`, style: 'coded', also: [404] },
    commands: ['node token revoke'],
    handle: ({ joinTokens }, { identity, params }) => joinTokens.revoke(identity, params.id),
  }),
];
