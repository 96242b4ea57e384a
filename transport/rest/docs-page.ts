import { type FastifyInstance, type FastifyReply, type FastifyRequest, fastify } from 'fastify';
import { SvcError } from '../../runtime/errors.ts';
import { Lazy } from '../../runtime/kit/lazy.ts';
import type { ApiDescription } from './api-description.ts';
import type { RestApp } from './parts.ts';

/**
 * Stricter than the package's own policy, which allows styles and fonts from anywhere and requires https on plain http
 * nodes.
 */
const POLICY = [
  "default-src 'self'",
  "img-src 'self' data:",
  "object-src 'none'",
  "base-uri 'none'",
  "form-action 'none'",
  "frame-ancestors 'none'",
].join('; ');

/** Headers of the package's answers that are about their way to this node. */
const OF_THE_CONNECTION: ReadonlySet<string> = new Set(['connection', 'keep-alive', 'content-length', 'date']);

/** Headers of a request by which the package chooses what to send. */
const ASKED = ['if-none-match', 'if-modified-since', 'range'] as const;

/**
 * Adds the page at /docs that shows the API description. All its files come with the package, and its policy lets a
 * browser load nothing from elsewhere. The package is loaded by the first request.
 */
export function docsPage(
  app: RestApp,
  { mostAtOnce, description }: { readonly mostAtOnce: number; readonly description: ApiDescription },
  done: () => void,
): void {
  limitAnswers(app, mostAtOnce);
  const page = new Lazy(openPage);
  const options = { config: { access: 'public' }, schema: { hide: true } } as const;
  const answer = async (request: FastifyRequest, reply: FastifyReply): Promise<FastifyReply> => {
    const asked = ASKED.flatMap((name) => {
      const value = request.headers[name];
      return value === undefined ? [] : [[name, value] as const];
    });
    reply.header('content-security-policy', POLICY);
    const inner = await page.get();
    const found = await inner.inject({ method: 'GET', url: request.url, headers: Object.fromEntries(asked) });
    if (found.statusCode === 404) {
      reply.callNotFound();
      return reply;
    }
    for (const [name, value] of Object.entries(found.headers))
      if (value !== undefined && !OF_THE_CONNECTION.has(name)) reply.header(name, value);
    return reply.code(found.statusCode).send(found.rawPayload.length === 0 ? undefined : found.rawPayload);
  };
  for (const path of ['/docs', '/docs/', '/docs/static/*']) app.get(path, options, answer);
  app.get('/docs/json', options, async (_request, reply) => {
    reply.header('content-security-policy', POLICY).type('application/json; charset=utf-8');
    return reply.send(await description.json());
  });
  app.get('/docs/yaml', options, async (_request, reply) => {
    reply.header('content-security-policy', POLICY).type('application/x-yaml');
    return reply.send(await description.yaml());
  });
  done();
}

/** Each answer is a file in memory for as long as its client reads. */
function limitAnswers(app: RestApp, mostAtOnce: number): void {
  let open = 0;
  app.addHook('onRequest', async (_request, reply) => {
    if (open >= mostAtOnce) throw new SvcError('overloaded', undefined, { retryAfterMs: 1_000 });
    open += 1;
    reply.raw.once('close', () => {
      open -= 1;
    });
  });
}

/** An application of its own, which never listens: the package adds its routes and hooks to it. */
async function openPage(): Promise<FastifyInstance> {
  const [{ default: swagger }, { default: swaggerUi }] = await Promise.all([
    import('@fastify/swagger'),
    import('@fastify/swagger-ui'),
  ]);
  const page = fastify();
  await page.register(swagger);
  await page.register(swaggerUi, {
    routePrefix: '/docs',
    staticCSP: POLICY,
    uiConfig: { url: '/v1/openapi.json', validatorUrl: null, deepLinking: true },
    theme: { title: 'svc API' },
  });
  await page.ready();
  return page;
}
