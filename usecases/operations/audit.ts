import { z } from 'zod';
import { ENTRY_OUTCOMES, EntryRecord, OperationEntry } from '../../manifests/audit/entries.ts';
import { operation } from './operation.ts';
import { limitField, nextPageField, pageAsked, pageTokenField } from './schemas/fields.ts';

const MOST_LISTED = 1_000;

const time = z.iso.datetime({ offset: true }).transform((text) => new Date(text).toISOString());

const AuditQuery = z.object({
  subject: z.string().min(1).max(200).optional().describe('Who called.'),
  operation: z.string().min(1).max(200).optional().describe('Name of the operation, such as agents.delete.'),
  outcome: z.enum(ENTRY_OUTCOMES).optional(),
  from: time.optional().describe('ISO 8601, inclusive.'),
  to: time.optional().describe('ISO 8601, exclusive.'),
  limit: limitField(100, MOST_LISTED),
  page_token: pageTokenField,
});

const AuditEntryAnswer = OperationEntry.omit({ kind: true })
  .extend({ node: z.string(), sequence: z.number().int(), at: z.string() })
  .meta({ id: 'AuditEntry' });

const AuditList = z.object({ entries: z.array(AuditEntryAnswer), ...nextPageField });

const AuditChains = z.object({
  tenant: z.string(),
  chains: z.array(
    z.object({
      node: z.string(),
      first: z.number().int().describe('Sequence of the first record that is kept.'),
      last: z.number().int(),
      checkpoint: z
        .string()
        .nullable()
        .describe('Compact JWS about the records that were removed because of their age.'),
    }),
  ),
  statements: z.array(z.string()).describe('Compact JWS of what nodes say about the ends of the chains.'),
});

const SEQUENCE = { error: 'expected a whole number of at least 0' };
const LIMIT = { error: `expected a whole number from 1 to ${MOST_LISTED}` };

const RecordsQuery = z.object({
  node: z.string().min(1).max(200),
  after: z.coerce
    .number(SEQUENCE)
    .int(SEQUENCE)
    .min(0, SEQUENCE)
    .default(0)
    .describe('Sequence behind which the records begin.'),
  limit: z.coerce.number(LIMIT).int(LIMIT).min(1, LIMIT).max(MOST_LISTED, LIMIT).default(MOST_LISTED),
});

const AuditRecords = z.object({ records: z.array(EntryRecord.meta({ id: 'AuditRecord' })) });

const common = { tag: 'audit', access: 'audit', needs: ['audit'] } as const;

/** Operations on the audit of what operators and tenants do (docs/operations/audit.md). */
export const AUDIT_OPERATIONS = [
  operation({
    ...common,
    name: 'audit.list',
    summary: 'List what callers of the tenant changed, and denials, newest first',
    description: 'For administrators. A page with conditions may hold less than its limit although more follow.',
    input: { query: AuditQuery },
    answer: AuditList,
    rest: { method: 'GET', path: '/v1/audit', style: 'coded' },
    commands: ['audit list'],
    async handle({ audit }, { identity, query: { subject, operation, outcome, from, to, ...page } }) {
      const filter = { subject, operation, outcome, from, to };
      const { items, ...next } = await audit.list(
        identity.tenant,
        filter,
        pageAsked({ ...page, skip: 0 }, MOST_LISTED),
      );
      return { entries: items, ...next };
    },
  }),
  operation({
    ...common,
    name: 'audit.list_chains',
    summary: 'List the audit chains of the tenant, one for each node, with signed statements about their ends',
    input: {},
    answer: AuditChains,
    rest: { method: 'GET', path: '/v1/audit/chains', style: 'coded' },
    commands: ['audit export'],
    async handle({ audit }, { identity }) {
      const { tenant } = identity;
      const { chains, statements } = await audit.chains(tenant);
      return { tenant, chains: [...chains], statements: [...statements] };
    },
  }),
  operation({
    ...common,
    name: 'audit.list_records',
    summary: 'Page through the records of one audit chain, in order',
    input: { query: RecordsQuery },
    answer: AuditRecords,
    rest: { method: 'GET', path: '/v1/audit/records', style: 'coded' },
    commands: ['audit export'],
    async handle({ audit }, { identity, query: { node, after, limit } }) {
      return { records: [...(await audit.records(identity.tenant, node, after, limit))] };
    },
  }),
];
