/** A JSON Schema in the API description, with the parts that types depend on. */
export interface Schema {
  readonly $ref?: string;
  readonly type?: string | readonly string[];
  readonly description?: string;
  readonly enum?: readonly unknown[];
  readonly const?: unknown;
  readonly properties?: Readonly<Record<string, Schema>>;
  readonly required?: readonly string[];
  readonly additionalProperties?: boolean | Schema;
  readonly items?: Schema | false;
  readonly prefixItems?: readonly Schema[];
  readonly anyOf?: readonly Schema[];
  readonly oneOf?: readonly Schema[];
  readonly allOf?: readonly Schema[];
  readonly nullable?: boolean;
  readonly contentSchema?: Schema;
}

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

/** An OpenAPI 3.1 document, with the parts that a client depends on. */
export interface OpenApi {
  readonly paths: Readonly<Record<string, Readonly<Record<string, ApiOperation>>>>;
  readonly components?: { readonly schemas?: Readonly<Record<string, Schema>> };
}

/** How a client sends an operation. */
export interface DescribedRoute {
  readonly method: string;
  /** Parameters as `{name}`. */
  readonly path: string;
  readonly query: readonly string[];
  /** `json`: the other members of the input; a media type: the member `body`; null: no body. */
  readonly body: 'json' | 'application/yaml' | 'application/octet-stream' | null;
  readonly answer: 'json' | 'text' | 'bytes' | 'stream';
}

/** A path or query parameter, or a member of the body. */
export interface InputMember {
  readonly key: string;
  readonly isRequired: boolean;
  readonly description: string | undefined;
  /** One or more types that a value may have. */
  readonly types: readonly (Schema | 'text' | 'bytes')[];
}

/** An operation as a method of a client. */
export interface DescribedOperation {
  readonly resource: string;
  readonly verb: string;
  /** Name of the constant that holds its route. */
  readonly constant: string;
  readonly route: DescribedRoute;
  readonly inputs: readonly InputMember[];
  /** Whether the call is possible without input. */
  readonly isInputOptional: boolean;
  /** Type of the answer, or of one event of a stream; null: there is none. */
  readonly answer: Schema | null;
  /** Description with its route. */
  readonly about: string;
}

/** The operations of a description, in its order. Throws for an operation that clients cannot express. */
export function operationsIn({ paths }: OpenApi): DescribedOperation[] {
  return Object.entries(paths).flatMap(([path, operations]) =>
    Object.entries(operations).map(([method, operation]) => described(path, method.toUpperCase(), operation)),
  );
}

function described(path: string, method: string, operation: ApiOperation): DescribedOperation {
  const { operationId = '', parameters = [], requestBody, responses } = operation;
  const [resource = '', verb = '', ...more] = operationId.split('.');
  if (verb === '' || more.length > 0) throw new Error(`${method} ${path}: the operationId must be "resource.verb"`);
  const { kind, schema } = answerOf(responses);
  const query = parameters.filter((one) => one.in === 'query').map((one) => one.name);
  const said = [operation.summary, operation.description].filter((text) => text !== undefined).join('. ');
  return {
    resource,
    verb,
    constant: operationId.replaceAll('.', '_').toUpperCase(),
    route: { method, path, query, body: bodyKind(requestBody?.content), answer: kind },
    ...inputOf(operationId, parameters, requestBody),
    answer: schema,
    about: `${said} (\`${method} ${path}\`)`,
  };
}

function bodyKind(content: Contents | undefined): DescribedRoute['body'] {
  if (content === undefined) return null;
  if ('application/json' in content) return 'json';
  if ('application/yaml' in content) return 'application/yaml';
  return 'application/octet-stream';
}

/** Path and query parameters and the members of a JSON object as one object; another body is its member `body`. */
function inputOf(name: string, parameters: readonly Parameter[], requestBody: ApiOperation['requestBody']) {
  const members = new Map<string, InputMember>();
  const add = (member: InputMember): void => {
    if (members.has(member.key)) throw new Error(`${name}: ${member.key} is both a parameter and a member of the body`);
    members.set(member.key, member);
  };
  let isInputOptional = true;
  for (const { name: key, in: place, required: isRequired = false, description, schema = {} } of parameters) {
    if (place !== 'path' && place !== 'query') continue;
    if (isRequired) isInputOptional = false;
    add({ key, isRequired, description: description ?? schema.description, types: [schema] });
  }
  const content = requestBody?.content;
  const json = content?.['application/json']?.schema;
  const isRequired = requestBody?.required ?? false;
  if (content !== undefined && isRequired) isInputOptional = false;
  if (json?.properties !== undefined && Object.keys(content ?? {}).length === 1) {
    const needed = isRequired ? (json.required ?? []) : [];
    for (const [key, schema] of Object.entries(json.properties))
      add({ key, isRequired: needed.includes(key), description: schema.description, types: [schema] });
  } else if (content !== undefined) {
    add({ key: 'body', isRequired, description: undefined, types: Object.entries(content).flatMap(bodyTypes) });
  }
  return { inputs: [...members.values()], isInputOptional };
}

function bodyTypes([media, { schema = {} }]: readonly [string, Contents[string]]): InputMember['types'] {
  if (media === 'application/json') return [schema];
  return media === 'application/yaml' ? ['text'] : ['text', 'bytes'];
}

function answerOf(responses: ApiOperation['responses']): {
  readonly kind: DescribedRoute['answer'];
  readonly schema: Schema | null;
} {
  const content = Object.entries(responses).find(
    ([status, { content }]) => status < '300' && content !== undefined,
  )?.[1].content;
  if (content === undefined) return { kind: 'json', schema: null };
  const stream = content['text/event-stream']?.schema;
  if (stream !== undefined) return { kind: 'stream', schema: stream.properties?.data?.contentSchema ?? null };
  const json = content['application/json']?.schema;
  if (json !== undefined) return { kind: 'json', schema: json };
  return { kind: 'application/octet-stream' in content ? 'bytes' : 'text', schema: null };
}
