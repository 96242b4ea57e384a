/**
 * The bytes of base64 in its one canonical form: the standard alphabet with padding, or the URL alphabet without. Null for
 * anything else: white space, missing padding, spare bits, both alphabets mixed.
 */
export function decodeBase64(text: string): Buffer | null {
  const bytes = Buffer.from(text, 'base64');
  return bytes.toString('base64') === text || bytes.toString('base64url') === text ? bytes : null;
}
