import { z } from 'zod';
import { jsonObjectField } from '../../../runtime/json-field.ts';

/** One message a bootstrap begins its conversation with (original-facts 6.4), as `model.generate` takes it. */
export const Said = z.discriminatedUnion('role', [
  z.object({ role: z.literal('system'), content: z.string() }),
  z.object({ role: z.literal('user'), content: z.string() }),
  z.object({
    role: z.literal('assistant'),
    content: z
      .string()
      .nullish()
      .transform((text) => text ?? ''),
    tool_calls: z
      .array(z.object({ id: z.string().min(1).max(200), name: z.string().min(1).max(200), arguments: jsonObjectField }))
      .max(100)
      .optional(),
  }),
  z.object({
    role: z.literal('tool'),
    content: z.string(),
    tool_call_id: z.string().max(200),
    tool_name: z.string().max(200).default('tool'),
  }),
]);
