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
  data_dir: z.string().min(1).max(4_096).default('./data'),
});
