import { z } from 'zod';
import { secretText } from '../secret.ts';

const name = z.string().regex(/^[A-Za-z0-9][A-Za-z0-9._-]{0,127}$/, 'expected letters, digits, ".", "_" and "-"');

/**
 * `spec.signing`: the RS256 keys of node tokens (spec 1, Authentication; design S3). `file` keeps them in the data
 * directory, mode 0600; `vault` leaves them in the transit engine of HashiCorp Vault or OpenBao.
 */
export const NodeSigning = z
  .strictObject({
    backend: z.enum(['file', 'vault']).default('file'),
    /** Age at which a new key takes over; the old one verifies until the last token it signed has run out. */
    rotate_after_days: z.number().int().min(1).max(3_650).default(90),
    vault: z
      .strictObject({
        address: z.url({ protocol: /^https?$/, error: 'expected an http or https URL' }).max(2_000),
        token: secretText.optional(),
        namespace: z.string().min(1).max(200).optional(),
        mount: name.default('transit'),
        key: name.default('svc-node-token'),
        approle: z.strictObject({ role_id: z.string().min(1).max(500), secret_id: secretText }).optional(),
      })
      .superRefine((vault, context) => {
        if ((vault.token === undefined) === (vault.approle === undefined))
          context.addIssue({ code: 'custom', path: ['token'], message: 'expected either token or approle' });
      })
      .optional(),
  })
  .superRefine((signing, context) => {
    if (signing.backend === 'vault' && signing.vault === undefined)
      context.addIssue({ code: 'custom', path: ['vault'], message: 'required when backend is vault' });
  });
