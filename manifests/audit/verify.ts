import { compactVerify, createLocalJWKSet, decodeProtectedHeader, errors, type JSONWebKeySet } from 'jose';
import { z } from 'zod';
import { type AuditFault, fault, sequenceFaults, sequenceOf } from './links.ts';
import { AuditExport, AuditHead, AuditRecord, HEAD_TYPE } from './record.ts';

/** Strict: a member that is not hashed is refused. */
const StrictRecord = AuditRecord.strict();

export interface AuditVerdict {
  readonly valid: boolean;
  /** `unchecked`: no keys were given, so the whole file may be forged. */
  readonly signature: 'good' | 'bad' | 'unchecked';
  readonly session_id: string | null;
  readonly tenant: string | null;
  readonly records: number;
  /** When the last record was signed, ISO time, as the head states. */
  readonly signed_at: string | null;
  /** The last record is not `closed`, so nothing proves that no records came after the signed end. */
  readonly is_open: boolean;
  readonly faults: readonly AuditFault[];
}

/**
 * Checks an export of a session's chain (`GET /v1/seal/sessions/{id}/audit`) with public keys alone: that no record was
 * changed, removed, moved or added, and that the node signed its end. `exported` is any parsed JSON; `jwks` is the node's
 * `/.well-known/jwks.json`, or null to check hashes only. Never throws.
 */
export async function verifyAudit(exported: unknown, jwks: JSONWebKeySet | null): Promise<AuditVerdict> {
  const envelope = AuditExport.extend({ records: z.array(z.unknown()) }).safeParse(exported);
  if (!envelope.success) {
    const path = envelope.error.issues[0]?.path.join('.') || 'the document';
    const faults = [fault(null, 'malformed', `${path} does not have the form of an audit export`)];
    return {
      valid: false,
      signature: 'unchecked',
      session_id: null,
      tenant: null,
      records: 0,
      signed_at: null,
      is_open: true,
      faults,
    };
  }
  const { session_id, tenant, records, head } = envelope.data;
  const parsed = records.map((record) => StrictRecord.safeParse(record));
  const faults = [
    ...parsed.flatMap(({ success }, index) =>
      success ? [] : [fault(sequenceOf(records[index]), 'malformed', `entry ${index + 1} is no audit record`)],
    ),
    ...sequenceFaults(records),
  ];
  const good = parsed.flatMap(({ data }) => (data === undefined ? [] : [data]));
  faults.push(...openingFaults(good, session_id, tenant));
  const signed = await readHead(head, jwks);
  if (signed.head === null || signed.signature === 'bad') {
    faults.push(fault(null, 'bad_head', 'the head was not signed by any of the given keys'));
  }
  if (signed.head !== null) faults.push(...headFaults(signed.head, good, session_id, tenant));
  return {
    valid: faults.length === 0,
    signature: signed.signature,
    session_id,
    tenant,
    records: records.length,
    signed_at: signed.head?.signed_at ?? null,
    is_open: good.at(-1)?.body.kind !== 'closed',
    faults,
  };
}

/** The first record must open the session, and no other may. */
function openingFaults(records: readonly AuditRecord[], sessionId: string, tenant: string): AuditFault[] {
  const [first] = records;
  const faults = records
    .slice(1)
    .filter(({ body }) => body.kind === 'opened')
    .map(({ sequence }) => fault(sequence, 'inserted', 'the session is opened a second time'));
  if (first === undefined) return [fault(null, 'truncated', 'there are no records'), ...faults];
  const { body, sequence } = first;
  if (body.kind !== 'opened') return [fault(sequence, 'not_opened', 'the first record does not open it'), ...faults];
  if (body.session_id !== sessionId || body.tenant !== tenant)
    faults.push(fault(sequence, 'wrong_session', 'the first record opens another session than that of the export'));
  if ((body.source === 'seal') !== (body.public_key !== null))
    faults.push(
      fault(sequence, 'wrong_key', 'expected the key of an agent in an attested session, and none in any other'),
    );
  return faults;
}

function headFaults(head: AuditHead, records: readonly AuditRecord[], sessionId: string, tenant: string): AuditFault[] {
  if (head.session_id !== sessionId || head.tenant !== tenant)
    return [fault(head.sequence, 'wrong_session', 'the head was signed for another session')];
  const last = records.reduce((most, { sequence }) => Math.max(most, sequence), 0);
  if (last < head.sequence)
    return [
      fault(
        head.sequence,
        'truncated',
        `the signed head is record ${head.sequence}, but the last record in this export is ${last}`,
      ),
    ];
  if (last > head.sequence)
    return [fault(last, 'inserted', `records after ${head.sequence}, where the signed head ends`)];
  const end = records.find(({ sequence }) => sequence === head.sequence);
  if (end?.hash !== head.hash)
    return [fault(head.sequence, 'changed', 'the last record is not the one that the head signs')];
  return [];
}

type ReadHead = { readonly signature: AuditVerdict['signature']; readonly head: AuditHead | null };

async function readHead(jws: string, jwks: JSONWebKeySet | null): Promise<ReadHead> {
  try {
    if (decodeProtectedHeader(jws).typ !== HEAD_TYPE) return { signature: 'bad', head: null };
    if (jwks === null)
      return { signature: 'unchecked', head: headOf(Buffer.from(jws.split('.')[1] ?? '', 'base64url')) };
    const { payload } = await compactVerify(jws, createLocalJWKSet(jwks), { algorithms: ['RS256'] });
    return { signature: 'good', head: headOf(payload) };
  } catch (error) {
    if (error instanceof errors.JOSEError || error instanceof TypeError) return { signature: 'bad', head: null };
    throw error;
  }
}

function headOf(payload: Uint8Array): AuditHead | null {
  try {
    return AuditHead.parse(JSON.parse(Buffer.from(payload).toString('utf8')));
  } catch (error) {
    if (error instanceof SyntaxError || error instanceof z.ZodError) return null;
    throw error;
  }
}
