import canonicalize from 'canonicalize';
import type { SvcClient } from '../../clients/typescript/gen/operations.ts';
import { counted } from '../parts/format.ts';

export type AuditChain = Awaited<ReturnType<SvcClient['sealSessions']['audit']>>;
type Keys = Awaited<ReturnType<SvcClient['jwks']['get']>>['keys'];

/** Result of the check of a chain, as a sentence for people. */
export interface ChainCheck {
  readonly isWhole: boolean;
  readonly text: string;
}

/** A record in the form of which the hash is computed, without the hash. */
interface Linked {
  readonly sequence: number;
  readonly at: string;
  readonly body: unknown;
  readonly previous_hash: string | null;
}

/** A record of any chain. */
interface ChainRecord extends Linked {
  readonly hash: string;
}

/** The record before the first one of a chain. */
export interface ChainEnd {
  readonly sequence: number;
  readonly hash: string | null;
}

export const NO_RECORD: ChainEnd = { sequence: 0, hash: null };

/** Half of a surrogate pair has no canonical form and counts as U+FFFD, as on the node. */
const UNPAIRED = /\\(?:u(d[89a-f][0-9a-f]{2})|.)/g;

function canonicalText(value: Linked): string {
  const text = JSON.stringify(value).replace(UNPAIRED, (one, half: string | undefined) => (half ? '\uFFFD' : one));
  return canonicalize(JSON.parse(text)) ?? 'null';
}

async function hashOf({ sequence, at, body, previous_hash }: Linked): Promise<string> {
  const bytes = new TextEncoder().encode(canonicalText({ sequence, at, body, previous_hash }));
  const hash = new Uint8Array(await crypto.subtle.digest('SHA-256', bytes));
  return Array.from(hash, (byte) => byte.toString(16).padStart(2, '0')).join('');
}

const bytesOf = (text: string): Uint8Array<ArrayBuffer> =>
  Uint8Array.from(atob(text.replaceAll('-', '+').replaceAll('_', '/')), (char) => char.charCodeAt(0));

/** Why this browser cannot check a chain; null where it can. */
export const uncheckable = (): ChainCheck | null =>
  globalThis.crypto?.subtle === undefined
    ? {
        isWhole: false,
        text: 'not checked: a browser checks signatures only on a page that it loaded by https or from this machine',
      }
    : null;

/** The first record that was changed, or does not follow the previous one, as a sentence; null when all links hold. */
export async function brokenLink(records: readonly ChainRecord[], start: ChainEnd): Promise<string | null> {
  let { sequence, hash: previous } = start;
  for (const record of records) {
    sequence += 1;
    if (record.sequence !== sequence || record.previous_hash !== previous)
      return `broken: record ${sequence} does not follow the one before`;
    if ((await hashOf(record)) !== record.hash) return `broken: record ${sequence} was changed`;
    previous = record.hash;
  }
  return null;
}

/**
 * Checks the chain of a session in the browser, without trusting the answer: the hash of each record, its link to the previous
 * one, and the signature of the head with the public keys of the nodes.
 */
export async function checkChain({ records, head, session_id }: AuditChain, keys: Keys): Promise<ChainCheck> {
  const cannot = uncheckable();
  if (cannot !== null) return cannot;
  const broken = await brokenLink(records, NO_RECORD);
  if (broken !== null) return { isWhole: false, text: broken };
  const previous = records.at(-1)?.hash ?? null;
  const signed = await signedBy(head, keys);
  if (signed === null) return { isWhole: false, text: 'broken: no node has signed its head' };
  const isOfIt = signed.session_id === session_id && signed.sequence === records.length && signed.hash === previous;
  return isOfIt
    ? {
        isWhole: true,
        text: `${counted(records.length, 'record', 'records')}, checked here against the node’s signature`,
      }
    : { isWhole: false, text: 'broken: records are missing at its end' };
}

/** The content of a compact JWS (RS256); null unless one of the keys signed it. */
export async function signedBy(head: string, keys: Keys): Promise<Readonly<Record<string, unknown>> | null> {
  const [header = '', content = '', signature = ''] = head.split('.');
  try {
    const text = new TextDecoder();
    const { kid }: { readonly kid?: string } = JSON.parse(text.decode(bytesOf(header)));
    const key = keys.find((one) => one.kid === kid);
    if (key === undefined) return null;
    const algorithm = { name: 'RSASSA-PKCS1-v1_5', hash: 'SHA-256' };
    const jwk = { kty: key.kty, n: key.n, e: key.e, alg: key.alg, ext: true };
    const publicKey = await crypto.subtle.importKey('jwk', jwk, algorithm, false, ['verify']);
    const data = new TextEncoder().encode(`${header}.${content}`);
    if (!(await crypto.subtle.verify(algorithm, publicKey, bytesOf(signature), data))) return null;
    return JSON.parse(text.decode(bytesOf(content)));
  } catch {
    // Not a JWS at all.
    return null;
  }
}
