import type { FastifyRequest } from 'fastify';
import { z } from 'zod';
import type { ResourceParts, RestApp, RestParts } from '../parts.ts';
import { problemSchemas } from '../schemas/problems.ts';

const Key = z.object({
  kty: z.string(),
  kid: z.string().describe('RFC 7638 thumbprint.'),
  alg: z.string(),
  use: z.string(),
  n: z.string(),
  e: z.string(),
});

const jwksSchema = {
  operationId: 'jwks.get',
  tags: ['cluster'],
  summary: 'Public keys of node tokens, of all controllers',
  security: [],
  response: {
    200: z.object({ keys: z.array(Key) }),
    ...problemSchemas({ style: 'coded', isPublic: true, also: [503] }),
  },
};

/** GET /.well-known/jwks.json (G20). Public, like the keys; not served by nodes without node tokens. */
export function jwksRoute(app: RestApp, { nodeTokens }: RestParts): void {
  if (nodeTokens === undefined) return;
  app.get('/.well-known/jwks.json', { config: { access: 'public' }, schema: jwksSchema }, async (_request, reply) => {
    const { keys } = await nodeTokens.keySet();
    reply.header('cache-control', 'public, max-age=60');
    return { keys: keys.map((key) => Key.parse(key)) };
  });
}

const PATH = '/.well-known/oauth-protected-resource';

/** The metadata of a resource with a path is below the well-known path (RFC 9728, section 3.1). */
const PATHS = { 'protected_resource.get': PATH, 'protected_resource.get_mcp': `${PATH}/mcp` };

/** A host name or an address, with or without a port. */
const HOST = /^(?:[A-Za-z0-9.-]{1,253}|\[[0-9A-Fa-f:.]{2,45}\])(?::\d{1,5})?$/;

const ProtectedResource = z
  .object({
    resource: z.string().describe('URL of /mcp: the audience that clients request from their authorization server.'),
    authorization_servers: z.array(z.string()),
    bearer_methods_supported: z.array(z.string()),
    resource_name: z.string(),
  })
  .meta({ id: 'ProtectedResource' });

const protectedResourceSchema = {
  tags: ['health'],
  summary: 'Where tokens for /mcp come from (RFC 9728)',
  security: [],
  response: {
    200: ProtectedResource,
    ...problemSchemas({ style: 'coded', isPublic: true }),
  },
};

/**
 * Protected resource metadata of /mcp: an MCP client that was answered 401 uses it to find its authorization server.
 */
export function protectedResourceRoute(app: RestApp, { mcp, resource, tls }: RestParts): void {
  if (mcp === undefined || resource === undefined || resource.issuers.length === 0) return;
  for (const [operationId, path] of Object.entries(PATHS)) {
    const schema = { ...protectedResourceSchema, operationId };
    app.get(path, { config: { access: 'public' }, schema }, async (request) => ({
      resource: `${baseUrl(request, resource, tls !== undefined)}/mcp`,
      authorization_servers: [...resource.issuers],
      bearer_methods_supported: ['header'],
      resource_name: 'svc',
    }));
  }
}

/** The challenge parameter that a 401 of /mcp gets; null on a node without realms. */
export function metadataChallenge(request: FastifyRequest, { resource, tls }: RestParts): string | null {
  if (resource === undefined || resource.issuers.length === 0) return null;
  return `resource_metadata="${baseUrl(request, resource, tls !== undefined)}${PATH}/mcp"`;
}

/**
 * The base URL of the node. An invalid Host header is replaced by the loopback name, so that no unchecked text of the
 * client is sent back.
 */
function baseUrl(request: FastifyRequest, { publicUrl }: ResourceParts, isSecure: boolean): string {
  if (publicUrl !== undefined) return publicUrl;
  const scheme = isSecure ? 'https' : 'http';
  const { host = '' } = request.headers;
  return `${scheme}://${HOST.test(host) ? host : 'localhost'}`;
}

/** GET /v1/openapi.json: the API description. */
export function openapiRoute(app: RestApp, { description }: RestParts): void {
  app.get('/v1/openapi.json', { config: { access: 'public' }, schema: { hide: true } }, async (_request, reply) =>
    reply.type('application/json; charset=utf-8').send(await description.json()),
  );
}
