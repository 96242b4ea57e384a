import { createHmac, timingSafeEqual } from 'node:crypto';
import type { WebhookScheme } from '../../manifests/node/rate-limits.ts';
import { SvcError } from '../../runtime/errors.ts';
import { parseStrictJson } from '../seal/strict-json.ts';

/** Headers of a request, each with the values it was sent with: `IncomingMessage.headersDistinct`. */
export type DeliveryHeaders = Readonly<Record<string, readonly string[] | undefined>>;

interface ClaimedDelivery extends SignedContent {
  /** Deliveries with the same key are repeats; null: the headers contain no key (see `eventIdOf`). */
  readonly key: string | undefined | null;
}

/** How a delivery with a known key is handled. */
export interface RepeatRules {
  /** How long a delivery counts as a repeat, from the first delivery on. */
  readonly windowMs: number;
  /**
   * True: a repeat gets the answer of the first delivery, for senders that count every status but 2xx as a failure. False: it
   * is refused.
   */
  readonly answered: boolean;
}

/** The signature scheme of one kind of sender. */
interface SchemeRules {
  /** Headers by name as documented, each with its expected format. */
  readonly headers: Readonly<Record<string, string>>;
  /** `now` is the node's time, Unix ms. Throws `missing_signature`, `malformed_signature`, `invalid_signature`. */
  read(headers: DeliveryHeaders, now: number): ClaimedDelivery;
  /** The key of the HMAC; null when the text is not a secret of the scheme. */
  secret(text: string): Uint8Array | null;
  /** How repeats are handled; by default they are refused for 24 hours (H22). */
  readonly repeats?: RepeatRules;
  /** The member of the signed body that contains the event id, and the prefix of such ids. */
  readonly eventId?: { readonly member: string; readonly prefix: string };
}

/** Maximum difference between a signed time and the node's clock. */
const TOLERANCE_MS = 300_000;

/** Maximum number of signatures compared. A sender that changes its secret signs with two. */
const MOST_DIGESTS = 8;

const MAX_KEY_CHARS = 255;

const DAY_MS = 86_400_000;

const text = (secret: string): Uint8Array => Buffer.from(secret);

/** Scheme `svc` (H25): `X-Svc-Signature` over the body, with an optional key. */
const svc: SchemeRules = {
  headers: {
    'X-Svc-Signature': 'sha256= and the HMAC-SHA256 of the raw body in hexadecimal',
    'X-Idempotency-Key': 'optional; a repeat within 24 hours is a duplicate',
  },
  secret: text,
  read(headers) {
    const signature = onlyValue(svc, headers, 'X-Svc-Signature');
    const hex = /^sha256=((?:[0-9a-f]{2})+)$/i.exec(signature)?.[1];
    if (hex === undefined) throw malformed(svc, 'X-Svc-Signature');
    // Repeated headers are joined, as HTTP does.
    const key = headers['x-idempotency-key']?.join(', ') ?? '';
    return { prefix: '', digests: [Buffer.from(hex, 'hex')], key: key === '' ? undefined : key };
  },
};

/** Standard Webhooks 1.0: id, time and body are signed. The id stays the same when a delivery is retried. */
const standardWebhooks: SchemeRules = {
  headers: {
    'webhook-id': 'the id of the message, 1 to 255 visible ASCII characters without a full stop',
    'webhook-timestamp': 'the time of the delivery, in whole seconds since 1970',
    'webhook-signature': 'v1, and the HMAC-SHA256 of id.timestamp.body in base64; several with spaces between',
  },
  /** Base64, with or without the prefix `whsec_`. */
  secret(secret) {
    const base64 = secret.replace(/^whsec_/, '');
    const isBase64 = /^(?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)?$/.test(base64);
    return isBase64 && base64 !== '' ? Buffer.from(base64, 'base64') : null;
  },
  read(headers, now) {
    const id = keyOf(standardWebhooks, headers, 'webhook-id');
    // Otherwise the end of an id could be read as the time, and the time as the start of the body.
    if (id.includes('.')) throw malformed(standardWebhooks, 'webhook-id');
    const time = timeOf(standardWebhooks, headers, 'webhook-timestamp', now);
    const signatures = onlyValue(standardWebhooks, headers, 'webhook-signature').split(' ');
    const known = signatures.filter((one) => one.startsWith('v1,')).map((one) => one.slice('v1,'.length));
    if (!known.every((one) => /^[A-Za-z0-9+/]{43}=$/.test(one))) throw malformed(standardWebhooks, 'webhook-signature');
    const digests = atMost(known, standardWebhooks, 'webhook-signature').map((one) => Buffer.from(one, 'base64'));
    return { prefix: `${id}.${time}.`, digests, key: id };
  },
};

/**
 * Stripe: one header contains the time and a signature for each secret; elements of other schemes are ignored. Each retry is
 * signed with its own time; the event id stays the same. Stripe retries for three days and disables an endpoint that keeps
 * failing.
 */
const stripe: SchemeRules = {
  headers: {
    'Stripe-Signature': 't=, the time in whole seconds since 1970, and v1=, the HMAC-SHA256 of t.body in hexadecimal',
  },
  secret: text,
  repeats: { windowMs: 4 * DAY_MS, answered: true },
  eventId: { member: 'id', prefix: 'evt_' },
  read(headers, now) {
    const elements = onlyValue(stripe, headers, 'Stripe-Signature').split(',');
    const named = (name: string): string[] =>
      elements.filter((one) => one.startsWith(`${name}=`)).map((one) => one.slice(name.length + 1));
    const [time, ...others] = named('t');
    if (time === undefined || others.length > 0 || !isTime(time)) throw malformed(stripe, 'Stripe-Signature');
    requireFresh('Stripe-Signature', time, now);
    const digests = atMost(named('v1'), stripe, 'Stripe-Signature').map((hex) =>
      digestOf(hex, stripe, 'Stripe-Signature'),
    );
    return { prefix: `${time}.`, digests, key: null };
  },
};

/**
 * Slack: version, time and body are signed. Each retry is signed with its own time; the event id stays the same. Commands and
 * interactions have no event id. Slack retries for minutes and disables an endpoint that fails often.
 */
const slack: SchemeRules = {
  headers: {
    'X-Slack-Request-Timestamp': 'the time of the delivery, in whole seconds since 1970',
    'X-Slack-Signature': 'v0= and the HMAC-SHA256 of v0:timestamp:body in hexadecimal',
  },
  secret: text,
  repeats: { windowMs: DAY_MS, answered: true },
  eventId: { member: 'event_id', prefix: 'Ev' },
  read(headers, now) {
    const time = timeOf(slack, headers, 'X-Slack-Request-Timestamp', now);
    const signature = onlyValue(slack, headers, 'X-Slack-Signature');
    if (!signature.startsWith('v0=')) throw malformed(slack, 'X-Slack-Signature');
    const digest = digestOf(signature.slice('v0='.length), slack, 'X-Slack-Signature');
    return { prefix: `v0:${time}:`, digests: [digest], key: null };
  },
};

/** GitHub: only the body is signed. The delivery id stays the same when a user requests a redelivery. */
const github: SchemeRules = {
  headers: {
    'X-Hub-Signature-256': 'sha256= and the HMAC-SHA256 of the raw body in hexadecimal',
    'X-GitHub-Delivery': 'the id of the delivery, 1 to 255 visible ASCII characters',
  },
  secret: text,
  read(headers) {
    const signature = onlyValue(github, headers, 'X-Hub-Signature-256');
    if (!signature.startsWith('sha256=')) throw malformed(github, 'X-Hub-Signature-256');
    const digest = digestOf(signature.slice('sha256='.length), github, 'X-Hub-Signature-256');
    return { prefix: '', digests: [digest], key: keyOf(github, headers, 'X-GitHub-Delivery') };
  },
};

export const SCHEMES: Readonly<Record<WebhookScheme, SchemeRules>> = {
  svc,
  'standard-webhooks': standardWebhooks,
  stripe,
  slack,
  github,
};

/**
 * The event id in a verified body, or null when it cannot serve as a key; deliveries are then distinguished by their
 * signatures. An id with another prefix is not used, since it may name the subject of an event, which several events share.
 * JSON that is ambiguous (`parseStrictJson`) has no id.
 */
export function eventIdOf({ eventId }: SchemeRules, body: Uint8Array): string | null {
  if (eventId === undefined) return null;
  const event = parseStrictJson(body);
  if (event === null || typeof event !== 'object' || Array.isArray(event)) return null;
  const id = event[eventId.member];
  if (typeof id !== 'string' || !id.startsWith(eventId.prefix) || id.length === eventId.prefix.length) return null;
  return isKey(id) ? id : null;
}

/** The only value of a header. Two values are refused, since two readers could choose different ones. */
function onlyValue(rules: SchemeRules, headers: DeliveryHeaders, name: string): string {
  const [value = '', ...others] = headers[name.toLowerCase()] ?? [];
  if (others.length > 0) throw malformed(rules, name, 'once, ');
  if (value.trim() !== '') return value.trim();
  throw new SvcError('missing_signature', `${name} is missing: expected ${rules.headers[name]}`, { field: name });
}

function keyOf(rules: SchemeRules, headers: DeliveryHeaders, name: string): string {
  const key = onlyValue(rules, headers, name);
  if (!isKey(key)) throw malformed(rules, name);
  return key;
}

const isKey = (value: string): boolean => value.length <= MAX_KEY_CHARS && /^[\x21-\x7e]+$/.test(value);

/** Digits only, so that the signed text has one reading. */
const isTime = (value: string): boolean => /^[1-9]\d{0,11}$/.test(value);

function timeOf(rules: SchemeRules, headers: DeliveryHeaders, name: string, now: number): string {
  const time = onlyValue(rules, headers, name);
  if (!isTime(time)) throw malformed(rules, name);
  requireFresh(name, time, now);
  return time;
}

function requireFresh(name: string, time: string, now: number): void {
  if (Math.abs(now - Number(time) * 1_000) <= TOLERANCE_MS) return;
  const expected = `expected a time within ${TOLERANCE_MS / 1_000} s of the node's clock`;
  throw new SvcError('invalid_signature', `${name}: ${expected}`, { field: name });
}

function digestOf(hex: string, rules: SchemeRules, name: string): Uint8Array {
  if (/^[0-9a-f]{64}$/i.test(hex)) return Buffer.from(hex, 'hex');
  throw malformed(rules, name);
}

function atMost(found: readonly string[], rules: SchemeRules, name: string): readonly string[] {
  if (found.length > 0 && found.length <= MOST_DIGESTS) return found;
  throw malformed(rules, name, found.length === 0 ? '' : `at most ${MOST_DIGESTS} signatures, `);
}

const malformed = (rules: SchemeRules, name: string, also = ''): SvcError =>
  new SvcError('malformed_signature', `${name}: expected ${also}${rules.headers[name]}`, { field: name });

/** The signature of a body that is still being received. */
export interface BodySignature {
  update(chunk: Uint8Array): void;
  /** Compares in constant time, after the whole body was given. Throws `invalid_signature`. */
  verify(): void;
}

/** The content of a delivery's headers, known before its body is read. */
interface SignedContent {
  /** Signed before the body, such as the time. */
  readonly prefix: string;
  /** Signatures; one of them must be valid. */
  readonly digests: readonly Uint8Array[];
}

/**
 * HMAC-SHA256 over the prefix and the streamed raw body, with each secret of the source. One digest with one secret must match;
 * all are compared, so the time taken does not reveal which one matched.
 */
export class HmacSignature implements BodySignature {
  readonly #hmacs: readonly ReturnType<typeof createHmac>[];
  readonly #digests: readonly Uint8Array[];
  #verified: string | null = null;

  constructor({ prefix, digests }: SignedContent, secrets: readonly Uint8Array[]) {
    this.#hmacs = secrets.map((secret) => createHmac('sha256', secret).update(prefix));
    this.#digests = digests;
  }

  /** The matching digest, hex; null before `verify`. */
  get verified(): string | null {
    return this.#verified;
  }

  update(chunk: Uint8Array): void {
    for (const hmac of this.#hmacs) hmac.update(chunk);
  }

  verify(): void {
    let verified: string | null = null;
    for (const hmac of this.#hmacs) {
      const expected = hmac.digest();
      for (const digest of this.#digests) if (isEqual(digest, expected)) verified = expected.toString('hex');
    }
    if (verified === null) throw new SvcError('invalid_signature');
    this.#verified = verified;
  }
}

/** The length of a valid digest is public. */
const isEqual = (one: Uint8Array, other: Uint8Array): boolean =>
  one.length === other.length && timingSafeEqual(one, other);
