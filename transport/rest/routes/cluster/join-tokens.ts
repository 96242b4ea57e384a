import type { JoinTokens } from '../../../../security/api.ts';
import type { RestApp } from '../../parts.ts';
import { callerOf } from '../../request-context.ts';
import { CallerHeaders, pageAsked } from '../../schemas/fields.ts';
import {
  JoinTokenAnswer,
  JoinTokenIdParams,
  JoinTokenListAnswer,
  JoinTokensQuery,
  MadeJoinTokenAnswer,
  MOST_JOIN_TOKENS_LISTED,
  NewJoinTokenBody,
} from '../../schemas/join-tokens.ts';
import { problemSchemas } from '../../schemas/problems.ts';

const make = {
  tags: ['cluster'],
  summary: 'Make a join token',
  description: 'A node joins with it once, within the hour, by default. The token is shown this once.',
  headers: CallerHeaders,
  body: NewJoinTokenBody,
  response: { 200: MadeJoinTokenAnswer, ...problemSchemas({ style: 'coded', hasBody: true }) },
};

const list = {
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
  app.get(path, { config: { access: 'inspect' }, schema: list }, async (request) => {
    const { items, ...next } = await tokens.list(pageAsked(request.query, MOST_JOIN_TOKENS_LISTED));
    return { join_tokens: items, ...next };
  });
  app.delete(`${path}/:id`, { config: { access: 'operate' }, schema: revoke }, async (request) =>
    tokens.revoke(callerOf(request), request.params.id),
  );
}
