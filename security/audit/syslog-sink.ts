import { createSocket, type Socket as UdpSocket } from 'node:dgram';
import { connect, type Socket } from 'node:net';
import type { AuditSink, SinkLine } from './sink-queue.ts';

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

  /** Resolves when the system has taken the bytes. A receiver that takes none for too long is a failure. */
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
    // What a receiver sends is not read for its content, only so that its end is seen at once.
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
