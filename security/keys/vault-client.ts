import { z } from 'zod';
import type { Clock } from '../../runtime/clock.ts';
import { SvcError } from '../../runtime/errors.ts';
import { jsonOrNull } from '../../runtime/json.ts';
import { LazyHttp } from '../lazy-http.ts';

const MAX_ANSWER_BYTES = 256 * 1024;
const CONNECT_TIMEOUT_MS = 3_000;
const REQUEST_TIMEOUT_MS = 5_000;
const RETRY_AFTER_MS = 1_000;

/** Connection failures after which a call is retried once. */
const LOST = ['ECONNREFUSED', 'ECONNRESET', 'EPIPE', 'UND_ERR_SOCKET', 'UND_ERR_CONNECT_TIMEOUT'];

/** Part of a lease after which it is renewed. */
const RENEW_AFTER = 2 / 3;

/** After this time a fixed token is renewed for the first time. */
const FIRST_RENEWAL_MS = 60_000;

const Lease = z.object({ lease_duration: z.number().min(0), renewable: z.boolean() });

const Login = z.object({ auth: Lease.partial().extend({ client_token: z.string().min(1).max(4_096) }) });

const Renewal = z.object({ auth: Lease });

/** A fixed token, or an AppRole that logs in again when its token has expired. */
export type VaultLogin =
  | { readonly token: () => Promise<string> }
  | { readonly approle: { readonly roleId: string; readonly secretId: () => Promise<string> } };

export interface VaultAddress {
  /** http or https URL of the server. */
  readonly address: string;
  readonly namespace?: string;
  /** The block of the settings, for errors: `spec.signing.vault`. */
  readonly setting: string;
  readonly clock: Pick<Clock, 'monotonic'>;
}

interface VaultAnswer {
  readonly status: number;
  /** Unchecked JSON of the answer; null without JSON. */
  readonly body: unknown;
}

interface Call {
  readonly method: 'GET' | 'POST';
  /** Path below /v1/, escaped. */
  readonly path: string;
  readonly body?: object;
}

/**
 * Client of the transit API of HashiCorp Vault and OpenBao. Times and sizes are bounded; a lost connection is retried once. Throws
 * `unavailable`, or `invalid_config` when a fixed token is refused. Errors contain fixed texts and a status only, since bodies,
 * headers and library errors may contain secrets.
 */
export class VaultClient {
  readonly #base: string;
  readonly #namespace: string | undefined;
  readonly #setting: string;
  readonly #login: VaultLogin;
  readonly #http = new LazyHttp({
    connect: { timeout: CONNECT_TIMEOUT_MS },
    headersTimeout: REQUEST_TIMEOUT_MS,
    bodyTimeout: REQUEST_TIMEOUT_MS,
    maxResponseSize: MAX_ANSWER_BYTES,
  });
  readonly #clock: Pick<Clock, 'monotonic'>;
  #token: Promise<string> | null = null;
  /** When the lease of the login is renewed, monotonic ms; null: it has none, or none that can be renewed. */
  #renewAtMs: number | null = null;

  constructor({ address, namespace, setting, clock }: VaultAddress, login: VaultLogin) {
    this.#clock = clock;
    this.#setting = setting;
    this.#base = `${address.replace(/\/+$/, '')}/v1/`;
    this.#namespace = namespace;
    this.#login = login;
  }

  /** Returns any answer below 500 except 403 and 429. */
  async call(call: Call): Promise<VaultAnswer> {
    const token = this.#currentToken();
    await this.#renew(await token);
    const answer = await this.#send(call, await token);
    if (answer.status !== 403) return answer;
    if ('token' in this.#login) {
      this.#token = null;
      throw new SvcError('invalid_config', `${this.#setting}.token: the key service refuses it for ${call.path} (403)`);
    }
    // The first call that was refused logs in; concurrent calls use its token.
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

  /** Renews the lease of the login in time. A renewal that fails changes nothing: the lease ends, and a new login follows. */
  async #renew(token: string): Promise<void> {
    const now = this.#clock.monotonic();
    if (this.#renewAtMs === null || now < this.#renewAtMs) return;
    this.#renewAtMs = null;
    const { status, body } = await this.#send({ method: 'POST', path: 'auth/token/renew-self', body: {} }, token);
    const renewal = Renewal.safeParse(body);
    if (status === 200 && renewal.success) this.#leased(renewal.data.auth);
  }

  #leased({ lease_duration = 0, renewable = false }: Partial<z.output<typeof Lease>>): void {
    const isLeased = renewable && lease_duration > 0;
    this.#renewAtMs = isLeased ? this.#clock.monotonic() + lease_duration * 1_000 * RENEW_AFTER : null;
  }

  async #logIn(): Promise<string> {
    if ('token' in this.#login) {
      // Its lease is unknown until the first renewal.
      this.#renewAtMs = this.#clock.monotonic() + FIRST_RENEWAL_MS;
      return this.#login.token();
    }
    const { roleId, secretId } = this.#login.approle;
    const body = { role_id: roleId, secret_id: await secretId() };
    const answer = await this.#send({ method: 'POST', path: 'auth/approle/login', body });
    const login = Login.safeParse(answer.body);
    if (answer.status !== 200 || !login.success) throw unavailable(`refuses the AppRole's login (${answer.status})`);
    this.#leased(login.data.auth);
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
        'content-type': body === undefined ? undefined : 'application/json',
        'x-vault-token': token,
        'x-vault-namespace': this.#namespace,
      },
      body: body === undefined ? undefined : JSON.stringify(body),
    });
    const text = await answer.body.text();
    const status = answer.statusCode;
    if (status >= 500 || status === 429 || (status >= 300 && status < 400)) throw unavailable(`answers ${status}`);
    return { status, body: jsonOrNull(text) };
  }
}

/** `unavailable` with what the key service did; `what` contains no text from the wire. */
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
