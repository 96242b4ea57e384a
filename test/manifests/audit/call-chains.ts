import { generateKeyPairSync, hash, type KeyObject, sign } from 'node:crypto';
import type { JWK } from 'jose';
import {
  type AuditBody,
  type AuditExport,
  type AuditRecord,
  emptyChain,
  HEAD_TYPE,
  nextRecord,
} from '../../../manifests/audit/record.ts';

export interface Signer {
  readonly jwk: JWK;
  readonly privateKey: KeyObject;
}

export function signer(kid: string): Signer {
  const { privateKey, publicKey } = generateKeyPairSync('rsa', { modulusLength: 2_048 });
  return { privateKey, jwk: { ...publicKey.export({ format: 'jwk' }), kid, alg: 'RS256', use: 'sig' } };
}

const part = (value: object): string => Buffer.from(JSON.stringify(value)).toString('base64url');

/** The head as a node signs it; the header can be changed. */
export function headOf(
  last: AuditRecord,
  { jwk, privateKey }: Signer,
  session = 'session-1',
  header: object = {},
): string {
  const input = `${part({ alg: 'RS256', typ: HEAD_TYPE, kid: jwk.kid, ...header })}.${part({
    session_id: session,
    tenant: 'acme',
    sequence: last.sequence,
    hash: last.hash,
    signed_at: '2026-01-01T00:00:00.000Z',
  })}`;
  return `${input}.${sign('sha256', Buffer.from(input), privateKey).toString('base64url')}`;
}

const sha = (text: string): string => hash('sha256', text, 'hex');

/** Records of a session with so many calls. */
export function chainOf(calls: number, session = 'session-1', changed: object = {}): AuditRecord[] {
  const bodies: AuditBody[] = [
    {
      kind: 'opened',
      session_id: session,
      tenant: 'acme',
      execution_id: 'execution-1',
      agent_id: 'agent-1',
      source: 'seal',
      subject: 'agent-1',
      security_context: 'svc-system-agent-runtime',
      public_key: 'k'.repeat(43),
      tools: [{ name: 'fs.read', schema_hash: sha('fs.read') }],
      ...changed,
    },
  ];
  for (let index = 0; index < calls; index += 1) {
    const call = `n:${index}`;
    const seen = { envelope_hash: sha(`${session} ${call}`), payload_hash: sha(`payload ${call}`) };
    bodies.push(
      {
        kind: 'decided',
        call,
        tool: 'fs.read',
        ...seen,
        decision: 'allowed',
        reason: null,
        schema_hash: sha('fs.read'),
      },
      { kind: 'ended', call, outcome: 'succeeded', error: null, result_hash: sha(`result ${call}`) },
    );
  }
  bodies.push({ kind: 'closed', reason: 'execution ended' });
  return rechain(bodies);
}

export function rechain(bodies: readonly AuditBody[]): AuditRecord[] {
  const records: AuditRecord[] = [];
  for (const body of bodies)
    records.push(nextRecord(records.at(-1) ?? emptyChain, body, `2026-01-01T00:00:${10 + records.length}.000Z`));
  return records;
}

export function exportOf(records: AuditRecord[], by: Signer, session = 'session-1'): AuditExport {
  const last = records.at(-1);
  if (last === undefined) throw new Error('a chain has at least one record');
  return { format: 'svc-audit/v1', session_id: session, tenant: 'acme', records, head: headOf(last, by, session) };
}
