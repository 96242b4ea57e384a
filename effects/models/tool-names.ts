import type { ModelInput } from './call.ts';

const MAX_WIRE_CHARS = 64;

/**
 * Tool names as providers accept them. Ours have dots (`fs.read`), theirs must match `[A-Za-z0-9_-]{1,64}`; the same
 * input always gets the same names, and an answer is translated back.
 */
export class ToolNames {
  readonly #toWire = new Map<string, string>();
  readonly #fromWire = new Map<string, string>();

  constructor(input: ModelInput) {
    for (const tool of input.tools ?? []) this.#add(tool.name);
    for (const message of input.messages) {
      if (message.role === 'assistant') for (const call of message.tool_calls ?? []) this.#add(call.name);
      if (message.role === 'tool') this.#add(message.tool_name);
    }
  }

  toWire(name: string): string {
    return this.#toWire.get(name) ?? plain(name);
  }

  /** A name the model made up comes back as it is. */
  fromWire(wire: string): string {
    return this.#fromWire.get(wire) ?? wire;
  }

  #add(name: string): void {
    if (this.#toWire.has(name)) return;
    let wire = plain(name);
    for (let n = 2; this.#fromWire.has(wire); n += 1) {
      const suffix = `_${n}`;
      wire = `${plain(name).slice(0, MAX_WIRE_CHARS - suffix.length)}${suffix}`;
    }
    this.#toWire.set(name, wire);
    this.#fromWire.set(wire, name);
  }
}

const plain = (name: string): string => name.replace(/[^A-Za-z0-9_-]/g, '_').slice(0, MAX_WIRE_CHARS);
