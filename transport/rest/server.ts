import type { IncomingMessage } from 'node:http';
import type { Socket } from 'node:net';
import { fastifySSE } from '@fastify/sse';
import swagger from '@fastify/swagger';
import swaggerUi from '@fastify/swagger-ui';
import { type FastifyInstance, type FastifyReply, fastify, LogController } from 'fastify';
import { serializerCompiler, validatorCompiler } from 'fastify-type-provider-zod';
import { SvcError } from '../../runtime/errors.ts';
import { ConnectionGate, mostConnections } from '../connection-gate.ts';
import { mcpRoute } from '../mcp/route.ts';
import { OpenStreams } from '../open-streams.ts';
import { type ServerTls, speakTls } from '../tls.ts';
import { REST_LIMITS, type RestLimits } from './limits.ts';
import { KnownPaths, openapiOptions } from './openapi-document.ts';
import type { RestApp, RestParts, RestServerParts } from './parts.ts';
import { answerError, problemBody } from './problem.ts';
import { type Admit, addRequestContext, admitStarts } from './request-context.ts';
import { addRoutes } from './routes/index.ts';
import { parseJsonBodies } from './signed-body.ts';

/** How soon a connection that has become idle is closed while the server closes. */
const IDLE_LOOK_MS = 50;

/**
 * The REST API as a server that does not listen yet. Closing it ends the open event streams, telling their
 * clients to come back, and lets running calls finish.
 */
export function createRestServer(parts: RestServerParts): RestApp {
  const limits: RestLimits = { ...REST_LIMITS, ...parts.limits };
  const streams = new OpenStreams(limits.streams);
  const admit = parts.admission === undefined ? {} : { admit: admitStarts(parts.admission) };
  const app = openApp({ ...parts, ...admit, limits, streams });
  app.register(fastifySSE);
  app.register(swagger, openapiOptions(parts.version, parts.authenticator.required));
  app.register(docsPage);
  app.register((scope: RestApp, _options, done) => {
    addRoutes(scope, { ...parts, limits, streams });
    mcpRoute(scope, { ...parts, limits, streams });
    done();
  });
  return app;
}

/** What every HTTP address of the node is made of. */
interface AppParts extends Pick<RestParts, 'authenticator' | 'logger' | 'limits' | 'streams'> {
  /** Sees a request before routing; answers the path to route by. */
  readonly rewriteUrl?: (request: IncomingMessage) => string;
  /** Origins whose pages may call (`spec.network.cors.allow`); absent: none. */
  readonly origins?: readonly string[];
  /** Sees a request before it is known who asks; what it throws is the answer. */
  readonly admit?: Admit;
  /** With it the address speaks https alone. */
  readonly tls?: ServerTls;
  /** Addresses of proxies: each may hold more connections than a client. */
  readonly proxies?: readonly string[];
  /** Whether an address is that of a container of agents, to be refused; absent: none is. */
  readonly isOfAgents?: (address: string) => boolean;
}

/** An application without routes: bounds, identity, error answers and headers as everywhere. */
export function openApp(parts: AppParts): RestApp {
  const { limits, streams } = parts;
  const app: RestApp = openFastify(parts);
  const paths = new KnownPaths();
  app.setValidatorCompiler(validatorCompiler);
  app.setSerializerCompiler(serializerCompiler);
  app.setErrorHandler(answerError);
  app.addHook('onRoute', ({ path, method }) => paths.add(path, method));
  boundBodies(app, limits);
  app.addHook('preClose', async () => {
    streams.endAll();
    cutLateConnections(app, limits.closeGraceMs);
  });
  addSecurityHeaders(app);
  const origins: ReadonlySet<string> = new Set(parts.origins);
  allowOrigins(app, origins);
  const admit = parts.admit === undefined ? {} : { admit: parts.admit };
  addRequestContext(app, parts.authenticator, { paths, origins, ...admit });
  parseJsonBodies(app, limits.jsonDepth);
  if (parts.tls !== undefined) speakTls(app.server, parts.tls);
  const gate = new ConnectionGate(mostConnections(limits), parts.proxies, parts.isOfAgents);
  app.server.prependListener('connection', (socket) => gate.enter(socket));
  return app;
}

function openFastify({ logger, limits, rewriteUrl }: AppParts): RestApp {
  return fastify({
    loggerInstance: logger,
    ...(rewriteUrl === undefined ? {} : { rewriteUrl }),
    // Requests are logged by what went wrong, with their route and never with their headers.
    logController: new LogController({ disableRequestLogging: true }),
    bodyLimit: limits.bodyBytes,
    requestTimeout: limits.requestTimeoutMs,
    keepAliveTimeout: limits.keepAliveTimeoutMs,
    forceCloseConnections: 'idle',
    http: {
      headersTimeout: limits.headersTimeoutMs,
      maxHeaderSize: limits.headerBytes,
      // Node looks for late requests only so often, by default every 30 s.
      connectionsCheckingInterval: Math.ceil(limits.headersTimeoutMs / 4),
    },
    routerOptions: { maxParamLength: limits.pathPartLength },
    frameworkErrors: (error, request, reply) => {
      answerError(error, request, reply);
    },
    clientErrorHandler: answerSocketError,
  });
}

/**
 * A client that never finishes its request would keep a closing server open for ever: Node stops its time-outs then.
 * And one whose call or stream has ended keeps its connection for the next one, which nobody will answer.
 */
function cutLateConnections(app: RestApp, graceMs: number): void {
  const late = setTimeout(() => app.server.closeAllConnections(), graceMs);
  const idle = setInterval(() => app.server.closeIdleConnections(), IDLE_LOOK_MS);
  app.server.once('close', () => {
    clearTimeout(late);
    clearInterval(idle);
  });
}

const HEADERS: Readonly<Record<string, string>> = {
  'x-content-type-options': 'nosniff',
  'x-frame-options': 'DENY',
  'referrer-policy': 'no-referrer',
  'cross-origin-resource-policy': 'same-origin',
};

/** For everything but the page, which brings a policy of its own. */
const API_HEADERS: Readonly<Record<string, string>> = {
  'cache-control': 'no-store',
  'content-security-policy': "default-src 'none'; frame-ancestors 'none'",
};

/** Headers of every answer: nothing is cached, framed, sniffed or told to other sites. */
function addSecurityHeaders(app: FastifyInstance): void {
  app.addHook('onRequest', async (request, reply) => {
    reply.headers(HEADERS);
    if (request.routeOptions.url?.startsWith('/docs') !== true) reply.headers(API_HEADERS);
  });
}

/** How long a browser may remember the answer to its question, seconds. */
const MAX_AGE_S = 600;

/**
 * CORS for the origins of `spec.network.cors.allow`, and for nobody else: their pages may read answers and send every
 * method. Without an entry nothing is answered to a browser's question, so it keeps pages of other sites away.
 */
function allowOrigins(app: FastifyInstance, allowed: ReadonlySet<string>): void {
  if (allowed.size === 0) return;
  app.addHook('onRequest', async (request, reply) => {
    reply.header('vary', 'Origin');
    const { origin } = request.headers;
    if (origin === undefined || !allowed.has(origin)) return;
    reply.header('access-control-allow-origin', origin);
    reply.header('access-control-expose-headers', 'traceparent, retry-after, www-authenticate');
    reply.header('cross-origin-resource-policy', 'cross-origin');
    const method = request.headers['access-control-request-method'];
    if (request.method === 'OPTIONS' && method !== undefined) return answerPreflight(reply);
  });
}

function answerPreflight(reply: FastifyReply): FastifyReply {
  return reply
    .code(204)
    .headers({
      'access-control-allow-methods': 'GET, POST, PUT, PATCH, DELETE',
      'access-control-allow-headers':
        'authorization, content-type, x-tenant-id, idempotency-key, last-event-id, traceparent, mcp-protocol-version',
      'access-control-max-age': String(MAX_AGE_S),
    })
    .send();
}

/** Tighter than the package's own, which allows styles and fonts from anywhere and asks for https on plain http nodes. */
const POLICY = [
  "default-src 'self'",
  "img-src 'self' data:",
  "object-src 'none'",
  "base-uri 'none'",
  "form-action 'none'",
  "frame-ancestors 'none'",
].join('; ');

/**
 * The page at /docs to read the API description. All its files come with the package, and its policy lets a browser
 * load nothing from elsewhere.
 */
function docsPage(app: RestApp, _options: object, done: () => void): void {
  // Its routes bring no access of their own; the page says nothing that the description does not.
  app.addHook('onRoute', (route) => {
    route.config = { ...route.config, access: 'public' };
  });
  app.register(swaggerUi, {
    routePrefix: '/docs',
    staticCSP: POLICY,
    uiConfig: { url: '/v1/openapi.json', validatorUrl: null, deepLinking: true },
    theme: { title: 'svc API' },
  });
  done();
}

interface ParserError extends Error {
  readonly code?: string;
}

function fromParser(code: string | undefined): [reason: string, error: SvcError] {
  switch (code) {
    case 'HPE_HEADER_OVERFLOW':
      return ['Request Header Fields Too Large', new SvcError('headers_too_large')];
    case 'ERR_HTTP_REQUEST_TIMEOUT':
      return ['Request Timeout', new SvcError('request_timed_out')];
    default:
      return ['Bad Request', new SvcError('invalid_argument', 'the request is not valid HTTP')];
  }
}

/** Answers what never became a request: broken HTTP, too large headers, a client that sends too slowly. */
function answerSocketError(error: ParserError, socket: Socket): void {
  if (error.code === 'ECONNRESET' || !socket.writable) {
    socket.destroy();
    return;
  }
  const [reason, problem] = fromParser(error.code);
  const body = JSON.stringify(problemBody(problem, 'coded'));
  const head = [
    `HTTP/1.1 ${problem.row.http} ${reason}`,
    'Content-Type: application/json; charset=utf-8',
    `Content-Length: ${Buffer.byteLength(body)}`,
    'Connection: close',
  ];
  socket.end(`${head.join('\r\n')}\r\n\r\n${body}`, () => socket.destroySoon());
}

/** Routes that carry a payload: what starts runs, manifests, calls of tools, files (K7). Paths as routes have them. */
const PAYLOADS: ReadonlySet<string> = new Set([
  '/v1/agents',
  '/v1/agents/:id/execute',
  '/v1/agents/generate',
  '/v1/cluster/config',
  '/v1/dispatch-gateway',
  '/v1/execute',
  '/v1/execute/intent',
  '/v1/executions',
  '/v1/invoke',
  '/v1/seal/invoke',
  '/v1/stimuli',
  '/v1/tools/:name',
  '/v1/volumes/:id/files/content',
  '/v1/workflows',
  '/v1/workflows/:name/run',
  '/v1/workflows/generate',
  '/v1/workflows/validate',
]);

/** Routes that carry a text of a person or a program, of at most 65,536 characters. */
const TEXTS: ReadonlySet<string> = new Set([
  '/v1/cortex/patterns',
  '/v1/human-approvals/:id/approve',
  '/v1/human-approvals/:id/reject',
  '/v1/secrets/:path',
  '/v1/workflows/executions/:id/signal',
]);

/**
 * Gives every route the bytes that a body of its class may have, unless it says so itself: payloads as much as anything,
 * texts less, every other route what a few fields need, and a route that asks for no caller the least.
 */
function boundBodies(app: FastifyInstance, limits: RestLimits): void {
  app.addHook('onRoute', (route) => {
    route.bodyLimit ??= bytesOf(route.url, route.config?.access === 'public', limits);
  });
}

function bytesOf(path: string, isPublic: boolean, limits: RestLimits): number {
  const most = PAYLOADS.has(path) ? limits.bodyBytes : TEXTS.has(path) ? limits.textBytes : limits.controlBytes;
  return Math.min(isPublic && !PAYLOADS.has(path) ? limits.strangerBytes : most, limits.bodyBytes);
}
