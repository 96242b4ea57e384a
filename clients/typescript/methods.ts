import type { Route } from './client.ts';
import { commentLines, keyText, type Schema, typeText } from './type-text.ts';

type Contents = Readonly<Record<string, { readonly schema?: Schema }>>;

interface Parameter {
  readonly name: string;
  readonly in: 'path' | 'query' | 'header' | 'cookie';
  readonly required?: boolean;
  readonly description?: string;
  readonly schema?: Schema;
}

interface ApiOperation {
  readonly operationId?: string;
  readonly summary?: string;
  readonly description?: string;
  readonly parameters?: readonly Parameter[];
  readonly requestBody?: { readonly required?: boolean; readonly content: Contents };
  readonly responses: Readonly<Record<string, { readonly content?: Contents }>>;
}

/** An OpenAPI 3.1 document, as far as a client depends on it. */
export interface OpenApi {
  readonly paths: Readonly<Record<string, Readonly<Record<string, ApiOperation>>>>;
  readonly components?: { readonly schemas?: Readonly<Record<string, Schema>> };
}

/** One method of the client. */
export interface Method {
  readonly resource: string;
  readonly verb: string;
  /** Name of the constant that holds its route. */
  readonly constant: string;
  readonly route: Route;
  readonly hasInput: boolean;
  /** Its lines in the interface of the client. */
  readonly signature: readonly string[];
}

/** The methods of all operations, in the order of the description. Throws for one that it cannot express. */
export function methodsOf({ paths }: OpenApi): Method[] {
  return Object.entries(paths).flatMap(([path, operations]) =>
    Object.entries(operations).map(([method, operation]) => methodOf(path, method.toUpperCase(), operation)),
  );
}

function methodOf(path: string, method: string, operation: ApiOperation): Method {
  const { operationId = '', parameters = [], requestBody, responses } = operation;
  const [resource = '', verb = '', ...more] = operationId.split('.');
  if (verb === '' || more.length > 0) throw new Error(`${method} ${path}: the operationId must be "resource.verb"`);
  const answer = answerOf(responses);
  const query = parameters.filter((one) => one.in === 'query').map((one) => one.name);
  const route: Route = { method, path, query, body: bodyKind(requestBody?.content), answer: answer.kind };
  const input = inputText(operationId, parameters, requestBody);
  const options = 'options?: CallOptions';
  const given = input === null ? options : `input${input.isOptional ? '?' : ''}: ${input.text}, ${options}`;
  const result =
    answer.kind === 'stream'
      ? `AsyncGenerator<StreamedEvent<${answer.type}>, void, undefined>`
      : `Promise<${answer.type}>`;
  const said = [operation.summary, operation.description].filter((text) => text !== undefined).join('. ');
  return {
    resource: camelCase(resource),
    verb: camelCase(verb),
    constant: operationId.replaceAll('.', '_').toUpperCase(),
    route,
    hasInput: input !== null,
    signature: [...commentLines(`${said} (\`${method} ${path}\`)`, ''), `${camelCase(verb)}(${given}): ${result};`],
  };
}

const camelCase = (name: string): string => name.replaceAll(/_(\w)/g, (_match, letter: string) => letter.toUpperCase());

function bodyKind(content: Contents | undefined): Route['body'] {
  if (content === undefined) return null;
  if ('application/json' in content) return 'json';
  if ('application/yaml' in content) return 'application/yaml';
  return 'application/octet-stream';
}

interface InputText {
  readonly text: string;
  /** Whether the call may do without it. */
  readonly isOptional: boolean;
}

/** Path and query parameters and the members of a JSON object as one object; another body is its member `body`. */
function inputText(
  name: string,
  parameters: readonly Parameter[],
  requestBody: ApiOperation['requestBody'],
): InputText | null {
  const members = new Map<string, string[]>();
  const add = (key: string, isRequired: boolean, type: string, description?: string): void => {
    if (members.has(key)) throw new Error(`${name}: ${key} is both a parameter and a member of the body`);
    const mark = isRequired ? '' : '?';
    members.set(key, [...commentLines(description, '      '), `      readonly ${keyText(key)}${mark}: ${type};`]);
  };
  let isOptional = true;
  for (const { name: key, in: place, required = false, description, schema = {} } of parameters) {
    if (place !== 'path' && place !== 'query') continue;
    if (required) isOptional = false;
    add(key, required, typeText(schema, '      '), description ?? schema.description);
  }
  const content = requestBody?.content;
  const json = content?.['application/json']?.schema;
  const isRequired = requestBody?.required ?? false;
  if (content !== undefined && isRequired) isOptional = false;
  if (json?.properties !== undefined && Object.keys(content ?? {}).length === 1) {
    const needed = isRequired ? (json.required ?? []) : [];
    for (const [key, schema] of Object.entries(json.properties)) {
      add(key, needed.includes(key), typeText(schema, '      '), schema.description);
    }
  } else if (content !== undefined) {
    add('body', isRequired, bodyText(content));
  }
  if (members.size === 0) return null;
  return { text: `{\n${[...members.values()].flat().join('\n')}\n    }`, isOptional };
}

function bodyText(content: Contents): string {
  const types = Object.entries(content).map(([media, { schema = {} }]) => {
    if (media === 'application/json') return typeText(schema, '      ');
    return media === 'application/yaml' ? 'string' : 'string | Uint8Array';
  });
  return [...new Set(types)].join(' | ');
}

function answerOf(responses: ApiOperation['responses']): { readonly kind: Route['answer']; readonly type: string } {
  const content = Object.entries(responses).find(
    ([status, { content }]) => status < '300' && content !== undefined,
  )?.[1].content;
  if (content === undefined) return { kind: 'json', type: 'null' };
  const stream = content['text/event-stream']?.schema;
  if (stream !== undefined) {
    const event = stream.properties?.data?.contentSchema;
    return {
      kind: 'stream',
      type: event === undefined ? 'Readonly<Record<string, unknown>>' : typeText(event, '    '),
    };
  }
  const json = content['application/json']?.schema;
  if (json !== undefined) return { kind: 'json', type: typeText(json, '    ') };
  return 'application/octet-stream' in content
    ? { kind: 'bytes', type: 'Uint8Array' }
    : { kind: 'text', type: 'string' };
}
