import { z } from 'zod';
import { parseSyntax } from '../template/syntax.ts';

const MAX_TEXT = 256 * 1024;

/** The Handlebars parser's time grows faster than the number of open blocks: 28,000 took minutes. */
const MAX_EXPRESSIONS = 1_000;

const template = z
  .string()
  .max(MAX_TEXT)
  .superRefine((text, context) => {
    if (text.split('{{').length - 1 > MAX_EXPRESSIONS) {
      context.addIssue({ code: 'custom', message: `expected at most ${MAX_EXPRESSIONS} template expressions` });
      return;
    }
    try {
      parseSyntax(text);
    } catch (thrown) {
      const reason = thrown instanceof Error ? thrown.message.split('\n')[0] : 'it does not parse';
      context.addIssue({ code: 'custom', message: `expected a Handlebars template: ${reason}` });
    }
  });

/** `spec.task`: what the agent is to do (original-facts 2.3). `prompt_template` is Handlebars without HTML escaping. */
export const AgentTask = z.strictObject({
  instruction: z.string().max(MAX_TEXT).optional(),
  prompt_template: template.optional(),
  input_data: z.record(z.string(), z.json()).default({}),
  agentskills: z
    .array(z.string().regex(/^[a-z0-9-]+:[a-z0-9-]+$/, 'expected namespace:skill'))
    .max(50)
    .default([]),
});

const description = z.string().max(2_000).optional();
const path = z.string().min(1).max(1_024);

/** `spec.context[]`: attachments of the prompt (original-facts 2.4). */
export const AgentContext = z
  .array(
    z.discriminatedUnion('type', [
      z.strictObject({ type: z.literal('text'), content: z.string().max(MAX_TEXT), description }),
      z.strictObject({ type: z.literal('file'), path, description }),
      z.strictObject({ type: z.literal('directory'), path, description }),
      z.strictObject({ type: z.literal('url'), url: z.url({ protocol: /^https?$/ }), description }),
    ]),
  )
  .max(50)
  .default([]);
