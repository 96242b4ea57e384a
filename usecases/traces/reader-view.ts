import type { Json } from '../../runtime/json.ts';

/** Takes the place of a text that may be a secret. */
export const REDACTED = '[redacted]';

/** Members whose texts are secrets, in snake_case, kebab-case or camelCase. */
const SECRET_MEMBER =
  /(^|[_-]|(?<=[a-z]))(api_?-?key|access_?-?key|private_?-?key|secret_?-?key|token|secret|secret_id|password|passwd|passphrase|credentials?|bearer|authorization|cookie)$/i;

/** Texts that are secrets wherever they stand: API keys of this product, bearer tokens, JSON web tokens, PEM keys. */
const SECRET_TEXT =
  /\bsvc_[A-Za-z0-9_-]{16,}|\bBearer\s+[A-Za-z0-9._~+/=-]{8,}|\beyJ[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]+\.[A-Za-z0-9_-]*|-----BEGIN [A-Z ]*PRIVATE KEY-----[\s\S]*?-----END [A-Z ]*PRIVATE KEY-----/g;

/** User and password of a URL. */
const URL_CREDENTIALS = /\b([a-z][a-z0-9+.-]*:\/\/)[^\s/@"']+@/gi;

/** A value written into settings or a manifest as a secret. */
const LITERAL = /^literal:/;

/** Largest state or payload that is shown, in characters of JSON. */
const MOST_SHOWN_CHARS = 1024 * 1024;

/** A recorded value as readers get it. */
export interface ShownValue {
  /** Null when it is larger than readers get. */
  readonly value: Json;
  readonly chars: number;
  /** Present when the value is too large to be shown. */
  readonly omitted?: true;
}

/**
 * A recorded value without what looks like a secret. By design no message and no state holds secrets (S3); this keeps
 * back what a caller put there by itself.
 */
export function shownValue(value: Json, mostChars = MOST_SHOWN_CHARS): ShownValue {
  const chars = JSON.stringify(value).length;
  if (chars > mostChars) return { value: null, chars, omitted: true };
  return { value: masked(value, false), chars };
}

function masked(value: Json, isSecret: boolean): Json {
  if (typeof value === 'string') return isSecret && value !== '' ? REDACTED : withoutSecrets(value);
  if (Array.isArray(value)) return value.map((one) => masked(one, isSecret));
  if (value === null || typeof value !== 'object') return value;
  return Object.fromEntries(
    Object.entries(value).map(([name, one]) => [name, masked(one, isSecret || SECRET_MEMBER.test(name))]),
  );
}

/** A text without secrets that can be told by their form. */
export function withoutSecrets(text: string): string {
  if (LITERAL.test(text)) return `literal:${REDACTED}`;
  return text.replace(SECRET_TEXT, REDACTED).replace(URL_CREDENTIALS, `$1${REDACTED}@`);
}

export const isoTime = (ms: number): string => new Date(ms).toISOString();
