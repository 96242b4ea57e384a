import type { Socket } from 'node:net';
import { SvcError } from '../../runtime/errors.ts';
import type { Authenticator } from '../../security/api.ts';
import { OpenStreams } from '../open-streams.ts';
import { REST_LIMITS, type RestLimits } from '../rest/limits.ts';
import { refuseForeignPagesOnLoopback } from '../rest/local-guard.ts';
import type { RestApp } from '../rest/parts.ts';
import { openApp } from '../rest/server.ts';
import { addDispatchGateway, withoutToken } from './dispatch-gateway.ts';
import type { InternalServerParts } from './parts.ts';

export type { InternalServerParts } from './parts.ts';

/** Longest part of a path, in characters: a capability token (RS256, about 700 characters) is one part. */
const PATH_PART_LENGTH = 4_096;

/** All routes here are public and check capability tokens themselves, so nothing may authenticate a caller. */
const noAuthenticator: Authenticator = {
  required: true,
  async authenticate() {
    throw new SvcError('forbidden');
  },
};

/**
 * Creates the server of the internal address (S5, `spec.network.internal`) with the dispatch gateway for agents'
 * programs and SEAL. It does not listen yet. Closing it ends the waits of bootstraps with `unavailable`, after which
 * they repeat their request.
 */
export function createInternalServer(parts: InternalServerParts): RestApp {
  const limits: RestLimits = {
    ...REST_LIMITS,
    descriptorShare: 0.1,
    pathPartLength: PATH_PART_LENGTH,
    ...parts.limits,
  };
  const waits = new OpenStreams(limits.streams);
  const app = openApp({
    logger: parts.logger,
    limits,
    streams: waits,
    authenticator: noAuthenticator,
    rewriteUrl: withoutToken,
  });
  app.register((scope: RestApp, _options, done) => {
    addDispatchGateway(scope, parts, waits);
    done();
  });
  app.register((scope: RestApp, _options, done) => {
    parts.addSealRoutes?.(scope);
    done();
  });
  app.register((scope: RestApp, _options, done) => {
    scope.addHook('onRequest', async ({ raw }) => {
      const isOfAgents = ofPrograms.has(raw.socket) || parts.isOfAgents?.(raw.socket.remoteAddress ?? '') === true;
      if (isOfAgents) throw new SvcError('not_found', 'There is no such path.');
      refuseForeignPagesOnLoopback(raw, 'the internal address on loopback');
    });
    parts.addRoutes?.(scope);
    done();
  });
  return app;
}

/** Connections of programs in a sandbox. */
const ofPrograms = new WeakSet<Socket>();

/**
 * Serves a program's connection like one of the listener, without the operator's routes. The listener must be
 * listening.
 */
export function acceptProgram(app: RestApp, connection: Socket): void {
  ofPrograms.add(connection);
  app.server.emit('connection', connection);
}
