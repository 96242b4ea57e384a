import type { AuditRecord, SvcClient } from '../../clients/typescript/gen/operations.ts';
import { counted } from '../parts/format.ts';
import { brokenLink, type ChainCheck, type ChainEnd, NO_RECORD, signedBy, uncheckable } from './audit-chain.ts';
import { api } from './queries.ts';

export type OperationChains = Awaited<ReturnType<SvcClient['audit']['listChains']>>;

const PAGE = 1_000;
/** Longer chains must be checked with `svc audit verify`. */
const MOST_RECORDS = 100_000;

/** A statement of a node about the end of a chain. */
interface StatedEnd {
  readonly by: string;
  readonly sequence: number;
  readonly hash: string;
}

/**
 * Checks the chain of operations of a node, as `svc audit verify` does: each record and its link, and that the ends that nodes
 * signed are in it.
 */
export async function checkOperationChain({ chains, statements }: OperationChains, node: string): Promise<ChainCheck> {
  const cannot = uncheckable();
  if (cannot !== null) return cannot;
  const { keys } = await api.jwks.get();
  const checkpoint = chains.find((chain) => chain.node === node)?.checkpoint ?? null;
  const start = checkpoint === null ? NO_RECORD : endIn((await signedBy(checkpoint, keys)) ?? {});
  if (start === null) return { isWhole: false, text: 'broken: no node has signed where it begins' };
  const records = await recordsOf(node, start);
  if (records.length >= MOST_RECORDS) return { isWhole: false, text: 'not checked here: use svc audit verify' };
  const broken = await brokenLink(records, start);
  if (broken !== null) return { isWhole: false, text: broken };
  const signed = await Promise.all(statements.map((statement) => signedBy(statement, keys)));
  return checkEnds(
    signed.flatMap((statement) => (statement === null ? [] : endsOf(statement, node))),
    records,
    start,
  );
}

async function recordsOf(node: string, start: ChainEnd): Promise<AuditRecord[]> {
  const all: AuditRecord[] = [];
  for (let after = start.sequence; all.length < MOST_RECORDS; after = all.at(-1)?.sequence ?? after) {
    const { records } = await api.audit.listRecords({ node, after, limit: PAGE });
    all.push(...records);
    if (records.length < PAGE) break;
  }
  return all;
}

function checkEnds(ends: readonly StatedEnd[], records: readonly AuditRecord[], start: ChainEnd): ChainCheck {
  const hashes = new Map(records.map(({ sequence, hash }) => [sequence, hash]));
  const last = records.at(-1)?.sequence ?? start.sequence;
  for (const { by, sequence, hash } of ends) {
    if (sequence <= start.sequence) continue;
    if (sequence > last)
      return { isWhole: false, text: `broken: node ${by} stated record ${sequence}, the last is ${last}` };
    if (hashes.get(sequence) !== hash)
      return { isWhole: false, text: `broken: record ${sequence} is not the one that node ${by} stated` };
  }
  if (ends.length === 0) return { isWhole: false, text: 'broken: no node has signed its end' };
  const signed = Math.max(...ends.map(({ sequence }) => sequence));
  return {
    isWhole: true,
    text: `${counted(records.length, 'record', 'records')}, checked here; signed up to record ${signed}`,
  };
}

/** A sequence and a hash in signed content; null when they are missing. */
const endIn = ({ sequence, hash }: Readonly<Record<string, unknown>>): ChainEnd | null =>
  typeof sequence === 'number' && typeof hash === 'string' ? { sequence, hash } : null;

function endsOf({ by, ends }: Readonly<Record<string, unknown>>, node: string): StatedEnd[] {
  if (typeof by !== 'string' || !Array.isArray(ends)) return [];
  const all: readonly (StatedEnd & { readonly node: string })[] = ends;
  return all.filter((end) => end.node === node).map(({ sequence, hash }) => ({ by, sequence, hash }));
}
