import type { Validator } from '../../manifests/agent/schema.ts';
import { SvcError } from '../../runtime/errors.ts';
import type { PanelCheck, ResultValidator } from './plan.ts';
import { checkTemplate } from './prompt-template.ts';
import { checkJsonSchema } from './validators/json-schema.ts';
import { checkPattern } from './validators/linear-regex.ts';

type Of<Type extends Validator['type']> = Extract<Validator, { readonly type: Type }>;

/** One validator of a manifest, ready to be run. Throws `unimplemented` or `invalid_manifest`, naming its path. */
export function planValidator(validator: Validator, index: number): ResultValidator {
  const path = `spec.execution.validation[${index}]`;
  switch (validator.type) {
    case 'exit_code':
      return { type: 'exit_code', expected: validator.expected, min_score: validator.min_score };
    case 'stderr_empty':
    case 'tool_call':
    case 'output_format':
      return { ...validator };
    case 'json_schema':
      return schemaCheck(validator, path);
    case 'regex': {
      const { pattern, target, min_score } = validator;
      if (target !== 'stdout' && target !== 'stderr') throw unimplemented(`${path}.target`, 'checking a file');
      checkPattern(pattern, `${path}.pattern`);
      return { type: 'regex', pattern, target, min_score };
    }
    case 'semantic':
    case 'multi_judge':
      return panelCheck(validator);
    case 'semantic_prompt': {
      const { model, prompt = null, min_score, timeout_seconds, fallback_on_unavailable: fallback } = validator;
      if (prompt !== null) checkTemplate(prompt, 'spec.execution.validation.semantic.prompt');
      return { type: 'semantic_prompt', model, prompt, min_score, timeout_ms: timeout_seconds * 1_000, fallback };
    }
    case 'script':
      throw unimplemented(path, 'validator script');
  }
}

function schemaCheck({ schema, target_path, min_score }: Of<'json_schema'>, path: string): ResultValidator {
  if (schema === undefined) throw unimplemented(`${path}.schema_path`, 'a schema in a file');
  if (target_path !== undefined) throw unimplemented(`${path}.target_path`, 'checking a file');
  checkJsonSchema(schema, `${path}.schema`);
  return { type: 'json_schema', schema, min_score };
}

/** Judges of a result, or of a proposed tool call. */
export function panelCheck(validator: Of<'semantic' | 'multi_judge'>): PanelCheck {
  const { criteria, min_score, min_confidence, timeout_seconds } = validator;
  const check = { criteria, min_score, timeout_ms: timeout_seconds * 1_000 };
  if (validator.type === 'semantic') {
    const judges = [validator.judge_agent];
    return {
      type: 'semantic',
      ...check,
      judges,
      consensus: 'weighted_average',
      min_judges_required: 1,
      min_confidence,
    };
  }
  const { judges, consensus, min_judges_required, min_agreement_confidence = 0 } = validator;
  return {
    type: 'multi_judge',
    ...check,
    ...{ judges, consensus, min_judges_required },
    // Both are about the confidence of the consensus, in which agreement is counted.
    min_confidence: Math.max(min_confidence, min_agreement_confidence),
  };
}

export function unimplemented(path: string, what: string): SvcError {
  return new SvcError('unimplemented', `${path}: ${what} is not served by this version`, {
    field: path,
    details: [{ path, message: 'not served by this version' }],
  });
}
