import type { Schema } from '../api-description.ts';

/** The TypeScript type of a schema; nested objects are indented from `indent` on. */
export function typeText(schema: Schema, indent = ''): string {
  if (schema.$ref !== undefined) return schema.$ref.slice(schema.$ref.lastIndexOf('/') + 1);
  if (schema.const !== undefined) return JSON.stringify(schema.const);
  if (schema.enum !== undefined) return schema.enum.map((value) => JSON.stringify(value)).join(' | ');
  const choices = schema.anyOf ?? schema.oneOf;
  if (choices !== undefined) return unionOf(choices.map((one) => typeText(one, indent)));
  if (schema.allOf !== undefined) return schema.allOf.map((one) => `(${typeText(one, indent)})`).join(' & ');
  const { type } = schema;
  if (Array.isArray(type)) return unionOf(type.map((one: string) => typeText({ ...schema, type: one }, indent)));
  switch (type) {
    case 'string':
      return 'string';
    case 'number':
    case 'integer':
      return 'number';
    case 'boolean':
      return 'boolean';
    case 'null':
      return 'null';
    case 'array':
      return arrayText(schema, indent);
    case 'object':
      return objectText(schema, indent);
    default:
      return schema.properties === undefined ? 'unknown' : objectText(schema, indent);
  }
}

const unionOf = (types: readonly string[]): string => [...new Set(types)].join(' | ');

function arrayText({ items, prefixItems }: Schema, indent: string): string {
  if (prefixItems !== undefined) return `readonly [${prefixItems.map((one) => typeText(one, indent)).join(', ')}]`;
  return items === undefined || items === false ? 'readonly unknown[]' : `readonly (${typeText(items, indent)})[]`;
}

function objectText({ properties = {}, required = [], additionalProperties }: Schema, indent: string): string {
  const inner = `${indent}  `;
  const members = Object.entries(properties).flatMap(([name, schema]) => [
    ...commentLines(schema.description, inner),
    `${inner}readonly ${keyText(name)}${required.includes(name) ? '' : '?'}: ${typeText(schema, inner)};`,
  ]);
  const more = typeof additionalProperties === 'object' ? typeText(additionalProperties, inner) : 'unknown';
  if (members.length === 0) return `Readonly<Record<string, ${more}>>`;
  return `{\n${members.join('\n')}\n${indent}}`;
}

/** A name as it stands in front of a member's colon. */
export const keyText = (name: string): string => (/^[A-Za-z_$][\w$]*$/.test(name) ? name : JSON.stringify(name));

/** A documentation comment; none for an empty text. */
export function commentLines(text: string | undefined, indent: string): string[] {
  if (text === undefined || text === '') return [];
  return [`${indent}/** ${text.replaceAll('*/', '*\\/').replaceAll(/\s*\n\s*/g, ' ')} */`];
}
