import type { ToolOutcome } from '../../../manifests/tool/call.ts';
import { keepHead } from '../bounded-text.ts';
import { LOOP } from './limits.ts';
import type { CallAnswer } from './state.ts';

const NOT_AVAILABLE = 'This is not available to you; do not ask for it again.';
/** Denials that another call of the same tool may avoid. */
const AVOIDABLE: ReadonlySet<string> = new Set([
  'InvalidArguments',
  'JudgeRejected',
  'RateLimitExceeded',
  'ConcurrentExecLimitExceeded',
]);

const notAvailable = (message: string): string => `${message}${/[.!?]$/.test(message) ? '' : '.'} ${NOT_AVAILABLE}`;

/** A call that was not run: what the model should make of it (original-facts 6.4, error classes). */
export function deniedAnswer(reason: string, message: string): CallAnswer {
  const said = AVOIDABLE.has(reason) ? message : notAvailable(message);
  return { content: keepHead(`Error ${reason}: ${said}`, LOOP.resultChars), is_error: true };
}

export const IN_DOUBT =
  'Error in_doubt: the call had started when its node failed, so it may or may not have acted. It was not repeated. ' +
  'Find out what is there before you ask for it again.';

/** What ran, as the model reads it. */
export function outcomeAnswer({ content, is_error, error, stored }: ToolOutcome): CallAnswer {
  const text = content.map(partText).join('\n');
  const said = error?.class === 'policy' ? notAvailable(error.message) : error?.message;
  const head = is_error ? `Error${error === undefined ? '' : ` ${error.code}: ${said}`}` : '';
  const parts = [head, error !== undefined && isSaid(text, error) ? '' : text].filter((part) => part !== '');
  return {
    content: keepHead(parts.join('\n'), LOOP.resultChars),
    // An error's own words are short; only a result is looked up whole.
    ...(stored === undefined || is_error ? {} : { content_ref: stored.ref }),
    is_error,
  };
}

/** An error's text is its code and message, or its message alone: once is enough. */
const isSaid = (text: string, { code, message }: NonNullable<ToolOutcome['error']>): boolean =>
  text === message || text === `${code}: ${message}`;

/** Models are given text: of anything else they are told that it is there. */
function partText(part: ToolOutcome['content'][number]): string {
  if (part.type === 'text' && typeof part.text === 'string') return part.text;
  const type = typeof part.mimeType === 'string' ? `${String(part.type)}, ${part.mimeType}` : String(part.type);
  return `[${type}: not shown]`;
}
