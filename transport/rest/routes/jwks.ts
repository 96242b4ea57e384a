import { z } from 'zod';
import type { RestApp, RestParts } from '../parts.ts';
import { problemSchemas } from '../schemas/problems.ts';

const Key = z.object({
  kty: z.string(),
  kid: z.string().describe('RFC 7638 thumbprint.'),
  alg: z.string(),
  use: z.string(),
  n: z.string(),
  e: z.string(),
});

const schema = {
  tags: ['cluster'],
  summary: 'Public keys of node tokens, of all controllers',
  security: [],
  response: {
    200: z.object({ keys: z.array(Key) }),
    ...problemSchemas({ style: 'coded', isPublic: true, also: [503] }),
  },
};

/** GET /.well-known/jwks.json (decided.md "Identity"): public, like the keys; nodes without node tokens have no such path. */
export function jwksRoute(app: RestApp, { nodeTokens }: RestParts): void {
  if (nodeTokens === undefined) return;
  app.get('/.well-known/jwks.json', { config: { access: 'public' }, schema }, async (_request, reply) => {
    const { keys } = await nodeTokens.keySet();
    reply.header('cache-control', 'public, max-age=60');
    return { keys: keys.map((key) => Key.parse(key)) };
  });
}
