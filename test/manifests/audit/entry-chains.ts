import { sign } from 'node:crypto';
import {
  type EntryBody,
  type EntryExport,
  type EntryRecord,
  type OperationEntry,
  STATEMENT_TYPE,
  type Statement,
} from '../../../manifests/audit/entries.ts';
import { emptyChain, nextRecord } from '../../../manifests/audit/record.ts';
import type { Signer } from './call-chains.ts';

export const TENANT = 'acme';

export const entry = (more: Partial<OperationEntry> = {}): OperationEntry => ({
  kind: 'operation',
  ...{ operation: 'agents.delete', subject: 'ada', caller: 'tenant_user', roles: ['svc:admin'], target: 'a-1' },
  ...{ outcome: 'ok', error: null, reason: null, trace: '0'.repeat(32), via: 'rest', address: null },
  ...{ count: 1, begun: null },
  ...more,
});

const opened = (node: string): EntryBody => ({ kind: 'opened', node, tenant: TENANT, version: '1.0.0' });

export function linked(bodies: readonly EntryBody[]): EntryRecord[] {
  const records: EntryRecord[] = [];
  for (const body of bodies)
    records.push(nextRecord(records.at(-1) ?? emptyChain, body, `2026-01-01T00:00:${10 + records.length}.000Z`));
  return records;
}

/** A chain of a node with so many operations. */
export const chainOf = (node: string, operations: number, prefix = 'a'): EntryRecord[] =>
  linked([opened(node), ...Array.from({ length: operations }, (_one, at) => entry({ target: `${prefix}-${at}` }))]);

const part = (value: object): string => Buffer.from(JSON.stringify(value)).toString('base64url');

export function signed(content: object, typ: string, { jwk, privateKey }: Signer): string {
  const input = `${part({ alg: 'RS256', typ, kid: jwk.kid })}.${part(content)}`;
  return `${input}.${sign('sha256', Buffer.from(input), privateKey).toString('base64url')}`;
}

export type Chains = Readonly<Record<string, readonly EntryRecord[]>>;

/** A statement of a node about the ends of these chains. */
export function stated(by: string, chains: Chains, signer: Signer, signed_at = '2026-01-01T01:00:00.000Z'): string {
  const ends = Object.entries(chains).flatMap(([node, records]) => {
    const last = records.at(-1);
    return last === undefined ? [] : [{ node, sequence: last.sequence, hash: last.hash }];
  });
  const statement: Statement = { tenant: TENANT, by, signed_at, ends };
  return signed(statement, STATEMENT_TYPE, signer);
}

export const exportOf = (chains: Chains, statements: readonly string[]): EntryExport => ({
  format: 'svc-audit-operations/v1',
  tenant: TENANT,
  chains: Object.entries(chains).map(([node, records]) => ({ node, checkpoint: null, records: [...records] })),
  statements: [...statements],
});
