import { NodeSelf } from '../../manifests/node/cluster.ts';
import type { Clock } from '../../runtime/clock.ts';
import type { Collection, Documents } from '../../runtime/documents.ts';
import { invalidField, SvcError } from '../../runtime/errors.ts';
import { SYSTEM_TENANT } from '../../runtime/identity.ts';
import { isSameSecret } from '../constant-time.ts';
import { parsePublicKeyPem } from '../node-key.ts';
import {
  changedToken,
  deathOf,
  digestOf,
  isTokenText,
  JOIN_TOKENS,
  JOINED_NODES,
  type JoinAudit,
  type JoinedNode,
  type JoinTokenDocument,
} from './join-tokens.ts';
import { hostOf, isAllowedAt, isNamed, type Joining, type NodeAdmission } from './scope.ts';

/** A node that did not attest for this long needs a join token again. */
const FORGET_AFTER_MS = 180 * 86_400_000;
const DAY_MS = 86_400_000;
const MAX_ATTEMPTS = 16;

interface NodeAdmissionParts {
  readonly documents: Documents;
  readonly clock: Clock;
  /** `spec.cluster.join_token`, valid for any node; read at each use, so that it can be replaced. */
  readonly joinToken: () => Promise<string | null>;
  /** Whether a node needs a token. */
  readonly required: boolean;
  /** Log of uses and refusals: ids, names and addresses, never a token. */
  readonly audit: JoinAudit;
}

/** How a node was admitted: by a join token, by `spec.cluster.join_token`, or without a token where none is required. */
type Way = { readonly token: JoinTokenDocument } | 'setting' | 'open';

export async function openNodeAdmission(parts: NodeAdmissionParts): Promise<NodeAdmission> {
  const { documents, clock } = parts;
  const tokens = await documents.collection<JoinTokenDocument>(JOIN_TOKENS);
  const joined = await documents.collection<JoinedNode>(JOINED_NODES);
  const before = new Date(clock.now() - FORGET_AFTER_MS).toISOString();
  await joined.deleteMany({ tenant: SYSTEM_TENANT, where: { seen_at: { lt: before } } });
  return new DocumentsNodeAdmission(parts, tokens, joined);
}

class DocumentsNodeAdmission implements NodeAdmission {
  readonly #parts: NodeAdmissionParts;
  readonly #tokens: Collection<JoinTokenDocument>;
  readonly #joined: Collection<JoinedNode>;

  constructor(parts: NodeAdmissionParts, tokens: Collection<JoinTokenDocument>, joined: Collection<JoinedNode>) {
    this.#parts = parts;
    this.#tokens = tokens;
    this.#joined = joined;
  }

  async admit(node: Joining, shown: string | undefined): Promise<{ settle(): Promise<void> }> {
    requireNodeId(node.nodeId);
    const key = keyOf(node.publicKeyPem);
    const known = await this.#joined.get(SYSTEM_TENANT, node.nodeId);
    const same = known?.key === key ? known : null;
    const way = await this.#wayOf(node, shown, same);
    return { settle: () => this.#settle(node, key, way, same) };
  }

  async requireScope(...[node, offered]: Parameters<NodeAdmission['requireScope']>): Promise<void> {
    const known = await this.#joined.get(SYSTEM_TENANT, node.nodeId);
    const key = node.publicKey.export({ format: 'jwk' }).x;
    if (known === null || known.key !== key || known.token_id === null) return;
    const token = await this.#tokens.get(SYSTEM_TENANT, known.token_id);
    if (token === null) return;
    const who = { nodeId: node.nodeId, from: offered.from };
    const wrong = offered.tags.filter((tag) => !token.tags.includes(tag));
    if (wrong.length > 0) {
      const has = token.tags.length === 0 ? 'none' : token.tags.join(', ');
      throw await this.#refused(
        who,
        'join_token_tags',
        `tags ${wrong.join(', ')}: the join token allows ${has}`,
        token,
      );
    }
    if (isAllowedAt(token.addresses, hostOf(offered.grpcAddress), offered.from)) return;
    const expected =
      token.addresses.length === 0
        ? `where the node calls from (${offered.from})`
        : 'an address that the join token allows';
    const text = `svc-node-grpc-address ${offered.grpcAddress}: expected ${expected}`;
    throw await this.#refused(who, 'join_token_addresses', text, token);
  }

  async welcome({ nodeId, publicKeyPem }: Parameters<NodeAdmission['welcome']>[0]): Promise<void> {
    const seen_at = new Date(this.#parts.clock.now()).toISOString();
    await this.#keep({
      tenant: SYSTEM_TENANT,
      id: nodeId,
      version: 1,
      key: keyOf(publicKeyPem),
      token_id: null,
      seen_at,
    });
  }

  async forget(nodeId: string): Promise<void> {
    await this.#joined.delete(SYSTEM_TENANT, nodeId);
  }

  /** Throws `forbidden` without a valid token. A known node with its key does not use a token again. */
  async #wayOf(node: Joining, shown: string | undefined, same: JoinedNode | null): Promise<Way> {
    const { required } = this.#parts;
    const setting = await this.#parts.joinToken();
    if (setting !== null && shown !== undefined && isSameSecret(shown, setting)) return 'setting';
    const token = shown !== undefined && isTokenText(shown) ? await this.#find(shown) : null;
    if (token !== null) {
      await this.#requireFor(node, token, same);
      return { token };
    }
    if (same !== null) return this.#wayBack(node, same);
    if (!required) return 'open';
    const why = shown === undefined ? 'join_token_missing' : 'join_token_unknown';
    throw await this.#refused(node, why, 'expected a join token in metadata svc-join-token');
  }

  async #wayBack(node: Joining, same: JoinedNode): Promise<Way> {
    if (same.token_id === null) return 'setting';
    const token = await this.#tokens.get(SYSTEM_TENANT, same.token_id);
    if (token === null || token.revoked_at !== null) {
      const text = 'the join token of this node was revoked';
      throw await this.#refused(node, 'join_token_revoked', text, token ?? undefined);
    }
    return { token };
  }

  async #find(shown: string): Promise<JoinTokenDocument | null> {
    const digest = digestOf(shown);
    const [found] = await this.#tokens.find({ tenant: SYSTEM_TENANT, where: { digest }, limit: 1 });
    return found !== undefined && isSameSecret(found.digest, digest) ? found : null;
  }

  async #requireFor(node: Joining, token: JoinTokenDocument, same: JoinedNode | null): Promise<void> {
    const cameBy = same?.token_id === token.id;
    const death = deathOf(token, this.#parts.clock.now());
    if (death !== null && !(cameBy && death !== 'revoked')) {
      throw await this.#refused(node, `join_token_${death}`, `the join token is ${death.replace('_', ' ')}`, token);
    }
    if (!isNamed(token.names, node.nodeId)) {
      throw await this.#refused(node, 'join_token_names', 'the join token is not for this node id', token);
    }
    if (!token.roles.some((role) => role === node.role)) {
      throw await this.#refused(node, 'join_token_roles', `the join token is for ${token.roles.join(', ')}`, token);
    }
  }

  async #settle(node: Joining, key: string, way: Way, same: JoinedNode | null): Promise<void> {
    if (way === 'open') return;
    const { clock, audit } = this.#parts;
    const at = new Date(clock.now()).toISOString();
    const token_id = way === 'setting' ? null : way.token.id;
    if (same === null || same.token_id !== token_id) {
      if (way !== 'setting') await this.#use(node, key, way.token, at);
      const by = token_id ?? 'spec.cluster.join_token';
      audit({ event: 'JoinTokenUsed', token_id: by, node_id: node.nodeId, from: node.from }, 'join token');
    } else if (Date.parse(at) - Date.parse(same.seen_at) < DAY_MS) return;
    await this.#keep({ tenant: SYSTEM_TENANT, id: node.nodeId, version: 1, key, token_id, seen_at: at });
  }

  /** Counts one use for a node and its key, however often it attests. */
  async #use(node: Joining, key: string, { id }: JoinTokenDocument, at: string): Promise<void> {
    const { clock } = this.#parts;
    let death: string | null = null;
    const { token } = await changedToken(this.#tokens, id, (known) => {
      death = deathOf(known, clock.now());
      if (known.used_by.some((one) => one.node_id === node.nodeId && one.key === key)) death = null;
      else if (death === null)
        return { ...known, used_by: [...known.used_by, { node_id: node.nodeId, key, from: node.from, at }] };
      return null;
    });
    if (death !== null)
      throw await this.#refused(
        node,
        `join_token_${death}`,
        'the join token was used by as many nodes as it allows',
        token,
      );
  }

  async #keep(node: JoinedNode): Promise<void> {
    for (let attempt = 0; attempt < MAX_ATTEMPTS; attempt += 1) {
      const known = await this.#joined.get(SYSTEM_TENANT, node.id);
      const version = (known?.version ?? 0) + 1;
      const next = { ...node, version };
      if (known === null ? await this.#joined.insert(next) : await this.#joined.replace(next, known.version)) return;
    }
    throw new SvcError('unavailable', 'the node is joining in several calls at once; try again', {
      retryAfterMs: 1_000,
    });
  }

  /** Records a refusal in the log and with its token, and returns the error. */
  async #refused(
    node: Pick<Joining, 'nodeId' | 'from'>,
    reason: string,
    message: string,
    token?: JoinTokenDocument,
  ): Promise<SvcError> {
    const of: Readonly<Record<string, string>> = token === undefined ? {} : { token_id: token.id };
    this.#parts.audit(
      { event: 'JoinTokenRefused', ...of, node_id: node.nodeId, from: node.from, reason },
      'join token',
    );
    if (token !== undefined)
      await changedToken(this.#tokens, token.id, (known) => ({ ...known, refusals: known.refusals + 1 }));
    return new SvcError('forbidden', message, { reason });
  }
}

/** Throws `invalid_argument` for an invalid node id. */
function requireNodeId(nodeId: string): void {
  if (NodeSelf.shape.id.unwrap().safeParse(nodeId).success) return;
  throw invalidField('node_id', 'expected at most 128 letters, digits, ".", "_" and "-", the first a letter or digit');
}

const keyOf = (publicKeyPem: string): string => parsePublicKeyPem(publicKeyPem).export({ format: 'jwk' }).x ?? '';
