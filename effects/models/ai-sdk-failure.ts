import { APICallError } from 'ai';
import { ModelFailure } from './call.ts';
import { retryAfterMs } from './target-tries.ts';

interface CallState {
  /** Part of the answer had arrived. */
  readonly began: boolean;
  readonly secrets: readonly string[];
}

const MAX_CAUSES = 8;

/**
 * Converts an error of the AI SDK, thrown or from the stream. Keeps only status, error code and a redacted excerpt of the
 * provider's message; the error itself is dropped, because it contains the request.
 */
export function toModelFailure(error: unknown, state: CallState): ModelFailure {
  for (const link of causes(error)) if (link instanceof ModelFailure) return link;
  if (APICallError.isInstance(error)) return ofCall(error, state);
  const name = textOf(error, 'name') ?? '';
  if (name === 'AI_InvalidResponseDataError')
    return new ModelFailure('broken', 'the answer ended without a finish reason');
  if (MALFORMED_ANSWER.has(name)) return new ModelFailure('nonsense', 'the answer is not in the format of the API');
  if (WRONG_REQUEST.has(name)) return new ModelFailure('refused', describe('the request cannot be made', error, state));
  const network = networkCode(error);
  if (network !== undefined) return disconnected(network, state);
  return inStream(error, state);
}

const MALFORMED_ANSWER = new Set([
  'AI_JSONParseError',
  'AI_TypeValidationError',
  'AI_EmptyResponseBodyError',
  'AI_NoContentGeneratedError',
  'AI_NoOutputGeneratedError',
]);

const WRONG_REQUEST = new Set([
  'AI_InvalidPromptError',
  'AI_InvalidArgumentError',
  'AI_UnsupportedFunctionalityError',
  'AI_LoadAPIKeyError',
]);

function ofCall(error: APICallError, state: CallState): ModelFailure {
  const status = error.statusCode;
  if (status === undefined) return disconnected(networkCode(error) ?? 'no connection', state);
  // A status below 300 means that the error is in the answer, not in the request.
  if (status < 300) return cutOrNonsense(error, state);
  if (status === 401 || status === 403)
    return new ModelFailure('refused', `it answered ${status}: the credentials are refused`);
  // The SDK reports a first event that it cannot parse as a server error.
  if (status === 500 && error.responseBody?.includes('"name":"AI_')) return nonsense();
  if (status === 408 || status === 425 || status === 429 || status >= 500) {
    const wait = retryAfterMs(error.responseHeaders, Date.now());
    return new ModelFailure('busy', describe(`it answered ${status}`, error, state), wait);
  }
  return new ModelFailure('refused', describe(`it answered ${status}`, error, state));
}

const nonsense = (): ModelFailure => new ModelFailure('nonsense', 'the answer is not in the format of the API');

function cutOrNonsense(error: APICallError, state: CallState): ModelFailure {
  const network = networkCode(error);
  return network === undefined ? nonsense() : disconnected(network, state);
}

const disconnected = (code: string, { began }: CallState): ModelFailure =>
  began
    ? new ModelFailure('broken', `the connection was lost in the middle of the answer (${code})`)
    : new ModelFailure('busy', `the connection failed (${code})`);

/** An error event inside a stream: `{type, message}` or `{code, message}`, or a bare text. */
function inStream(error: unknown, state: CallState): ModelFailure {
  const type = textOf(error, 'type') ?? textOf(error, 'code') ?? textOf(error, 'status') ?? '';
  const refused = /invalid_request|authentication|permission|not_found|billing|^4(?!08|25|29)\d\d$/i.test(type);
  const kind = refused ? 'refused' : state.began ? 'broken' : 'busy';
  return new ModelFailure(kind, describe('it reported an error in the stream', error, state));
}

function describe(what: string, error: unknown, { secrets }: CallState): string {
  const text = typeof error === 'string' ? error : (textOf(error, 'message') ?? '');
  const shown = excerpt(text, secrets);
  return shown === '' ? what : `${what}: ${shown}`;
}

/** A code such as ECONNREFUSED from the chain of causes. The messages may contain addresses and are not used. */
function networkCode(error: unknown): string | undefined {
  for (const link of causes(error)) {
    const code = textOf(link, 'code');
    if (code !== undefined && /^(E[A-Z]{3,}|UND_ERR_[A-Z_]+|CERT_[A-Z_]+|[A-Z_]*CERT[A-Z_]*)$/.test(code)) return code;
    if (link instanceof TypeError && link.message === 'terminated') return 'terminated';
    // Its message repeats what the server sent, and it has no code.
    if (textOf(link, 'name') === 'HTTPParserError') return 'the answer is not HTTP';
  }
  return undefined;
}

function* causes(error: unknown): Generator<unknown> {
  let link = error;
  for (let depth = 0; depth < MAX_CAUSES && link !== undefined && link !== null; depth += 1) {
    yield link;
    link = link instanceof Error ? link.cause : undefined;
  }
}

function textOf(value: unknown, key: string): string | undefined {
  if (typeof value !== 'object' || value === null || !(key in value)) return undefined;
  const found: unknown = Reflect.get(value, key);
  return typeof found === 'string' || typeof found === 'number' ? String(found) : undefined;
}

const MAX_EXCERPT_CHARS = 300;

/** Shorter strings are placeholders such as `x`; replacing them would destroy the text. */
const MIN_SECRET_CHARS = 4;

/** Patterns of unknown keys that a provider repeats, complete or masked. */
const KEY_SHAPES = [
  /\b(?:sk|pk|rk|gsk|xai|key)-[A-Za-z0-9_*.-]{6,}/g,
  /\bAIza[A-Za-z0-9_*-]{10,}/g,
  /\b(?:Bearer|Basic)\s+[^\s"',]{6,}/gi,
];

/** A provider's message, short, on one line, without known secrets and anything that looks like a key. */
export function excerpt(text: string, secrets: readonly string[]): string {
  let clean = text;
  for (const secret of secrets) {
    if (secret.length < MIN_SECRET_CHARS) continue;
    for (const shape of [secret, encodeURIComponent(secret), Buffer.from(secret).toString('base64')]) {
      clean = clean.replaceAll(shape, '[redacted]');
    }
  }
  for (const shape of KEY_SHAPES) clean = clean.replace(shape, '[redacted]');
  const line = clean.replace(/\s+/g, ' ').trim();
  return line.length > MAX_EXCERPT_CHARS ? `${line.slice(0, MAX_EXCERPT_CHARS)}…` : line;
}
