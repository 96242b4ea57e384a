import { z } from 'zod';

/** What a validator looks at: for a model its text, exit code 0 and an empty stderr. */
export const IterationResult = z.object({
  stdout: z.string(),
  stderr: z.string(),
  exit_code: z.number().int().nullable(),
  /** Tools of which a call has succeeded in this execution. */
  tools: z.array(z.string()).optional(),
});
export type IterationResult = Readonly<z.infer<typeof IterationResult>>;

/** Null: it passed. A text: why it did not. */
export type Complaint = string | null;
