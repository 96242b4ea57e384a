import type { IncomingMessage } from 'node:http';
import { fastifySSE } from '@fastify/sse';
import swagger from '@fastify/swagger';
import { fastify, LogController } from 'fastify';
import { serializerCompiler, validatorCompiler } from 'fastify-type-provider-zod';
import { ConnectionGate, mostConnections } from '../connection-gate.ts';
import { mcpRoute } from '../mcp/route.ts';
import { OpenStreams } from '../open-streams.ts';
import { type ServerTls, speakTls } from '../tls.ts';
import { type Admit, admitStarts } from './admit-starts.ts';
import { boundBodies } from './body-limits.ts';
import { parseJsonBodies } from './body-parsers.ts';
import { allowOrigins } from './cross-origin.ts';
import { docsPage } from './docs-page.ts';
import { answerError } from './error-handler.ts';
import { KnownPaths } from './known-paths.ts';
import { REST_LIMITS, type RestLimits } from './limits.ts';
import { openapiOptions } from './openapi-document.ts';
import type { RestApp, RestParts, RestServerParts } from './parts.ts';
import { addRequestContext } from './request-context.ts';
import { addRoutes } from './routes/index.ts';
import { addSecurityHeaders } from './security-headers.ts';
import { answerSocketError } from './socket-errors.ts';

/** How soon a connection that has become idle is closed while the server closes. */
const IDLE_LOOK_MS = 50;

/**
 * The REST API (spec 2) as a server that does not listen yet. Closing it ends the open event streams, telling their
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
export interface AppParts extends Pick<RestParts, 'authenticator' | 'logger' | 'limits' | 'streams'> {
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
