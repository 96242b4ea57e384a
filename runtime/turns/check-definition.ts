import { z } from 'zod';
import { SEGMENT } from '../address.ts';

const isSchema = (value: unknown): boolean =>
  typeof value === 'object' && value !== null && 'safeParse' in value && typeof value.safeParse === 'function';
const isFunction = (value: unknown): boolean => typeof value === 'function';
const isSync = (value: unknown): boolean =>
  isFunction(value) && Object.prototype.toString.call(value) !== '[object AsyncFunction]';

const schema = z.custom(isSchema, 'expected a schema of zod');
const schemas = z.record(z.string(), schema, 'expected schemas by name');
const called = z.custom(isFunction, 'expected a function').optional();
// A turn waits for nothing: what it waits for is an effect.
const turn = z.custom(isSync, 'expected a function that is not async');

const FIELDS = {
  kind: z.string('expected a text').regex(SEGMENT, `expected a text that matches ${SEGMENT.source}`),
  version: z.int('expected an integer from 1').min(1, 'expected an integer from 1'),
  state: schema,
  initial: turn,
  messages: schemas,
  events: schemas,
  on: z.record(z.string(), turn, 'expected handlers by message'),
  migrate: called,
  fairnessKey: called,
  done: called,
  belongsTo: called,
  pool: z.enum(['default', 'system'], 'expected default or system').optional(),
  finalEvents: z.array(z.string(), 'expected names of events').optional(),
  creates: z.array(z.string(), 'expected names of messages').optional(),
  view: z
    .looseObject({ collection: z.string('expected a text'), project: z.custom(isFunction, 'expected a function') })
    .optional(),
};
const Definition = z.looseObject(FIELDS, 'expected an object');

const Handler = z.looseObject(
  {
    kind: z.string('expected a text').min(1, 'expected a text'),
    input: schema,
    run: z.custom(isFunction, 'expected a function'),
  },
  'expected an object',
);

/** Checks what the types of an effect's handler say, as `checkDefinition` does for actors. */
export function checkHandler(handler: unknown): void {
  const parsed = Handler.safeParse(handler);
  if (!parsed.success) throw new Error(`${nameOf(handler, 'effect')}: ${fieldsOf(parsed.error)}`);
}

/**
 * Checks what the types of a definition say, for authors who write JavaScript. Without it a mistake is found when the
 * first message fails. Throws an error that names each field and what was expected.
 */
export function checkDefinition(definition: unknown): void {
  const parsed = Definition.safeParse(definition);
  if (!parsed.success) throw new Error(`${nameOf(definition, 'actor')}: ${fieldsOf(parsed.error)}`);
  const { kind, messages, events, on, finalEvents = [], creates = [] } = parsed.data;
  const refuse = (names: readonly string[], known: object, text: string): void => {
    const unknown = names.filter((name) => !Object.hasOwn(known, name));
    if (unknown.length > 0) throw new Error(`actor kind ${kind}: ${text} ${unknown.join(', ')}`);
  };
  refuse(Object.keys(messages), on, '"on" has no handler for message');
  refuse(Object.keys(on), messages, '"messages" has no schema for handler');
  refuse(finalEvents, events, '"finalEvents" names an unknown event');
  refuse(creates, messages, '"creates" names an unknown message');
}

const fieldsOf = (error: z.ZodError): string =>
  error.issues
    .map(({ path, message }) => (path.length === 0 ? message : `${path.map(String).join('.')}: ${message}`))
    .join('; ');

function nameOf(definition: unknown, what: 'actor' | 'effect'): string {
  const kind = typeof definition === 'object' && definition !== null && 'kind' in definition ? definition.kind : null;
  return typeof kind === 'string' && kind !== '' ? `${what} kind ${kind.slice(0, 60)}` : `a definition of an ${what}`;
}
