import { SvcError } from './errors.ts';
import type { Member } from './members.ts';

/** Most bytes of a member's card and of a signal's word, as UTF-8. */
export const MEMBER_TEXT_BYTES = 16 * 1024;

const MOST_NAME_LENGTH = 256;
const CONTROL = /\p{Cc}/u;

/** What every `Members` refuses before it asks its store: `invalid_argument` or `payload_too_large`, naming the field. */
export function checkMember({ node, incarnation, card }: Member): void {
  checkName(node, 'node');
  checkName(incarnation, 'incarnation');
  checkSize(card, 'card');
}

/** As `checkMember`, for a signal. */
export function checkSignal(node: string | null, word: string): void {
  if (node !== null) checkName(node, 'node');
  checkSize(word, 'word');
}

function checkName(name: string, field: string): void {
  if (name !== '' && name.length <= MOST_NAME_LENGTH && !CONTROL.test(name)) return;
  const expected = `1 to ${MOST_NAME_LENGTH} characters, none of them a control character`;
  throw new SvcError('invalid_argument', `${field} must have ${expected}`, { field });
}

function checkSize(text: string, field: string): void {
  const bytes = Buffer.byteLength(text);
  if (bytes <= MEMBER_TEXT_BYTES) return;
  throw new SvcError('payload_too_large', `${field} has ${bytes} bytes; at most ${MEMBER_TEXT_BYTES} are taken`, {
    field,
  });
}
