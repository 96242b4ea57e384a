import type { Operation } from '../../usecases/operations/operation.ts';
import { CallerHeaders } from '../../usecases/operations/schemas/fields.ts';
import { OPERATIONS } from '../../usecases/operations.ts';
import type { RestApp, RestParts } from './parts.ts';
import { callerOf, keyedCallerOf } from './request-context.ts';
import { problemSchemas } from './schemas/problems.ts';

/** Adds a route for every operation of the table whose use cases this node has. */
export function operationRoutes(app: RestApp, parts: RestParts): void {
  for (const operation of OPERATIONS) {
    // A node that only shows a recording refuses all that change something, whatever it has.
    const isRefused = parts.recording !== undefined && operation.access !== 'read';
    if (isRefused || operation.needs.every((need) => parts[need] !== undefined)) serve(app, parts, operation);
  }
}

function serve(app: RestApp, parts: RestParts, operation: Operation): void {
  const { name, tag, summary, description, access, scope, forKeepers, input, answer } = operation;
  const { method, path, style, texts, also, starts } = operation.rest;
  const { params, query, body, headers = CallerHeaders } = input;
  app.route({
    method,
    url: path,
    config: {
      access,
      problems: style,
      ...(scope === undefined ? {} : { scope }),
      ...(texts === undefined ? {} : { texts }),
      forKeepers,
      starts,
    },
    schema: {
      operationId: name,
      tags: [tag],
      summary,
      ...(description === undefined ? {} : { description }),
      headers,
      ...(params === undefined ? {} : { params }),
      ...(query === undefined ? {} : { querystring: query }),
      ...(body === undefined ? {} : { body }),
      response: {
        200: answer,
        ...problemSchemas({ style, hasBody: method !== 'GET', also: also ?? [] }),
      },
    },
    handler: (request) =>
      operation.handle(parts, {
        params: request.params,
        query: request.query,
        headers: request.headers,
        body: request.body,
        identity: callerOf(request),
        caller: keyedCallerOf(request),
        trace: request.trace,
      }),
  });
}
