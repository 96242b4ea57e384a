import { z } from 'zod';
import { jose } from '../../manifests/late-libraries.ts';
import type { SigningParts } from '../signed-token.ts';

/**
 * The content of a compact JWS of this kind with a valid signature; null for any other text. `unknown`: its key is no
 * longer published, as of a node that ended long ago.
 */
export async function signedContent<T>(
  jws: string,
  { typ, schema, signing }: { readonly typ: string; readonly schema: z.ZodType<T>; readonly signing: SigningParts },
): Promise<T | 'unknown' | null> {
  try {
    const header = jose().decodeProtectedHeader(jws);
    if (header.kid === undefined || header.typ !== typ) return null;
    const key = (await signing.published.find(header.kid)) ?? (await ownKey(header.kid, signing));
    if (key === null) return 'unknown';
    const { payload } = await jose().compactVerify(jws, key, { algorithms: ['RS256'] });
    return schema.parse(JSON.parse(Buffer.from(payload).toString('utf8')));
  } catch (error) {
    const isInvalid =
      error instanceof jose().errors.JOSEError || error instanceof TypeError || error instanceof SyntaxError;
    if (isInvalid || error instanceof z.ZodError) return null;
    throw error;
  }
}

/** A key of this node that is no longer published. */
async function ownKey(kid: string, { keys }: SigningParts) {
  const own = (await keys.publicKeys()).find((jwk) => jwk.kid === kid);
  return own === undefined ? null : jose().importJWK(own, 'RS256');
}
