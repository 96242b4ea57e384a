import type { Page, PageAsked } from '../../runtime/documents/pages.ts';
import type { Identity } from '../../runtime/identity.ts';
import type { NodeIdentity } from '../api.ts';

/** What a join token lets in. */
export interface JoinScope {
  /** Node ids; one that ends with `*` stands for all that begin so. Without one it is for all of them. */
  readonly names: readonly string[];
  /** Tags that the node may register with. None: a node without tags. */
  readonly tags: readonly string[];
  /** Where the node may be reached: addresses, networks, host names, `*.domain`. None: where it calls from. */
  readonly addresses: readonly string[];
  readonly roles: readonly ('WORKER' | 'HYBRID')[];
}

export interface NewJoinToken extends Partial<JoinScope> {
  /** How many nodes may join with it; default 1. */
  readonly uses?: number | undefined;
  /** Seconds from now; default one hour, at most 30 days. */
  readonly expiresInSeconds?: number | undefined;
}

/** A join token as it is shown: never the token itself. Times are ISO 8601. */
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

/** Join tokens of a fleet, for operators. Every node sees the same ones. */
export interface JoinTokens {
  /** The only answer that holds the token. Throws `invalid_argument` naming the field. */
  create(by: Pick<Identity, 'subject'>, request: NewJoinToken): Promise<JoinTokenView & { readonly token: string }>;
  /** The newest first. */
  list(page: PageAsked): Promise<Page<JoinTokenView>>;
  /** It lets nobody in any more, and nodes that came in by it get no new node token. Throws `not_found`. */
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

/** Who may join a fleet, asked by a controller. */
export interface NodeAdmission {
  /**
   * Whether the node may be attested with the token that it shows. `settle` counts the use, once for each node and its key, and is
   * called when nothing else is against it. Both throw `forbidden` with a reason, `unavailable`; each refusal is recorded.
   */
  admit(node: Joining, shown: string | undefined): Promise<{ settle(): Promise<void> }>;
  /** Whether what the node registers is within the token it came in by. Throws `forbidden` with a reason. */
  requireScope(
    node: NodeIdentity,
    offered: { readonly tags: readonly string[]; readonly grpcAddress: string; readonly from: string },
  ): Promise<void>;
  /** This node itself, which is a controller: it needs no token to be one of its own nodes. */
  welcome(node: Pick<Joining, 'nodeId' | 'publicKeyPem'>): Promise<void>;
  /** An operator removed the node: it needs a join token again. */
  forget(nodeId: string): Promise<void>;
}
