import { pino } from 'pino';
import { z } from 'zod';
import type { RestServerParts } from '../../../transport/rest/parts.ts';
import { createRestServer } from '../../../transport/rest/server.ts';
import { namedUsers } from './rest-server.ts';

/** A part that must not be called, since the description is made from the routes alone. */
function uncalled<T extends object>(): T {
  const call = (): never => {
    throw new Error('making the description calls no part');
  };
  return new Proxy(call, { get: () => uncalled() }) as object as T;
}

export const wholeNode = (): RestServerParts => ({
  agents: uncalled(),
  search: uncalled(),
  executions: uncalled(),
  why: uncalled(),
  workflows: { catalog: uncalled(), workflows: uncalled() },
  recordings: uncalled(),
  approvals: uncalled(),
  feed: uncalled(),
  runs: uncalled(),
  stimuli: uncalled(),
  stimulusRoutes: uncalled(),
  webhooks: uncalled(),
  volumes: uncalled(),
  patterns: uncalled(),
  keys: uncalled(),
  rateOverrides: uncalled(),
  rateUsage: uncalled(),
  secretStore: uncalled(),
  cluster: uncalled(),
  peers: uncalled(),
  joinTokens: uncalled(),
  providers: uncalled(),
  secretKeys: uncalled(),
  chaos: uncalled(),
  actors: uncalled(),
  actorMailbox: uncalled(),
  actorHistory: uncalled(),
  forks: uncalled(),
  deadLetters: uncalled(),
  traces: uncalled(),
  messages: uncalled(),
  tap: uncalled(),
  audit: uncalled(),
  nodeTokens: uncalled(),
  mcp: uncalled(),
  seal: uncalled(),
  intents: uncalled(),
  authors: uncalled(),
  resource: { issuers: ['https://idp.example'] },
  authenticator: namedUsers,
  logger: pino({ level: 'silent' }),
  version: '0.0.1-test',
  health: uncalled(),
});

const Document = z.looseObject({
  paths: z.record(z.string(), z.record(z.string(), z.looseObject({ operationId: z.string().optional() }))),
  components: z.looseObject({ schemas: z.record(z.string(), z.looseObject({})) }),
});

/** The API description of a node with every part, and the operationId of each of its routes. */
export async function describedNode() {
  await using app = createRestServer(wholeNode());
  const document = Document.parse((await app.inject('/v1/openapi.json')).json());
  const operationIds = Object.fromEntries(
    Object.entries(document.paths).flatMap(([path, methods]) =>
      Object.entries(methods).map(([method, { operationId }]) => [`${method.toUpperCase()} ${path}`, operationId]),
    ),
  );
  return { document, operationIds };
}
