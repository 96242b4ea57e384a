import { LazyHttp } from '../lazy-http.ts';
import type { AuditSink, SinkLine } from './sink-queue.ts';

interface HttpSinkSettings {
  readonly url: string;
  readonly timeout_ms: number;
}

/** Posts lines as `application/x-ndjson`. Every status but 2xx is a failure, and the lines are sent again. */
export class HttpSink implements AuditSink {
  readonly #settings: HttpSinkSettings;
  readonly #token: (() => Promise<string>) | null;
  readonly #http: LazyHttp;

  /** `token` is asked for at each attempt, so that it can be rotated; null: none is sent. */
  constructor(settings: HttpSinkSettings, token: (() => Promise<string>) | null) {
    const { timeout_ms: timeout } = settings;
    this.#settings = settings;
    this.#token = token;
    this.#http = new LazyHttp({ connect: { timeout }, headersTimeout: timeout, bodyTimeout: timeout });
  }

  async write(lines: readonly SinkLine[]): Promise<void> {
    const { url, timeout_ms } = this.#settings;
    const token = await this.#token?.();
    const { agent, request } = await this.#http.open();
    const { statusCode, body } = await request(url, {
      method: 'POST',
      dispatcher: agent,
      headers: {
        'content-type': 'application/x-ndjson',
        ...(token === undefined ? {} : { authorization: `Bearer ${token}` }),
      },
      body: lines.map(({ text }) => `${text}\n`).join(''),
      signal: AbortSignal.timeout(timeout_ms),
    });
    await body.dump();
    if (statusCode < 200 || statusCode > 299) throw new Error(`the sink of the audit answered ${statusCode}`);
  }

  close(): Promise<void> {
    return this.#http.close();
  }
}
