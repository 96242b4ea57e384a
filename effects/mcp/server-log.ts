import { StringDecoder } from 'node:string_decoder';
import type { McpLimits, McpLog } from './limits.ts';

const SECOND_MS = 1_000;

const TAIL_LINES = 6;

/** Logs standard error of a server line by line at level debug, without secrets, shortened and rate-limited. */
export class ServerLog {
  readonly #server: string;
  readonly #clean: (text: string) => string;
  readonly #limits: McpLimits;
  readonly #log: McpLog;
  readonly #now: () => number;
  readonly #decoder = new StringDecoder('utf8');
  #rest = '';
  #cutting = false;
  #second = 0;
  #lines = 0;
  /** The last lines, for the reason of the server's end. */
  readonly #tail: string[] = [];

  constructor(parts: {
    readonly server: string;
    readonly clean: (text: string) => string;
    readonly limits: McpLimits;
    readonly log: McpLog;
    readonly now: () => number;
  }) {
    this.#server = parts.server;
    this.#clean = parts.clean;
    this.#limits = parts.limits;
    this.#log = parts.log;
    this.#now = parts.now;
  }

  get tail(): string {
    return this.#tail.join(' | ');
  }

  push(chunk: Buffer): void {
    const lines = (this.#rest + this.#decoder.write(chunk)).split('\n');
    this.#rest = lines.pop() ?? '';
    for (const line of lines) {
      if (!this.#cutting) this.#write(line);
      this.#cutting = false;
    }
    if (this.#rest.length <= this.#limits.logLineChars) return;
    if (!this.#cutting) this.#write(this.#rest);
    this.#rest = '';
    this.#cutting = true;
  }

  end(): void {
    if (this.#rest !== '' && !this.#cutting) this.#write(this.#rest);
    this.#rest = '';
  }

  #write(line: string): void {
    // Redacted before it is shortened: half a secret would not be found.
    const text = this.#clean(line).slice(0, this.#limits.logLineChars).trimEnd();
    if (text === '') return;
    this.#tail.push(text);
    if (this.#tail.length > TAIL_LINES) this.#tail.shift();
    const second = Math.floor(this.#now() / SECOND_MS);
    if (second !== this.#second) {
      this.#second = second;
      this.#lines = 0;
    }
    this.#lines += 1;
    if (this.#lines <= this.#limits.logLines) this.#log.debug({ server: this.#server, line: text }, 'MCP server says');
  }
}
