import { generateKeyPairSync, type KeyObject, sign } from 'node:crypto';
import { canonical } from './canonical.ts';

export type Envelope = {
  readonly protocol: string;
  readonly security_token: string;
  readonly signature: string;
  readonly payload: Buffer;
  readonly timestamp: string;
};

/** Claims of an agent about itself. */
export interface Identified {
  readonly agent_id: string;
  readonly execution_id: string;
  readonly container_id: string;
}

/**
 * An agent of another implementation, written from the specification and docs/reference/seal.md: its own key, its own
 * JSON. It uses no code of the product.
 */
export class IndependentAgent {
  readonly #keys = generateKeyPairSync('ed25519');
  readonly is: Identified;
  token = '';

  constructor(is: Identified) {
    this.is = is;
  }

  get publicKey(): KeyObject {
    return this.#keys.publicKey;
  }

  /** SPKI: the last 32 bytes are the key. */
  get rawKey(): string {
    return this.publicKey.export({ type: 'spki', format: 'der' }).subarray(-32).toString('base64');
  }

  get pem(): string {
    return String(this.publicKey.export({ type: 'spki', format: 'pem' }));
  }

  /** The claims of its token, which are readable without a key. */
  get claims(): Readonly<Record<string, unknown>> {
    return JSON.parse(Buffer.from(this.token.split('.')[1] ?? '', 'base64url').toString());
  }

  get sessionId(): string {
    return String(this.claims.jti);
  }

  /** Another agent, with another key, of the same execution. */
  double(): IndependentAgent {
    return new IndependentAgent(this.is);
  }

  call(id: unknown, name: unknown, args?: unknown, more: object = {}): Envelope {
    const params = { ...(name === undefined ? {} : { name }), ...(args === undefined ? {} : { arguments: args }) };
    return this.seal({ jsonrpc: '2.0', id, method: 'tools/call', params, ...more });
  }

  /** Signs bytes as they are, and an object in its canonical form. */
  seal(payload: unknown, more: Partial<Envelope> = {}): Envelope {
    const bytes = Buffer.isBuffer(payload)
      ? payload
      : Buffer.from(typeof payload === 'string' ? payload : canonical(payload));
    return {
      protocol: 'seal/v1',
      security_token: this.token,
      signature: this.sign(bytes).toString('base64'),
      payload: bytes,
      timestamp: new Date().toISOString(),
      ...more,
    };
  }

  sign(bytes: Buffer): Buffer {
    return sign(null, bytes, this.#keys.privateKey);
  }
}
