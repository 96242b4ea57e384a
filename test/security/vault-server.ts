import {
  createCipheriv,
  createDecipheriv,
  createPublicKey,
  generateKeyPairSync,
  type KeyObject,
  randomBytes,
  sign,
} from 'node:crypto';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { Clock } from '../../runtime/clock.ts';

interface Version {
  readonly privateKey: KeyObject;
  readonly creationTime: string;
}

interface Seen {
  readonly method: string;
  readonly path: string;
  readonly headers: IncomingMessage['headers'];
}

interface Answer {
  readonly status: number;
  readonly body?: unknown;
}

const refused = (status: number, ...errors: string[]): Answer => ({ status, body: { errors } });

const AES = 'aes256-gcm96';

function encrypted(versions: readonly Buffer[], body: Record<string, unknown>): Answer {
  const version = Number(body.key_version ?? versions.length);
  const key = versions[version - 1];
  if (key === undefined) return refused(400, 'requested version for encryption is higher than the latest key version');
  const iv = randomBytes(12);
  const cipher = createCipheriv('aes-256-gcm', key, iv);
  const sealed = Buffer.concat([
    iv,
    cipher.update(String(body.plaintext), 'base64'),
    cipher.final(),
    cipher.getAuthTag(),
  ]);
  const ciphertext = `vault:v${version}:${sealed.toString('base64')}`;
  return { status: 200, body: { data: { ciphertext, key_version: version } } };
}

function decrypted(versions: readonly Buffer[], body: Record<string, unknown>): Answer {
  const [, version, text = ''] = /^vault:v(\d+):(.+)$/.exec(String(body.ciphertext)) ?? [];
  const key = versions[Number(version) - 1];
  if (key === undefined) return refused(400, 'invalid ciphertext: no prefix, or version is too new');
  const sealed = Buffer.from(text, 'base64');
  const decipher = createDecipheriv('aes-256-gcm', key, sealed.subarray(0, 12));
  decipher.setAuthTag(sealed.subarray(-16));
  try {
    const plain = Buffer.concat([decipher.update(sealed.subarray(12, -16)), decipher.final()]);
    return { status: 200, body: { data: { plaintext: plain.toString('base64') } } };
  } catch {
    return refused(400, 'cipher: message authentication failed');
  }
}

/**
 * Stands in for HashiCorp Vault or OpenBao: the paths, statuses and bodies of their transit engine and AppRole login,
 * as their API documentation and a real server show them, over a real socket, with real RSA keys. It checks what a
 * client sends as strictly as they do. It keeps nothing, and knows one mount, one policy and one namespace.
 */
export class VaultServer implements AsyncDisposable {
  readonly #server: Server;
  readonly #clock: Clock;
  readonly #keys = new Map<string, Version[]>();
  /** Versions of keys of type `aes256-gcm96`, oldest first. */
  readonly #secretKeys = new Map<string, Buffer[]>();
  readonly roleId = 'role-1';
  readonly secretId = `secret-id-${randomBytes(16).toString('hex')}`;
  readonly fixedToken = `hvs.fixed-${randomBytes(16).toString('hex')}`;
  mount = 'transit';
  namespace: string | undefined;
  /** Tokens that are accepted. */
  tokens = new Set<string>([this.fixedToken]);
  keyType = 'rsa-2048';
  logins = 0;
  renewals = 0;
  seen: Seen[] = [];
  mayRotate = true;
  /** Answers this instead, while it is set. */
  fault: ((response: ServerResponse, path: string) => void) | null = null;
  /** Connections that are cut before an answer. */
  cuts = 0;

  constructor(clock: Clock) {
    this.#clock = clock;
    this.#server = createServer((request, response) => {
      if (this.cuts > 0) {
        this.cuts -= 1;
        request.socket.destroy();
        return;
      }
      this.#answer(request, response).catch((error: unknown) =>
        response.destroy(error instanceof Error ? error : undefined),
      );
    });
  }

  async listen(): Promise<void> {
    await new Promise<void>((resolve) => this.#server.listen(0, '127.0.0.1', resolve));
  }

  get address(): string {
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}`;
  }

  /** Every secret it ever gave or took. */
  get secrets(): readonly string[] {
    return [this.secretId, this.fixedToken, ...this.tokens];
  }

  /** A version made by someone else. */
  rotate(key: string): void {
    const { privateKey } = generateKeyPairSync('rsa', { modulusLength: 2_048 });
    const creationTime = new Date(this.#clock.now()).toISOString().replace('Z', '123Z');
    this.#keys.set(key, [...(this.#keys.get(key) ?? []), { privateKey, creationTime }]);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#server.closeAllConnections();
    await new Promise<void>((resolve) => this.#server.close(() => resolve()));
  }

  async #answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const chunks: Buffer[] = [];
    for await (const chunk of request) chunks.push(Buffer.from(chunk));
    const path = (request.url ?? '').replace(/^\/v1\//, '');
    this.seen.push({ method: request.method ?? '', path, headers: request.headers });
    if (this.fault !== null) return this.fault(response, path);
    const text = Buffer.concat(chunks).toString();
    const { status, body } = this.#route(request, path, text === '' ? {} : JSON.parse(text));
    response.writeHead(status, { 'content-type': 'application/json', 'cache-control': 'no-store' });
    response.end(body === undefined ? '' : JSON.stringify({ request_id: 'r', lease_duration: 0, ...Object(body) }));
  }

  #route(request: IncomingMessage, path: string, body: Record<string, unknown>): Answer {
    if (request.headers['x-vault-namespace'] !== this.namespace) return refused(404, 'no handler for route');
    if (path === 'auth/approle/login') return this.#logIn(body);
    if (!this.tokens.has(String(request.headers['x-vault-token'])))
      return refused(403, 'permission denied', 'invalid token');
    if (path === 'auth/token/renew-self') {
      this.renewals += 1;
      return { status: 200, body: { auth: { client_token: 'same', lease_duration: 1_200, renewable: true } } };
    }
    const [mount, verb, key = '', last] = path.split('/');
    if (mount !== this.mount) return refused(404, `no handler for route "${path}". route entry not found.`);
    const call = `${request.method} ${verb}${last === undefined ? '' : `/${last}`}`;
    if (body.type === AES || this.#secretKeys.has(key) || ['encrypt', 'decrypt'].includes(String(verb))) {
      return this.#withSecretKey(call, key, body);
    }
    if (call === 'GET keys') return this.#read(key);
    if (call === 'POST keys') return this.#make(key);
    if (call === 'POST keys/rotate') return this.#rotate(key);
    if (call === 'POST sign/sha2-256') return this.#sign(key, body);
    return refused(404, 'unsupported path');
  }

  #logIn(body: Record<string, unknown>): Answer {
    if (body.role_id !== this.roleId || body.secret_id !== this.secretId)
      return refused(400, 'invalid role or secret ID');
    this.logins += 1;
    const token = `hvs.login-${randomBytes(16).toString('hex')}`;
    this.tokens.add(token);
    return { status: 200, body: { data: null, auth: { client_token: token, lease_duration: 1_200, renewable: true } } };
  }

  #read(key: string): Answer {
    const versions = this.#keys.get(key);
    if (versions === undefined) return { status: 404, body: { errors: [] } };
    const keys = versions.map(({ privateKey, creationTime }, index) => {
      const publicKey = String(createPublicKey(privateKey).export({ type: 'spki', format: 'pem' }));
      return [
        String(index + 1),
        { name: this.keyType, creation_time: creationTime, public_key: publicKey, certificate_chain: '' },
      ];
    });
    const data = { name: key, type: this.keyType, latest_version: versions.length, keys: Object.fromEntries(keys) };
    return { status: 200, body: { data } };
  }

  #withSecretKey(call: string, key: string, body: Record<string, unknown>): Answer {
    const versions = this.#secretKeys.get(key) ?? [];
    const data = { name: key, type: AES, latest_version: versions.length };
    if (call === 'GET keys') return { status: 200, body: { data } };
    if (call === 'POST keys' && versions.length > 0) return { status: 200, body: { data } };
    if (call === 'POST keys' || (call === 'POST keys/rotate' && this.mayRotate)) {
      this.#secretKeys.set(key, [...versions, randomBytes(32)]);
      return { status: 200, body: { data: { ...data, latest_version: versions.length + 1 } } };
    }
    if (call === 'POST keys/rotate') return refused(403, '1 error occurred:\n\t* permission denied\n\n');
    if (versions.length === 0) return refused(400, 'encryption key not found');
    return call === 'POST encrypt' ? encrypted(versions, body) : decrypted(versions, body);
  }

  #make(key: string): Answer {
    if (!this.#keys.has(key)) this.rotate(key);
    return this.#read(key);
  }

  #rotate(key: string): Answer {
    if (!this.mayRotate) return refused(403, '1 error occurred:\n\t* permission denied\n\n');
    if (!this.#keys.has(key)) return refused(400, 'key not found');
    this.rotate(key);
    return this.#read(key);
  }

  #sign(key: string, body: Record<string, unknown>): Answer {
    const versions = this.#keys.get(key);
    const newest = versions?.at(-1);
    if (versions === undefined || newest === undefined) return refused(400, 'signing key not found');
    if (body.signature_algorithm !== 'pkcs1v15' || body.prehashed !== false) return refused(400, 'not what JWS needs');
    const signature = sign('sha256', Buffer.from(String(body.input), 'base64'), newest.privateKey).toString('base64');
    return {
      status: 200,
      body: { data: { key_version: versions.length, signature: `vault:v${versions.length}:${signature}` } },
    };
  }
}
