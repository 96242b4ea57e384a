const MAX_EXCERPT_CHARS = 300;
/** Shorter strings are placeholders such as `x`, not secrets; replacing them would only destroy the text. */
const MIN_SECRET_CHARS = 4;

/** What keys look like when a provider repeats one we do not know, whole or half masked. */
const KEY_SHAPES = [
  /\b(?:sk|pk|rk|gsk|xai|key)-[A-Za-z0-9_*.-]{6,}/g,
  /\bAIza[A-Za-z0-9_*-]{10,}/g,
  /\b(?:Bearer|Basic)\s+[^\s"',]{6,}/gi,
];

/** A provider's own words, short, on one line, with every known secret and everything that looks like a key removed. */
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
