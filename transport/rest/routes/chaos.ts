import { z } from 'zod';
import { addressOf, parseAddress } from '../../../runtime/address.ts';
import { SvcError } from '../../../runtime/errors.ts';
import { type ChaosApi, FAULT_KINDS, MAX_FREEZE_MS } from '../../../usecases/ports/faults.ts';
import type { RestApp, RestParts } from '../parts.ts';
import { callerOf } from '../request-context.ts';
import { NodeId } from '../../../usecases/operations/schemas/cluster.ts';
import { CallerHeaders, limitField } from '../../../usecases/operations/schemas/fields.ts';
import { problemSchemas } from '../schemas/problems.ts';

/** /v1/chaos, where the node has the part for it. */
export function chaosRoutes(app: RestApp, { chaos }: RestParts): void {
  if (chaos === undefined) return;
  injectFaultRoute(app, chaos);
  listFaultsRoute(app, chaos);
}

const ActorAddress = z
  .string()
  .max(400)
  .regex(/^[A-Za-z0-9][A-Za-z0-9._@-]{0,127}(\/[A-Za-z0-9][A-Za-z0-9._@-]{0,127}){2}$/, 'expected kind/tenant/id')
  .transform((text, context) => {
    try {
      const { kind, tenant, id } = parseAddress(text);
      return addressOf(kind, tenant, id);
    } catch (thrown) {
      if (!(thrown instanceof SvcError)) throw thrown;
      context.addIssue({ code: 'custom', message: thrown.message });
      return z.NEVER;
    }
  })
  .describe('kind/tenant/id of an actor.');

/** Body of POST /v1/chaos/faults. */
const FaultBody = z.discriminatedUnion('kind', [
  z.strictObject({ kind: z.literal('kill-actor'), address: ActorAddress }),
  z.strictObject({ kind: z.literal('kill-owner'), address: ActorAddress }),
  z.strictObject({ kind: z.literal('kill-node'), node: NodeId }),
  z.strictObject({ kind: z.literal('freeze-node'), node: NodeId, ms: z.number().int().min(1).max(MAX_FREEZE_MS) }),
]);

const FaultAnswer = z.object({
  id: z.string(),
  kind: z.enum(FAULT_KINDS),
  target: z.string().describe('Address or node id.'),
  tenant: z.string().describe('Of the actor; svc-system for a node.'),
  by: z.string().describe('Subject of who asked.'),
  at: z.string(),
  state: z.enum(['requested', 'done', 'refused']),
  node: z.string().describe('The node that has to act.'),
  reason: z.string().nullable().describe('Why it was refused.'),
  ms: z.number().int().nullable().describe('Of a freeze.'),
});

const count = z.number().int();

const FaultList = z.object({
  counts: z.object({ 'kill-actor': count, 'kill-owner': count, 'kill-node': count, 'freeze-node': count }),
  faults: z.array(FaultAnswer).readonly(),
});

const injectFaultSchema = {
  tags: ['chaos'],
  summary: 'Make a fault on purpose',
  description: 'Only where `spec.chaos` is on, for actors of the tenants it names; nodes need `svc-system` among them.',
  headers: CallerHeaders,
  body: FaultBody,
  response: { 200: FaultAnswer, ...problemSchemas({ style: 'coded', hasBody: true, also: [404, 409] }) },
};

/** POST /v1/chaos/faults. Answers when the node that acts has recorded it. */
function injectFaultRoute(app: RestApp, chaos: ChaosApi): void {
  app.post('/v1/chaos/faults', { config: { access: 'break' }, schema: injectFaultSchema }, async (request) =>
    chaos.inject(request.body, callerOf(request)),
  );
}

const MOST = 1_000;

const listFaultsSchema = {
  tags: ['chaos'],
  summary: 'List the faults that were asked for, newest first, and count those that were done',
  headers: CallerHeaders,
  querystring: z.object({ limit: limitField(50, MOST) }),
  response: { 200: FaultList, ...problemSchemas({ style: 'coded' }) },
};

/** GET /v1/chaos/faults. */
function listFaultsRoute(app: RestApp, chaos: ChaosApi): void {
  app.get('/v1/chaos/faults', { config: { access: 'break' }, schema: listFaultsSchema }, async (request) =>
    chaos.list(Math.min(request.query.limit, MOST)),
  );
}
