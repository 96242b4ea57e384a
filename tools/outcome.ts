import { STORED_ABOVE_BYTES, type ToolOutcome } from '../manifests/tool/call.ts';
import { storedContent, textContent } from '../manifests/tool/stored-result.ts';
import type { Blobs } from '../runtime/blobs.ts';
import { PAYLOAD_LIMIT_BYTES } from '../runtime/blobs.ts';
import { ToolFailure } from './failure.ts';

/** A result before its size is looked at. */
export type WholeOutcome = Omit<ToolOutcome, 'stored' | 'duration_ms'>;

const MAX_ERROR_CHARS = 2_000;

/** What the caller gets of a tool that failed. */
export function failedOutcome(failure: ToolFailure): WholeOutcome {
  const { code, class: failureClass, message, retryAfterMs, structured } = failure;
  const said = message.slice(0, MAX_ERROR_CHARS);
  return {
    // Spec 3 names this one by its text.
    content: textContent(code === 'cortex_not_configured' ? said : `${code}: ${said}`),
    ...(structured === undefined ? {} : { structured }),
    is_error: true,
    error: {
      ...{ code, class: failureClass, message: said },
      ...(retryAfterMs === undefined ? {} : { retry_after_ms: retryAfterMs }),
    },
  };
}

/**
 * Bounds a result: one over `maxBytes` is an error of the tool, a large one is stored aside whole and only its beginning
 * goes on in messages.
 */
export async function boundedOutcome(
  whole: WholeOutcome,
  bounds: { readonly tenant: string; readonly owner: string; readonly blobs: Blobs; readonly maxBytes: number },
): Promise<Omit<ToolOutcome, 'duration_ms'>> {
  const { content, structured } = whole;
  const json = Buffer.from(JSON.stringify(structured === undefined ? { content } : { content, structured }));
  const maxBytes = Math.min(bounds.maxBytes, PAYLOAD_LIMIT_BYTES);
  if (answerBytes(whole) > maxBytes || json.length > PAYLOAD_LIMIT_BYTES) {
    const text = `the result has more than the ${maxBytes} bytes that are allowed: ask for less of it`;
    return failedOutcome(new ToolFailure('OutputSizeLimitExceeded', text));
  }
  if (json.length <= STORED_ABOVE_BYTES) return whole;
  const ref = await bounds.blobs.put(bounds.tenant, json, bounds.owner);
  const { structured: _aside, ...rest } = whole;
  return { ...rest, content: headOf(whole), stored: { ref, bytes: json.length } };
}

/** What a tool answered: its texts, or where it has none all of its content. */
function answerBytes({ content }: WholeOutcome): number {
  let bytes = 0;
  for (const part of content) {
    bytes += Buffer.byteLength(typeof part.text === 'string' ? part.text : JSON.stringify(part));
  }
  return bytes;
}

/** The beginning of the first text. */
function headOf({ content }: WholeOutcome): WholeOutcome['content'] {
  const text = content.find((part) => typeof part.text === 'string')?.text;
  return storedContent(typeof text === 'string' ? text : '');
}
