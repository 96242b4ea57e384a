import { z } from 'zod';

/** `spec.runtime`: where the agent's program runs and which model it talks to (original-facts 2.2). */
export const AgentRuntime = z
  .strictObject({
    language: z.enum(['python', 'javascript', 'typescript', 'rust', 'go']).optional(),
    version: z
      .string('expected text; write the version in quotes, such as "3.11"')
      .regex(/^[0-9]+(\.[0-9]+){0,2}$/, 'expected a language version such as "3.11"')
      .max(20)
      .optional(),
    image: z
      .string()
      .max(512)
      .regex(/^[^\s/]+(\/[^\s/]+)+$/, 'expected a fully named image that contains "/", such as ghcr.io/org/agent:1')
      .optional(),
    image_pull_policy: z.enum(['Always', 'IfNotPresent', 'Never']).default('IfNotPresent'),
    isolation: z.enum(['inherit', 'firecracker', 'docker', 'process']).default('inherit'),
    model: z.string().min(1).max(100).default('default'),
    temperature: z.number().min(0).max(2).optional(),
  })
  .superRefine((runtime, context) => {
    const report = (field: string, message: string) => context.addIssue({ code: 'custom', path: [field], message });
    if (runtime.image !== undefined) {
      if (runtime.language !== undefined) report('language', 'image excludes language: keep one of the two');
      if (runtime.version !== undefined) report('version', 'image excludes version: keep one of the two');
      return;
    }
    if (runtime.language !== undefined && runtime.version === undefined)
      report('version', 'language needs version: give both or none');
    if (runtime.version !== undefined && runtime.language === undefined)
      report('language', 'version needs language: give both or none');
  });
