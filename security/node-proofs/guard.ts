import { randomUUID } from 'node:crypto';
import type { Clock } from '../../runtime/clock.ts';
import { SvcError } from '../../runtime/errors.ts';
import type { NodeProofs } from '../api.ts';
import type { NodeIdentity } from '../node-tokens.ts';
import { claimsOf, type Pins, type ProofClaims, type ProvenCall, readProof } from './proof.ts';

/** Maximum difference between the time of a proof and this node's. */
export const WINDOW_MS = 30_000;

interface ProofGuardParts {
  /** This node's id. */
  readonly node: string;
  readonly pins: Pins;
  /** `spec.cluster.require_proof`. */
  readonly required: boolean;
  readonly clock: Clock;
  readonly nonces?: Nonces;
}

/** Checks the proofs of incoming calls between nodes. A refused call has no effect. */
export function createProofGuard(parts: ProofGuardParts): NodeProofs {
  const { node: receiver, pins, required, clock } = parts;
  // A proof is valid from one window before now to one window after.
  const nonces = parts.nonces ?? new Nonces({ clock, windowMs: 2 * WINDOW_MS });
  const life = randomUUID();

  return {
    introduction: () => ({ nodeId: receiver, life, at: clock.now() }),

    async check(node, call, proof) {
      if (proof === undefined) {
        if (required) throw refused('proof_required', 'this node requires a proof with each call');
        if (!(await pins.isPinned(node.nodeId))) return;
        throw refused('proof_required', 'this node id has sent proofs before, but this call has none');
      }
      const claims = await readProof(proof, node.publicKey);
      if (claims === null) throw refused('proof_invalid', 'the proof is not signed by the key of the node token');
      requireSame(claims, call);
      if (claims.receiver !== receiver || claims.life !== life) {
        throw refused('proof_receiver', 'the proof is for another node, or for an earlier start of this one');
      }
      const behindMs = clock.now() - claims.at;
      if (Math.abs(behindMs) > WINDOW_MS) {
        throw refused(
          'proof_time',
          `the time of the proof is wrong: expected at most ${WINDOW_MS / 1_000} s from the clock of this node`,
        );
      }
      if (!(await pins.pin(node))) throw refused('proof_key', 'another key is pinned to this node id');
      note(nonces, node, claims);
    },
  };
}

/** Throws unless all claims of the proof match the call. */
function requireSame(claims: ProofClaims, call: ProvenCall): void {
  const is = claimsOf(call);
  for (const name of ['method', 'tenant', 'address', 'token', 'payload'] as const) {
    if (claims[name] !== is[name]) throw refused(`proof_${name}`, `the proof is for another ${NAMES[name]}`);
  }
}

const NAMES = {
  method: 'method',
  tenant: 'x-tenant-id',
  address: 'svc-node-grpc-address',
  token: 'node token',
  payload: 'payload',
} as const;

function note(nonces: Nonces, { nodeId }: NodeIdentity, { nonce }: ProofClaims): void {
  const noted = nonces.note(nodeId, nonce);
  if (noted === 'new') return;
  if (noted === 'repeated') throw refused('proof_repeated', 'the proof was used before');
  throw new SvcError('rate_limited', 'this node makes too many calls in a short time', { retryAfterMs: 1_000 });
}

const refused = (reason: string, message: string): SvcError =>
  new SvcError('unauthenticated', `${message} (metadata svc-proof)`, { reason });

/** Maximum number of nonces kept for one node in a window, and for all nodes together: about 20 MB. */
const MOST_PER_NODE = 32_768;

const MOST = 262_144;

/** `full`: the nonce cannot be kept, so a repeat could not be detected. */
type Noted = 'new' | 'repeated' | 'full';

interface Generation {
  readonly since: number;
  readonly seen: Map<string, Set<string>>;
  count: number;
}

/**
 * The nonces of the last window, in two generations, so that each is kept for one to two windows. A node that calls too often
 * fills only its own share.
 */
export class Nonces {
  readonly #clock: Pick<Clock, 'monotonic'>;
  readonly #windowMs: number;
  readonly #mostPerNode: number;
  readonly #most: number;
  #current: Generation;
  #earlier: Generation;

  constructor(parts: {
    readonly clock: Pick<Clock, 'monotonic'>;
    readonly windowMs: number;
    readonly mostPerNode?: number;
    readonly most?: number;
  }) {
    this.#clock = parts.clock;
    this.#windowMs = parts.windowMs;
    this.#mostPerNode = parts.mostPerNode ?? MOST_PER_NODE;
    this.#most = parts.most ?? MOST;
    this.#current = this.#generation();
    this.#earlier = this.#generation();
  }

  /** Synchronous, so that of two concurrent calls with one nonce exactly one is new. */
  note(nodeId: string, nonce: string): Noted {
    this.#turn();
    const [current, earlier] = [this.#current.seen.get(nodeId), this.#earlier.seen.get(nodeId)];
    if (current?.has(nonce) === true || earlier?.has(nonce) === true) return 'repeated';
    const ofNode = (current?.size ?? 0) + (earlier?.size ?? 0);
    if (ofNode >= this.#mostPerNode || this.size >= this.#most) return 'full';
    if (current === undefined) this.#current.seen.set(nodeId, new Set([nonce]));
    else current.add(nonce);
    this.#current.count += 1;
    return 'new';
  }

  /** Number of nonces kept. */
  get size(): number {
    return this.#current.count + this.#earlier.count;
  }

  #turn(): void {
    const age = this.#clock.monotonic() - this.#current.since;
    if (age < this.#windowMs) return;
    this.#earlier = age < 2 * this.#windowMs ? this.#current : this.#generation();
    this.#current = this.#generation();
  }

  #generation(): Generation {
    return { since: this.#clock.monotonic(), seen: new Map(), count: 0 };
  }
}
