import { z } from 'zod';
import { secretUrl } from '../secret.ts';

const redisUrl = secretUrl(['redis', 'rediss', 'redis+cluster', 'rediss+cluster', 'redis+sentinel', 'rediss+sentinel']);

/** `spec.stores`: both URLs, or neither for the embedded store under `data_dir` (decided.md "Names"). */
export const NodeStores = z.strictObject({
  redis: z
    .union([redisUrl, z.array(redisUrl).min(1).max(100)])
    .transform((urls) => (typeof urls === 'string' ? [urls] : urls))
    .optional(),
  mongodb: secretUrl(['mongodb', 'mongodb+srv']).optional(),
  /** The word that a refused start names: documents older than the log are taken as they are, once. */
  accept_older_documents: z
    .string()
    .regex(/^[0-9a-f]{12}$/, 'must be the word that the refused start named, 12 of 0-9 and a-f')
    .optional(),
  data_dir: z.string().min(1).max(4_096).default('./data'),
});
