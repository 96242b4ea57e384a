import { z } from 'zod';
import { refuse } from '../expectation.ts';
import { jsonSchema } from '../json-schema-check.ts';
import { pattern } from '../pattern.ts';

const score = z.number().min(0).max(1);
const timeout = z.number().int().min(1).max(3_600);
const agentName = z.string().min(1).max(100);
const criteria = z
  .string()
  .max(64 * 1024)
  .default('');
/** A file of the workspace, as `workspaceFile` checks it. */
const filePath = z.string().min(1).max(1_024);

const ExitCode = z.strictObject({
  type: z.literal('exit_code'),
  expected: z.number().int().min(0).max(255).default(0),
  min_score: score.default(1),
});

/** The output, or the file `target_path`, against an inline schema or the workspace file `schema_path`. */
const JsonSchema = z
  .strictObject({
    type: z.literal('json_schema'),
    schema: jsonSchema.optional(),
    schema_path: filePath.optional(),
    target_path: filePath.optional(),
    min_score: score.default(1),
  })
  .superRefine((validator, context) => {
    if ((validator.schema === undefined) === (validator.schema_path === undefined))
      refuse(context, ['schema'], 'expected exactly one of schema and schema_path');
  });

/** `target`: stdout, stderr, or the path of a file in the workspace. */
const Regex = z.strictObject({
  type: z.literal('regex'),
  pattern,
  target: filePath.default('stdout'),
  min_score: score.default(1),
});

/** A call of this tool must have succeeded in the execution: the claim in the answer is not enough. */
const ToolCall = z.strictObject({
  type: z.literal('tool_call'),
  tool: z.string().min(1).max(200),
  min_score: score.default(1),
});

const Semantic = z.strictObject({
  type: z.literal('semantic'),
  judge_agent: agentName,
  criteria,
  min_score: score.default(0.7),
  min_confidence: score.default(0),
  timeout_seconds: timeout.default(300),
});

const MultiJudge = z
  .strictObject({
    type: z.literal('multi_judge'),
    judges: z.array(agentName).min(1).max(20),
    consensus: z.enum(['weighted_average', 'majority', 'unanimous', 'best_of_n']).default('weighted_average'),
    min_judges_required: z.number().int().min(1).max(20).default(1),
    criteria,
    min_score: score.default(0.7),
    min_confidence: score.default(0),
    min_agreement_confidence: score.optional(),
    timeout_seconds: timeout.default(300),
  })
  .superRefine((validator, context) => {
    if (validator.min_judges_required > validator.judges.length)
      refuse(
        context,
        ['min_judges_required'],
        `expected at most ${validator.judges.length}, the number of judges, got ${validator.min_judges_required}`,
      );
  });

/** List form (W23). */
export const ListedValidator = z.discriminatedUnion('type', [
  ExitCode,
  JsonSchema,
  Regex,
  ToolCall,
  Semantic,
  MultiJudge,
]);
export const Judge = z.discriminatedUnion('type', [Semantic, MultiJudge]);

/** Object form (W23). Without a block nothing is checked, except that the program must exit with 0. */
export const ValidationObject = z.strictObject({
  system: z
    .strictObject({
      must_succeed: z.boolean().default(true),
      allow_stderr: z.boolean().default(false),
      timeout_seconds: timeout.default(90),
    })
    .optional(),
  output: z
    .strictObject({
      format: z.enum(['json', 'yaml', 'text', 'csv', 'pdf']).optional(),
      schema: jsonSchema.optional(),
      regex: pattern.optional(),
    })
    .optional(),
  script: z
    .strictObject({
      path: filePath,
      description: z.string().max(2_000).optional(),
      timeout_seconds: timeout.default(30),
    })
    .optional(),
  semantic: z
    .strictObject({
      enabled: z.boolean().optional(),
      model: z.string().min(1).max(100).default('default'),
      prompt: z
        .string()
        .max(64 * 1024)
        .optional(),
      threshold: score.default(0.8),
      timeout_seconds: timeout.default(30),
      fallback_on_unavailable: z.enum(['skip', 'fail']).default('fail'),
    })
    .optional(),
});
export type ValidationObject = z.output<typeof ValidationObject>;

/**
 * One validator of the normalised list. The list form's types stay; the object form adds `stderr_empty`,
 * `output_format`, `script` and `semantic_prompt` (a model with a prompt judges instead of an agent).
 */
export type Validator =
  | z.output<typeof ListedValidator>
  | { readonly type: 'stderr_empty'; readonly min_score: number }
  | {
      readonly type: 'output_format';
      readonly format: 'json' | 'yaml' | 'text' | 'csv' | 'pdf';
      readonly min_score: number;
    }
  | {
      readonly type: 'script';
      readonly path: string;
      readonly description?: string | undefined;
      readonly timeout_seconds: number;
      readonly min_score: number;
    }
  | {
      readonly type: 'semantic_prompt';
      readonly model: string;
      readonly prompt?: string | undefined;
      readonly min_score: number;
      readonly timeout_seconds: number;
      readonly fallback_on_unavailable: 'skip' | 'fail';
    };

/** The object form as a list, cheap checks first. `hasInstruction`: default of `semantic.enabled`. */
export function validatorsOf(form: ValidationObject, hasInstruction: boolean): Validator[] {
  const list: Validator[] = [];
  if (form.system?.must_succeed ?? true) list.push({ type: 'exit_code', expected: 0, min_score: 1 });
  if (form.system?.allow_stderr === false) list.push({ type: 'stderr_empty', min_score: 1 });
  const { format, schema, regex } = form.output ?? {};
  if (format !== undefined) list.push({ type: 'output_format', format, min_score: 1 });
  if (schema !== undefined) list.push({ type: 'json_schema', schema, min_score: 1 });
  if (regex !== undefined) list.push({ type: 'regex', pattern: regex, target: 'stdout', min_score: 1 });
  if (form.script !== undefined) list.push({ type: 'script', ...form.script, min_score: 1 });
  if (form.semantic !== undefined && (form.semantic.enabled ?? hasInstruction)) {
    const { model, prompt, threshold, timeout_seconds, fallback_on_unavailable } = form.semantic;
    const judge = { model, min_score: threshold, timeout_seconds, fallback_on_unavailable };
    list.push({ type: 'semantic_prompt', ...judge, ...(prompt === undefined ? {} : { prompt }) });
  }
  return list;
}
