import { z } from 'zod';
import type { JoinTokens } from '../../../security/api.ts';
import type { RestApp } from '../parts.ts';
import { callerOf } from '../request-context.ts';
import { CallerHeaders, nextPageField, pageAsked, pageFields } from '../../../usecases/operations/schemas/fields.ts';
import { problemSchemas } from '../schemas/problems.ts';

const MOST_JOIN_TOKENS_LISTED = 1_000;

const DAY_SECONDS = 86_400;

const JoinTokenIdParams = z.object({ id: z.guid('invalid join token id').describe('UUID') });

const texts = z.array(z.string().min(1).max(300)).max(32);

const roles = z.array(z.enum(['WORKER', 'HYBRID']));

const NewJoinTokenBody = z.strictObject({
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

const JoinTokensQuery = z.object(pageFields(100, MOST_JOIN_TOKENS_LISTED));

const tokenList = <T extends z.ZodType>(item: T) => z.array(item).readonly();

const JoinTokenAnswer = z.object({
  id: z.string(),
  names: tokenList(z.string()),
  tags: tokenList(z.string()),
  addresses: tokenList(z.string()),
  roles: roles.readonly(),
  uses: z.number().int(),
  used_by: tokenList(z.object({ node_id: z.string(), from: z.string(), at: z.string() })),
  refusals: z.number().int().describe('How often a node was refused with it.'),
  status: z.enum(['active', 'used_up', 'expired', 'revoked']),
  created_at: z.string(),
  created_by: z.string(),
  expires_at: z.string(),
});

const MadeJoinTokenAnswer = JoinTokenAnswer.extend({
  token: z.string().describe('Shown this once; the node keeps a hash.'),
});

const JoinTokenListAnswer = z.object({ join_tokens: z.array(JoinTokenAnswer), ...nextPageField });

const make = {
  tags: ['cluster'],
  summary: 'Make a join token',
  description: 'A node joins with it once, within the hour, by default. The token is shown this once.',
  headers: CallerHeaders,
  body: NewJoinTokenBody,
  response: { 200: MadeJoinTokenAnswer, ...problemSchemas({ style: 'coded', hasBody: true }) },
};

const listTokens = {
  tags: ['cluster'],
  summary: 'List join tokens and who used them, the newest first',
  headers: CallerHeaders,
  querystring: JoinTokensQuery,
  response: { 200: JoinTokenListAnswer, ...problemSchemas({ style: 'coded' }) },
};

const revoke = {
  tags: ['cluster'],
  summary: 'Revoke a join token',
  description: 'It lets no node in any more, and nodes that came in by it get no new node token.',
  headers: CallerHeaders,
  params: JoinTokenIdParams,
  response: { 200: JoinTokenAnswer, ...problemSchemas({ style: 'coded', hasBody: true, also: [404] }) },
};

/** /v1/cluster/join-tokens. */
export function joinTokenRoutes(app: RestApp, tokens: JoinTokens): void {
  const path = '/v1/cluster/join-tokens';
  app.post(path, { config: { access: 'operate' }, schema: make }, async (request) => {
    const { expires_in, ...asked } = request.body;
    return tokens.create(callerOf(request), { ...asked, expiresInSeconds: expires_in });
  });
  app.get(path, { config: { access: 'inspect' }, schema: listTokens }, async (request) => {
    const { items, ...next } = await tokens.list(pageAsked(request.query, MOST_JOIN_TOKENS_LISTED));
    return { join_tokens: items, ...next };
  });
  app.delete(`${path}/:id`, { config: { access: 'operate' }, schema: revoke }, async (request) =>
    tokens.revoke(callerOf(request), request.params.id),
  );
}
