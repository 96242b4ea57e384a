import type { Json } from '../../runtime/json.ts';

/** Takes the place of a text that may be a secret. */
const REDACTED = '[redacted]';

/** Members whose texts are secrets, in snake_case, kebab-case or camelCase. */
const SECRET_MEMBER =
  /(^|[_-]|(?<=[a-z]))(api_?-?key|access_?-?key|private_?-?key|secret_?-?key|token|secret|secret_id|password|passwd|passphrase|credentials?|bearer|authorization|cookie)$/i;

/**
 * Texts that are secrets wherever they occur: API keys of this product, bearer tokens, PEM keys. A PEM key without its
 * end is masked up to the end of the text. Callers write these texts, so each pattern here and below takes linear time:
 * none scans a part of the text again from each of its characters.
 */
const SECRET_TEXT =
  /\bsvc_[A-Za-z0-9_-]{16,}|\b[Bb]earer\s+[A-Za-z0-9._~+/=-]{8,}|-----BEGIN [A-Z ]*PRIVATE KEY-----[\s\S]*?(?:-----END [A-Z ]*PRIVATE KEY-----|$)/g;

/** A stretch of text that may hold a JSON web token. */
const DOTTED = /[A-Za-z0-9_.-]{12,}/g;

/** Where a JSON web token begins in one of its three parts. */
const TOKEN_BEGIN = /\beyJ(?=[A-Za-z0-9_-]{8})/;

/** User and password of a URL. */
const URL_CREDENTIALS = /(?<=[a-z0-9+.-]:\/\/)[^\s/"']+@/gi;

/** A value written into settings or a manifest as a secret. */
const LITERAL = /^literal:/;

/** Largest state or payload that is shown, in characters of JSON. */
const MOST_SHOWN_CHARS = 1024 * 1024;

/** A recorded value as readers get it. */
interface ShownValue {
  /** Null when it is larger than readers get. */
  readonly value: Json;
  readonly chars: number;
  /** Present when the value is too large to be shown. */
  readonly omitted?: true;
}

/**
 * A recorded value with masked secrets. By design no message and no state holds secrets (S3); this masks secrets that a caller
 * sent in a value.
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

/** Masks secrets in a text that can be recognised by their form. */
export function withoutSecrets(text: string): string {
  if (LITERAL.test(text)) return `literal:${REDACTED}`;
  return text.replace(DOTTED, withoutTokens).replace(SECRET_TEXT, REDACTED).replace(URL_CREDENTIALS, `${REDACTED}@`);
}

/** Masks JSON web tokens: three parts between points, of which the last may be empty. */
function withoutTokens(dotted: string): string {
  if (!dotted.includes('eyJ')) return dotted;
  const parts = dotted.split('.');
  const shown: string[] = [];
  for (let at = 0; at < parts.length; at += 1) {
    const part = parts[at] ?? '';
    const begin = parts[at + 1] && parts[at + 2] !== undefined ? part.search(TOKEN_BEGIN) : -1;
    shown.push(begin < 0 ? part : part.slice(0, begin) + REDACTED);
    if (begin >= 0) at += 2;
  }
  return shown.join('.');
}

export const isoTime = (ms: number): string => new Date(ms).toISOString();
