const text = (value: string): Uint8Array => Buffer.from(value);

/** How messages begin, unless they carry a span; EFFECT and PAYLOAD are in those of effects. */
const [ID, TO, FROM, CAUSE, TRACE, ORIGIN, NULL, EFFECT, PAYLOAD] = [
  ...[text('{"id":"'), text('","to":"'), text('","from":'), text(',"cause":'), text(',"trace":"')],
  ...[text('","origin":"'), text('null'), text('effect","type":"'), text('","payload":{"effectId":"')],
] as const;
const [QUOTE, BACKSLASH, SLASH] = ['"', '\\', '/'].map((one) => one.charCodeAt(0));
/** First letters of the origins client, actor and timer. */
const ORIGINS = new Set(['c', 'a', 't'].map((one) => one.charCodeAt(0)));

/**
 * Finds the keys in the bytes of a message without creating strings. It knows how this version encodes most messages; all
 * others must be decoded.
 */
export class MessageKeys {
  id = { from: 0, to: 0 };
  to = { from: 0, to: 0 };
  tenant = { from: 0, to: 0 };
  /** Empty: null. */
  cause = { from: 0, to: 0 };
  trace = { from: 0, to: 0 };
  /** Empty: it is no message of an effect. */
  effect = { from: 0, to: 0 };
  #bytes: Uint8Array = new Uint8Array(0);
  #end = 0;

  /** False: the message has another encoding. */
  find(bytes: Uint8Array, from: number, to: number): boolean {
    this.#bytes = bytes;
    this.#end = to;
    let at = this.#after(ID, from);
    at = this.#after(TO, this.#value(this.id, at));
    at = this.#after(FROM, this.#value(this.to, at));
    at = this.#after(CAUSE, this.#nullable(this.cause, at));
    at = this.#after(TRACE, this.#nullable(this.cause, at));
    at = this.#after(ORIGIN, this.#value(this.trace, at));
    return at >= 0 && (ORIGINS.has(bytes[at] ?? 0) ? this.#isOfNone() : this.#findEffect(at)) && this.#findTenant();
  }

  #isOfNone(): boolean {
    this.effect.to = 0;
    return true;
  }

  /** The id of the effect is the first member of the payloads of results and progress. */
  #findEffect(from: number): boolean {
    const type = this.#value(this.effect, this.#after(EFFECT, from));
    return this.#value(this.effect, this.#after(PAYLOAD, type)) >= 0;
  }

  /** Returns the end of `expected`, which must begin at `from`; -1 when it does not. */
  #after(expected: Uint8Array, from: number): number {
    if (from < 0 || from + expected.length > this.#end) return -1;
    for (let at = 0; at < expected.length; at += 1) if (this.#bytes[from + at] !== expected[at]) return -1;
    return from + expected.length;
  }

  /** A value in ASCII up to its quote. Returns the position of the quote; -1: there is no such value. */
  #value(value: { from: number; to: number }, from: number): number {
    if (from < 0) return -1;
    for (let at = from; at < this.#end; at += 1) {
      const byte = this.#bytes[at] ?? 0;
      if (byte === QUOTE) {
        value.from = from;
        value.to = at;
        return at > from ? at : -1;
      }
      if (byte === BACKSLASH || byte > 127) return -1;
    }
    return -1;
  }

  /** A value with its quotes, or null. Returns where it ends. */
  #nullable(value: { from: number; to: number }, from: number): number {
    if (from < 0) return -1;
    value.from = 0;
    value.to = 0;
    if (this.#bytes[from] !== QUOTE) return this.#after(NULL, from);
    const end = this.#value(value, from + 1);
    return end < 0 ? -1 : end + 1;
  }

  #findTenant(): boolean {
    const { from, to } = this.to;
    const bytes = this.#bytes;
    const { tenant } = this;
    for (tenant.from = from; tenant.from < to && bytes[tenant.from] !== SLASH; ) tenant.from += 1;
    for (tenant.to = to - 1; tenant.to > from && bytes[tenant.to] !== SLASH; ) tenant.to -= 1;
    tenant.from += 1;
    return tenant.from < tenant.to;
  }
}
