import { z } from 'zod';

/**
 * What a step needs of a volume beside its id. It never changes, so a run keeps it in its state from the moment the volume was
 * made, and an effect that gets it looks up no record: work goes on while the document store is away.
 */
export const KnownVolume = z.object({
  /** Null: no limit. */
  size_limit_bytes: z.number().int().nullable(),
  /** The execution it was made for; null for one made through the API. */
  workflow_execution_id: z.string().nullable(),
});
export type KnownVolume = z.output<typeof KnownVolume>;
