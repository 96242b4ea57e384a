import { z } from 'zod';
import { SvcError } from '../../runtime/errors.ts';
import { LazyHttp } from '../lazy-http.ts';

const MAX_ANSWER_BYTES = 256 * 1024;
const CONNECT_TIMEOUT_MS = 3_000;
const REQUEST_TIMEOUT_MS = 5_000;
const RETRY_AFTER_MS = 1_000;

/** Failures after which the call may not have reached the server, or its answer not us. */
const LOST = ['ECONNREFUSED', 'ECONNRESET', 'EPIPE', 'UND_ERR_SOCKET', 'UND_ERR_CONNECT_TIMEOUT'];

const Login = z.object({ auth: z.object({ client_token: z.string().min(1).max(4_096) }) });

/** How to get in: one fixed token, or an AppRole that is logged in again when its token has run out. */
export type VaultLogin =
  | { readonly token: () => Promise<string> }
  | { readonly approle: { readonly roleId: string; readonly secretId: () => Promise<string> } };

export interface VaultAddress {
  /** http or https URL of the server. */
  readonly address: string;
  readonly namespace?: string;
}

export interface VaultAnswer {
  readonly status: number;
  /** The JSON of the answer, unchecked; null when it has none. */
  readonly body: unknown;
}

interface Call {
  readonly method: 'GET' | 'POST';
  /** Below /v1/, escaped. */
  readonly path: string;
  readonly body?: object;
}

/**
 * The HTTP API of HashiCorp Vault and OpenBao, as far as transit needs it. Time limits and sizes are bounded; a lost
 * connection is tried once more. Throws `unavailable`, or `invalid_config` when a fixed token is refused. What an error
 * says is fixed text and a status: bodies, headers and the errors of libraries may hold secrets and stay here.
 */
export class VaultClient {
  readonly #base: string;
  readonly #namespace: string | undefined;
  readonly #login: VaultLogin;
  readonly #http = new LazyHttp({
    connect: { timeout: CONNECT_TIMEOUT_MS },
    headersTimeout: REQUEST_TIMEOUT_MS,
    bodyTimeout: REQUEST_TIMEOUT_MS,
    maxResponseSize: MAX_ANSWER_BYTES,
  });
  #token: Promise<string> | null = null;

  constructor({ address, namespace }: VaultAddress, login: VaultLogin) {
    this.#base = `${address.replace(/\/+$/, '')}/v1/`;
    this.#namespace = namespace;
    this.#login = login;
  }

  /** Any answer below 500 but 403 and 429 is the caller's to judge. */
  async call(call: Call): Promise<VaultAnswer> {
    const token = this.#currentToken();
    const answer = await this.#send(call, await token);
    if (answer.status !== 403) return answer;
    if ('token' in this.#login) {
      this.#token = null;
      throw new SvcError(
        'invalid_config',
        `spec.signing.vault.token: the key service refuses it for ${call.path} (403)`,
      );
    }
    // Whoever saw the old token refused first logs in; the others take the new one.
    if (this.#token === token) this.#token = null;
    const again = await this.#send(call, await this.#currentToken());
    if (again.status === 403) throw unavailable(`refuses its AppRole ${call.path} (403)`);
    return again;
  }

  async close(): Promise<void> {
    this.#token = null;
    await this.#http.close();
  }

  #currentToken(): Promise<string> {
    if (this.#token !== null) return this.#token;
    const token = this.#logIn();
    this.#token = token;
    token.catch(() => {
      if (this.#token === token) this.#token = null;
    });
    return token;
  }

  async #logIn(): Promise<string> {
    if ('token' in this.#login) return this.#login.token();
    const { roleId, secretId } = this.#login.approle;
    const body = { role_id: roleId, secret_id: await secretId() };
    const answer = await this.#send({ method: 'POST', path: 'auth/approle/login', body });
    const login = Login.safeParse(answer.body);
    if (answer.status !== 200 || !login.success) throw unavailable(`refuses the AppRole's login (${answer.status})`);
    return login.data.auth.client_token;
  }

  async #send(call: Call, token?: string): Promise<VaultAnswer> {
    try {
      return await this.#attempt(call, token);
    } catch (error) {
      if (!LOST.includes(codeOf(error))) throw lost(error);
    }
    try {
      return await this.#attempt(call, token);
    } catch (error) {
      throw lost(error);
    }
  }

  async #attempt({ method, path, body }: Call, token: string | undefined): Promise<VaultAnswer> {
    const { agent, request } = await this.#http.open();
    const answer = await request(this.#base + path, {
      method,
      dispatcher: agent,
      signal: AbortSignal.timeout(REQUEST_TIMEOUT_MS),
      headers: {
        accept: 'application/json',
        'x-vault-request': 'true',
        ...(body === undefined ? {} : { 'content-type': 'application/json' }),
        ...(token === undefined ? {} : { 'x-vault-token': token }),
        ...(this.#namespace === undefined ? {} : { 'x-vault-namespace': this.#namespace }),
      },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    });
    const text = await answer.body.text();
    const status = answer.statusCode;
    if (status >= 500 || status === 429 || (status >= 300 && status < 400)) throw unavailable(`answers ${status}`);
    return { status, body: parsed(text) };
  }
}

/** `unavailable` that says what the key service does; `what` holds no text from the wire. */
export const unavailable = (what: string): SvcError =>
  new SvcError('unavailable', `The key service ${what}.`, { retryAfterMs: RETRY_AFTER_MS, store: 'secrets' });

function lost(error: unknown): SvcError {
  return error instanceof SvcError ? error : unavailable(`does not answer (${codeOf(error)})`);
}

const codeOf = (error: unknown): string => {
  if (!(error instanceof Error)) return 'unknown reason';
  if ('code' in error && typeof error.code === 'string') return error.code;
  return error.name;
};

/** Null for what is no JSON. The parser's error would quote the text, which may be a token. */
function parsed(text: string): unknown {
  if (text === '') return null;
  try {
    const value: unknown = JSON.parse(text);
    return value;
  } catch {
    return null;
  }
}
