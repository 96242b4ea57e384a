import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { type CryptoKey, exportJWK, generateKeyPair, type JWK, type JWTPayload, SignJWT } from 'jose';
import type { Clock } from '../../runtime/clock.ts';
import { systemClock } from '../../runtime/clock.ts';

export interface SigningKey {
  readonly kid: string;
  readonly alg: string;
  readonly privateKey: CryptoKey;
  readonly publicJwk: JWK;
}

export async function signingKey(kid: string, alg = 'ES256'): Promise<SigningKey> {
  const { privateKey, publicKey } = await generateKeyPair(alg, { extractable: true });
  return { kid, alg, privateKey, publicJwk: { ...(await exportJWK(publicKey)), kid, alg, use: 'sig' } };
}

/** An identity provider on loopback: serves a key set, counts its reads, and can be made to fail. */
export class IdentityProvider implements AsyncDisposable {
  readonly #server: Server;
  keys: SigningKey[] = [];
  fetches = 0;
  status = 200;

  constructor() {
    this.#server = createServer((_request, response) => {
      this.fetches += 1;
      response.writeHead(this.status, { 'content-type': 'application/json', connection: 'close' });
      response.end(JSON.stringify({ keys: this.keys.map((key) => key.publicJwk) }));
    });
  }

  async listen(port = 0): Promise<void> {
    await new Promise<void>((resolve) => this.#server.listen(port, '127.0.0.1', resolve));
  }

  get port(): number {
    return (this.#server.address() as AddressInfo).port;
  }

  get jwksUri(): string {
    return `http://127.0.0.1:${this.port}/jwks`;
  }

  async stop(): Promise<void> {
    if (!this.#server.listening) return;
    await new Promise<void>((resolve) => this.#server.close(() => resolve()));
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.stop();
  }
}

/** A clock that stands still until the test moves it. */
export class ManualClock implements Clock {
  #nowMs = Date.now();
  now(): number {
    return this.#nowMs;
  }
  monotonic(): number {
    return this.#nowMs;
  }
  after(delayMs: number, call: () => void): () => void {
    return systemClock.after(delayMs, call);
  }
  advance(ms: number): void {
    this.#nowMs += ms;
  }
}

/** A signed token; `claims` with the value undefined are omitted. */
export function sign(key: SigningKey, claims: JWTPayload, header: { kid?: string } = { kid: key.kid }) {
  return new SignJWT(claims).setProtectedHeader({ alg: key.alg, ...header }).sign(key.privateKey);
}
