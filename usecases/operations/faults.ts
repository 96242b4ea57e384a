import { z } from 'zod';
import { addressOf, parseAddress } from '../../runtime/address.ts';
import { SvcError } from '../../runtime/errors.ts';
import { FAULT_KINDS, MAX_FREEZE_MS } from '../ports/faults.ts';
import { operation } from './operation.ts';
import { NodeId } from './schemas/cluster.ts';
import { limitField, nextPageField, pageTokenField } from './schemas/fields.ts';

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

/** The body of POST /v1/chaos/faults. */
const FaultBody = z.discriminatedUnion('kind', [
  z.strictObject({ kind: z.literal('kill-actor'), address: ActorAddress }),
  z.strictObject({ kind: z.literal('kill-owner'), address: ActorAddress }),
  z.strictObject({ kind: z.literal('kill-node'), node: NodeId }),
  z.strictObject({ kind: z.literal('freeze-node'), node: NodeId, ms: z.number().int().min(1).max(MAX_FREEZE_MS) }),
]);

const FaultAnswer = z
  .object({
    id: z.string(),
    kind: z.enum(FAULT_KINDS),
    target: z.string().describe('Address or node id.'),
    tenant: z.string().describe('Of the actor; svc-system for a node.'),
    by: z.string().describe('Subject of the requester.'),
    at: z.string(),
    state: z.enum(['requested', 'done', 'refused']),
    node: z.string().describe('Node that must act.'),
    reason: z.string().nullable().describe('Why it was refused.'),
    ms: z.number().int().nullable().describe('Of a freeze.'),
  })
  .meta({ id: 'Fault' });

const count = z.number().int();

const FaultList = z.object({
  counts: z.object({ 'kill-actor': count, 'kill-owner': count, 'kill-node': count, 'freeze-node': count }),
  faults: z.array(FaultAnswer),
  ...nextPageField,
});

const MOST = 1_000;

const common = { tag: 'chaos', access: 'break', needs: ['chaos'] } as const;

/** Operations for fault injection, for operators. */
export const FAULT_OPERATIONS = [
  operation({
    ...common,
    name: 'faults.inject',
    summary: 'Inject a fault',
    description:
      'Only where `spec.chaos` is on, for actors of the tenants it names; nodes need `svc-system` among them.',
    input: { body: FaultBody },
    answer: FaultAnswer,
    rest: { method: 'POST', path: '/v1/chaos/faults', style: 'coded', also: [404, 409] },
    commands: ['chaos kill-actor', 'chaos kill-owner', 'chaos kill-node', 'chaos freeze-node'],
    handle: ({ chaos }, { identity, body }) => chaos.inject(body, identity),
  }),
  operation({
    ...common,
    name: 'faults.list',
    summary: 'List the requested faults, newest first, with the numbers of injected ones',
    input: { query: z.object({ limit: limitField(50, MOST), page_token: pageTokenField }) },
    answer: FaultList,
    rest: { method: 'GET', path: '/v1/chaos/faults', style: 'coded' },
    commands: ['chaos list'],
    async handle({ chaos }, { query: { limit, page_token: pageToken } }) {
      const { items, ...report } = await chaos.list({ limit: Math.min(limit, MOST), pageToken });
      return { faults: items, ...report };
    },
  }),
];
