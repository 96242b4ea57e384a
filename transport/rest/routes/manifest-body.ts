import { z } from 'zod';
import { SvcError } from '../../../runtime/errors.ts';
import { DeployBody, type DeployQuery, isSet } from '../../../usecases/operations/schemas/catalog.ts';

export const YamlBody = z.string().min(1).describe('The manifest.');

/** The body in its JSON form, for a manifest sent as YAML or as JSON. Throws `invalid_argument`. */
export function manifestBody<T extends { readonly manifest_yaml: string }>(schema: z.ZodType<T>, body: unknown): T {
  const asked = schema.safeParse(typeof body === 'string' ? { manifest_yaml: body } : body);
  if (asked.success) return asked.data;
  const [first] = asked.error.issues;
  const field = first === undefined || first.path.length === 0 ? 'body' : first.path.join('.');
  const isKey = first?.code === 'unrecognized_keys';
  const text =
    (!isKey && field === 'body') || field === 'manifest_yaml'
      ? 'body: a manifest is expected, as application/yaml or {manifest_yaml}'
      : `${field}: ${first?.message ?? 'is wrong'}`;
  throw new SvcError('invalid_argument', text, { field });
}

/** The manifest and options of a deploy, from body and query. Throws `invalid_argument`. */
export function deployment(asked: unknown, query: z.output<typeof DeployQuery>) {
  const body = manifestBody(DeployBody, asked);
  const scope = body.scope ?? query.scope;
  const force = body.force || isSet(query.force);
  return { manifest_yaml: body.manifest_yaml, force, ...(scope === undefined ? {} : { scope }) };
}
