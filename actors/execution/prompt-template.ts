import { checkTemplate as faultOf } from '../../manifests/template/references.ts';
import { renderWith } from '../../manifests/template/rendering.ts';
import { TemplateError } from '../../manifests/template/tree.ts';
import { SvcError } from '../../runtime/errors.ts';
import type { JsonObject } from '../../runtime/json.ts';

const FIELD = 'spec.task.prompt_template';
const SIMPLE_NAME = /^[^.\s[\]/@]+$/;

/** Throws `invalid_manifest` with `path` when the template does not parse, or uses anything that prompts do not support. */
export function checkTemplate(template: string, path: string): void {
  const reason = faultOf(template);
  if (reason === null) return;
  throw new SvcError('invalid_manifest', `${path}: expected a Handlebars template: ${reason}`, {
    field: path,
    details: [{ path, message: reason }],
  });
}

/**
 * Renders a checked template. Unlike in a workflow's template, an unknown simple name shows as `[missing: NAME]`; an
 * unknown longer path renders nothing. Throws `payload_too_large` or `invalid_argument`.
 */
export function renderTemplate(template: string, variables: JsonObject, maxBytes: number): string {
  try {
    return renderWith(template, variables, placeholder, { maxChars: maxBytes });
  } catch (thrown) {
    if (!(thrown instanceof TemplateError)) throw thrown;
    if (thrown.code === 'too_long') {
      throw new SvcError('payload_too_large', `the rendered prompt is longer than ${maxBytes} bytes`, { field: FIELD });
    }
    throw new SvcError('invalid_argument', `the prompt template cannot be rendered: ${thrown.message}`, {
      field: FIELD,
    });
  }
}

function placeholder(written: string, place: string): string {
  return place === 'value' && SIMPLE_NAME.test(written) ? `[missing: ${written}]` : '';
}
