import type { IncomingMessage } from 'node:http';
import { fastifySSE } from '@fastify/sse';
import { type FastifyInstance, type FastifyReply, fastify, LogController } from 'fastify';
import { serializerCompiler } from 'fastify-type-provider-zod';
import { ConnectionGate, mostConnections } from '../connection-gate.ts';
import type { HttpMeter } from '../http-meter.ts';
import { mcpRoute } from '../mcp/route.ts';
import { OpenStreams } from '../open-streams.ts';
import { type ServerTls, speakTls } from '../tls.ts';
import { ApiDescription } from './api-description.ts';
import { auditRoutes } from './audit.ts';
import { docsPage } from './docs-page.ts';
import { answerParserErrors, refuseWrongHttp } from './http-refusals.ts';
import { checkInput, refuseUnknownQuery } from './input-check.ts';
import { KnownPaths } from './known-paths.ts';
import { REST_LIMITS, type RestLimits } from './limits.ts';
import type { RestApp, RestParts, RestServerParts } from './parts.ts';
import { cutPipelines, readInTurns, WaitingAnswers } from './pipelines.ts';
import { answerError, fromFramework } from './problem.ts';
import { refuseChanges } from './read-only.ts';
import { type Admit, addRequestContext, admitStarts } from './request-context.ts';
import { addRoutes } from './routes/index.ts';
import { parseJsonBodies } from './signed-body.ts';

/** How often a closing server closes connections that have become idle, ms. */
const IDLE_LOOK_MS = 50;

/**
 * Creates the server of the REST API, which does not listen yet. Closing it ends the open event streams, tells their
 * clients to reconnect, and lets running calls finish.
 */
export function createRestServer(parts: RestServerParts): RestApp {
  const limits: RestLimits = { ...REST_LIMITS, ...parts.limits };
  const streams = new OpenStreams(limits.streams);
  const admit = parts.admission && admitStarts(parts.admission);
  const app = openApp({ ...parts, admit, limits, streams, readOnly: parts.recording !== undefined });
  if (parts.meter !== undefined) meterCalls(app, parts.meter, streams);
  refuseUnknownQuery(app);
  app.register(fastifySSE);
  const description = new ApiDescription(app, { version: parts.version, bearer: parts.authenticator.required });
  app.register(docsPage, { mostAtOnce: limits.docsAtOnce, description });
  app.register((scope: RestApp, _options, done) => {
    addRoutes(scope, { ...parts, limits, streams, description });
    mcpRoute(scope, { ...parts, limits, streams, description });
    done();
  });
  return app;
}

/** Calls to paths that no route has. */
const NO_ROUTE = 'none';

/** Counts and times the calls of a server. */
function meterCalls(app: FastifyInstance, meter: HttpMeter, streams: OpenStreams): void {
  meter.watchStreams(() => streams.count);
  app.addHook('onError', async (_request, _reply, error) => meter.refused(fromFramework(error).code));
  app.addHook('onResponse', async ({ method, routeOptions }, reply) => {
    // A stream lasts as long as its reader stays.
    if (String(reply.getHeader('content-type')).startsWith('text/event-stream')) return;
    meter.answered(method, routeOptions.url ?? NO_ROUTE, reply.statusCode, reply.elapsedTime);
  });
}

/** The parts that all HTTP servers of the node share. */
interface AppParts extends Pick<RestParts, 'authenticator' | 'logger' | 'limits' | 'streams' | 'operationAudit'> {
  /** Runs before routing; returns the path to route by. */
  readonly rewriteUrl?: (request: IncomingMessage) => string;
  /** Origins whose pages may call (`spec.network.cors.allow`). Absent: none. */
  readonly origins?: readonly string[];
  /** Runs before authentication; an error that it throws is the answer. */
  readonly admit?: Admit;
  /** True: calls that could change something are refused. */
  readonly readOnly?: boolean;
  /** Set: the address accepts only https. */
  readonly tls?: ServerTls;
  /** Addresses of proxies: each may hold more connections than a client. */
  readonly proxies?: readonly string[];
  /** Whether an address belongs to a container of agents and is refused. Absent: no address is. */
  readonly isOfAgents?: (address: string) => boolean;
}

/**
 * Creates an application without routes, with the limits, identity, error answers and headers that all servers share.
 */
export function openApp(parts: AppParts): RestApp {
  const { limits, streams } = parts;
  const waiting = new WaitingAnswers();
  const app: RestApp = openFastify(parts, waiting);
  app.setValidatorCompiler(checkInput);
  app.setSerializerCompiler(serializerCompiler);
  const paths = new KnownPaths();
  app.setErrorHandler(answerError);
  auditRoutes(app, parts.operationAudit ?? null);
  app.addHook('onRoute', ({ path, method }) => paths.add(path, method));
  boundBodies(app, limits);
  app.addHook('preClose', async () => {
    streams.endAll();
    cutLateConnections(app, limits.closeGraceMs);
  });
  addSecurityHeaders(app);
  const origins: ReadonlySet<string> = new Set(parts.origins);
  allowOrigins(app, origins);
  if (parts.readOnly === true) refuseChanges(app);
  refuseWrongHttp(app);
  cutUnread(app, limits.unreadTimeoutMs);
  addRequestContext(app, parts.authenticator, { paths, origins, admit: parts.admit });
  parseJsonBodies(app, limits.jsonDepth);
  cutPipelines(app.server, waiting, limits.pipelinedRequests);
  if (parts.tls !== undefined) speakTls(app.server, parts.tls);
  readInTurns(app.server);
  const gate = new ConnectionGate(mostConnections(limits), parts.proxies, parts.isOfAgents);
  app.server.prependListener('connection', (socket) => gate.enter(socket));
  return app;
}

/** Keeps the framework from loading its own compilers, a hundred modules, before it gets those of this server. */
const noCompiler = (): never => {
  throw new Error('a schema was compiled before the compilers were set');
};

/**
 * Routes HEAD as GET, as RFC 9110 describes it: Node.js sends no body in the answer to a HEAD request, whatever is written.
 * The framework would add a second route for each GET, a third of all.
 */
function headAsGet(request: IncomingMessage): void {
  if (request.method === 'HEAD') request.method = 'GET';
}

function openFastify({ logger, limits, rewriteUrl }: AppParts, waiting: WaitingAnswers): RestApp {
  return fastify({
    loggerInstance: logger,
    exposeHeadRoutes: false,
    rewriteUrl(request) {
      headAsGet(request);
      return rewriteUrl === undefined ? (request.url ?? '/') : rewriteUrl(request);
    },
    schemaController: { compilersFactory: { buildValidator: noCompiler, buildSerializer: noCompiler } },
    // Logs only errors, with their route and never with their headers.
    logController: new LogController({ disableRequestLogging: true }),
    bodyLimit: limits.bodyBytes,
    requestTimeout: limits.requestTimeoutMs,
    keepAliveTimeout: limits.keepAliveTimeoutMs,
    forceCloseConnections: 'idle',
    http: {
      headersTimeout: limits.headersTimeoutMs,
      maxHeaderSize: limits.headerBytes,
      // Node.js checks for late requests only at this interval, by default every 30 s.
      connectionsCheckingInterval: Math.ceil(limits.headersTimeoutMs / 4),
      // `refuseWrongHttp` does it: the answer of Node.js has no body.
      requireHostHeader: false,
    },
    routerOptions: { maxParamLength: limits.pathPartLength },
    frameworkErrors: (error, request, reply) => {
      answerError(error, request, reply);
    },
    clientErrorHandler: answerParserErrors(waiting),
  });
}

/**
 * Closes connections that would keep a closing server open: clients that never finish their request (Node.js stops its
 * time-outs then), and idle clients that keep the connection for a next request, which the server would not answer.
 */
function cutLateConnections(app: RestApp, graceMs: number): void {
  const late = setTimeout(() => app.server.closeAllConnections(), graceMs);
  const idle = setInterval(() => app.server.closeIdleConnections(), IDLE_LOOK_MS);
  app.server.once('close', () => {
    clearTimeout(late);
    clearInterval(idle);
  });
}

/**
 * Disconnects a client that has read no byte of its answer for `timeoutMs`. The node holds the rest of the answer
 * in memory, and requests that need no token could make it hold many. The timer of Node.js counts from the last byte in
 * either direction, so it also fires while a call still works: such a call has sent nothing yet and is left alone.
 */
function cutUnread(app: FastifyInstance, timeoutMs: number): void {
  app.addHook('onRequest', async (_request, { raw }) => {
    raw.setTimeout(timeoutMs, () => {
      const { socket } = raw;
      if (socket !== null && socket.writableLength > 0) socket.destroy();
    });
  });
}

const HEADERS: Readonly<Record<string, string>> = {
  'x-content-type-options': 'nosniff',
  'x-frame-options': 'DENY',
  'referrer-policy': 'no-referrer',
  'cross-origin-resource-policy': 'same-origin',
};

/** Headers of all answers except the page at /docs, which has its own policy. */
const API_HEADERS: Readonly<Record<string, string>> = {
  'cache-control': 'no-store',
  'content-security-policy': "default-src 'none'; frame-ancestors 'none'",
};

/** Adds the headers of every answer: it is not cached, framed or sniffed, and other sites do not get its URL. */
function addSecurityHeaders(app: FastifyInstance): void {
  app.addHook('onRequest', async (request, reply) => {
    reply.headers(HEADERS);
    if (request.routeOptions.url?.startsWith('/docs') !== true) reply.headers(API_HEADERS);
  });
}

/** How long a browser may remember the answer to a preflight request, seconds. */
const MAX_AGE_S = 600;

/**
 * Adds CORS for the origins of `spec.network.cors.allow` only: their pages may read answers and send every method.
 * Without an entry preflight requests get no CORS headers, so that browsers block pages of other sites.
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

/** Routes that carry a payload: starts, manifests, tool calls, files (K7). Paths are route templates. */
const PAYLOADS: ReadonlySet<string> = new Set([
  '/v1/agents',
  '/v1/agents/validate',
  '/v1/agents/:id/execute',
  '/v1/agents/generate',
  '/v1/cluster/config',
  '/v1/dispatch-gateway',
  '/v1/execute',
  '/v1/execute/intent',
  '/v1/executions',
  '/v1/invoke',
  '/v1/runs/:id/fork',
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
 * Sets the body limit of every route that does not set its own: `bodyBytes` for payloads, `textBytes` for texts,
 * `strangerBytes` for routes that need no caller, `controlBytes` for all others.
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
