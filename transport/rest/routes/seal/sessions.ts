import { SvcError } from '../../../../runtime/errors.ts';
import type { SealParts } from '../../../seal/parts.ts';
import type { RestApp } from '../../parts.ts';
import { callerOf } from '../../request-context.ts';
import { CallerHeaders, pageAsked } from '../../schemas/fields.ts';
import { problemSchemas } from '../../schemas/problems.ts';
import {
  AuditAnswer,
  MOST_SESSIONS,
  RevokeAnswer,
  SessionList,
  SessionParams,
  SessionQuery,
  SessionSummary,
} from '../../schemas/seal.ts';

const shared = { tags: ['seal'], headers: CallerHeaders };
const ofOne = { ...shared, params: SessionParams };
const problems = problemSchemas({ style: 'coded', also: [404] });

/** GET /v1/seal/sessions: newest first. */
export function listSessionsRoute(app: RestApp, { sessions }: SealParts): void {
  const schema = {
    ...shared,
    summary: 'List sessions in which tools were called, newest first',
    querystring: SessionQuery,
    response: { 200: SessionList, ...problemSchemas({ style: 'coded' }) },
  };
  app.get('/v1/seal/sessions', { config: { access: 'read' }, schema }, async (request) => {
    const { execution_id, ...page } = request.query;
    const { items, ...next } = await sessions.list(callerOf(request), {
      ...(execution_id === undefined ? {} : { executionId: execution_id.toLowerCase() }),
      ...pageAsked(page, MOST_SESSIONS),
    });
    return { sessions: items, count: items.length, ...next };
  });
}

/** GET /v1/seal/sessions/{id}. */
export function getSessionRoute(app: RestApp, { sessions }: SealParts): void {
  const schema = { ...ofOne, summary: 'Show a session', response: { 200: SessionSummary, ...problems } };
  app.get('/v1/seal/sessions/:id', { config: { access: 'read' }, schema }, async (request) =>
    sessions.get(callerOf(request), request.params.id.toLowerCase()),
  );
}

/** POST /v1/seal/sessions/{id}/revoke: counts at once, on every node. */
export function revokeSessionRoute(app: RestApp, { sessions }: SealParts): void {
  const schema = {
    ...ofOne,
    summary: 'Revoke a session: nothing more is called in it',
    response: { 200: RevokeAnswer, ...problemSchemas({ style: 'coded', also: [404, 409] }) },
  };
  app.post('/v1/seal/sessions/:id/revoke', { config: { access: 'write' }, schema }, async (request) => {
    const identity = callerOf(request);
    const id = request.params.id.toLowerCase();
    await sessions.revoke(identity, id);
    const { status } = await sessions.get(identity, id);
    return { session_id: id, status: status === 'closed' ? ('closed' as const) : ('revoked' as const) };
  });
}

/** GET /v1/seal/sessions/{id}/audit: the chain and its signed head, for `svc audit verify`. */
export function auditSessionRoute(app: RestApp, { sessions, signer }: SealParts): void {
  const schema = {
    ...ofOne,
    summary: 'Export the audit chain of a session',
    response: { 200: AuditAnswer, ...problems },
  };
  app.get('/v1/seal/sessions/:id/audit', { config: { access: 'read' }, schema }, async (request) => {
    const caller = callerOf(request);
    const { tenant } = caller;
    const session_id = request.params.id.toLowerCase();
    const records = await sessions.audit(caller, session_id);
    const last = records.at(-1);
    if (last === undefined) throw new SvcError('internal', 'a session has no record');
    const head = await signer.sign({ session_id, tenant, sequence: last.sequence, hash: last.hash });
    return { format: 'svc-audit/v1' as const, session_id, tenant, records: [...records], head };
  });
}
