import { STORED_ABOVE_BYTES } from './call.ts';

const HEAD_BYTES = STORED_ABOVE_BYTES / 2;

type TextPart = { type: 'text'; text: string };

export const textContent = (text: string): TextPart[] => [{ type: 'text', text }];

/** Content of a result that is kept whole in Blobs: its beginning, cut between characters, and a word about the rest. */
export function storedContent(text: string): TextPart[] {
  const bytes = Buffer.from(text);
  const head = new TextDecoder().decode(bytes.subarray(0, HEAD_BYTES), { stream: true });
  const shown = Math.min(bytes.length, HEAD_BYTES);
  const note = `[the first ${shown} bytes of a larger result; it is kept whole with the execution]`;
  return [...textContent(head), ...textContent(note)];
}
