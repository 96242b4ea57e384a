import { createSocket, type Socket as UdpSocket } from 'node:dgram';
import { type FileHandle, mkdir, open, rename, rm } from 'node:fs/promises';
import { connect, type Socket } from 'node:net';
import { dirname } from 'node:path';
import { systemCode } from '../../runtime/kit/system-code.ts';
import { LazyHttp } from '../lazy-http.ts';
import type { AuditSink, SinkLine } from './sink-queue.ts';

interface FileSinkSettings {
  readonly path: string;
  readonly max_bytes: number;
  readonly keep: number;
}

/** Appends lines to a file of mode 0600 and syncs it. A file that would get too large is renamed to `PATH.1` first. */
export class FileSink implements AuditSink {
  readonly #settings: FileSinkSettings;
  #file: { readonly handle: FileHandle; size: number } | null = null;

  constructor(settings: FileSinkSettings) {
    this.#settings = settings;
  }

  async write(lines: readonly SinkLine[]): Promise<void> {
    const bytes = Buffer.from(lines.map(({ text }) => `${text}\n`).join(''));
    let file = this.#file ?? (await this.#open());
    if (file.size > 0 && file.size + bytes.length > this.#settings.max_bytes) {
      await this.#rotate();
      file = await this.#open();
    }
    try {
      await file.handle.writeFile(bytes);
      await file.handle.datasync();
      file.size += bytes.length;
    } catch (thrown) {
      // Opened again at the next attempt, with its true size.
      await this.close();
      throw thrown;
    }
  }

  async close(): Promise<void> {
    const file = this.#file;
    this.#file = null;
    await file?.handle.close();
  }

  async #open(): Promise<{ readonly handle: FileHandle; size: number }> {
    const { path } = this.#settings;
    await mkdir(dirname(path), { recursive: true, mode: 0o700 });
    const handle = await open(path, 'a', 0o600);
    const { size } = await handle.stat();
    this.#file = { handle, size };
    return this.#file;
  }

  /** `PATH` becomes `PATH.1`, `PATH.1` becomes `PATH.2`; the oldest one is removed. */
  async #rotate(): Promise<void> {
    const { path, keep } = this.#settings;
    await this.close();
    await rm(`${path}.${keep}`, { force: true });
    for (let index = keep - 1; index >= 0; index -= 1) {
      const from = index === 0 ? path : `${path}.${index}`;
      await rename(from, `${path}.${index + 1}`).catch((thrown: unknown) => {
        if (systemCode(thrown) !== 'ENOENT') throw thrown;
      });
    }
  }
}

interface HttpSinkSettings {
  readonly url: string;
  readonly timeout_ms: number;
}

/** Posts lines as `application/x-ndjson`. Every status but 2xx is a failure, and the lines are sent again. */
export class HttpSink implements AuditSink {
  readonly #settings: HttpSinkSettings;
  readonly #token: (() => Promise<string>) | null;
  readonly #http: LazyHttp;

  /** `token` is called at each attempt, so that the token can be rotated; null: no token is sent. */
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
    if (statusCode < 200 || statusCode > 299) throw new Error(`the audit sink answered with HTTP status ${statusCode}`);
  }

  close(): Promise<void> {
    return this.#http.close();
  }
}

interface SyslogSettings {
  readonly host: string;
  readonly port: number;
  readonly protocol: 'tcp' | 'udp';
}

/** Facility "log audit" of RFC 5424. */
const FACILITY = 13;

const WARNING = 4;

const INFORMATIONAL = 6;

const TIMEOUT_MS = 5_000;

/** A host name holds printable ASCII without blanks. */
const UNFIT = /[^\x21-\x7e]/g;

/** Sends lines to a syslog receiver: messages of RFC 5424 over UDP, or over TCP with counted octets (RFC 6587). */
export class SyslogSink implements AuditSink {
  readonly #settings: SyslogSettings;
  readonly #host: string;
  #tcp: Socket | null = null;
  #udp: UdpSocket | null = null;

  constructor(settings: SyslogSettings, node: string) {
    this.#settings = settings;
    this.#host = node.replaceAll(UNFIT, '-').slice(0, 255);
  }

  async write(lines: readonly SinkLine[]): Promise<void> {
    const messages = lines.map((line) => Buffer.from(messageOf(line, this.#host)));
    if (this.#settings.protocol === 'udp') {
      for (const message of messages) await this.#send(message);
      return;
    }
    const framed = messages.flatMap((message) => [Buffer.from(`${message.length} `), message]);
    await this.#stream(Buffer.concat(framed));
  }

  async close(): Promise<void> {
    this.#tcp?.destroy();
    this.#tcp = null;
    this.#udp?.close();
    this.#udp = null;
  }

  async #send(message: Buffer): Promise<void> {
    const { host, port } = this.#settings;
    this.#udp ??= createSocket(host.includes(':') ? 'udp6' : 'udp4').unref();
    const socket = this.#udp;
    await new Promise<void>((resolve, reject) => {
      socket.send(message, port, host, (error) => (error === null ? resolve() : reject(error)));
    });
  }

  /** Resolves when the system has accepted the bytes. A receiver that reads nothing for too long is a failure. */
  async #stream(bytes: Buffer): Promise<void> {
    const socket = this.#tcp ?? (await this.#connect());
    await this.#within(socket, (done, failed) => {
      socket.write(bytes, (error) => (error === null || error === undefined ? done() : failed(error)));
    });
  }

  async #connect(): Promise<Socket> {
    const { host, port } = this.#settings;
    const socket = connect({ host, port });
    socket.unref();
    socket.on('close', () => {
      if (this.#tcp === socket) this.#tcp = null;
    });
    // The content of answers is ignored; reading them shows at once when the receiver closes the connection.
    socket.resume();
    socket.on('end', () => socket.destroy());
    await this.#within(socket, (done, failed) => {
      socket.once('connect', done);
      socket.on('error', failed);
    });
    this.#tcp = socket;
    return socket;
  }

  async #within(socket: Socket, work: (done: () => void, failed: (error: Error) => void) => void): Promise<void> {
    const { promise, resolve, reject } = Promise.withResolvers<void>();
    const timer = setTimeout(() => reject(new Error('the syslog receiver did not answer in time')), TIMEOUT_MS);
    const onClose = (): void => reject(new Error('the syslog receiver closed the connection'));
    socket.once('close', onClose);
    work(resolve, reject);
    try {
      await promise;
    } catch (thrown) {
      socket.destroy();
      throw thrown;
    } finally {
      clearTimeout(timer);
      socket.off('close', onClose);
    }
  }
}

function messageOf({ text, at, isDenial }: SinkLine, host: string): string {
  const priority = FACILITY * 8 + (isDenial ? WARNING : INFORMATIONAL);
  return `<${priority}>1 ${at} ${host || '-'} svc ${process.pid} audit - ${text}`;
}
