import { compactVerify, createLocalJWKSet, decodeProtectedHeader, errors, type JSONWebKeySet } from 'jose';
import { z } from 'zod';
import { CHECKPOINT_TYPE, Checkpoint, EntryExport, EntryRecord, STATEMENT_TYPE, Statement } from './entries.ts';
import { type AuditFault, fault, sequenceFaults, sequenceOf } from './links.ts';
import { type ChainEnd, emptyChain } from './record.ts';

/** A fault, and the node whose chain has it; null for a fault of the whole. */
interface EntryFault extends AuditFault {
  readonly node: string | null;
}

interface ChainVerdict {
  readonly node: string;
  readonly records: number;
  /** Time of the newest signed statement about this chain; null: there is none. */
  readonly head_at: string | null;
  /** Nodes whose statements name this chain. */
  readonly stated_by: readonly string[];
  /** Records after the newest statement, which only their links protect. */
  readonly unsigned: number;
}

/**
 * Result for the chains of a tenant. A chain of operations is always open: nothing proves that no records came after the newest
 * statement.
 */
export interface EntriesVerdict {
  readonly valid: boolean;
  /** `unchecked`: no keys were given, so the whole file may be forged. */
  readonly signature: 'good' | 'bad' | 'unchecked';
  readonly tenant: string | null;
  readonly chains: readonly ChainVerdict[];
  /** Statements that none of the given keys signed. They are ignored. */
  readonly unknown_keys: number;
  readonly faults: readonly EntryFault[];
}

const Loose = EntryExport.extend({
  chains: z.array(
    z.strictObject({ node: z.string(), checkpoint: z.string().nullable(), records: z.array(z.unknown()) }),
  ),
});

type LooseChain = z.output<typeof Loose>['chains'][number];

const StrictRecord = EntryRecord.strict();

const of = (node: string | null, one: AuditFault): EntryFault => ({ node, ...one });

/**
 * Checks an export of a tenant's chains of operations (`svc audit export`) with public keys alone. `jwks` is a node's
 * `/.well-known/jwks.json`, or null to check hashes only. Never throws.
 */
export async function verifyEntries(exported: unknown, jwks: JSONWebKeySet | null): Promise<EntriesVerdict> {
  const parsed = Loose.safeParse(exported);
  if (!parsed.success) {
    const path = parsed.error.issues[0]?.path.join('.') || 'the document';
    const faults = [of(null, fault(null, 'malformed', `${path} does not have the form of an audit export`))];
    return { valid: false, signature: 'unchecked', tenant: null, chains: [], unknown_keys: 0, faults };
  }
  const { tenant, chains, statements } = parsed.data;
  const read = await Promise.all(statements.map((jws) => readSigned(jws, STATEMENT_TYPE, Statement, jwks)));
  const good = read.flatMap(({ content }) => (content === null ? [] : [content]));
  const faults: EntryFault[] = [];
  if (read.some(({ signature }) => signature === 'bad'))
    faults.push(of(null, fault(null, 'bad_head', 'the signature of a statement does not fit its key')));
  if (good.length === 0 && chains.length > 0)
    faults.push(of(null, fault(null, 'bad_head', 'no statement was signed by any of the given keys')));
  if (good.some((statement) => statement.tenant !== tenant))
    faults.push(of(null, fault(null, 'wrong_chain', 'a statement is about another tenant')));
  const own = good.filter((statement) => statement.tenant === tenant);
  const verdicts: ChainVerdict[] = [];
  for (const chain of chains) {
    const start = await startOf(chain, tenant, jwks);
    faults.push(...start.faults, ...chainFaults(chain, tenant, start.end), ...statementFaults(chain, start.end, own));
    verdicts.push(verdictOf(chain, own));
  }
  faults.push(...missingChains(chains, own), ...doubled(chains));
  return {
    valid: faults.length === 0,
    signature: jwks === null ? 'unchecked' : faults.some(({ kind }) => kind === 'bad_head') ? 'bad' : 'good',
    tenant,
    chains: verdicts,
    unknown_keys: read.filter(({ signature }) => signature === 'unknown').length,
    faults,
  };
}

/** Faults of the records and their links. */
function chainFaults({ node, records }: LooseChain, tenant: string, start: ChainEnd): EntryFault[] {
  const parsed = records.map((record) => StrictRecord.safeParse(record));
  const malformed = parsed.flatMap(({ success }, index) =>
    success ? [] : [fault(null, 'malformed', `entry ${index + 1} is no audit record`)],
  );
  const [first] = parsed.flatMap(({ data }) => (data === undefined ? [] : [data]));
  const opening =
    first?.sequence === 1 && first.body.kind !== 'opened'
      ? [fault(1, 'not_opened', 'the first record does not open the chain')]
      : [];
  const foreign = parsed.flatMap(({ data }) =>
    data?.body.kind === 'opened' && (data.body.node !== node || data.body.tenant !== tenant)
      ? [fault(data.sequence, 'wrong_chain', 'it opens the chain of another node or tenant')]
      : [],
  );
  return [...malformed, ...sequenceFaults(records, start), ...opening, ...foreign].map((one) => of(node, one));
}

/** Statements about records that are missing or different. */
function statementFaults(
  { node, records }: LooseChain,
  start: ChainEnd,
  statements: readonly Statement[],
): EntryFault[] {
  const hashes = new Map<number, string>();
  if (start.hash !== null) hashes.set(start.sequence, start.hash);
  for (const record of records) {
    const { data } = StrictRecord.safeParse(record);
    if (data !== undefined) hashes.set(data.sequence, data.hash);
  }
  const last = Math.max(start.sequence, ...hashes.keys());
  const faults = new Map<string, AuditFault>();
  for (const { by, ends, signed_at } of statements) {
    for (const end of ends.filter((one) => one.node === node && one.sequence >= start.sequence)) {
      const said = `node ${by} stated record ${end.sequence} at ${signed_at}`;
      const known = hashes.get(end.sequence);
      if (end.sequence > last)
        faults.set(
          'truncated',
          fault(end.sequence, 'truncated', `${said}, but the last record in this export is ${last}`),
        );
      else if (known !== end.hash)
        faults.set(
          `two ${end.sequence}`,
          fault(end.sequence, 'two_histories', `${said}, and this export has another one`),
        );
    }
  }
  return [...faults.values()].map((one) => of(node, one));
}

/** The record before the first one: the checkpoint's, of a chain whose beginning was removed. */
async function startOf(
  { node, checkpoint }: LooseChain,
  tenant: string,
  jwks: JSONWebKeySet | null,
): Promise<{ readonly end: ChainEnd; readonly faults: readonly EntryFault[] }> {
  if (checkpoint === null) return { end: emptyChain, faults: [] };
  const { content } = await readSigned(checkpoint, CHECKPOINT_TYPE, Checkpoint, jwks);
  if (content === null)
    return { end: emptyChain, faults: [of(node, fault(null, 'bad_head', 'no given key signed its checkpoint'))] };
  const isOwn = content.node === node && content.tenant === tenant;
  const faults = isOwn ? [] : [of(node, fault(null, 'wrong_chain', 'its checkpoint is of another chain'))];
  return { end: { sequence: content.sequence, hash: content.hash }, faults };
}

function verdictOf({ node, records }: LooseChain, statements: readonly Statement[]): ChainVerdict {
  const naming = statements.flatMap(({ by, signed_at, ends }) =>
    ends.filter((end) => end.node === node).map(({ sequence }) => ({ by, signed_at, sequence })),
  );
  const signed = Math.max(0, ...naming.map(({ sequence }) => sequence));
  const newest = naming.filter(({ sequence }) => sequence === signed).map(({ signed_at }) => signed_at);
  return {
    node,
    records: records.length,
    head_at: newest.sort().at(-1) ?? null,
    stated_by: [...new Set(naming.map(({ by }) => by))].sort(),
    unsigned: records.filter((record) => (sequenceOf(record) ?? 0) > signed).length,
  };
}

function missingChains(chains: readonly LooseChain[], statements: readonly Statement[]): EntryFault[] {
  const known = new Set(chains.map(({ node }) => node));
  const named = new Set(statements.flatMap(({ ends }) => ends.map(({ node }) => node)));
  return [...named]
    .filter((node) => !known.has(node))
    .map((node) => of(node, fault(null, 'missing', 'statements name this chain, but the export lacks it')));
}

function doubled(chains: readonly LooseChain[]): EntryFault[] {
  const names = chains.map(({ node }) => node);
  return [...new Set(names.filter((node, index) => names.indexOf(node) !== index))].map((node) =>
    of(node, fault(null, 'inserted', 'the chain occurs twice')),
  );
}

interface Signed<T> {
  readonly signature: 'good' | 'bad' | 'unknown';
  /** Null unless a given key signed it, or no keys were given. */
  readonly content: T | null;
}

async function readSigned<T>(
  jws: string,
  typ: string,
  schema: z.ZodType<T>,
  jwks: JSONWebKeySet | null,
): Promise<Signed<T>> {
  try {
    const header = decodeProtectedHeader(jws);
    if (header.typ !== typ) return { signature: 'bad', content: null };
    const payload =
      jwks === null
        ? Buffer.from(jws.split('.')[1] ?? '', 'base64url')
        : (await compactVerify(jws, createLocalJWKSet(jwks), { algorithms: ['RS256'] })).payload;
    return { signature: 'good', content: schema.parse(JSON.parse(Buffer.from(payload).toString('utf8'))) };
  } catch (error) {
    if (error instanceof errors.JWKSNoMatchingKey) return { signature: 'unknown', content: null };
    const isBad = error instanceof errors.JOSEError || error instanceof TypeError || error instanceof SyntaxError;
    if (isBad || error instanceof z.ZodError) return { signature: 'bad', content: null };
    throw error;
  }
}
