import { BlockList, isIP, isIPv6 } from 'node:net';
import type { Page, PageAsked } from '../../runtime/documents/pages.ts';
import { invalidField } from '../../runtime/errors.ts';
import type { Identity } from '../../runtime/identity.ts';
import type { NodeIdentity } from '../node-tokens.ts';

const MOST_USES = 1_000;

const MIN_EXPIRY_SECONDS = 60;

const MAX_EXPIRY_SECONDS = 30 * 86_400;

const DEFAULT_EXPIRY_SECONDS = 3_600;

const MOST_ENTRIES = 32;

const NAME = /^[A-Za-z0-9][A-Za-z0-9._-]{0,127}\*?$|^\*$/;

const TAG = /^[A-Za-z0-9][A-Za-z0-9._:/=-]{0,62}$/;

const HOST = /^(\*\.)?[A-Za-z0-9][A-Za-z0-9._-]{0,252}$/;

interface CheckedToken extends JoinScope {
  readonly uses: number;
  readonly expiresInSeconds: number;
}

/** The request with defaults filled in. Throws `invalid_argument` naming the field. */
export function checkNewToken(request: NewJoinToken): CheckedToken {
  const { uses = 1, expiresInSeconds = DEFAULT_EXPIRY_SECONDS } = request;
  if (!Number.isSafeInteger(uses) || uses < 1 || uses > MOST_USES)
    throw invalidField('uses', `expected 1 to ${MOST_USES}`);
  const isInTime = expiresInSeconds >= MIN_EXPIRY_SECONDS && expiresInSeconds <= MAX_EXPIRY_SECONDS;
  if (!Number.isSafeInteger(expiresInSeconds) || !isInTime) {
    throw invalidField(
      'expires_in',
      `expected whole seconds from ${MIN_EXPIRY_SECONDS} to ${MAX_EXPIRY_SECONDS} (30 days)`,
    );
  }
  return {
    names: checked('names', request.names, (name) => NAME.test(name), 'node ids, also with * at the end'),
    tags: checked('tags', request.tags, (tag) => TAG.test(tag), 'tags such as gpu or zone:eu'),
    addresses: checked('addresses', request.addresses, isAddress, 'IP addresses, networks (10.0.0.0/8) or host names'),
    roles: request.roles === undefined || request.roles.length === 0 ? ['WORKER'] : [...new Set(request.roles)],
    uses,
    expiresInSeconds,
  };
}

function checked(
  field: string,
  given: readonly string[] | undefined,
  isOne: (text: string) => boolean,
  expected: string,
): readonly string[] {
  const all = [...new Set(given ?? [])];
  if (all.length > MOST_ENTRIES || !all.every(isOne))
    throw invalidField(field, `expected at most ${MOST_ENTRIES} ${expected}`);
  return all;
}

function isAddress(text: string): boolean {
  if (isIP(text) !== 0) return true;
  const [ip = '', bits = '', ...more] = text.split('/');
  if (bits === '') return HOST.test(text) && more.length === 0;
  const most = isIPv6(ip) ? 128 : 32;
  return isIP(ip) !== 0 && /^\d{1,3}$/.test(bits) && Number(bits) <= most && more.length === 0;
}

export const isNamed = (names: readonly string[], nodeId: string): boolean =>
  names.length === 0 ||
  names.some((name) => (name.endsWith('*') ? nodeId.startsWith(name.slice(0, -1)) : name === nodeId));

/** Whether a node that calls from address `from` may advertise `host`. */
export function isAllowedAt(addresses: readonly string[], host: string, from: string): boolean {
  if (addresses.length === 0) return plain(host) === plain(from);
  const at = plain(host);
  const list = new BlockList();
  for (const address of addresses) {
    const [ip = '', bits] = address.split('/');
    if (isIP(ip) === 0) continue;
    const family = isIPv6(ip) ? 'ipv6' : 'ipv4';
    if (bits === undefined) list.addAddress(ip, family);
    else list.addSubnet(ip, Number(bits), family);
  }
  if (isIP(at) !== 0) return list.check(at, isIPv6(at) ? 'ipv6' : 'ipv4');
  return addresses.some((one) => {
    const name = one.toLowerCase();
    return name.startsWith('*.') ? at.endsWith(name.slice(1)) : name === at;
  });
}

/** The host of `host:port`. */
export const hostOf = (address: string): string => address.slice(0, address.lastIndexOf(':'));

const plain = (host: string): string =>
  host
    .replace(/^\[|\]$/g, '')
    .replace(/^::ffff:(?=\d+\.)/i, '')
    .toLowerCase();

/** Nodes that a join token admits. */
export interface JoinScope {
  /** Node ids; `*` at the end matches any ending. Empty: all. */
  readonly names: readonly string[];
  /** Tags that the node may register. Empty: none. */
  readonly tags: readonly string[];
  /** Hosts that the node may advertise: addresses, networks, host names, `*.domain`. Empty: the address it calls from. */
  readonly addresses: readonly string[];
  readonly roles: readonly ('WORKER' | 'HYBRID')[];
}

export interface NewJoinToken extends Partial<JoinScope> {
  /** How many nodes may join with it; default 1. */
  readonly uses?: number | undefined;
  /** Seconds from now; default one hour, at most 30 days. */
  readonly expiresInSeconds?: number | undefined;
}

/** A join token as shown, without its text. Times are ISO 8601. */
export interface JoinTokenView extends JoinScope {
  readonly id: string;
  readonly uses: number;
  readonly used_by: readonly { readonly node_id: string; readonly from: string; readonly at: string }[];
  readonly refusals: number;
  readonly status: 'active' | 'used_up' | 'expired' | 'revoked';
  readonly created_at: string;
  readonly created_by: string;
  readonly expires_at: string;
}

/** Join tokens of a fleet, for operators; shared by all nodes. */
export interface JoinTokens {
  /** The only answer that contains the token. Throws `invalid_argument` naming the field. */
  create(by: Pick<Identity, 'subject'>, request: NewJoinToken): Promise<JoinTokenView & { readonly token: string }>;
  /** Newest first. */
  list(page: PageAsked): Promise<Page<JoinTokenView>>;
  /** Revokes the token: it admits no more nodes, and nodes that joined with it get no new node tokens. Throws `not_found`. */
  revoke(by: Pick<Identity, 'subject'>, id: string): Promise<JoinTokenView>;
}

/** A node that asks to be attested. */
export interface Joining {
  readonly nodeId: string;
  readonly publicKeyPem: string;
  readonly role: 'CONTROLLER' | 'WORKER' | 'HYBRID';
  /** Address that it calls from. */
  readonly from: string;
}

/** Decides who may join a fleet, for controllers. */
export interface NodeAdmission {
  /**
   * Checks whether the node may attest with the token that it presents. Call `settle` when all other checks have passed: it counts
   * the use, once for a node and its key. Both throw `forbidden` with a reason, or `unavailable`; refusals are recorded.
   */
  admit(node: Joining, shown: string | undefined): Promise<{ settle(): Promise<void> }>;
  /** Checks that a registration is within the scope of the node's join token. Throws `forbidden` with a reason. */
  requireScope(
    node: NodeIdentity,
    offered: { readonly tags: readonly string[]; readonly grpcAddress: string; readonly from: string },
  ): Promise<void>;
  /** Admits this controller itself without a token. */
  welcome(node: Pick<Joining, 'nodeId' | 'publicKeyPem'>): Promise<void>;
  /** Called when an operator removes the node: it needs a join token again. */
  forget(nodeId: string): Promise<void>;
}
