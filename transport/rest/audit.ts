import type { FastifyInstance, FastifyReply, FastifyRequest, RouteHandlerMethod, RouteOptions } from 'fastify';
import type { SvcError } from '../../runtime/errors.ts';
import { type AuditedCall, audited, isDenied, type OperationAudit } from '../../security/api.ts';
import { targetOfAnswer, targetOfInput, UNRECORDED } from '../../usecases/audited-operations.ts';
import { isSafe } from './local-guard.ts';

declare module 'fastify' {
  interface FastifyInstance {
    /** Null: nothing is recorded. */
    operationAudit: OperationAudit | null;
  }
}

/** Requests whose operation has begun, so that its end is recorded and not a denial as well. */
const begun = new WeakSet<FastifyRequest>();

/**
 * Records each operation that changes something. All operations of the table and all other routes pass this hook when
 * they are added, so none can be forgotten. Call it before routes are added.
 */
export function auditRoutes(app: FastifyInstance, audit: OperationAudit | null): void {
  app.decorate('operationAudit', audit);
  if (audit === null) return;
  app.addHook('onRoute', (route) => {
    const operation = operationOf(route);
    const isChange = [route.method].flat().some((method) => !isSafe(method));
    if (!isChange || operation in UNRECORDED) return;
    route.handler = recorded(route.handler, operation, audit);
  });
}

const operationOf = ({ schema, url }: Pick<RouteOptions, 'schema' | 'url'>): string => {
  const id: unknown = Object.entries(schema ?? {}).find(([name]) => name === 'operationId')?.[1];
  return typeof id === 'string' ? id : url;
};

const recorded = (handle: RouteHandlerMethod, operation: string, audit: OperationAudit): RouteHandlerMethod =>
  async function (this: FastifyInstance, request: FastifyRequest, reply: FastifyReply) {
    begun.add(request);
    const target = targetOfInput(request.params);
    return audited(audit, { ...callOf(request, operation), target }, async () => handle.call(this, request, reply), {
      endOf: (answer) => ({ outcome: 'ok', target: target ?? targetOfAnswer(answer) }),
    });
  };

/** Records a request that was refused because of who sent it. Other errors before the handler change nothing. */
export function auditDenial(error: SvcError, request: FastifyRequest): void {
  const { operationAudit: audit } = request.server;
  if (audit === null || !isDenied(error) || begun.has(request)) return;
  const { schema, url = '' } = request.routeOptions;
  audit.denied(callOf(request, operationOf({ schema, url })), error);
}

function callOf(request: FastifyRequest, operation: string): AuditedCall {
  const { identity, trace, ip } = request;
  return { operation, caller: identity, target: null, trace, via: 'rest', address: ip };
}
